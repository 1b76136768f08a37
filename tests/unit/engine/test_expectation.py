"""Expectations of single tables and of comparisons, worked by hand."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import hypergeom

from audit.engine import expectation
from audit.engine.expectation import (
    NO_PARENT,
    Comparisons,
    Margins,
    comparisons,
    expect,
    joint_expected,
    joint_variance,
    margins,
)
from audit.engine.stratified import stratify

ROOT, P, Q, A, B, C = range(6)
EDGES = np.zeros((6, 6), np.int64)
EDGES[[P, Q, A, B, C, C], [ROOT, ROOT, P, Q, Q, P]] = 1
"""a below p, b below q, c below both."""
CLOSURE = np.eye(6, dtype=np.int64) + EDGES
CLOSURE[[A, B, C], ROOT] = 1


def table(n: float, first: float, second: float) -> Margins:
    return Margins(*(np.array([value]) for value in (n, first, second)))


def test_a_table_expects_the_product_of_its_shares() -> None:
    assert joint_expected(table(50, 10, 20), math.inf)[0] == 4
    assert joint_expected(table(0, 0, 0), math.inf)[0] == 0


def test_hajek_s_correction_for_two_of_many_rare_labels_is_one_half() -> None:
    # a record has two of very many labels: the second is the other one half as often
    found = joint_expected(table(10_000, 100, 100), 2.0)[0]

    assert found == pytest.approx(1 * (1 - 0.99**2 / 2))


def test_an_expectation_is_not_below_nothing() -> None:
    assert joint_expected(table(100, 10, 10), 0.5)[0] == 0


def test_where_all_records_are_alike_nothing_is_corrected() -> None:
    assert joint_expected(table(7, 7, 7), 0.0)[0] == 7


def test_the_variance_is_that_of_the_hypergeometric_distribution() -> None:
    assert joint_variance(table(50, 10, 20))[0] == pytest.approx(hypergeom.var(50, 10, 20))
    assert joint_variance(table(1, 1, 1))[0] == joint_variance(table(0, 0, 0))[0] == 0


def test_siblings_are_compared_given_length_and_others_given_each_two_parents() -> None:
    found = comparisons(
        np.array([A, A, P]), np.array([B, C, Q]), np.array([False, False, True]), csr_array(EDGES)
    )

    assert found.pair.tolist() == [0, 1, 1, 2]
    assert found.parent_a.tolist() == [P, P, P, NO_PARENT]
    assert found.parent_b.tolist() == [Q, P, Q, NO_PARENT]
    assert found.by_length.tolist() == [False, False, False, True]


def release() -> tuple[csr_array, csr_array, np.ndarray]:
    """Eight records of the stratum 0, four of the stratum 1, one of none."""
    rows = [[A, B], [A, Q], [A, B], [P, B], [P, Q], [P, Q], [C, A], [C, B]]
    rows += [[A, B, P], [A, Q, P], [P, Q, B], [ROOT, P, Q], [A]]
    direct = np.zeros((len(rows), 6), np.int64)
    for row, nodes in enumerate(rows):
        direct[row, nodes] = 1
    carried = (direct @ CLOSURE > 0).astype(np.int64)
    return csr_array(direct), csr_array(carried), np.array([0] * 8 + [1] * 4 + [-1])


def test_tables_given_parents_are_of_the_records_that_carry_both() -> None:
    strata = stratify(*release())
    asked = comparisons(np.array([A]), np.array([B]), np.array([False]), csr_array(EDGES))
    found = margins(strata, asked)

    assert found.n.ravel().tolist() == [8, 4]
    assert found.first.ravel().tolist() == [4, 2]
    assert found.second.ravel().tolist() == [4, 2]
    assert expect(strata, asked).joint[0] == 4 * 4 / 8 + 2 * 2 / 4


def test_the_root_as_a_parent_leaves_all_that_carry_the_other() -> None:
    strata = stratify(*release())
    asked = comparisons(np.array([Q]), np.array([A]), np.array([False]), csr_array(EDGES))
    found = margins(strata, asked)

    assert found.n.ravel().tolist() == [8, 4]
    assert found.first.ravel().tolist() == [8, 4]
    assert found.second.ravel().tolist() == [4, 2]


def test_tables_given_length_are_of_all_records_of_the_stratum() -> None:
    strata = stratify(*release())
    one = np.array([NO_PARENT])
    found = margins(strata, Comparisons(np.array([0]), np.array([A]), np.array([C]), one, one))

    assert found.n.ravel().tolist() == [8, 4]
    assert found.second.ravel().tolist() == [2, 0]
    # direct shares of the first stratum: a 4/8, b 4/8, c 2/8, p 3/8, q 3/8
    assert strata.free[0] == pytest.approx(0.25 + 0.25 + 0.1875 + 2 * 0.234375)


def test_counts_looked_up_sparsely_and_in_small_chunks_are_the_same() -> None:
    strata = stratify(*release())
    a, b = np.array([[A, A, P, Q], [B, C, B, A]])
    asked = comparisons(a, b, np.array([False, True, False, False]), csr_array(EDGES))
    whole = expect(strata, asked)
    with patch.object(expectation, "DENSE_CELLS", 0), patch.object(expectation, "CHUNK", 1):
        apart = expect(strata, asked)

    for name in ("joint", "variance", "n", "first", "second"):
        assert getattr(apart, name).tolist() == getattr(whole, name).tolist()


def test_no_comparison_expects_nothing() -> None:
    none = np.empty(0, np.int64)
    asked = comparisons(none, none, none.astype(bool), csr_array(EDGES))

    assert len(expect(stratify(*release()), asked).joint) == 0


def test_a_node_that_no_record_carries_expects_nothing() -> None:
    direct, carried, number = release()
    own = stratify(direct[:2], carried[:2], number[:2])  # a, b and what is above them
    a, b = np.array([[A, C, A], [C, B, B]])
    asked = comparisons(a, b, np.array([False, False, False]), csr_array(EDGES))
    found = expect(own, asked)
    unused = (asked.a == C) | (asked.b == C)

    assert found.joint[~unused].tolist() == [1]
    assert found.joint[unused].tolist() == [0] * 4
    assert found.n[unused].tolist() == [2] * 4
