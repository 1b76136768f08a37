"""Pair counts and confusion, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from audit.engine.pairs.confusion import binary_entropy
from audit.engine.pairs.pair_counts import PairCounts, count_pairs, support


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


def test_joint_counts_the_instances_with_both() -> None:
    counts = counted([1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 0])

    assert joints(counts) == {(0, 1): 2, (0, 2): 1, (1, 2): 2}


def test_a_node_nobody_carries_is_in_no_pair() -> None:
    counts = counted([1, 0, 1], [1, 0, 1])

    assert joints(counts) == {(0, 2): 2}


def test_pairs_are_sorted_with_the_first_before_the_second() -> None:
    counts = counted([1, 1, 1, 1], [0, 0, 1, 1])

    assert list(joints(counts)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def test_counts_are_int64() -> None:
    counts = counted([1, 2])

    assert {counts.a.dtype, counts.b.dtype, counts.joint.dtype} == {np.dtype(np.int64)}
    assert counts.confusion_sum.dtype == np.float64


def test_confusion_of_one_beside_three_is_the_entropy_of_a_quarter() -> None:
    counts = counted([1, 3])
    expected = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))

    assert counts.confusion_sum.tolist() == pytest.approx([expected], rel=1e-15)


def test_confusion_is_the_same_whichever_node_has_the_larger_value() -> None:
    assert counted([1, 3]).confusion_sum.tolist() == counted([3, 1]).confusion_sum.tolist()


def test_confusion_sums_over_instances_and_skips_those_without_both() -> None:
    counts = counted([2, 2], [1, 3], [3, 1], [5, 0])
    quarter = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))

    assert counts.confusion_sum.tolist() == pytest.approx([1 + 2 * quarter], rel=1e-15)


def test_several_values_in_one_instance_meet_each_other_once() -> None:
    counts = counted([1, 2, 2, 4])
    third, fifth = (binary_entropy(np.array([1.0]), np.array([v]))[0] for v in (2.0, 4.0))

    assert counts.confusion_sum.tolist() == pytest.approx([third, third, fifth, 1, third, third])


@pytest.mark.parametrize("rows", [0, 3])
def test_without_labels_there_are_no_pairs(rows: int) -> None:
    counts = count_pairs(csr_array((rows, 4), dtype=np.int64))

    assert [len(counts.a), len(counts.b), len(counts.joint), len(counts.confusion_sum)] == [0] * 4


def test_one_node_has_no_pairs() -> None:
    assert joints(counted([1], [2])) == {}


def test_support_counts_instances_with_a_value() -> None:
    found = support(csr_array(np.array([[1, 0, 3], [2, 0, 0]])))

    assert found.tolist() == [2, 0, 1]
    assert found.dtype == np.int64


@pytest.mark.parametrize("exponent", range(1, 54))
def test_entropy_of_nearly_equal_values_never_exceeds_one_bit(exponent: int) -> None:
    u = np.array([1.0, 3.0, 0.1])

    assert (binary_entropy(u, u * (1 + 2.0**-exponent)) <= 1).all()
