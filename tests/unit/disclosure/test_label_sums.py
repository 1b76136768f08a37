"""Labels, labels by depth and all labels: what is withheld of their sums, worked by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from audit.disclosure import Cell, Earlier, Release, carried, labelled, labels_at, protected
from audit.disclosure.label_sums import LabelSums

MIN_CELL = 11
DEPTHS = {**{f"one{n}": 1 for n in range(5)}, **{f"two{n}": 2 for n in range(3)}, "b": 3, "c": 3}
"""Five labels at a depth, three at the next, two at the last: too many for one program."""
SUPPORTS = {**dict.fromkeys(DEPTHS, 48), "two0": 2, "two1": 2, "two2": 1, "b": 22, "c": 23}
FEW_AT_TWO = {labels_at(1): 240, labels_at(2): 5, labels_at(3): 45}


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


def shown(counts: Mapping[Cell, int], others: Earlier | None = None) -> dict[Cell, int | str]:
    return protected(counts, release(SUPPORTS), MIN_CELL, others=others)


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
    others = Earlier(200, sum(SUPPORTS.values()), {labels_at(1): 240}, ranges)

    assert shown(told, others) == {
        labels_at(1): 240, labels_at(2): ">0", labels_at(3): ">0",
        carried("b"): ">10", carried("c"): 23,
    }  # fmt: skip


def test_a_label_that_is_gone_lies_where_the_hierarchy_has_it() -> None:
    now = {**SUPPORTS, "c": 0}
    then = {labelled(node): n for node, n in SUPPORTS.items()}
    then |= {carried(node): n for node, n in SUPPORTS.items()}
    known = {carried("c"): (23, 23), carried("b"): (22, 22)}
    earlier = Earlier(200, sum(SUPPORTS.values()), then, known)
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
    earlier = Earlier(200, sum(SUPPORTS.values()), then, {carried("b"): (22, 22)})
    sums = LabelSums.of(release(SUPPORTS), {carried("c"): 23}, earlier, contained=True)
    low, high = (ends[: len(sums.counts)] for ends in sums.left({carried("c"): (23, 23)}))

    assert sums.contained
    assert not sums.counts[:, 2].any()
    assert np.all((low <= sums.counts) & (sums.counts <= high))


def test_a_published_count_is_known_of_the_later_release() -> None:
    then = {labelled(node): n for node, n in SUPPORTS.items()}
    before = Earlier(200, sum(SUPPORTS.values()), then, {})
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
        earlier = Earlier(total - further_then, total, then, {})
        now = release({**SUPPORTS, **changed})
        return LabelSums.of(now, {}, earlier, contained=True).contained

    further = sum(SUPPORTS.values()) - 200
    assert contained(further, {})
    assert contained(further, {"b": 30})
    assert not contained(further + 1, {})
    assert not contained(further, {"b": 21, "c": 40})
