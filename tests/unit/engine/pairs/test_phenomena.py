"""One phenomenon is told once: planted habits are each told by themselves, at their own depth."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import IntArray
from audit.engine.pairs.amplified import Carried, representatives

BRANCHES, CHILDREN, LEAVES = 4, 3, 3
"""A root; below it branches, each with children, each with leaves."""

_PARENTS: list[int] = [-1]
for _ in range(BRANCHES):
    _PARENTS.append(0)
for _branch in range(1, BRANCHES + 1):
    _PARENTS += [_branch] * CHILDREN
for _child in range(1 + BRANCHES, 1 + BRANCHES * (1 + CHILDREN)):
    _PARENTS += [_child] * LEAVES
N = len(_PARENTS)


def above(node: int) -> list[int]:
    return [] if node < 0 else [node, *above(_PARENTS[node])]


CLOSURE = csr_array([[int(a in above(i)) for a in range(N)] for i in range(N)])


def leaf(branch: int, child: int, number: int) -> int:
    return 1 + BRANCHES * (1 + CHILDREN) + (branch * CHILDREN + child) * LEAVES + number


def branch_of(node: int) -> int:
    return above(node)[-2] if node else 0


Said = list[tuple[int, list[int], list[int]]]


def told(said: Said) -> dict[tuple[int, int], tuple[int, int]]:
    """Each passing pair of nodes of different branches, and the pair that tells it."""
    each = [(x, y) for n, x, y in said for _ in range(n)]
    parts = []
    for side in (0, 1):
        matrix = np.zeros((len(each), N), np.int64)
        for line, both in enumerate(each):
            matrix[line, both[side]] = 1
        parts.append(csr_array(matrix))
    carried = Carried.of(parts[0], parts[1], CLOSURE)
    pairs = carried.together(10)
    ends = zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)
    apart = [branch_of(a) != branch_of(b) and a > 0 and b > 0 for a, b in ends]
    pairs = pairs[np.array(apart, np.bool_)]
    pairs = pairs[pairs.p_value(1.5) <= 1e-4]
    by: IntArray = representatives(carried, pairs, CLOSURE, ratio=1.5, p=1e-4)
    names = list(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    return {names[i]: names[by[i]] for i in range(len(names))}


def stronger(a: int, b: int, times: int = 40) -> Said:
    """A habit: so many instances with both in the data, and as many more in the model."""
    return [(times, [a, b], [a, b]), (times, [a], [a, b])]


A, B, C, D = leaf(0, 0, 0), leaf(1, 0, 0), leaf(2, 0, 0), leaf(3, 0, 0)


def test_a_habit_of_two_leaves_is_told_by_them_and_not_by_what_is_above() -> None:
    found = told(stronger(A, B))

    assert len(found) > 1
    assert set(found.values()) == {(A, B)}


def test_habits_on_different_instances_are_each_told() -> None:
    found = told([*stronger(A, B, 40), *stronger(C, D, 30), *stronger(A, D, 35)])

    assert set(found.values()) == {(A, B), (C, D), (A, D)}


def test_one_habit_of_three_labels_is_told_once() -> None:
    found = told([(40, [A, B, C], [A, B, C]), (40, [A], [A, B, C])])

    assert len(set(found.values())) == 1


def test_a_habit_of_two_parents_is_told_by_them() -> None:
    spread: Said = [
        part
        for i in range(LEAVES)
        for j in range(LEAVES)
        for part in stronger(leaf(0, 0, i), leaf(1, 0, j), 20)
    ]
    found = told(spread)
    parents = (_PARENTS[leaf(0, 0, 0)], _PARENTS[leaf(1, 0, 0)])

    assert set(found.values()) == {parents}
    assert (leaf(0, 0, 0), leaf(1, 0, 0)) in found


def test_a_wide_pair_gives_way_to_the_leaves_that_hold_most_of_it() -> None:
    others = [part for i in (1, 2) for part in stronger(leaf(0, 0, i), leaf(1, 1, i), 4)]
    found = told([*stronger(A, B, 40), *others])

    assert set(found.values()) == {(A, B)}


def test_whoever_tells_a_pair_tells_itself() -> None:
    draw = np.random.default_rng(5)
    for _ in range(10):
        said: Said = []
        for _ in range(6):
            a, b = (leaf(*(int(n) for n in draw.integers(0, 3, 3))) for _ in range(2))
            said += stronger(a, b, int(draw.integers(10, 60)))
        found = told(said)

        assert all(found[by] == by for by in found.values())


def test_without_a_stronger_pair_none_is_told() -> None:
    assert told([(40, [A, B], [A, B])]) == {}
