"""Preference between subgraphs given as masks, a row an instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from audit.alignment.metrics.preference import SubgraphPreference
from audit.alignment.metrics.streaming import Estimate, whole
from audit.base.dag import Sparse
from audit.base.errors import SchemaError
from audit.hierarchies.hierarchy import Hierarchy


def preferred(
    hierarchy: Hierarchy,
    scores: Sparse,
    first: Sparse,
    second: Sparse,
) -> Mapping[str, Estimate]:
    return whole(SubgraphPreference(first, second), hierarchy, None, scores)


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
