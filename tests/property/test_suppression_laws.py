"""What `audit.suppress` leaves possible, by linear programs that share no code with it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import audit
from fixtures.examples import examples

MIN_CELL = 5


class World(NamedTuple):
    """A DAG, the nodes above each and itself, and the units of each node itself in each period."""

    parents: dict[str, list[str]]
    above: dict[str, set[str]]
    own: list[dict[str, int]]

    def count(self, node: str, period: int) -> int:
        return sum(n for at, n in self.own[period].items() if node in self.above[at])

    @property
    def inner(self) -> set[str]:
        return {parent for its in self.parents.values() for parent in its}


@st.composite
def worlds(draw: st.DrawFn, most: int = 14, periods: int = 2) -> World:
    """Up to so many nodes, each below one or two earlier ones; some few units at each."""
    size = draw(st.integers(3, most))
    parents: dict[str, list[str]] = {"n00": []}
    above = {"n00": {"n00"}}
    for number in range(1, size):
        node = f"n{number:02}"
        chosen = draw(st.sets(st.integers(0, number - 1), min_size=1, max_size=2))
        parents[node] = [f"n{one:02}" for one in sorted(chosen)]
        above[node] = {node}.union(*(above[one] for one in parents[node]))
    inner = {parent for its in parents.values() for parent in its}
    sizes = st.one_of(st.just(0), st.integers(1, MIN_CELL), st.integers(MIN_CELL, 60))
    first = {
        node: draw(sizes) if node not in inner or draw(st.booleans()) else 0 for node in parents
    }
    first["n00"] += 4 * MIN_CELL
    own = [first]
    for _ in range(draw(st.integers(0, periods - 1))):
        came = {n: draw(st.integers(0, 2 * MIN_CELL)) if first[n] else 0 for n in parents}
        own.append({node: n + came[node] for node, n in own[-1].items()})
    return World(parents, above, own)


def suppressed(world: World, **how: Any) -> pl.DataFrame:
    edges = [(child, parent) for child, its in world.parents.items() for parent in its]
    hierarchy = audit.load_hierarchy(pl.DataFrame(edges, ["child", "parent"], orient="row"))
    rows = [
        (node, period, world.count(node, period))
        for period in range(len(world.own))
        for node in world.parents
    ]
    table = pl.DataFrame(rows, ["node", "period", "count"], orient="row")
    return audit.suppress(table, hierarchy, min_cell=MIN_CELL, period="period", **how)


Row = np.ndarray


def small_sums(world: World, rows: dict[tuple[str, int], Row], own: list[Row]) -> Iterator[Row]:
    """Counts, units of nodes themselves or beside a node below, and what a period added."""
    yield from rows.values()
    yield from own
    for (node, period), row in rows.items():
        for other, at in rows:
            if at == period and other != node and node in world.above[other]:
                yield row - rows[other, at]
        if period:
            yield row - rows[node, period - 1]


def ends(row: Row, rows: Row, low: Row, high: Row) -> tuple[float, float]:
    found = [
        linprog(s * row, np.vstack([rows, -rows]), np.concatenate([high, -low])) for s in (1, -1)
    ]
    low_, high_ = ((one.fun if one.success else -np.inf) for one in found)
    return float(low_), -float(high_)


@pytest.mark.slow
@given(worlds())
@examples(300)
def test_each_small_count_stays_possible_beside_what_is_shown(world: World) -> None:
    told = suppressed(world)
    cells = [
        (node, period) for period, its in enumerate(world.own) for node in its
        if world.count(node, period) and world.own[-1][node]
    ]  # fmt: skip
    came = np.array([world.own[p][n] - (world.own[p - 1][n] if p else 0) for n, p in cells], float)

    def cells_of(node: str, period: int) -> Row:
        return np.array([node in world.above[n] and at <= period for n, at in cells], float)

    shown = {(n, p): value for n, p, value in told.select("node", "period", "shown").iter_rows()}
    rows = {place: cells_of(*place) for place in shown}
    own = [
        np.array([n == node and at <= period for n, at in cells], float) for node, period in cells
    ]
    every = np.array([*rows.values()])
    total = came.sum()
    known = [0 if not row @ came else None for row in rows.values()]
    low, high = np.array([(1, total) if n is None else (n, n) for n in shown.values()], float).T
    free = np.array([(1, total) if n is None else (n, n) for n in known], float).T
    for row in small_sums(world, rows, own):
        if 0 < (n := row @ came) < MIN_CELL:
            least, most = ends(row, every, low, high)
            at_best = ends(row, every, *free)
            assert least <= max(1, at_best[0]) + 1e-6, (row, n)
            assert most >= min(MIN_CELL - 1, at_best[1]) - 1e-6, (row, n)


@given(worlds(most=7, periods=1))
@examples(100)
def test_so_it_does_where_units_are_counted_at_several_nodes(world: World) -> None:
    """Of units with several labels the kinds are sets of nodes; what is at no node is unknown."""
    told = suppressed(world, several=True)
    labels = [node for node, n in world.own[0].items() if n or node in world.inner]
    kinds = [
        set().union(*(world.above[one] for one in some))
        for size in range(1, len(labels) + 1)
        for some in combinations(labels, size)
    ]
    rows = {n: np.array([n in kind for kind in kinds], float) for n in world.parents}
    counts = {node: world.count(node, 0) for node in world.parents}
    shown = dict(told.select("node", "shown").iter_rows())
    every, most = np.array([*rows.values()]), float(max(counts.values()))
    low, high = np.array([(1, most) if n is None else (n, n) for n in shown.values()], float).T
    for node, row in rows.items():
        below = [rows[n] for n in rows if n != node and node in world.above[n]]
        values = [counts[n] for n in rows if n != node and node in world.above[n]]
        sums = [(row, counts[node])]
        sums += [(row - other, counts[node] - n) for other, n in zip(below, values, strict=True)]
        for one, n in sums:
            if 0 < n < MIN_CELL:
                least, greatest = ends(one, every, low, high)
                assert least <= 1 + 1e-6
                assert greatest >= MIN_CELL - 1 - 1e-6
