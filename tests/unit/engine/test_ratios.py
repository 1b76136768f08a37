"""Intervals of ratios, and ratios measured again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from audit.engine.expectation import NO_PARENT, Comparisons, margins
from audit.engine.ratios import (
    joint_spread,
    ratio_bounds,
    ratio_without,
    resampled_spread,
    resamples,
)
from audit.engine.records import Records, records
from audit.engine.resampling import poisson_weights, unit_keys
from audit.engine.stratified import Stratified, stratify

A, B = 0, 1


def flat(
    rows: list[list[int]], groups: list[int] | None = None, nodes: int = 8
) -> tuple[Stratified, Records]:
    """Records on nodes without a hierarchy, all of one stratum."""
    direct = np.zeros((len(rows), nodes), np.int64)
    for row, labels in enumerate(rows):
        direct[row, labels] = 1
    stratum = np.zeros(len(rows), np.int64)
    sole = csr_array(direct * (np.arange(nodes) + 1))
    group_of = None if groups is None else np.array(groups)
    return stratify(csr_array(direct), sole, stratum), records(sole, stratum, group_of)


def given_length() -> Comparisons:
    one = np.array([NO_PARENT])
    return Comparisons(np.array([0]), np.array([A]), np.array([B]), one, one)


def test_an_interval_is_symmetric_in_the_logarithm_and_widens_with_its_level() -> None:
    low, high = ratio_bounds(3.0, 0.2, 0.95)
    wider = ratio_bounds(3.0, 0.2, 0.9999)

    assert low * high == pytest.approx(9)
    assert wider[0] < low < 3 < high < wider[1]
    assert ratio_bounds(0.0, math.inf, 0.95) == (0.0, math.inf)


def test_joint_instances_of_one_group_are_worth_one() -> None:
    rows = [[A, B]] * 9
    alone = flat(rows)[1]
    together = flat(rows, groups=[4] * 9)[1]
    in_threes = flat(rows, groups=[0, 0, 0, 1, 1, 1, 2, 2, 2])[1]

    assert joint_spread(alone, alone.joint(A, B)) == pytest.approx(1 / 3)
    assert joint_spread(together, together.joint(A, B)) == pytest.approx(1)
    assert joint_spread(in_threes, in_threes.joint(A, B)) == pytest.approx(1 / math.sqrt(3))
    assert joint_spread(alone, alone.joint(A, 5)) == math.inf


def weights(count: int) -> np.ndarray:
    return poisson_weights(unit_keys([f"i{n}" for n in range(count)], seed=0))


def test_many_joint_instances_have_the_spread_of_the_resamples() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 4000)) < 0.5
    rows = [[A] * int(a) + [B] * int(b) + [2, 3] for a, b in zip(x, y, strict=True)]
    strata, own = flat(rows)
    spread = resampled_spread(strata, own, given_length(), resamples(strata, own, weights(4000)))

    # joint and expected rise and fall together, so that the floor is what holds
    assert spread == joint_spread(own, own.joint(A, B))


def test_resampling_widens_where_the_expectation_itself_is_uncertain() -> None:
    rows = [[A, B]] * 400 + [[A, 2]] * 2 + [[2, 3]] * 3 + [[B, 3]] * 2
    groups = [n // 4 for n in range(400)] + [n + 900 for n in range(7)]
    strata, own = flat(rows, groups)
    drawn = poisson_weights(unit_keys([str(g) for g in own.group], seed=3))
    spread = resampled_spread(strata, own, given_length(), resamples(strata, own, drawn))

    assert spread >= joint_spread(own, own.joint(A, B))
    assert resampled_spread(
        strata, own, given_length(), resamples(strata, own, weights(len(rows)))
    ) == pytest.approx(0.1, rel=0.01)


def test_a_ratio_is_measured_again_without_some_of_its_instances() -> None:
    rows = [[A, B, 2]] * 6 + [[A, 3, 4]] * 4 + [[B, 3, 5]] * 4 + [[3, 4, 5]] * 26
    strata, own = flat(rows)
    joint, tables = own.joint(A, B), margins(strata, given_length())
    again, own_again = flat(rows[2:])
    by_hand = margins(again, given_length())

    def without(count: int, by_length: bool) -> tuple[float, float]:
        table = type(tables)(tables.n[:, 0], tables.first[:, 0], tables.second[:, 0])
        found = ratio_without(
            strata, own, table, by_length=by_length, joint=joint, left_out=joint[:count]
        )
        return found.value, found.spread

    expected = float(by_hand.first[0, 0] * by_hand.second[0, 0] / by_hand.n[0, 0])
    assert len(own_again) == 38
    assert without(2, by_length=False) == pytest.approx((4 / expected, 1 / 2))
    assert without(0, by_length=False)[0] == pytest.approx(6 / (10 * 10 / 40))
    assert without(2, by_length=True)[0] > without(2, by_length=False)[0]
    assert without(6, by_length=False) == (0.0, math.inf)
