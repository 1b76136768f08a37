"""The bound of how far two nodes are carried together, against SciPy's own Wilson interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from audit.engine.pairs.redundancy import Together


@st.composite
def supports(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """Instances with both nodes, with each, and all."""
    a, b = draw(st.integers(1, 300)), draw(st.integers(1, 300))
    joint = draw(st.integers(0, min(a, b)))
    return joint, a, b, a + b - joint + draw(st.integers(0, 300))


@given(supports())
def test_the_bound_is_the_lower_one_of_the_share(case: tuple[int, int, int, int]) -> None:
    joint, a, b, _ = case
    pair = Together(np.array([0]), np.array([1]), *(np.array([float(n)]) for n in (*case, 1, 1)))

    oracle = binomtest(joint, a + b - joint).proportion_ci(0.95, method="wilson").low
    assert pair.jaccard_low[0] == pytest.approx(oracle, abs=1e-9)
