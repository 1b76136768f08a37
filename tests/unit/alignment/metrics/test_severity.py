"""Where mistakes and labels meet, worked by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from audit.alignment.metrics.accuracy import MistakeSeverity
from audit.alignment.metrics.streaming import whole
from audit.base.dag import Sparse
from audit.hierarchies.hierarchy import Hierarchy


def test_mean_height_over_mistakes(toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse) -> None:
    found = whole(MistakeSeverity(), toy_hierarchy, gold, scores)["mistake_severity"]

    assert (found.value, found.n) == ((1 + 2) / 2, 2)  # cow for dog: mammal; bird for cow: animal


@pytest.mark.parametrize(
    ("predicted", "label", "height"),
    [("tool", "dog", 3), ("pet", "dog", 1), ("dog", "animal", 2), ("pet", "cow", 3)],
)
def test_one_mistake(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse], predicted: str, label: str, height: int
) -> None:
    found = whole(MistakeSeverity(), toy_hierarchy, array([{label: 1}]), array([{predicted: 0.5}]))

    assert found["mistake_severity"].value == height


def test_of_several_labels_the_nearest_counts(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    found = whole(
        MistakeSeverity(), toy_hierarchy, array([{"tool": 1, "dog": 1}]), array([{"cow": 1}])
    )

    assert found["mistake_severity"].value == 1


def test_no_mistakes_no_labels_and_no_answers_are_undefined(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    gold = array([{"cow": 1}, {}, {"dog": 1}])
    found = whole(MistakeSeverity(), toy_hierarchy, gold, array([{"cow": 1}, {"cow": 1}, {}]))

    assert (found["mistake_severity"].value, found["mistake_severity"].n) == (None, 0)
