"""Preference between subgraphs, worked by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from audit.alignment.metrics.preference import On, SubgraphPreference
from audit.alignment.metrics.streaming import Estimate, whole
from audit.base.dag import Sparse
from audit.base.errors import SchemaError
from audit.hierarchies.hierarchy import Hierarchy


def nodes(hierarchy: Hierarchy, *names: str) -> np.ndarray:
    return np.array([hierarchy.index(name) for name in names], np.int64)


def preferred(
    hierarchy: Hierarchy,
    scores: Sparse,
    first: np.ndarray | Sparse,
    second: np.ndarray | Sparse,
    on: On = "values",
) -> Mapping[str, Estimate]:
    return whole(SubgraphPreference(first, second, on), hierarchy, None, scores)


def test_strict_with_ties_apart(toy_hierarchy: Hierarchy, array: Callable[..., Sparse]) -> None:
    scores = array([{"cow": 0.5, "tool": 0.25}, {"cow": 0.25, "tool": 0.25}, {"cow": 0, "tool": 1}])
    sides = nodes(toy_hierarchy, "cow"), nodes(toy_hierarchy, "tool")
    found = preferred(toy_hierarchy, scores, *sides)

    assert (found["subgraph_preference"].value, found["subgraph_preference"].n) == (1 / 3, 3)
    assert found["ties"].value == 1


def test_the_second_side_is_taken_without_the_first(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    scores = array([{"cow": 0.5, "tool": 0.25}])
    sides = nodes(toy_hierarchy, "cow"), nodes(toy_hierarchy, "tool", "cow")

    assert preferred(toy_hierarchy, scores, *sides)["subgraph_preference"].value == 1


def test_an_instance_without_a_word_on_one_side_is_left_out(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    scores = array([{"cow": 0.5}, {"tool": 0.5}, {"cow": 0.5, "tool": 0.0}, {}])
    sides = nodes(toy_hierarchy, "cow", "dog"), nodes(toy_hierarchy, "tool")
    found = preferred(toy_hierarchy, scores, *sides)["subgraph_preference"]

    assert (found.value, found.n) == (1, 1)


def test_each_instance_may_have_its_own_subgraphs(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    scores = array([{"cow": 0.5, "tool": 0.25}] * 2)
    first, second = array([{"cow": 1}, {"tool": 1}]), array([{"tool": 1}, {"cow": 1}])
    found = preferred(toy_hierarchy, scores, first, second)["subgraph_preference"]

    assert (found.value, found.n) == (1 / 2, 2)


def test_aggregated_values_bring_the_words_below(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    scores = array([{"cow": 0.25, "bird": 0.25, "tool": 0.375}])
    sides = nodes(toy_hierarchy, "animal"), nodes(toy_hierarchy, "tool")

    assert preferred(toy_hierarchy, scores, *sides)["subgraph_preference"].n == 0
    found = preferred(toy_hierarchy, scores, *sides, on="aggregated")
    assert found["subgraph_preference"].value == 1


@pytest.mark.parametrize(("first", "second"), [("mammal", "dog"), ("dog", "mammal")])
def test_aggregated_values_of_a_node_and_its_ancestor_are_refused(
    toy_hierarchy: Hierarchy, scores: Sparse, first: str, second: str
) -> None:
    sides = nodes(toy_hierarchy, first), nodes(toy_hierarchy, second)
    with pytest.raises(SchemaError, match="'mammal' of one side is an ancestor"):
        preferred(toy_hierarchy, scores, *sides, on="aggregated")


def test_a_mask_of_another_shape_is_refused(toy_hierarchy: Hierarchy, scores: Sparse) -> None:
    with pytest.raises(SchemaError, match="mask of shape"):
        preferred(toy_hierarchy, scores, scores[:1], scores[:1])


def test_with_units_there_is_an_interval(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    scores = array([{"cow": 0.5, "tool": 0.25}, {"cow": 0.25, "tool": 0.5}] * 50)
    sides = nodes(toy_hierarchy, "cow"), nodes(toy_hierarchy, "tool")
    units = [f"q{i}" for i in range(100)]
    found = whole(
        SubgraphPreference(*sides), toy_hierarchy, None, scores, units=units, replicates=200
    )
    low, high = found["subgraph_preference"].low, found["subgraph_preference"].high

    assert low is not None
    assert high is not None
    assert 0.35 < low < 0.45 < 0.55 < high < 0.65
