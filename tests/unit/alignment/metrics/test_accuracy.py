"""Accuracy and its alignment, worked by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from audit.alignment.metrics.accuracy import Accuracy, AccuracyAlignment
from audit.alignment.metrics.streaming import whole
from audit.base.dag import Sparse
from audit.base.errors import SchemaError
from audit.engine.scores.cuts import Cut
from audit.hierarchies.hierarchy import Hierarchy


@pytest.mark.parametrize(("depth", "right", "ties"), [(1, 3, 1), (2, 2, 1), (3, 2, 0), (0, 4, 0)])
def test_accuracy_at_each_depth(
    toy_hierarchy: Hierarchy,
    gold: Sparse,
    scores: Sparse,
    at: Callable[[int], Cut],
    depth: int,
    right: int,
    ties: int,
) -> None:
    found = whole(Accuracy(at(depth)), toy_hierarchy, gold, scores)

    assert (found["accuracy"].value, found["accuracy"].n) == (right / 4, 4)
    assert found["ties"].value == ties


@pytest.mark.parametrize(
    ("fine", "coarse", "net", "recovered", "lost"),
    [(3, 2, 0 / 2, 1 / 2, 1 / 2), (3, 1, 1 / 2, 2 / 2, 1 / 2), (2, 1, 1 / 2, 1 / 2, 0 / 2)],
)
def test_alignment_between_depths(
    toy_hierarchy: Hierarchy,
    gold: Sparse,
    scores: Sparse,
    at: Callable[[int], Cut],
    fine: int,
    coarse: int,
    net: float,
    recovered: float,
    lost: float,
) -> None:
    found = whole(AccuracyAlignment(at(fine), at(coarse)), toy_hierarchy, gold, scores)

    assert found["accuracy_alignment"].value == net
    assert found["recovered"].value == recovered
    assert found["lost"].value == lost
    assert {e.n for e in found.values()} == {2}


def test_alignment_is_negative_where_more_is_lost_than_recovered(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse], at: Callable[[int], Cut]
) -> None:
    gold = array([{"bird": 1}, {"tool": 1}, {"tool": 1}])
    scores = array([{"tool": 1}] + [{"cow": 0.375, "dog": 0.25, "tool": 0.375 + 1 / 64}] * 2)
    found = whole(AccuracyAlignment(at(3), at(2)), toy_hierarchy, gold, scores)

    assert found["accuracy_alignment"].value == -2 / 1
    assert found["lost"].value == 2 / 1


def test_shapes_that_do_not_fit_are_refused(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    with pytest.raises(SchemaError, match=r"gold \(3, 8\), scores \(4, 8\)"):
        whole(Accuracy(at(3)), toy_hierarchy, gold[:3], scores)
