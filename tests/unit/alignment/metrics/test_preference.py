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


def test_a_mask_of_another_shape_is_refused(toy_hierarchy: Hierarchy, scores: Sparse) -> None:
    with pytest.raises(SchemaError, match="mask of shape"):
        preferred(toy_hierarchy, scores, scores[:1], scores[:1])
