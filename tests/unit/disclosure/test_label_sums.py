"""Labels, labels by depth and all labels: what is withheld of their sums, worked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from audit.disclosure import (
    Cell,
    Known,
    Release,
    carried,
    differing,
    labelled,
    labels_at,
    protected,
    together,
)
from audit.disclosure.label_sums import LabelSums, SetCounts
from audit.disclosure.sums import Labels

MIN_CELL = 11
DEPTHS = {**{f"one{n}": 1 for n in range(5)}, **{f"two{n}": 2 for n in range(3)}, "b": 3, "c": 3}
"""Five labels at a depth, three at the next, two at the last: too many for one program."""
SUPPORTS = {**dict.fromkeys(DEPTHS, 48), "two0": 2, "two1": 2, "two2": 1, "b": 22, "c": 23}
FEW_AT_TWO = {labels_at(1): 240, labels_at(2): 5, labels_at(3): 45}


pytestmark = pytest.mark.usefixtures("depths_of_few_labels")


def release(supports: Mapping[str, int]) -> Release:
    """Leaves below nodes that are no labels; each instance has several labels."""
    parents = {node: (f"above{DEPTHS[node]}",) for node in DEPTHS}
    above = {"above1": ("top",), "above2": ("above1",), "above3": ("above2",)}
    return Release(
        labelled=200,
        assertions=sum(supports.values()),
        parents={**parents, **above},
        supports={node: n for node, n in supports.items() if n},
        labels={node: depth for node, depth in DEPTHS.items() if supports[node]},
        residual=frozenset(),
    )


def shown(counts: Mapping[Cell, int], known: Known | None = None) -> dict[Cell, int | str]:
    return protected(counts, release(SUPPORTS), MIN_CELL, known)


def test_a_depth_whose_labels_are_told_does_not_hide_another() -> None:
    """290 labels less 240 and the 22 and 23 of two nodes are the five of the depth between.

    That one is no bound either: fewer than eleven of three labels are no more than eight of each.
    """
    last = {carried("b"): 22, carried("c"): 23}

    assert shown(FEW_AT_TWO) == {labels_at(1): 240, labels_at(2): ">0", labels_at(3): ">0"}
    assert shown(FEW_AT_TWO | last) == {
        **last, labels_at(1): ">0", labels_at(2): ">0", labels_at(3): ">0",
    }  # fmt: skip


def test_a_node_is_withheld_where_another_view_told_the_depth() -> None:
    told = {**FEW_AT_TWO, carried("b"): 22, carried("c"): 23}
    ranges = {labels_at(1): (240, 240)}
    known = Known(200, sum(SUPPORTS.values()), {labels_at(1): 240}, ranges)

    assert shown(told, known) == {
        labels_at(1): 240, labels_at(2): ">0", labels_at(3): ">0",
        carried("b"): ">10", carried("c"): 23,
    }  # fmt: skip


def test_a_label_that_is_gone_lies_where_the_hierarchy_has_it() -> None:
    now = {**SUPPORTS, "c": 0}
    then = {labelled(node): n for node, n in SUPPORTS.items()}
    then |= {carried(node): n for node, n in SUPPORTS.items()}
    known = {carried("c"): (23, 23), carried("b"): (22, 22)}
    earlier = Known(200, sum(SUPPORTS.values()), then, known)
    sums = LabelSums.of(release(now), {}, earlier, contained=False)
    low, high = sums.left({})
    place = list(sums.release.labels).index("c")

    assert sums.release.labels["c"] == 4
    assert sums.counts[place].tolist() == [23, 0, -23]
    np.testing.assert_array_equal(low[place], [23, 0, -23])
    np.testing.assert_array_equal(high[place], [23, 0, -23])


def test_what_is_left_holds_what_is_where_nothing_came() -> None:
    then = {labelled(node): n for node, n in SUPPORTS.items()}
    then |= {carried(node): n for node, n in SUPPORTS.items()}
    earlier = Known(200, sum(SUPPORTS.values()), then, {carried("b"): (22, 22)})
    sums = LabelSums.of(release(SUPPORTS), {carried("c"): 23}, earlier, contained=True)
    low, high = (ends[: len(sums.counts)] for ends in sums.left({carried("c"): (23, 23)}))

    assert sums.contained
    assert not sums.counts[:, 2].any()
    assert np.all((low <= sums.counts) & (sums.counts <= high))


def test_a_published_count_is_known_of_the_later_release() -> None:
    then = {labelled(node): n for node, n in SUPPORTS.items()}
    before = Known(200, sum(SUPPORTS.values()), then, {})
    told = {carried("b"): (22, 22)}
    sums = LabelSums.of(release(SUPPORTS), dict.fromkeys(told, 22), before, contained=False)
    low, high = sums.left(told)
    place = list(sums.release.labels).index("b")

    assert (low[place, 1], high[place, 1]) == (22, 22)
    assert high[place, 0] > 22


def test_a_release_contains_an_earlier_one_of_which_each_label_is_there_as_often_or_more() -> None:
    then = {labelled(node): n for node, n in SUPPORTS.items()}

    def contained(further_then: int, changed: dict[str, int]) -> bool:
        total = sum(SUPPORTS.values())
        earlier = Known(total - further_then, total, then, {})
        now = release({**SUPPORTS, **changed})
        return LabelSums.of(now, {}, earlier, contained=True).contained

    further = sum(SUPPORTS.values()) - 200
    assert contained(further, {})
    assert contained(further, {"b": 30})
    assert not contained(further + 1, {})
    assert not contained(further, {"b": 21, "c": 40})


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


def numbers(*labels: str) -> Labels:
    return frozenset(map(LABELS.index, labels))


def sets_of(*cells: Cell) -> SetCounts:
    return SetCounts(RELEASE, (numbers(*LABELS),), cells)


def told(cell: Cell, least: int, most: int) -> dict[Labels, tuple[list[int], list[int]]]:
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
