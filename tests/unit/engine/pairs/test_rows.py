"""The highest value of a row, and looking up many places of a sparse matrix at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.engine.pairs.rows import highest, stored


@pytest.mark.parametrize(
    ("values", "column", "tied"),
    [
        ([0.2, 0.5, 0.3], 1, False),
        ([0.5, 0.0, 0.5], 0, True),
        ([0.0, 0.0, 0.0], -1, False),
        ([0.0, 0.4, 0.4], 1, True),
    ],
)
def test_the_first_of_equals_is_the_answer(values: list[float], column: int, tied: bool) -> None:
    found = highest(csr_array([values]))

    assert (found.column.tolist(), found.tied.tolist()) == ([column], [tied])


@given(st.lists(st.lists(st.booleans(), min_size=9, max_size=9), min_size=1, max_size=6))
def test_every_place_is_found_where_it_is_stored(lines: list[list[bool]]) -> None:
    row, column = np.divmod(np.arange(9 * len(lines)), 9)
    matrix = csr_array(np.array(lines, np.int64))

    assert stored(matrix, row, column).tolist() == [value for line in lines for value in line]
