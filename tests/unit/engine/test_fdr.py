"""The family of pairs, counted without building it, and false discoveries within it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.engine.fdr import benjamini_hochberg, family_size, in_family, selected_level


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=9),
    st.integers(1, 12),
    st.floats(0, 5, allow_subnormal=False),
    st.data(),
)
def test_the_family_is_counted_like_its_members(
    supports: list[int], instances: int, limit: float, data: st.DataObject
) -> None:
    support = np.array(supports, np.int64)
    closure = np.eye(len(supports), dtype=np.int64)
    if len(supports) > 1:
        closure[1, 0] = data.draw(st.integers(0, 1))
    pairs = [
        (a, b)
        for a, b in combinations(range(len(supports)), 2)
        if not closure[a, b] and not closure[b, a] and support[a] * support[b] > 0
    ]
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    members = int(in_family(support[ends[0]], support[ends[1]], instances, limit).sum())

    assert family_size(support, csr_array(closure), limit, instances) == members


def test_the_limit_itself_is_enough() -> None:
    support = np.array([10, 10])

    assert in_family(support, support, 100, 1.0).all()
    assert not in_family(support, support, 101, 1.0).any()
    assert family_size(support, csr_array(np.eye(2, dtype=np.int64)), 1.0, 100) == 1


def test_adjusted_values_never_fall_as_p_values_rise() -> None:
    # 0.02 * 5 / 2 = 0.05, 0.021 * 5 / 3 = 0.035: the smaller bound holds for both
    found = benjamini_hochberg(np.array([0.02, 0.021, 0.001]), 5)

    assert found.tolist() == pytest.approx([0.035, 0.035, 0.005])
    assert benjamini_hochberg(np.empty(0), 3).tolist() == []


def test_the_level_grows_with_the_family_and_falls_with_what_is_selected() -> None:
    assert selected_level(0.05, 4, 4) == 0.95
    assert selected_level(0.05, 0, 100) == selected_level(0.05, 1, 100) == 0.9995
    assert selected_level(0.05, 0, 0) == 0.95
