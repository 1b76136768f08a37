"""Joint instances that one label explains, worked by hand on a diamond."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from audit.engine.entailed import count_entailed, sole_labels

X, LEFT, RIGHT, Y = range(4)
CLOSURE = csr_array(np.array([[1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1]]))
"""x is below left and right, y below left."""


def labels(*rows: list[int]) -> csr_array:
    direct = np.zeros((len(rows), 4), np.int64)
    for row, nodes in enumerate(rows):
        direct[row, nodes] = 1
    return csr_array(direct)


def test_the_sole_label_is_told_and_several_are_zero() -> None:
    sole = sole_labels(labels([X], [X, Y], []), CLOSURE)

    assert sole.toarray().tolist() == [[1, 1, 1, 0], [1, 0, 1, 4], [0, 0, 0, 0]]
    assert np.diff(sole.indptr).tolist() == [3, 4, 0]


def test_one_label_below_both_entails_the_pair_and_two_do_not() -> None:
    counts = count_entailed(sole_labels(labels([X], [X, Y], [X, RIGHT]), CLOSURE)).toarray()

    # left and right: x alone; x beside y; left through x, right through x or itself
    assert counts[LEFT, RIGHT] == 1
    assert counts[X, LEFT] == 2
    assert counts[X, RIGHT] == 2
    assert counts[LEFT, Y] == 0


def test_two_labels_of_two_branches_entail_nothing() -> None:
    counts = count_entailed(sole_labels(labels([RIGHT, Y]), CLOSURE)).toarray()

    assert counts[LEFT, RIGHT] == 0
    assert counts[LEFT, Y] == 1


def test_no_label_entails_nothing() -> None:
    assert count_entailed(sole_labels(labels([], []), CLOSURE)).nnz == 0
