"""Pair counts and confusion, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from audit.engine.pairs.pair_counts import PairCounts, binary_entropy, count_pairs


def counted(*rows: list[int]) -> PairCounts:
    return count_pairs(csr_array(np.array(rows, np.int64)))


def joints(counts: PairCounts) -> dict[tuple[int, int], int]:
    return dict(
        zip(
            zip(counts.a.tolist(), counts.b.tolist(), strict=True),
            counts.joint.tolist(),
            strict=True,
        )
    )


def test_pairs_are_sorted_with_the_first_before_the_second() -> None:
    counts = counted([1, 1, 1, 1], [0, 0, 1, 1])

    assert list(joints(counts)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def test_pairs_of_more_nodes_than_32_bits_can_number_have_keys_of_their_own() -> None:
    counts = counted([1, 2])

    assert counts.keys(3 * 10**9).tolist() == [1]
    counts.a[:] = 2
    assert counts.keys(3 * 10**9).tolist() == [6 * 10**9 + 1]


@pytest.mark.parametrize("rows", [0, 3])
def test_without_labels_there_are_no_pairs(rows: int) -> None:
    counts = count_pairs(csr_array((rows, 4), dtype=np.int64))

    assert [len(counts.a), len(counts.b), len(counts.joint), len(counts.confusion_sum)] == [0] * 4


@pytest.mark.parametrize("exponent", range(1, 54))
def test_entropy_of_nearly_equal_values_never_exceeds_one_bit(exponent: int) -> None:
    u = np.array([1.0, 3.0, 0.1])

    assert (binary_entropy(u, u * (1 + 2.0**-exponent)) <= 1).all()
