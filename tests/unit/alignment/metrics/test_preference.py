"""Preference between subgraphs, worked by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.measures import subgraph_preference
from audit.alignment.metrics.streaming import Row, Stream
from audit.base.dag import Sparse
from audit.hierarchies.hierarchy import Hierarchy


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


def test_the_second_side_is_taken_without_the_first(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    scores = array([{"cow": 0.5, "tool": 0.25}])
    sides = nodes(toy_hierarchy, "cow"), nodes(toy_hierarchy, "tool", "cow")

    assert preferred(toy_hierarchy, scores, *sides)["subgraph_preference"]["value"] == 1


def test_an_instance_without_a_word_on_one_side_is_left_out(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    scores = array([{"cow": 0.5}, {"tool": 0.5}, {"cow": 0.5, "tool": 0.25}, {}])
    sides = nodes(toy_hierarchy, "cow", "dog"), nodes(toy_hierarchy, "tool")
    found = preferred(toy_hierarchy, scores, *sides)["subgraph_preference"]

    assert (found["value"], found["n"]) == (1, 1)
