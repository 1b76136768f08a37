"""Counts fitted to both margins with an empty diagonal, against a dense fit that is left to run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from audit.engine.scores.exchanges import MOST_STEPS, TOLERANCE, fitted

Counts = NDArray[np.float64]


def table(rows: Counts, columns: Counts) -> Counts:
    """What the terms say of every cell."""
    x, y = fitted(rows, columns)
    expected: Counts = np.einsum("ti,tj->ij", x, y)
    np.fill_diagonal(expected, 0.0)
    return expected


def dense_fit(rows: Counts, columns: Counts, steps: int = 3_000) -> Counts:
    """Ones without a diagonal, scaled to the rows and to the columns in turn."""
    cells = np.ones((len(rows), len(rows))) - np.eye(len(rows))
    for _ in range(steps):
        for axis, margin in ((1, rows), (0, columns)):
            sums = cells.sum(axis, keepdims=True)
            wanted = margin.reshape(sums.shape)
            cells = cells * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
    return cells


@st.composite
def mistaken(draw: st.DrawFn) -> Counts:
    """A table of mistakes: square, of small counts, its diagonal empty."""
    n = draw(st.integers(2, 6))
    cells = draw(st.lists(st.integers(0, 9), min_size=n * n, max_size=n * n))
    counts: Counts = np.array(cells, np.float64).reshape(n, n)
    np.fill_diagonal(counts, 0.0)
    return counts


@given(mistaken())
def test_both_margins_are_kept(counts: Counts) -> None:
    rows, columns = counts.sum(1), counts.sum(0)
    expected = table(rows, columns)
    slack = 10 * TOLERANCE * max(counts.sum(), 1)

    assert np.allclose(expected.sum(1), rows, rtol=0, atol=slack)
    assert np.allclose(expected.sum(0), columns, rtol=0, atol=slack)
    assert (expected >= 0).all()


@given(mistaken())
def test_it_is_where_the_dense_fit_goes(counts: Counts) -> None:
    rows, columns = counts.sum(1), counts.sum(0)

    assert table(rows, columns) == pytest.approx(dense_fit(rows, columns), abs=0.01)


@given(mistaken())
def test_no_cell_that_is_needed_is_empty(counts: Counts) -> None:
    expected = table(counts.sum(1), counts.sum(0))

    assert (expected[counts > 0] > 0).all()


@given(mistaken())
def test_up_to_three_labels_have_what_they_have(counts: Counts) -> None:
    counts = counts[:3, :3]
    expected = table(counts.sum(1), counts.sum(0))

    assert expected + expected.T == pytest.approx(counts + counts.T, abs=1e-5)


def test_a_label_in_every_mistake_leaves_the_others_their_margins() -> None:
    rows, columns = np.array([7.0, 2.0, 3.0, 0.0]), np.array([5.0, 4.0, 1.0, 2.0])

    assert table(rows, columns).tolist() == [
        [0, 4, 1, 2],
        [2, 0, 0, 0],
        [3, 0, 0, 0],
        [0, 0, 0, 0],
    ]


def test_nothing_gives_no_term() -> None:
    x, y = fitted(np.zeros(3), np.zeros(3))

    assert x.shape == y.shape == (0, 3)


def test_where_it_ends_before_it_is_there_little_is_left() -> None:
    """All of 20,002 mistakes but two are on one label: the hardest that is no case of its own."""
    rows, columns = np.full(21, 500.0), np.full(21, 500.0)
    rows[0] = columns[0] = 10_000
    rows[1], columns[2] = 501, 501
    expected = table(rows, columns)

    assert MOST_STEPS == 10_000
    assert np.abs(expected.sum(1) - rows).max() <= rows.sum() / 5_000
    assert expected.sum(0) == pytest.approx(columns)
