"""Sums that stream and merge, their intervals, ties and kinds of behaviour."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.measures import accuracy, subgraph_preference
from audit.alignment.metrics.queries import Query
from audit.alignment.metrics.streaming import Row, Stream
from audit.base.dag import Sparse
from audit.engine.scores.cuts import Cut
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.rules import PUBLISHED
from audit.results.metric_list import ALL
from fixtures.labelled import tree


def many(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, copies: int, units: list[str]
) -> Batch:
    rows = [i for i in range(4) for _ in range(copies)]
    return Batch(toy_hierarchy, gold[rows], scores[rows], units)


def interval(hierarchy: Hierarchy, batch: Batch, cut: Cut, **options: int) -> tuple[float, float]:
    stream = Stream(hierarchy, [accuracy(cut)], **options)
    stream.update(batch)
    found = stream.compute()[0]
    return found["low"], found["high"]


def test_an_interval_is_about_as_wide_as_the_normal_one(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    batch = many(toy_hierarchy, gold, scores, 100, [f"u{i}" for i in range(400)])
    low, high = interval(toy_hierarchy, batch, at(3), replicates=1000)

    assert (low, high) == pytest.approx((0.5 - 0.049, 0.5 + 0.049), abs=0.01)


def test_repeats_of_a_group_are_not_more_evidence(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    alone = many(toy_hierarchy, gold, scores, 100, [f"u{i}" for i in range(400)])
    grouped = many(toy_hierarchy, gold, scores, 100, [f"g{i // 10}" for i in range(400)])
    narrow, wide = (interval(toy_hierarchy, batch, at(3)) for batch in (alone, grouped))

    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])


def test_a_seed_decides_the_interval(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    batch = many(toy_hierarchy, gold, scores, 10, [f"u{i}" for i in range(40)])
    first, again, other = (interval(toy_hierarchy, batch, at(3), seed=s) for s in (1, 1, 2))

    assert first == again != other


def test_scopes_hold_the_instances_labelled_at_or_below(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    stream = Stream(toy_hierarchy, [accuracy(at(2))], [ALL, "mammal", "pet", "dog"], replicates=0)
    stream.update(Batch(toy_hierarchy, gold, scores))
    found = {
        row["scope"]: (row["value"], row["n"])
        for row in stream.compute()
        if row["name"] == "accuracy"
    }

    assert found == {ALL: (2 / 4, 4), "mammal": (1 / 2, 2), "pet": (1 / 1, 1), "dog": (1 / 1, 1)}


def nodes(hierarchy: Hierarchy, *names: str) -> np.ndarray:
    return np.array([hierarchy.index(name) for name in names], np.int64)


def preferred(
    hierarchy: Hierarchy, scores: Sparse, first: np.ndarray, second: np.ndarray
) -> Mapping[str, Row]:
    stream = Stream(hierarchy, [subgraph_preference(first, second)], replicates=0)
    stream.update(Batch(hierarchy, scores, scores))
    return {row["name"]: row for row in stream.compute()}


def test_strict_with_ties_apart(toy_hierarchy: Hierarchy, array: Callable[..., Sparse]) -> None:
    scores = array([{"cow": 0.5, "tool": 0.25}, {"cow": 0.25, "tool": 0.25}, {"cow": 0, "tool": 1}])
    sides = nodes(toy_hierarchy, "cow"), nodes(toy_hierarchy, "tool")
    found = preferred(toy_hierarchy, scores, *sides)

    assert (found["subgraph_preference"]["value"], found["subgraph_preference"]["n"]) == (1 / 2, 2)
    assert found["ties"]["value"] == 1


def test_an_instance_without_a_word_on_one_side_is_left_out(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    scores = array([{"cow": 0.5}, {"tool": 0.5}, {"cow": 0.5, "tool": 0.25}, {}])
    sides = nodes(toy_hierarchy, "cow", "dog"), nodes(toy_hierarchy, "tool")
    found = preferred(toy_hierarchy, scores, *sides)["subgraph_preference"]

    assert (found["value"], found["n"]) == (1, 1)


WIDE = tree("a b c d < root", "a1 a2 < a", "b1 < b", "c1 < c", "d1 < d")


@pytest.mark.parametrize(
    ("name", "mass"),
    [
        ("contained", {"a1": 0.6, "a2": 0.395, "b1": 0.005}),
        ("confident", {"a1": 0.995, "a2": 0.005}),
        ("spread", {"a1": 0.96, "b1": 0.02, "c1": 0.01, "d1": 0.01}),
        ("split", {"a1": 0.5, "b1": 0.5}),
        (None, {"a1": 0.5, "a2": 0.25, "b1": 0.25}),
        (None, {"a1": 0.5, "b1": 0.3, "c1": 0.2}),
    ],
)
def test_the_four_names_of_figure_2_are_told_apart(
    name: str | None, mass: dict[str, float]
) -> None:
    values = csr_array([[mass.get(node, 0.0) for node in WIDE.nodes]])
    met = {one for one in PUBLISHED if Query(PUBLISHED[one]).matches(values, WIDE)[0]}

    assert met == ({name} if name else set())
    assert "leaves that count: at least 2, nodes" in Query(PUBLISHED["contained"]).words
