"""Values of columns that lie within each other: what all counts together tell of small ones.

Told are two releases, of which the later one may contain the earlier one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from audit.disclosure import Before, Shown, Value, shown_within, values_shown
from fixtures.attack import range_of

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


def shown(cells: Cells, m: int, earlier: list[Before] | None = None) -> dict[Value, Shown]:
    has, sizes = sets_of(cells), np.array([*cells.values()])
    return dict(
        shown_within(has, sizes, partial(values_shown, has, sizes, m), m, (), earlier or ())
    )


def sets_of(cells: Cells) -> dict[Value, Any]:
    places = sorted({(place, one) for c in cells for place, one in enumerate(c) if one})
    return {(c, v): np.array([cell[c] == v for cell in cells]) for c, v in places}


def told(cells: Cells, m: int) -> list[tuple[Any, float, float]]:
    """What a reader, who knows which values meet, is told of the cells of a release."""
    sets, ends = sets_of(cells), list[tuple[Any, float, float]]()
    for value, one in shown(cells, m).items():
        ends.append((sets[value].astype(float), *left(one)))
    return [*ends, (np.ones(len(cells)), sum(cells.values()), sum(cells.values()))]


def left(one: Shown) -> tuple[float, float]:
    if isinstance(one, str):
        return (1, int(one[1:]) - 1) if one[0] == "<" else (int(one[1:]) + 1, np.inf)
    return (1, np.inf) if one is None else (one, one)


@pytest.mark.parametrize("seed", range(12))
def test_no_small_count_of_nested_values_is_told(seed: int) -> None:
    cells, m = drawn(seed)
    known, sizes, narrow = told(cells, m), np.array([*cells.values()]), []
    known += [(one, 0, np.inf) for one in np.eye(len(cells))]
    for (column, value), row in sets_of(cells).items():
        if 0 < row @ sizes < m:
            low, high = range_of(row.astype(float), known)
            if low > 1 + 1e-6 or high < m - 1 - 1e-6:
                narrow.append(f"{column} {value}: {row @ sizes} in {low} to {high}")
    assert narrow == []


def later(cells: Cells, m: int, seed: int) -> Cells:
    """A release with a few more instances; of every third seed some are gone."""
    draw = np.random.default_rng(seed)
    more = draw.choice([0, 0, 1, 2, m, 3 * m], len(cells)) - (draw.random(len(cells)) < 0.2) * (
        seed % 3 == 0
    )
    return {
        cell: max(n + int(came), 1) for (cell, n), came in zip(cells.items(), more, strict=True)
    }


@pytest.mark.parametrize("seed", range(12))
def test_no_small_difference_of_two_releases_is_told(seed: int) -> None:
    """It can be all that is small, as far as totals and small counts allow, where none is gone."""
    cells, m = drawn(seed)
    new = later(cells, m, seed)
    then, now = np.array([*cells.values()]), np.array([*new.values()])
    sets, before = sets_of(cells), shown(cells, m)
    counts = {value: int(row @ then) for value, row in sets.items()}
    view: dict[Value, Shown] = shown(new, m, [Before(counts, before, int(then.sum()))])
    small: dict[Value, Shown] = {value: n for value, n in view.items() if n == f"<{m}"}
    one, none = np.eye(len(cells)), np.zeros(len(cells))
    all_, contained = np.ones(len(cells)), bool((now >= then).all())
    rows = [(np.hstack([row, none]), low, high) for row, low, high in told(cells, m)]
    rows += [(np.hstack([own, none]), 0, np.inf) for own in one]
    rows += [(np.hstack([none if contained else own, own]), 0, np.inf) for own in one]
    rows += [(np.hstack([all_, all_]), now.sum(), now.sum())]
    narrow = []
    for value, row in sets.items():
        came = int(row @ (now - then))
        if not 0 < abs(came) < m:
            continue
        target = np.hstack([none, row])
        ends = [
            range_of(
                target, [*rows, *((np.hstack([sets[v]] * 2), *left(n)) for v, n in its.items())]
            )
            for its in (view, small)
        ]
        (low, high), (least, most) = ends
        if contained and (low > max(0, least) + 1e-6 or high < min(m - 1, most) - 1e-6):
            narrow.append(f"{value}: {came} in {low} to {high}, {least} to {most} by totals")
        if high - low < 1e-6 < most - least:
            narrow.append(f"{value}: {came} exactly")
    assert narrow == []


def test_columns_that_share_nothing_are_shown_as_alone() -> None:
    cells: Cells = {(a, b): 50 for a in "xy" for b in "12"}
    assert set(shown(cells, 11).values()) == {100}
