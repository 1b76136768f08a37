"""The design effect of groups, record by record, and what it does to p values."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array
from scipy.special import gammainc

from audit.engine.statistics.expectation import Expectation
from audit.engine.statistics.grouped import Grouped, GroupTest
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.toy import toy

A, B = "dog", "cow"


def _release(
    hierarchy: Hierarchy, carried: np.ndarray, stratum: np.ndarray, group: np.ndarray
) -> tuple[Grouped, Expectation]:
    size = np.bincount(stratum).astype(float)
    share = np.array([carried[stratum == s].mean(axis=0) for s in range(len(size))])
    facet, factor = np.zeros(len(hierarchy), np.int64), np.ones((len(size), 1, 1))
    grouped = Grouped(csc_array(carried.astype(np.int64)), stratum, group, hierarchy.below)
    return grouped, Expectation(size, share, facet, factor)


def _records(hierarchy: Hierarchy, seed: int, n: int, groups: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(seed)
    carried = np.zeros((n, len(hierarchy)), bool)
    for node in (A, B):
        carried[:, hierarchy.index(node)] = random.random(n) < 0.4
    stratum = np.concatenate([[0, 1], random.integers(0, 2, n - 2)])
    return carried, stratum, np.unique(random.integers(0, groups, n), return_inverse=True)[1]


@given(st.integers(0, 2**16), st.integers(8, 40), st.integers(1, 30))
def test_the_design_effect_is_that_of_residuals_record_by_record(
    seed: int, n: int, groups: int
) -> None:
    hierarchy = toy()
    carried, stratum, group = _records(hierarchy, seed, n, groups)
    grouped, expected = _release(hierarchy, carried, stratum, group)
    a, b = hierarchy.index(A), hierarchy.index(B)

    found = GroupTest(grouped, expected).p_values(np.array([a]), np.array([b]))[0]

    by_group, alone, total, joint = defaultdict(float), 0.0, 0.0, 0
    for record in range(n):
        s = stratum[record]
        n_s, p, q = expected.size[s], expected.share[s, a], expected.share[s, b]
        x, y = carried[record, a], carried[record, b]
        e_s = n_s * p * q * max(0.0, 1 - (1 - 1.0) * (1 - p) * (1 - q))
        residual = (x and y) - p * y - q * x + (2 * n_s * p * q - e_s) / n_s
        by_group[group[record]] += residual
        alone += residual**2
        joint += int(x and y)
    total = sum(
        n_s * expected.share[s, a] * expected.share[s, b] for s, n_s in enumerate(expected.size)
    )
    together = math.fsum(value**2 for value in by_group.values())
    effect = max(together / alone, 1.0) if alone > 1e-12 else 1.0
    wanted = gammainc(joint / effect, total / effect) if joint and total else 1.0
    assert found == pytest.approx(wanted, rel=1e-6)


def test_groups_of_one_record_change_nothing() -> None:
    hierarchy = toy()
    carried, stratum, _ = _records(hierarchy, 3, 60, 5)
    grouped, expected = _release(hierarchy, carried, stratum, np.arange(60))
    a, b = np.array([hierarchy.index(A)]), np.array([hierarchy.index(B)])

    joint = float((carried[:, a[0]] & carried[:, b[0]]).sum())
    wanted = gammainc(joint, expected.joint(a, b)[0])
    assert GroupTest(grouped, expected).p_values(a, b)[0] == pytest.approx(wanted)


def test_an_excess_that_one_group_holds_alone_is_no_surprise() -> None:
    hierarchy = toy()
    carried = np.zeros((400, len(hierarchy)), bool)
    a, b = hierarchy.index(A), hierarchy.index(B)
    carried[:20, [a, b]] = True
    carried[100:140, a] = carried[200:240, b] = True
    stratum = np.zeros(400, np.int64)
    one = np.where(np.arange(400) < 20, 0, np.arange(400))
    ends = np.array([a]), np.array([b])

    apart = GroupTest(*_release(hierarchy, carried, stratum, np.arange(400))).p_values(*ends)[0]
    together = GroupTest(
        *_release(hierarchy, carried, stratum, np.unique(one, return_inverse=True)[1])
    ).p_values(*ends)[0]
    assert apart < 0.01
    assert together > 0.05
