"""What holds of adjusted p values and of strata of record length, on anything drawn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from audit.engine.pairs.margins import length_cuts, length_histogram, merged_histogram, strata_of
from audit.engine.statistics.fdr import benjamini_hochberg


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


lengths = st.lists(st.integers(0, 60), max_size=120).map(lambda x: np.array(x, np.int64))


@given(lengths, lengths)
def test_histograms_of_lengths_add_up(left: np.ndarray, right: np.ndarray) -> None:
    together = length_histogram(np.concatenate([left, right]))
    merged = merged_histogram(length_histogram(left), length_histogram(right))

    assert np.array_equal(together, merged)
    assert np.array_equal(length_cuts(together), length_cuts(merged))


@given(lengths)
def test_a_longer_record_is_in_no_lower_stratum(values: np.ndarray) -> None:
    strata = strata_of(values, length_cuts(length_histogram(values)))
    order = np.argsort(values, kind="stable")

    assert np.array_equal(strata == -1, values < 2)
    assert all(a <= b for a, b in pairwise(strata[order].tolist()))
    assert len(set(strata.tolist()) - {-1}) <= 20
