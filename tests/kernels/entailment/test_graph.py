"""The graph of an entailment dataset, against networkx and plain Python over its tuples."""

from __future__ import annotations

from itertools import pairwise, product

import networkx as nx
import polars as pl
from hypothesis import given

from audit.analyses.entailment.dataset import ENTAILS, HYPERNYM, NOUN
from audit.analyses.entailment.graph import measure_graph
from fixtures.entailed import Stated, drawn_tuples, stated
from fixtures.examples import examples

Edge = tuple[str, str]
Edges = set[Edge]
RELATIONS = (NOUN, ENTAILS)


def measured(*rows: Stated) -> dict[str, pl.DataFrame]:
    return measure_graph(stated(rows))


def hypernyms(*edges: tuple[str, str, bool]) -> dict[str, pl.DataFrame]:
    return measured(*((a, HYPERNYM, a, b, valid) for a, b, valid in edges))


def edges_of(rows: list[Stated], relation: str, head: str | None = None) -> tuple[Edges, Edges]:
    """Edges stated as valid, and as invalid, of a relation, or of it under one head."""
    chosen = [r for r in rows if r[1] == relation and r[2] != r[3] and head in (None, r[0])]
    valid, invalid = ({r[2:4] for r in chosen if r[4] == answer} for answer in (True, False))
    return valid, invalid


def contexts(rows: list[Stated], relation: str) -> list[str | None]:
    return [None] if relation == ENTAILS else [*sorted({row[0] for row in rows})]


def components(edges: Edges) -> list[set[str]]:
    return [c for c in nx.strongly_connected_components(nx.DiGraph(sorted(edges))) if len(c) > 1]


def one_way_cycle(edges: Edges, among: set[str]) -> int:
    """Length of a shortest cycle with an edge in one direction only; 0 if there is none."""
    cycles = nx.simple_cycles(nx.DiGraph(sorted(edges)).subgraph(among))
    lengths = [len(c) for c in cycles if any((b, a) not in edges for a, b in pairwise([*c, c[0]]))]
    return min(lengths, default=0)


def test_the_example_of_the_specification() -> None:
    graph = hypernyms(("a", "b", True), ("b", "c", True), ("c", "a", True), ("a", "c", False))
    found = {name: [*own.rows(named=True)] for name, own in graph.items()}

    (cycle,), (contradiction,) = found["graph_components"], found["graph_contradictions"]
    (violation,) = found["graph_violations"]
    assert cycle["cycle"] == ["a", "b", "c", "a"]
    assert [contradiction[n] for n in ("instance", "concept", "kind")] == ["a", "c", "cycle"]
    assert [violation[n] for n in ("instance", "through", "concept")] == ["a", "b", "c"]
    assert found["graph_lint"] == []
    drawn = graph["graph_neighbourhoods"].select("child", "parent", "valid").rows()
    assert sorted(drawn) == [("a", "b", 1), ("a", "c", 0), ("b", "c", 1), ("c", "a", 1)]


@examples(25)
@given(drawn_tuples())
def test_components_and_their_cycles_are_those_of_networkx(rows: list[Stated]) -> None:
    graph = measured(*rows)
    for relation in RELATIONS:
        valid, _ = edges_of(rows, relation)
        expected = {min(members): members for members in components(valid)}
        found = graph["graph_components"].filter(relation=relation)
        assert set(found["first"]) == set(expected)
        for row in found.to_dicts():
            members = expected[row["first"]]
            inside = {(a, b) for a, b in valid if {a, b} <= members}
            assert (row["texts"], row["edges"]) == (len(members), len(inside))
            assert row["synonyms"] == all((b, a) in valid for a, b in inside)
            held = {head: edges_of(rows, relation, head)[0] for head in contexts(rows, relation)}
            sizes = {head: one_way_cycle(own, members) for head, own in held.items()}
            within = {head: size for head, size in sizes.items() if size}
            shortest = min(within.values()) if within else one_way_cycle(valid, members) or 2
            walked = set(pairwise(row["cycle"]))
            assert row["one_context"] == bool(within)
            assert row["cycle"][0] == row["cycle"][-1]
            assert len(row["cycle"]) - 1 == len(walked) == len({*row["cycle"]}) == shortest
            assert walked <= (held[row["head"]] if within else valid)


