"""The test between groups: records of one patient are one piece of evidence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm

from audit.engine import grouped
from audit.engine.expectation import NO_PARENT, Comparisons, expect
from audit.engine.grouped import grouped_p_value
from audit.engine.records import SEVERAL, records, through_two
from audit.engine.stratified import stratify

A, B, C, D = range(4)


def p_values(rows: list[list[int]], groups: list[int], pairs: list[tuple[int, int]]) -> list[float]:
    direct = np.zeros((len(rows), 8), np.int64)
    for row, labels in enumerate(rows):
        direct[row, labels] = 1
    stratum = np.zeros(len(rows), np.int64)
    sole = csr_array(direct * (np.arange(8) + 1))
    strata = stratify(csr_array(direct), sole, stratum)
    a, b = np.array(pairs).T
    none = np.full(len(pairs), NO_PARENT)
    asked = Comparisons(np.arange(len(pairs)), a, b, none, none)
    observed = np.array([sum(x in row and y in row for row in rows) for x, y in pairs], float)
    own = records(sole, stratum, np.array(groups))
    found: list[float] = grouped_p_value(
        strata, own, asked, observed, expect(strata, asked)
    ).tolist()
    return found


ROWS = [[A, B]] * 30 + [[A, C]] * 3 + [[B, D]] * 3 + [[C, D]] * 200


def test_an_excess_all_of_one_group_is_no_evidence() -> None:
    (p_value,) = p_values(ROWS, [0] * 30 + list(range(1, 207)), [(A, B)])

    assert norm.sf(1.5) < p_value < 0.5


def test_the_same_excess_over_many_groups_is() -> None:
    (p_value,) = p_values(ROWS, list(range(236)), [(A, B)])

    assert p_value < 1e-5


def test_more_records_of_the_same_groups_add_nothing() -> None:
    once = p_values(ROWS, list(range(236)), [(A, B)])
    (tenfold,) = p_values(ROWS * 10, list(range(236)) * 10, [(A, B)])

    # but for the continuity correction, which weighs less
    assert once[0] / 5 < tenfold <= once[0]


def test_blocks_of_comparisons_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(A, B), (A, C), (B, D), (C, D)]
    groups = [n % 50 for n in range(len(ROWS))]
    whole = p_values(ROWS, groups, pairs)
    monkeypatch.setattr(grouped, "CELLS_PER_BLOCK", 1)

    assert p_values(ROWS, groups, pairs) == pytest.approx(whole)


def test_one_label_below_both_nodes_is_not_two() -> None:
    first, second = np.array([3, 3, SEVERAL, 0, 4]), np.array([3, 5, SEVERAL, 2, SEVERAL])

    assert through_two(first, second).tolist() == [False, True, True, False, True]
