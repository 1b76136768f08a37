"""The graph of an entailment dataset by networkx, and elements that do not fit, by plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, pairwise, product

import networkx as nx
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.dataset import ENTAILS, EVENT, HYPERNYM, NOUN, VERB
from audit.analyses.entailment.elements import mismatched, misplaced, shared_keys
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
    both = hypernyms(("a", "b", True), ("a", "b", False), ("c", "d", True))
    drawn = both["graph_neighbourhoods"].select("child", "parent", "valid", "invalid").rows()
    assert drawn == [("a", "b", 1, 1)]


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


def misfits(relation: str, head: str, instance: str, concept: str, tail: str) -> pl.DataFrame:
    tuples = stated([(head, relation, instance, concept, True)])
    found = mismatched(tuples.with_columns(tail=pl.lit(tail)))
    return found.select("fault", "proposed", "column")


TAILS = [
    (NOUN, "a dog barks", "dog", "animal", "an animal barks", None, None),
    (NOUN, "A Dog  barks", "dog", "pet", "a pet barks", None, None),
    (
        NOUN,
        "the cattle and the cat sleep",
        "cat",
        "pet",
        "the cattle and the pet sleep",
        None,
        None,
    ),
    (NOUN, "a c+ (x barks", "c+ (x", "pet", "a pet barks", None, None),
    (NOUN, "dogs bark", "dog", "pet", "pets bark", None, None),
    (NOUN, "a dog barks", "dog", "pet", "a pet sings", "tail_differs", "a pet barks"),
    (NOUN, "a Dog barks", "dog", "pet", "a Dog barks", "tail_repeats_head", "a pet barks"),
    (NOUN, "a dog barks", "cow", "pet", "a dog barks", "head_lacks_instance", None),
    (NOUN, "cattle and a cat", "cat", "pet", "x", "tail_differs", "cattle and a pet"),
    (NOUN, "a cat barks", "c.t", "pet", "a pet barks", "head_lacks_instance", None),
    (VERB, "he takes it", "take", "moves", "he moves it", "head_lacks_instance", None),
    (NOUN, "A cow lows", "cow", "animal", "A cow lows", "tail_repeats_head", "An animal lows"),
    (NOUN, "tuna cow", "cow", "animal", "x", "tail_differs", "tuna animal"),
    (NOUN, "a dog barks", "dog", r"\1", "x", "tail_differs", r"a \1 barks"),
    (EVENT, "a dog barks", "a dog", "noise", "noise", "instance_not_head", "a dog barks"),
    (EVENT, "a dog barks", "a dog barks", "noise", "noises", "tail_not_concept", "noise"),
]
"""Relation, head, instance, concept, tail; the fault, if there is one, and what would fit."""


def test_a_tail_fits_or_is_told_with_what_would_fit() -> None:
    for row in TAILS:
        *elements, fault, proposed = row
        column = "instance" if fault in ("head_lacks_instance", "instance_not_head") else "tail"
        assert misfits(*elements).rows() == ([] if fault is None else [(fault, proposed, column)])


WORDS = st.lists(st.sampled_from(["a", "an", "dog", "do", "g", "owl"]), min_size=1, max_size=5)
TEXTS = WORDS.map(" ".join)


@given(head=TEXTS, instance=TEXTS, concept=TEXTS, tail=TEXTS)
def test_a_tail_fits_if_and_only_if_a_mention_is_replaced(
    head: str, instance: str, concept: str, tail: str
) -> None:
    def plain(text: str) -> list[str]:
        return ["a" if word == "an" else word for word in text.split(" ")]

    starts = [at for at in range(len(head)) if head.startswith(instance, at)]
    fitting = [head[:at] + concept + head[at + len(instance) :] for at in starts]
    fitting.append(head.replace(instance, concept))
    fits = bool(starts) and plain(tail) in map(plain, fitting)
    found = misfits(NOUN, head, instance, concept, tail)
    overlapping = len(starts) != head.count(instance)
    assert overlapping or found.is_empty() == fits
    for proposed in found["proposed"].drop_nulls():
        assert misfits(NOUN, head, instance, concept, proposed).is_empty()


SPLITS = ("train", "valid", "test", "extra")
KEYS = (st.sampled_from("gh"), st.sampled_from("ij"), st.sampled_from([*SPLITS, None]))


@given(st.lists(st.tuples(*KEYS), max_size=16))
def test_shared_keys_are_those_that_both_splits_hold(rows: list[tuple[str, str, str]]) -> None:
    tuples = stated((f"{h.upper()}  {h}", NOUN, i, "c", True) for h, i, _ in rows)
    tuples = tuples.with_columns(split=pl.Series([row[2] for row in rows], dtype=pl.String))
    table, astray = shared_keys(tuples), misplaced(tuples)

    held, splits = defaultdict(set), defaultdict(Counter)
    for *key, split in rows:
        if split is not None:
            held[split].add((*key,))
            splits[(*key,)][split] += 1
    assert table.select("split", "other", "keys", "shared").rows() == [
        (a, b, len(held[b]), len(held[a] & held[b]))
        for a, b in combinations([split for split in SPLITS if split in held], 2)
    ]
    assert astray.select("id", "home").rows() == [
        (f"t{n}", max(found, key=lambda one: (found[one], -SPLITS.index(one))))
        for n, (*key, split) in enumerate(rows)
        if split is not None and len(found := splits[(*key,)]) > 1
    ]
