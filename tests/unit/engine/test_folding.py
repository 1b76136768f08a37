"""Folding, on pairs whose fate is stated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from audit.engine.folding import fold, most_specific, pairs_above, topmost

DEEP, DEEP_TOO, MIDDLE, TOP = range(4)
ABOVE = [[MIDDLE, TOP], [MIDDLE, TOP], [TOP], []]


def folded(
    held_without: dict[int, bool], weak: Sequence[int] = (), order: Sequence[int] = range(4)
) -> dict[int, tuple[int, ...]]:
    return fold(order, ABOVE, lambda item, _: held_without[item], lambda item: item not in weak)


def test_what_does_not_hold_without_its_descendants_is_folded_into_them() -> None:
    assert folded({MIDDLE: False, TOP: False}) == {MIDDLE: (0, 1), TOP: (0, 1)}


def test_what_holds_without_its_descendants_stands() -> None:
    assert folded({MIDDLE: True, TOP: True}) == {}


def test_a_folded_finding_explains_nothing_itself() -> None:
    asked: list[tuple[int, list[int]]] = []

    def without(item: int, below: Sequence[int]) -> bool:
        asked.append((item, list(below)))
        return item == TOP

    assert fold(range(4), ABOVE, without, lambda item: True) == {MIDDLE: (0, 1)}
    assert asked == [(MIDDLE, [0, 1]), (TOP, [0, 1])]


def test_a_weak_descendant_is_folded_into_the_deepest_that_stands_above_it() -> None:
    assert folded({MIDDLE: True, TOP: True}, weak=[DEEP]) == {DEEP: (MIDDLE,)}
    assert folded({MIDDLE: False, TOP: True}, weak=[DEEP]) == {MIDDLE: (1, TOP), DEEP: (TOP,)}


def test_a_weak_finding_with_nothing_above_it_stands() -> None:
    assert folded({MIDDLE: False, TOP: False}, weak=[DEEP, DEEP_TOO]) == {
        MIDDLE: (0, 1),
        TOP: (0, 1),
    }


def test_nobody_is_folded_into_a_folded_finding() -> None:
    for middle in (True, False):
        for top in (True, False):
            for weak in ([], [DEEP], [DEEP, DEEP_TOO], [MIDDLE], [DEEP, MIDDLE]):
                into = folded({MIDDLE: middle, TOP: top}, weak)
                assert all(other not in into for ends in into.values() for other in ends)


def test_pairs_above_are_found_in_either_order_of_their_nodes() -> None:
    # 1 and 2 below 0; 4 below 3
    closure = np.eye(5, dtype=np.int64)
    closure[1, 0] = closure[2, 0] = closure[4, 3] = 1
    a, b = np.array([1, 3, 0, 2, 1]), np.array([4, 1, 3, 4, 2])

    assert pairs_above(a, b, csr_array(closure)) == [[1, 2], [2], [], [2], []]


def test_no_pair_has_nothing_above() -> None:
    none = np.empty(0, np.int64)

    assert pairs_above(none, none, csr_array(np.eye(2, dtype=np.int64))) == []


def test_a_chain_of_equal_support_is_named_by_its_end() -> None:
    children = np.zeros((5, 5), np.int64)
    children[0, 1] = children[1, 2] = children[1, 3] = children[3, 4] = 1
    support = np.array([7, 7, 2, 7, 6])

    assert most_specific(0, support, csr_array(children)) == 3
    assert most_specific(4, support, csr_array(children)) == 4


def test_a_chain_ends_where_two_children_have_the_support_of_their_parent() -> None:
    children = csr_array(np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]]))

    assert most_specific(0, np.array([3, 3, 3]), children) == 0


def test_the_topmost_of_some_findings_lie_below_none_of_them() -> None:
    assert topmost([DEEP, DEEP_TOO, MIDDLE], ABOVE) == [MIDDLE]
    assert topmost([DEEP_TOO, DEEP], ABOVE) == [DEEP_TOO, DEEP]
    assert topmost([], ABOVE) == []
