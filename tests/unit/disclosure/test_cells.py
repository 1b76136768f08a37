"""Cells and sets of labels, on a hierarchy of a few nodes."""

from __future__ import annotations

import pytest

from audit.disclosure import Cell, Release, carried, labelled, labels_at
from audit.disclosure.cells import LabelSet

OF = Release(
    labelled=60,
    assertions=70,
    parents={
        "a": ("left",),
        "other": ("left",),
        "shared": ("left", "right"),
        "left": ("top",),
        "right": ("top",),
    },
    supports={"a": 10, "other": 10, "shared": 10, "left": 40, "right": 30, "top": 60},
    labels={"a": 2, "left": 1, "other": 2, "right": 1, "shared": 2},
    residual=frozenset({"other"}),
)


@pytest.mark.parametrize(
    ("label_set", "labels"),
    [
        (("at", "left"), {"left"}),
        (("at", "top"), set()),
        (("below", "left"), {"a", "left", "other", "shared"}),
        (("below", "a"), {"a"}),
        (("strictly_below", "left"), {"a", "other", "shared"}),
        (("specific", "left"), {"a", "shared"}),
        (("informative", "top"), {"a", "other", "right", "shared"}),
        (("depth", "1"), {"left", "right"}),
        (("below", "unknown"), set()),
    ],
)
def test_labels_that_a_set_holds(label_set: LabelSet, labels: set[str]) -> None:
    held = OF.members(label_set)

    assert {label for label, is_in in zip(OF.labels, held, strict=True) if is_in} == labels


def test_labels_of_a_depth_are_part_of_all_labels_and_others_of_all_instances() -> None:
    assert OF.total(labels_at(1)) == 70
    assert OF.total(carried("a")) == OF.total(Cell((("at", "a"),), of_labels=False)) == 60


def test_a_label_without_labels_below_is_its_node() -> None:
    assert OF.same(labelled("a")) == carried("a")
    assert OF.same(labelled("left")) == labelled("left")
    assert OF.same(Cell((("at", "a"), ("at", "right")), (("at", "shared"),))) == Cell(
        (("at", "right"), ("below", "a")), (("below", "shared"),)
    )


def test_children_in_use_and_what_lies_above() -> None:
    assert OF.children == {
        "left": ["a", "other", "shared"],
        "right": ["shared"],
        "top": ["left", "right"],
    }
    assert OF.at_or_above("shared") == {"shared", "left", "right", "top"}
    assert (OF.root, OF.uninformative) == ("top", {"left"})
