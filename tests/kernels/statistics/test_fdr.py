"""The family of pairs, counted without building it, and false discoveries within it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import false_discovery_control

from audit.engine.statistics.fdr import Family, benjamini_hochberg, pairs_apart, threshold
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.brute_force import above, parents_of
from fixtures.strategies import hierarchies


@given(hierarchies(), st.data())
def test_pairs_apart_are_counted_like_pairs(hierarchy: Hierarchy, data: st.DataObject) -> None:
    nodes = hierarchy.nodes
    used = data.draw(st.sets(st.sampled_from(nodes)))
    parents = parents_of(nodes, hierarchy.edge_frame().iter_rows())
    apart = [
        (a, b)
        for a, b in combinations(sorted(used), 2)
        if a not in above(parents, b) and b not in above(parents, a)
    ]

    assert pairs_apart(np.array([node in used for node in nodes]), hierarchy.closure) == len(apart)


@given(st.lists(st.floats(0, 1), max_size=12), st.integers(0, 8), st.floats(0.01, 0.5))
def test_what_the_threshold_lets_pass_is_what_the_adjusted_values_let_pass(
    p_values: list[float], others: int, rate: float
) -> None:
    found, family = np.array(p_values), len(p_values) + others
    limit = threshold(found, family, rate)

    ranked = sorted(p_values)
    ranks = [k for k, p in enumerate(ranked, 1) if p <= k * rate / family]
    assert limit == (max(ranks) * rate / family if ranks else 0.0)
    assert sum(p <= limit for p in p_values) >= max(ranks, default=0)


@given(
    st.lists(st.floats(0, 1), max_size=20),
    st.integers(0, 30),
)
def test_adjusted_p_values_are_those_of_scipy_with_ones_for_the_rest(
    p_values: list[float], untested: int
) -> None:
    family = len(p_values) + untested
    padded = [*p_values, *[1.0] * untested]
    wanted = false_discovery_control(padded or [1.0])[: len(p_values)].tolist()

    assert benjamini_hochberg(np.array(p_values), family).tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("family", range(1, 6))
def test_a_p_value_at_its_bound_is_rejected(family: int) -> None:
    """With a rate of 1/2 the bounds k / 2 / family; all of the family are at theirs, or above."""
    bounds = np.arange(1, family + 1) * 0.5 / family

    assert threshold(bounds, family, 0.5) == 0.5
    assert threshold(np.nextafter(bounds, 1), family, 0.5) == 0.0
    assert threshold(bounds[:1], family, 0.5) == bounds[0]
    assert threshold(np.empty(0), 0, 0.5) == 0.0


def test_ends_in_32_bits_are_found_among_many_nodes() -> None:
    n = 70_000
    ends = np.append(np.arange(n), n - 1), np.append(np.arange(n), n - 2)
    closure = csr_array((np.ones(n + 1, np.int8), ends), shape=(n, n))
    of_all = Family(np.ones(n, np.bool_), closure, np.array([(n - 3) * n + n - 2]))
    a = np.array([n - 4, n - 3, n - 2], np.int32)
    assert of_all.members(a, a + np.int32(1)).tolist() == [0]
