"""The design effect of groups on which child of a parent each unit has, in plain Python."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.checks.rules.sibling_shift import Units, Values, design_effect


def table_of(units: list[tuple[int, int, int]]) -> Units:
    child, value, group = np.array(units, np.int64).T
    values = [str(n) for n in range(int(value.max()) + 1)]
    column = Values("site", values, np.zeros(0, np.int64))
    return Units(column, 0, np.arange(int(child.max()) + 1), child, value, group)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=25
    )
)
def test_the_design_effect_is_that_of_plain_python(units: list[tuple[int, int, int]]) -> None:
    n, ratios = len(units), []
    for c in range(max(child for child, _, _ in units) + 1):
        for v in range(max(value for _, value, _ in units) + 1):
            p, q = sum(u[0] == c for u in units) / n, sum(u[1] == v for u in units) / n
            sums, squares = defaultdict[int, float](float), 0.0
            for child, value, group in units:
                residual = ((child == c) - p) * ((value == v) - q)
                sums[group] += residual
                squares += residual**2
            if squares > 1e-12:
                ratios.append(sum(one**2 for one in sums.values()) / squares)

    expected = max(1.0, sum(ratios) / len(ratios)) if ratios else 1.0
    assert design_effect(table_of(units)) == pytest.approx(expected)