def contradictions(rows: list[Stated], relation: str, head: str | None) -> set[tuple[str, ...]]:
    valid, invalid = edges_of(rows, relation, head)
    cycles = {e for e in invalid - valid if any({*e} <= one for one in components(valid))}
    both = {(*e, "edge") for e in valid & invalid}
    return {(relation, *one) for one in both | {(*e, "cycle") for e in cycles}}


@examples(25)
@given(drawn_tuples())
def test_contradictions_are_all_there_are(rows: list[Stated]) -> None:
    names = ("relation", "instance", "concept", "kind", "one_context")
    table, expected = measured(*rows)["graph_contradictions"].select(names), set()
    for relation in RELATIONS:
        by_head = (contradictions(rows, relation, head) for head in contexts(rows, relation))
        within = set().union(*by_head)
        expected |= {(*one, one in within) for one in contradictions(rows, relation, None)}

    assert sorted(table.rows()) == sorted(expected)


def violations(rows: list[Stated], relation: str, head: str | None) -> dict[Edge, set[str]]:
    """The texts between the ends of each denied edge that follows from two valid ones."""
    valid, invalid = edges_of(rows, relation, head)
    found = {(a, c): {b for b in "abcde" if {(a, b), (b, c)} <= valid} for a, c in invalid - valid}
    return {edge: between for edge, between in found.items() if between}


@examples(25)
@given(drawn_tuples())
def test_violations_and_chains_are_all_there_are(rows: list[Stated]) -> None:
    graph = measured(*rows)
    for relation in RELATIONS:
        expected = violations(rows, relation, None)
        within: dict[Edge, dict[str | None, set[str]]] = {}
        for head in contexts(rows, relation):
            for edge, between in violations(rows, relation, head).items():
                within.setdefault(edge, {})[head] = between
        found = graph["graph_violations"].filter(relation=relation)
        assert {(r["instance"], r["concept"]) for r in found.to_dicts()} == set(expected)
        for row in found.to_dicts():
            edge = row["instance"], row["concept"]
            head, between = next(iter(within.get(edge, {None: expected[edge]}).items()))
            assert (row["chains"], row["one_context"]) == (len(expected[edge]), edge in within)
            assert (row["head"], row["through"]) == (head, min(between))
    for row in graph["graph_relations"].to_dicts():
        valid, invalid = edges_of(rows, row["relation"])
        chains = [(a, c) for (a, b), (start, c) in product(valid, valid) if b == start and a != c]
        closed, denied = (sum(c in of for c in chains) for of in (valid, invalid - valid))
        assert [row["chains"], row["chains_valid"], row["chains_denied"], row["chains_open"]] == [
            len(chains), closed, denied, len(chains) - closed - denied,
        ]  # fmt: skip
        assert [row["valid_edges"], row["denied_edges"], row["contradictory_edges"]] == [
            len(valid), len(invalid - valid), len(valid & invalid),
        ]  # fmt: skip


def test_each_relation_is_linted_with_cycles_made_one_node() -> None:
    clash = measured(("h", NOUN, "dog", "Animal", True), ("h", NOUN, "cat", "animal", True))
    edges = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "(root)"), ("a", "(root)")]
    short = hypernyms(*((*edge, True) for edge in edges))

    assert clash["graph_lint"].select("rule", "n", "first").rows() == [
        ("title_clash", 1, ["Animal", "animal"])
    ]
    assert short["graph_lint"].select("rule", "n").rows() == [("redundant_edge", 1)]
