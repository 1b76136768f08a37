"""Values of columns that lie within each other: what all counts together tell of small ones.

Told are releases, of which a later one may contain the earlier one.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest

from audit.disclosure import Before, Shown, Value, shown_within, values_shown
from fixtures.attack import range_of

CHAINS = [(seed, 2) for seed in (1, 2, 4, 5, 7, 8, 10, 11, 63, 66, 87, 106, 149)]
CHAINS += [(seed, 3) for seed in (1, 2, 4, 5, 7, 8)]
"""Seeds, and how many releases are drawn."""
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
    return {(c, v): np.array([float(cell[c] == v) for cell in cells]) for c, v in places}


def told(cells: Cells, m: int) -> list[tuple[Any, float, float]]:
    """What a reader, who knows which values meet, is told of the cells of a release."""
    sets, ends = sets_of(cells), list[tuple[Any, float, float]]()
    for value, one in shown(cells, m).items():
        ends.append((sets[value], *left(one)))
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
            low, high = range_of(row, known)
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


@pytest.mark.parametrize(("seed", "n"), CHAINS)
def test_no_small_difference_of_two_releases_is_told(seed: int, n: int) -> None:
    """It, and a small count before, can be all that is small, as far as totals and small counts
    allow, where none is gone.

    Differences are those of all releases of a chain, by what all of them tell.
    """
    cells, m = drawn(seed)
    releases, views, before = [cells], list[dict[Value, Shown]](), list[Before]()
    while len(releases) < n:
        releases.append(later(releases[-1], m, seed + 100 * (len(releases) - 1)))
    sets, all_ = sets_of(cells), np.ones(len(cells))
    sizes = [np.array([*release.values()]) for release in releases]
    contained = all(bool((b >= a).all()) for a, b in pairwise(sizes))

    def at(own: Any, place: int) -> Any:
        """Those in a release, by what came with each where none is gone."""
        return np.hstack([own * (i <= place if contained else i == place) for i in range(n)])

    rows = []
    for place, release in enumerate(releases):
        views.append(shown(release, m, before))
        counts = {value: int(own @ sizes[place]) for value, own in sets.items()}
        total = int(sizes[place].sum())
        before.append(Before(counts, views[-1], [(all_, total)]))
        rows.append((at(all_, place), total, total))
        if place < n - 1:
            rows += [(at(sets[v], place), *left(k)) for v, k in views[-1].items()]
    small = {value: k for value, k in views[-1].items() if k == f"<{m}"}
    known = [
        [*rows, *((at(sets[v], n - 1), *left(k)) for v, k in its.items())]
        for its in (views[-1], small)
    ]
    narrow = []
    for (value, own), place in product(sets.items(), range(n - 1)):
        if contained and 0 < own @ sizes[place] < m:
            (low, high), (least, most) = map(range_of, [at(own, place)] * 2, known)
            if low > max(1, least) + 1e-6 or high < min(m - 1, most) - 1e-6:
                narrow.append(f"{value}: {own @ sizes[place]} before, in {low} to {high}")
    for (value, own), (then, now) in product(sets.items(), combinations(range(n), 2)):
        came = int(own @ (sizes[now] - sizes[then]))
        if not 0 < abs(came) < m:
            continue
        target = at(own, now) - at(own, then)
        (low, high), (least, most) = map(range_of, [target] * 2, known)
        if contained and (low > max(0, least) + 1e-6 or high < min(m - 1, most) - 1e-6):
            narrow.append(f"{value}: {came} in {low} to {high}, {least} to {most} by totals")
        if high - low < 1e-6 < most - least:
            narrow.append(f"{value}: {came} exactly")
    assert narrow == []


def few_sets(seed: int) -> tuple[dict[Value, Any], Any, int]:
    """Sets of a few cells, some of one column; of every third seed some count labels."""
    draw = np.random.default_rng(seed)
    m, n = int(draw.integers(3, 7)), int(draw.integers(2, 6))
    sizes = np.where(draw.random(n) < 0.4, draw.integers(1, m, n), draw.integers(m, 6 * m, n))
    has = {
        (f"c{place // 2}", str(place)): draw.integers(0, 2 + (seed % 3 == 0), n).astype(float)
        for place in range(int(draw.integers(2, 7)))
    }
    return {value: row for value, row in has.items() if row.any()}, sizes.astype(float), m


@pytest.mark.parametrize("seeds", [range(start, start + 5) for start in range(0, 30, 5)])
def test_what_is_withheld_of_sets_is_enough_and_none_of_it_in_vain(seeds: range) -> None:
    """Told again, each would narrow a small count, or of few in one set outside another."""
    for seed in seeds:
        has, sizes, m = few_sets(seed)
        counts = {value: int(row @ sizes) for value, row in has.items()}
        alone = {value: f"<{m}" if 0 < n < m else n for value, n in counts.items()}

        def show(withheld: Collection[Value], alone: Any = alone) -> dict[Value, Shown]:
            return {value: None if value in withheld else n for value, n in alone.items()}

        told = shown_within(has, sizes, show, m)
        withheld = {value for value, n in told.items() if n is None}
        small = [row for row in has.values() if 0 < row @ sizes < m]
        for (one, row), (other, beside) in product(has.items(), repeat=2):
            outside = row * (1 - beside)
            if max(row.max(), beside.max()) < 2 and one[0] != other[0] and (row * beside).any():
                small += [outside] if 0 < outside @ sizes < m else []

        def short(
            of: Any, has: Any = has, sizes: Any = sizes, m: int = m, small: Any = small
        ) -> Any:
            """By how much each small number falls short of 1, and of the most."""
            known = [(has[value], *left(n)) for value, n in of.items() if n is not None]
            known += [(np.ones(len(sizes)), sizes.sum(), sizes.sum())]
            known += [(cell, 0, np.inf) for cell in np.eye(len(sizes))]
            ends = [range_of(row, known) for row in small]
            return np.array([(max(low - 1, 0), max(m - 1 - high, 0)) for low, high in ends])

        now = short(told)
        assert (now <= short(show(has)) + 1e-6).all(), seed
        for value in withheld:
            assert (short(show(withheld - {value})) > now + 1e-6).any(), (seed, value)


def test_the_smallest_count_is_withheld_first() -> None:
    """Few are what 20 leave of 23: of these two the first is the smaller."""
    has = {
        ("a", "few"): np.array([1.0, 0, 0]),
        ("b", "many"): np.array([0.0, 1, 0]),
        ("c", "both"): np.array([1.0, 1, 0]),
    }
    alone: dict[Value, Shown] = dict(zip(has, ("<5", 20, 23), strict=True))

    def show(withheld: Collection[Value]) -> dict[Value, Shown]:
        return {value: ">0" if value in withheld else n for value, n in alone.items()}

    told = shown_within(has, np.array([3.0, 20, 43]), show, 5)
    assert [*told.values()] == ["<5", ">0", 23]


def test_columns_that_share_nothing_are_shown_as_alone() -> None:
    cells: Cells = {(a, b): 50 for a in "xy" for b in "12"}
    assert set(shown(cells, 11).values()) == {100}


@pytest.mark.parametrize("before", [50, None])
def test_a_count_that_few_came_to_is_told_where_the_one_before_was_not(before: Shown) -> None:
    has = {("a", "x"): np.array([1.0, 0]), ("a", "y"): np.array([0.0, 1])}
    sizes, (x, y) = np.array([52.0, 60]), has
    earlier = Before({x: 50, y: 60}, {x: before, y: None})
    told = shown_within(has, sizes, partial(values_shown, has, sizes, 11), 11, (), [earlier])

    assert (told[x] == 52) == (before is None)
