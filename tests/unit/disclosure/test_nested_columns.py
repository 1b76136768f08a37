"""Values of two columns that lie within each other: what all counts together tell of small ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from audit.disclosure import shown_in_columns

Cells = dict[tuple[str | None, ...], int]


def drawn(seed: int) -> tuple[Cells, int]:
    """Wards of sites, some with a few instances elsewhere, and periods that cross both."""
    draw = np.random.default_rng(seed)
    cells, m = Cells(), int(draw.integers(3, 14))
    for site in range(int(draw.integers(2, 6))):
        for ward in range(int(draw.integers(1, 6))):
            few = draw.random() < 0.4
            for period in ("old", "new"):
                n = int(draw.integers(1, m) if few else draw.integers(m, 9 * m))
                cells[f"s{site}", f"s{site}w{ward}", period] = n
            if draw.random() < 0.3:
                cells[f"s{(site + 1) % 2}", f"s{site}w{ward}", "new"] = int(draw.integers(1, m))
            if draw.random() < 0.1:
                cells[f"s{site}", None, "old"] = int(draw.integers(1, 3 * m))
    return cells, m


def told(cells: Cells, m: int) -> list[str]:
    """Small counts that a reader, who knows which values meet, narrows to less than 1 to m - 1."""
    shown = shown_in_columns(cells, m)
    rows, low, high = list[list[float]](), list[float](), list[float]()
    for column, counts in enumerate(shown):
        for value, one in counts.items():
            rows.append([float(cell[column] == value) for cell in cells])
            ends: tuple[float, float] = (one, one) if isinstance(one, int) else (1, np.inf)
            if isinstance(one, str):
                ends = (1, int(one[1:]) - 1) if one[0] == "<" else (int(one[1:]) + 1, np.inf)
            low.append(ends[0])
            high.append(ends[1])
    rows.append([1.0] * len(cells))
    low, high = ([*ends, sum(cells.values())] for ends in (low, high))
    known, lower, upper = np.array(rows), np.array(low, float), np.array(high, float)
    some, names = np.isfinite(upper), [(c, v) for c, one in enumerate(shown) for v in one]
    narrow = []
    for row, (column, value) in zip(known, names, strict=False):
        size = int(row @ np.array([*cells.values()]))
        if not 0 < size < m:
            continue
        left = [
            sign
            * float(
                linprog(
                    sign * row, np.vstack([known[some], -known]), [*upper[some], *-lower]
                ).fun
                or 0.0
            )
            for sign in (1, -1)
        ]  # fmt: skip
        if left[0] > 1 + 1e-6 or left[1] < m - 1 - 1e-6:
            narrow.append(f"{shown[column][value]} {value}: {size} in {left}")
    return narrow


@pytest.mark.parametrize("seed", range(12))
def test_no_small_count_of_nested_values_is_told(seed: int) -> None:
    assert told(*drawn(seed)) == []


def test_columns_that_share_nothing_are_shown_as_alone() -> None:
    cells: Cells = {(a, b): 50 for a in "xy" for b in "12"}
    assert shown_in_columns(cells, 11) == [{"x": 100, "y": 100}, {"1": 100, "2": 100}]
