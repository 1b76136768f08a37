"""The paper's levels, named subgraphs and stated queries, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.model import Predicted, model_metrics
from audit.alignment.metrics.queries import Query
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.rules import BehaviourQuery, Subgraph
from fixtures import brute_force as plain
from fixtures import brute_force_metrics as oracle
from fixtures.examples import examples
from tests.property.test_metric_laws import Model, models

PAPER = ("accuracy", "accuracy_alignment", "recovered", "lost", "uncertainty_alignment",
         "abstraction_match")  # fmt: skip


def measured(model: Model, *, single_label: bool, **options: Any) -> list[dict[str, Any]]:
    units = [str(i) for i in range(len(model))]
    every = Batch(model.hierarchy, model.gold, model.scores, units)
    found = model_metrics(every, Predicted(single_label, set_valued=False), scopes=(), **options)
    return [*found.measured, *found.beside]


def paper_cut(parents: Mapping[str, set[str]], at: int) -> set[str]:
    """Nodes of a level but the root, of those above each other the topmost."""
    top = oracle.root(parents)
    here = {node for node in parents if node != top and oracle.level(parents, node) == at}
    return {node for node in here if not plain.above(parents, node) & here}


@examples(40)
@given(models())
def test_the_paper_s_levels_lead_from_the_leaves_to_below_the_root(model: Model) -> None:
    found = measured(model, single_label=True, levels="paper")

    parents = model.parents
    top = oracle.root(parents)
    highest = max((oracle.level(parents, node) for node in parents if node != top), default=0)
    told = {
        (row["name"], row["parameters"].get("level_from"), row["parameters"]["level_to"]): row
        for row in found
        if row["name"] in PAPER
    }
    moves = {(1, to) for to in range(2, highest + 1)} | {(at, at + 1) for at in range(1, highest)}
    assert {key[1:] for key in told if key[0] == "lost"} == moves
    for at in range(1, highest + 1):
        expected = oracle.accuracy(parents, paper_cut(parents, at), model.golds, model.predicted)
        row = told["accuracy", None, at]
        assert (row["value"], row["n"]) == (
            pytest.approx(expected["accuracy"][0]),
            expected["accuracy"][1],
        )
    for low, high in moves:
        cuts = paper_cut(parents, low), paper_cut(parents, high)
        net = oracle.accuracy_alignment(parents, *cuts, model.golds, model.predicted)
        value, n = net["accuracy_alignment"]
        row = told["accuracy_alignment", low, high]
        assert (row["value"], row["n"]) == (pytest.approx(value), n)


@examples(60)
@given(models(), st.data())
def test_each_two_subgraphs_are_compared_in_either_order(model: Model, data: st.DataObject) -> None:
    some = st.sets(st.sampled_from(model.hierarchy.nodes), min_size=1, max_size=3)
    named = {name: (data.draw(some), data.draw(st.booleans())) for name in "ABC"}
    parts = [Subgraph(name=n, nodes=tuple(sorted(s)), below=b) for n, (s, b) in named.items()]
    rows = {
        (
            row["name"],
            row["parameters"]["subgraphs"][0][0],
            row["parameters"]["subgraphs"][1][0],
        ): row
        for row in measured(model, single_label=False, subgraphs=parts)
        if "subgraphs" in row["parameters"]
    }

    assert len(rows) == 2 * 6
    for first, second in permutations(named, 2):
        wins, ties, n = naive(model, nodes(model, *named[first]), nodes(model, *named[second]))
        share = rows["subgraph_preference", first, second]
        assert (share["value"], share["n"]) == (wins / n if n else None, n)
        assert rows["ties", first, second]["value"] == ties


def nodes(model: Model, named: set[str], below: bool) -> set[str]:
    if not below:
        return named
    return set().union(*(plain.at_or_below(model.parents, node) for node in named))


def naive(model: Model, first: set[str], second: set[str]) -> tuple[int, int, int]:
    wins = ties = n = 0
    for line in model.predicted:
        left = [line[node] for node in first if node in line]
        right = [line[node] for node in second - first if node in line]
        if left and right:
            n += 1
            wins += max(left) > max(right)
            ties += max(left) == max(right)
    return wins, ties, n


BOUNDS = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda two: (min(two), max(two)))
SHARES = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda two: (min(two), max(two)))


@st.composite
def queries(draw: st.DrawFn) -> BehaviourQuery:
    kinds = {"leaves": BOUNDS, "nodes": BOUNDS, "largest_leaf": SHARES, "largest_node": SHARES}
    chosen = draw(st.sets(st.sampled_from(sorted(kinds)), min_size=1))
    stated = {name: draw(kinds[name]) for name in sorted(chosen)}
    least = draw(st.sampled_from((0.01, 0.125, 0.5)))
    return BehaviourQuery(name="own", at_least=least, depth=draw(st.integers(0, 3)), **stated)


@examples(80)
@given(models(), queries())
def test_a_stated_query_is_met_where_counting_by_hand_says_so(
    model: Model, query: BehaviourQuery
) -> None:
    found = Query(query).matches(model.scores, model.hierarchy).tolist()

    assert found == [
        by_hand(model.hierarchy, model.parents, line, query) for line in model.predicted
    ]


def by_hand(
    hierarchy: Hierarchy,
    parents: Mapping[str, set[str]],
    line: Mapping[str, float],
    query: BehaviourQuery,
) -> bool:
    total = math.fsum(line.values())
    if not total:
        return False
    mass = {
        n: math.fsum(line.get(x, 0) for x in plain.at_or_below(parents, n)) / total for n in parents
    }
    leaves = [line.get(n, 0) / total for n in parents if not oracle.children(parents, n)]
    at_depth = [mass[n] for n in parents if oracle.depth(parents, n) == query.depth]
    count = {"leaves": [v for v in leaves if v >= query.at_least],
             "nodes": [v for v in at_depth if v >= query.at_least]}  # fmt: skip
    found = {
        "leaves": len(count["leaves"]),
        "nodes": len(count["nodes"]),
        "largest_leaf": max(count["leaves"], default=0),
        "largest_node": max(count["nodes"], default=0),
    }
    return all(low <= found[name] <= high for name, (low, high) in query.conditions.items())
