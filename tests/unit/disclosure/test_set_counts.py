"""What counts of instances and of labels tell of sets of labels, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from audit.disclosure import Cell, Release, carried, differing, labels_at, together
from audit.disclosure.label_sets import LabelSet
from audit.disclosure.set_counts import SetCounts

PARENTS = {
    **dict.fromkeys(("a", "b"), ("left",)),
    **dict.fromkeys(("c", "d"), ("right",)),
    **dict.fromkeys(("e",), ("other",)),
    **dict.fromkeys(("left", "right", "other"), ("top",)),
}
LABELS = ("a", "b", "c", "d", "e")
RELEASE = Release(
    labelled=90,
    assertions=120,
    parents=PARENTS,
    supports={**dict.fromkeys(LABELS, 24), **dict.fromkeys(("left", "right"), 40)},
    labels=dict.fromkeys(LABELS, 2),
    residual=frozenset(),
)
LEFT, RIGHT, OTHER = map(carried, ("left", "right", "other"))


def numbers(*labels: str) -> LabelSet:
    return frozenset(map(LABELS.index, labels))


def sets_of(*cells: Cell) -> SetCounts:
    return SetCounts(RELEASE, (numbers(*LABELS),), cells)


def told(cell: Cell, least: int, most: int) -> dict[LabelSet, tuple[list[int], list[int]]]:
    """Labels and instances of each set, as least and most, after a count is told."""
    sets = sets_of(cell)
    ends = np.zeros(sets.of_labels.size, np.int64), np.full(sets.of_labels.size, 99)
    sets.tell({cell: (least, most)}, ends)
    return {
        labels: (
            [int(end[number]) for end in ends],
            [int(end[sets.of_labels.instances(number)]) for end in ends],
        )
        for labels, number in sets.of_labels.number.items()
    }


def test_a_count_of_a_node_tells_the_instances_of_its_labels() -> None:
    of = told(LEFT, 11, 40)

    assert of[numbers("a", "b")] == ([0, 99], [11, 40])
    assert of[numbers("a")] == of[numbers(*LABELS)] == ([0, 99], [0, 99])


def test_a_count_of_labels_at_a_depth_tells_labels() -> None:
    assert told(labels_at(2), 60, 80)[numbers(*LABELS)] == ([60, 80], [0, 99])


def test_as_many_as_have_two_have_each_but_more_may_have_one() -> None:
    of = told(together(LEFT, RIGHT), 11, 20)

    assert of[numbers("a", "b")] == of[numbers("c", "d")] == ([0, 99], [11, 99])


def test_a_count_without_some_labels_tells_the_least_of_the_others() -> None:
    without = replace(LEFT, misses=carried("a").meets)

    assert told(without, 5, 7)[numbers("b")] == ([0, 99], [5, 99])


def test_only_sets_without_a_common_label_share_instances() -> None:
    apart, within = together(LEFT, RIGHT), together(LEFT, carried("a"))
    some = replace(apart, misses=carried("e").meets)

    assert sets_of(apart, within, some, differing("left", "right"), LEFT).joints == [apart]


def test_shared_instances_are_counted_once_for_each_part_beyond_the_first() -> None:
    """Of three joints in a circle the lightest may be of the same instances as the others."""
    joints = [together(LEFT, RIGHT), together(LEFT, OTHER), together(RIGHT, OTHER)]
    sets = sets_of(LEFT, RIGHT, OTHER, *joints)
    parts = [numbers(*labels) for labels in (("a", "b"), ("c", "d"), ("e",))]
    union = (
        sets.of_labels.number[numbers(*LABELS)],
        {sets.of_labels.number[part] for part in parts},
    )
    place = [(whole, set(its)) for whole, its in sets.of_labels.unions].index(union)

    least = dict(zip(joints, (5, 9, 3), strict=True))
    assert sets.least_shared(least)[place] == 14
    assert sets.least_shared({joints[0]: 5})[place] == 5
    assert sets.least_shared({joints[0]: -5})[place] == 0
