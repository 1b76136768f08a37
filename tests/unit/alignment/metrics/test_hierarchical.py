"""Precision, recall and F1 with ancestors, worked by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from audit.alignment.metrics.accuracy import HierarchicalScores
from audit.alignment.metrics.streaming import Estimate, whole
from audit.base.dag import Sparse
from audit.hierarchies.hierarchy import Hierarchy

SHARES = ((2, 3, 4), (1, 2, 3), (1, 1, 1), (2, 2, 2))
"""Of each instance: in both sets, predicted, given; all with ancestors, without the root."""


def values(found: Mapping[str, Estimate]) -> list[float | None]:
    return [found[f"hierarchical_{name}"].value for name in ("precision", "recall", "f1")]


def test_micro_sums_before_it_divides(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse
) -> None:
    found = whole(HierarchicalScores("micro", None), toy_hierarchy, gold, scores)

    assert values(found) == pytest.approx([6 / 8, 6 / 10, 12 / 18], abs=1e-15)


def test_macro_divides_before_it_averages(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse
) -> None:
    found = whole(HierarchicalScores("macro", None), toy_hierarchy, gold, scores)
    by_instance = [(b / p, b / g, 2 * b / (p + g)) for b, p, g in SHARES]

    assert values(found) == pytest.approx([sum(c) / 4 for c in zip(*by_instance, strict=True)])


def test_a_threshold_takes_every_node_at_or_above_it(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    scores = array([{"cow": 0.5, "tool": 0.6, "bird": 0.49}])
    found = whole(HierarchicalScores("micro", 0.5), toy_hierarchy, array([{"cow": 1}]), scores)

    assert values(found) == pytest.approx([3 / 4, 3 / 3, 6 / 7])
