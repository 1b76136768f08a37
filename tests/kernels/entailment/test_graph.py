"""The graph of an entailment dataset, against networkx and plain Python over its tuples."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import networkx as nx
import polars as pl
import pytest
from hypothesis import given

from audit.analyses.entailment.dataset import ENTAILS, EVENT, HYPERNYM, NOUN, VERB
from audit.analyses.entailment.declared import TABLES
from audit.analyses.entailment.shape import measure_graph, says_nothing
from fixtures.drawn_tuples import drawn_tuples
from fixtures.entailed_release import Stated, stated
from fixtures.examples import examples

Edge = tuple[str, str]


def measured(*rows: Stated) -> dict[str, pl.DataFrame]:
    return measure_graph(stated(rows).tuples)


def hypernyms(*edges: tuple[str, str, bool]) -> dict[str, pl.DataFrame]:
    return measured(*((a, HYPERNYM, a, b, valid) for a, b, valid in edges))


def edges_of(
    rows: list[Stated], relation: str, head: str | None = None
) -> tuple[set[Edge], set[Edge]]:
    """Edges stated as valid, and as invalid, of a relation, or of it under one head."""
    chosen = [r for r in rows if r[1] == relation and r[2] != r[3] and head in (None, r[0])]
    valid, invalid = ({r[2:4] for r in chosen if r[4] == answer} for answer in (True, False))
    return valid, invalid


def contexts(rows: list[Stated], relation: str) -> list[str | None]:
    return [None] if relation == ENTAILS else [*sorted({row[0] for row in rows})]


def graph_of(edges: set[Edge]) -> nx.DiGraph[str]:
    return nx.DiGraph(sorted(edges))


def components(edges: set[Edge]) -> list[set[str]]:
    return [c for c in nx.strongly_connected_components(graph_of(edges)) if len(c) > 1]


def one_way_cycle(edges: set[Edge], among: set[str]) -> int:
    """Length of a shortest cycle with an edge in one direction only; 0 if there is none."""
    cycles = nx.simple_cycles(graph_of(edges).subgraph(among))
    lengths = [len(c) for c in cycles if any((b, a) not in edges for a, b in pairwise([*c, c[0]]))]
    return min(lengths, default=0)


def test_the_example_of_the_specification() -> None:
    graph = hypernyms(("a", "b", True), ("b", "c", True), ("c", "a", True), ("a", "c", False))

    assert graph["graph_components"]["cycle"].to_list() == [["a", "b", "c", "a"]]
    assert graph["graph_contradictions"].select("instance", "concept", "kind").rows() == [
        ("a", "c", "cycle")
    ]
    assert graph["graph_violations"].select("instance", "through", "concept").rows() == [
        ("a", "b", "c")
    ]
    assert graph["graph_redundant"].is_empty()
    assert graph["graph_lint"].is_empty()


@pytest.mark.parametrize("empty", [True, False])
def test_tables_have_the_columns_that_are_declared(empty: bool) -> None:
    rows = [] if empty else [("h", NOUN, a, b, v) for a, b in product("abc", "abc") for v in (0, 1)]
    graph = measured(*((*row[:4], bool(row[4])) for row in rows))

    for name in graph.keys() & TABLES.keys():
        assert dict(graph[name].schema) == TABLES[name].columns.types, name


@examples(25)
@given(drawn_tuples())
def test_components_and_their_cycles_are_those_of_networkx(rows: list[Stated]) -> None:
    graph = measured(*rows)
    for relation in (NOUN, ENTAILS):
        valid, _ = edges_of(rows, relation)
        expected = {min(members): members for members in components(valid)}
        found = graph["graph_components"].filter(relation=relation)

        assert set(found["first"]) == set(expected)
        for row in found.iter_rows(named=True):
            members = expected[row["first"]]
            inside = {(a, b) for a, b in valid if {a, b} <= members}
            assert row["texts"] == len(members)
            assert row["edges"] == len(inside)
            assert row["synonyms"] == all((b, a) in valid for a, b in inside)
            assert_cycle(rows, relation, row, members)


def assert_cycle(
    rows: list[Stated], relation: str, row: dict[str, object], members: set[str]
) -> None:
    """The cycle is a shortest one of one context if there is one, else of all; 2 for synonyms."""
    cycle = row["cycle"]
    assert isinstance(cycle, list)
    within = {
        head: length
        for head in contexts(rows, relation)
        if (length := one_way_cycle(edges_of(rows, relation, head)[0], members))
    }
    valid, _ = edges_of(rows, relation)
    shortest = min(within.values()) if within else one_way_cycle(valid, members) or 2
    walked = set(pairwise(cycle))
    heads = [head for head in within if walked <= edges_of(rows, relation, head)[0]]

    assert row["one_context"] == bool(within)
    assert cycle[0] == cycle[-1]
    assert len(cycle) - 1 == len(walked) == len(set(cycle)) == shortest
    assert walked <= valid
    assert not within or row["head"] in heads


def contradictions(rows: list[Stated], relation: str, head: str | None) -> set[tuple[str, ...]]:
    valid, invalid = edges_of(rows, relation, head)
    both = {(relation, *edge, "edge") for edge in valid & invalid}
    together = [
        (relation, *edge, "cycle")
        for edge in invalid - valid
        for members in components(valid)
        if set(edge) <= members
    ]
    return both | set(together)


@examples(25)
@given(drawn_tuples())
def test_contradictions_are_all_there_are(rows: list[Stated]) -> None:
    table = measured(*rows)["graph_contradictions"].select(
        "relation", "instance", "concept", "kind", "one_context"
    )
    expected = set()
    for relation in (NOUN, ENTAILS):
        within = set().union(
            *(contradictions(rows, relation, head) for head in contexts(rows, relation))
        )
        expected |= {(*one, one in within) for one in contradictions(rows, relation, None)}

    assert set(table.iter_rows()) == expected
    assert len(table) == len(expected)


def violations(rows: list[Stated], relation: str, head: str | None) -> dict[Edge, set[str]]:
    """The texts between the ends of each denied edge that follows from two valid ones."""
    valid, invalid = edges_of(rows, relation, head)
    found = {(a, c): {b for b in "abcde" if {(a, b), (b, c)} <= valid} for a, c in invalid - valid}
    return {edge: between for edge, between in found.items() if between}


@examples(25)
@given(drawn_tuples())
def test_violations_are_all_there_are(rows: list[Stated]) -> None:
    graph = measured(*rows)
    for relation in (NOUN, ENTAILS):
        expected = violations(rows, relation, None)
        within: dict[Edge, dict[str | None, set[str]]] = {}
        for head in contexts(rows, relation):
            for edge, between in violations(rows, relation, head).items():
                within.setdefault(edge, {})[head] = between
        found = graph["graph_violations"].filter(relation=relation)

        assert {(r["instance"], r["concept"]) for r in found.to_dicts()} == set(expected)
        for row in found.iter_rows(named=True):
            edge = row["instance"], row["concept"]
            assert row["chains"] == len(expected[edge])
            assert row["one_context"] == (edge in within)
            own = within.get(edge, {None: expected[edge]})
            first = next(iter(own))
            assert (row["head"], row["through"]) == (first, min(own[first]))


def test_a_violation_under_one_head_goes_through_what_is_between_there() -> None:
    edges = [("h", "ac"), ("h", "ce"), ("g", "ab"), ("g", "be")]
    rows = [(head, NOUN, *ends, True) for head, ends in edges]
    (row,) = measured(*rows, ("h", NOUN, "a", "e", False))["graph_violations"].to_dicts()

    assert (row["head"], row["through"], row["chains"]) == ("h", "c", 2)


@examples(25)
@given(drawn_tuples())
def test_every_chain_is_valid_denied_or_open(rows: list[Stated]) -> None:
    graph = measured(*rows)
    for row in graph["graph_relations"].iter_rows(named=True):
        valid, invalid = edges_of(rows, row["relation"])
        chains = [(a, c) for (a, b), (start, c) in product(valid, valid) if b == start and a != c]
        assert row["chains"] == len(chains)
        assert row["chains_valid"] == sum(chain in valid for chain in chains)
        assert row["chains_denied"] == sum(chain in invalid - valid for chain in chains)
        assert row["chains_open"] == sum(chain not in valid | invalid for chain in chains)


def condensation(valid: set[Edge]) -> tuple[nx.DiGraph[str], dict[str, str]]:
    """The condensed graph, whose nodes are the first texts, and the first text of each."""
    graph = graph_of(valid)
    first = {t: min(c) for c in nx.strongly_connected_components(graph) for t in c}
    condensed: nx.DiGraph[str] = nx.DiGraph()
    condensed.add_nodes_from(first.values())
    condensed.add_edges_from((first[a], first[b]) for a, b in valid if first[a] != first[b])
    return condensed, first


@examples(25)
@given(drawn_tuples())
def test_redundant_edges_are_what_the_transitive_reduction_leaves_out(rows: list[Stated]) -> None:
    table = measured(*rows)["graph_redundant"]
    for relation in (NOUN, ENTAILS):
        valid, _ = edges_of(rows, relation)
        acyclic = graph_of(valid)
        acyclic.remove_nodes_from({t for c in components(valid) for t in c})
        kept = set(nx.transitive_reduction(acyclic).edges)
        found = table.filter(relation=relation)

        assert set(found.select("instance", "concept").iter_rows()) == set(acyclic.edges) - kept
        for child, through, parent in found.select("instance", "through", "concept").iter_rows():
            assert acyclic.has_edge(child, through)
            assert nx.has_path(acyclic, through, parent)
            assert through not in (child, parent)


def test_an_edge_that_closes_a_cycle_makes_no_other_edge_redundant() -> None:
    sound = [("w", "v"), ("v", "c"), ("w", "c"), ("w", "d"), ("a", "b"), ("b", "c"), ("a", "d")]
    graph = hypernyms(*((*edge, True) for edge in sound), ("c", "a", True))

    assert len(graph["graph_components"]) == 1
    assert graph["graph_redundant"].is_empty()


@examples(25)
@given(drawn_tuples())
def test_depth_and_branching_are_those_of_the_condensation(rows: list[Stated]) -> None:
    graph = measured(*rows)
    for row in graph["graph_relations"].iter_rows(named=True):
        relation = row["relation"]
        valid, invalid = edges_of(rows, relation)
        condensed, _ = condensation(valid)
        condensed.add_nodes_from({t for e in invalid for t in e} - {t for e in valid for t in e})
        depth = {t: depth_of(condensed, t) for t in condensed}
        children = dict(condensed.in_degree())
        parents = dict(condensed.out_degree())
        for measure, values in (("depth", depth), ("children", children), ("parents", parents)):
            own = graph["graph_shape"].filter(relation=relation, measure=measure)
            assert dict(own.select("value", "texts").iter_rows()) == Counter(values.values())
        assert row["tops"] == sum(n == 0 for n in parents.values())
        assert row["leaves"] == sum(n == 0 for n in children.values())
        assert row["deepest"] == max(depth.values(), default=0)


def depth_of(graph: nx.DiGraph[str], text: str) -> int:
    return max((1 + depth_of(graph, above) for above in graph.successors(text)), default=0)


def test_relations_stand_in_report_order_with_every_tuple() -> None:
    graph = measured(
        ("a", ENTAILS, "a", "b", True),
        ("e", EVENT, "e", "f", True),
        ("h", VERB, "v", "v", True),
        ("h", NOUN, "a", "b", False),
    )

    assert graph["graph_relations"].select("relation", "tuples", "self_edges", "edges").rows() == [
        (NOUN, 1, 0, 1), (VERB, 1, 1, 0), (EVENT, 1, 0, 1), (ENTAILS, 1, 0, 1),
    ]  # fmt: skip


def test_texts_that_differ_in_case_alone_are_told_by_the_lint_of_the_hierarchy() -> None:
    graph = measured(("h", NOUN, "dog", "Animal", True), ("h", NOUN, "cat", "animal", True))

    assert graph["graph_lint"].select("relation", "rule", "n", "first").rows() == [
        (NOUN, "title_clash", 1, ["Animal", "animal"])
    ]


def test_a_text_called_as_the_synthetic_root_is_a_text_like_others() -> None:
    graph = hypernyms(("(root)", "a", True), ("b", "(root)", True), ("c", "d", True))

    assert graph["graph_relations"]["deepest"].to_list() == [2]


def test_pictures_show_the_edges_among_a_dozen_texts_around_a_finding() -> None:
    ring = [("h", NOUN, f"n{i:02}", f"n{(i + 1) % 30:02}", True) for i in range(30)]
    graph = measured(*ring)
    pictures = (
        graph["graph_neighbourhoods"]
        .group_by("finding")
        .agg(texts=pl.concat_list("child", "parent").explode().n_unique(), edges=pl.len())
    )

    assert pictures.select("finding", "texts").rows() == [("cycle:Noun-Entail:n00", 12)]
    assert (pictures["edges"] >= 11).all()


def test_concepts_stand_by_their_edges_and_words_that_name_nothing_are_told() -> None:
    rows = [("h", NOUN, a, b, True) for a, b in ("at", "bt", "cs", "ds")] + [
        ("h", NOUN, "a", "x", True)
    ]
    found = measured(*rows)["graph_concepts"]

    assert found.select("concept", "edges", "of").rows() == [("s", 2, 5), ("t", 2, 5), ("x", 1, 5)]
    assert found["share"].to_list() == [0.4, 0.4, 0.2]
    assert all(map(says_nothing, ("thing", "some things", "other activities", "something")))
    assert not any(map(says_nothing, ("wild thing", "outdoor activity", "dog")))
