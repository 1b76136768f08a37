"""Complementary suppression of a table of hierarchical counts that somebody else counted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.disk import replacing
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import called, column_named
from audit.base.spreadsheets import defused
from audit.data import mapping
from audit.data.sources import source_of
from audit.disclosure import (
    Known,
    Release,
    Shown,
    Value,
    carried,
    is_small,
    left_possible,
    protected,
    shown_within,
)
from audit.hierarchies.hierarchy import Hierarchy

Told: TypeAlias = dict[str, int | None]
"""Counts by their nodes; None where they are withheld."""

_ITSELF, _ELSEWHERE = "itself", "elsewhere"
NODES, COUNTS = ("node", "code", "label", "id"), ("count", "n", "instances", "units", "patients")
"""What columns may be called that nobody names."""


def suppress(
    frame: Any,
    hierarchy: Hierarchy,
    *,
    min_cell: int = 11,
    node: str | None = None,
    count: str | None = None,
    period: str | None = None,
    several: bool = False,
) -> pl.DataFrame:
    """Find which counts of a table must be withheld so that nobody can work out a small one.

    A count is of units (persons, records) at a node or at any node below it. Withheld are small
    counts, and further ones from which, beside all that remains, readers could work out a small
    one, a few units that a node has beside a node below it, or beside all of them.

    Args:
        frame: A path, or anything that Polars takes: a row for each node, and each period.
        hierarchy: The hierarchy that the nodes are of.
        min_cell: Smallest count that may be shown; 1 withholds nothing.
        node: Column of the node; None: the one called ``node``, ``code``, ``label`` or ``id``.
        count: Column of the count; None: the one called ``count``, ``n``, ``instances``, ``units``
            or ``patients``.
        period: Column of the period. Units of a period may still be there in later ones, so that
            small differences are withheld as small counts are.
        several: Whether a unit may be counted at several nodes, as a patient with several codes is.

    Returns:
        A row for each row of the table, in its order: ``node``, its id in the hierarchy;
        ``period``, where there is one; ``count``; ``shown``, null where it is withheld; ``why``:
        ``primary`` for a small count, ``secondary`` for any other one. Only ``node, period, shown``
        may be shared. Empty for an empty table.

    Raises:
        SchemaError: If a column or a count is not as required.
        InputError: If a node is unknown or occurs twice, or counts cannot be of one hierarchy.

    A table of 400 nodes takes seconds, one of 1,000 about half a minute. The method is that of
    docs/methods/small_cells.md; where units are counted at one node only, programs over all nodes
    at once, else over the nodes around each.

    >>> import audit
    >>> tree = audit.load_hierarchy({"all": {"a": {}, "b": {}, "c": {}}})
    >>> told = audit.suppress({"node": ["all", "a", "b", "c"], "count": [90, 4, 30, 56]}, tree)
    >>> told["shown"].to_list(), told["why"].to_list()
    ([90, None, None, 56], [None, 'primary', 'secondary', None])
    """
    rows = _rows(source_of(frame).table(), hierarchy, (node, count, period))
    tables = _tables(rows, hierarchy, several=several)
    told = _told(tables, min_cell)
    shown = [told[moment][name] for moment, name in rows.select("period", "node").iter_rows()]
    why = pl.when(pl.col("count") < min_cell).then(pl.lit("primary")).otherwise(pl.lit("secondary"))
    made = rows.with_columns(shown=pl.Series(shown, dtype=pl.Int64)).with_columns(
        why=pl.when(pl.col("shown").is_null()).then(why)
    )
    return made if period else made.drop("period")


def _tables(rows: pl.DataFrame, hierarchy: Hierarchy, *, several: bool) -> list[_Table]:
    """The counts of each period, in their order; InputError if some cannot be of one hierarchy."""
    ordered = rows.sort("period", maintain_order=True)
    parts = ordered.partition_by("period", as_dict=True, maintain_order=True)
    tables = [
        _Table(hierarchy, period, its["node"].to_list(), its["count"].to_numpy(), several)
        for (period,), its in parts.items()
    ]
    for table in tables:
        table.refuse_impossible()
    return tables


def shareable(told: pl.DataFrame) -> pl.DataFrame:
    """The columns of the result of `suppress` that may be shared: ``node, period, count``."""
    return told.drop("count", "why").rename({"shown": "count"})


def withheld(told: pl.DataFrame) -> dict[str, dict[str, int]]:
    """How many counts `suppress` withholds, ``primary`` and ``secondary``, and their sum."""
    sums = {why: told.filter(why=why)["count"] for why in ("primary", "secondary")}
    return {why: {"counts": len(its), "units": int(its.sum())} for why, its in sums.items()}


def write_table(table: pl.DataFrame, file: Path, *, overwrite: bool) -> None:
    """Write a table as CSV or Parquet, as the file's name ends; OutputError if it cannot be."""
    with replacing(file, overwrite=overwrite) as begun:
        if file.suffix == ".parquet":
            table.write_parquet(begun)
        else:
            defused(table).write_csv(begun)


def _rows(table: pl.DataFrame, hierarchy: Hierarchy, named: Sequence[str | None]) -> pl.DataFrame:
    """The table with nodes as the hierarchy has them: ``node, period, count``."""
    node, count, period = (
        _column(table, name, usual) for name, usual in zip(named, (NODES, COUNTS, ()), strict=True)
    )
    labels = [str(one) if one is not None else "" for one in table[node]]
    known = {one: _known(one, hierarchy) for one in dict.fromkeys(labels)}
    if unknown := [one for one, its in known.items() if its is None]:
        raise InputError(
            f"nodes of the hierarchy {hierarchy.name} are required",
            found=f"{first_cases(unknown)}, in column {node!r}",
        )
    made = pl.DataFrame(
        {
            "node": pl.Series([known[one] for one in labels], dtype=pl.String),
            "period": table[period] if period else pl.Series([None] * len(table), dtype=pl.String),
            "count": _whole(table[count], labels),
        }
    )
    twice = made.filter(made.select("node", "period").is_duplicated())
    if len(twice):
        cases = twice.select("node", "period").unique(maintain_order=True).iter_rows()
        raise InputError(
            "each node may occur only once" + (" in each period" if period else ""),
            found=first_cases([one if at is None else f"{one}, {at}" for one, at in cases]),
            hint=""
            if period
            else "--period COL names the column of the period, where there is one",
        )
    return made


def _known(label: str, hierarchy: Hierarchy) -> str | None:
    if label in hierarchy:
        return label
    found = mapping.place(label, None, hierarchy)
    return found.node if found.listed else None


def _column(table: pl.DataFrame, name: str | None, usual: Sequence[str]) -> str:
    """The column that is named, or called as usual; empty where neither is asked."""
    if name is not None or not usual:
        return column_named(table, name, "the table") if name is not None else ""
    found = called(table.columns, usual)
    if len(found) != 1:
        raise SchemaError(
            f"one column called {', '.join(usual[:-1])} or {usual[-1]} is required",
            found=first_cases(found or table.columns),
            hint=f"--{usual[0]} COL names it",
        )
    return found[0]


def _whole(column: pl.Series, labels: Sequence[str]) -> pl.Series:
    """Counts as whole numbers; SchemaError with the first nodes that have another one."""
    made = column.cast(pl.Int64, strict=False)
    exact = column.cast(pl.Float64, strict=False) == made.cast(pl.Float64)
    wrong = ~(exact & (made >= 0)).fill_null(value=False)
    if wrong.any():
        cases = [f"{labels[i]}: {column[i]}" for i in wrong.arg_true().to_list()]
        raise SchemaError(
            "counts are whole numbers from 0 on", found=first_cases(cases)
        )  # fmt: skip
    return made


@dataclass(frozen=True, eq=False)
class _Table:
    """The counts of one period.

    Args:
        counts: Units at or below each, shape (n_nodes,).
        several: Whether a unit may be counted at several nodes.
    """

    hierarchy: Hierarchy
    period: Any
    nodes: list[str]
    counts: NDArray[np.int64]
    several: bool

    @cached_property
    def above(self) -> NDArray[np.bool_]:
        """Whether a node of the table lies above another one, or is it: (n_nodes, n_nodes)."""
        places = [self.hierarchy.index(node) for node in self.nodes]
        return np.asarray(self.hierarchy.closure[places][:, places].toarray() > 0)

    @cached_property
    def parents(self) -> NDArray[np.bool_]:
        """Whether a node lies right above another one: above, and above none that is."""
        strict = (self.above & ~np.eye(len(self.nodes), dtype=np.bool_)).astype(np.float32)
        return np.asarray((strict > 0) & (strict @ strict == 0))

    @cached_property
    def own(self) -> NDArray[np.int64]:
        """Units that each node has itself, or at nodes that are not in the table."""
        own = self.counts.copy()
        for place in np.argsort(-self.above.sum(axis=1), kind="stable"):
            above = self.above[place].copy()
            above[place] = False
            own[above] -= own[place]
        return own

    @property
    def has_root(self) -> bool:
        """Whether one node lies above all, so that its count is the total."""
        return bool(self.above.all(axis=0).any())

    def contains(self, earlier: _Table) -> bool:
        """Whether it may have all units of an earlier period."""
        return self.nodes == earlier.nodes and bool((self.own >= earlier.own).all())

    def refuse_impossible(self) -> None:
        """Raise InputError where a node has fewer units than one below it, or all below it."""
        when = "" if self.period is None else f", {self.period}"
        for child, parent in zip(*np.nonzero(self.parents), strict=True):
            if self.counts[child] > self.counts[parent]:
                raise InputError(
                    "a node must count no fewer units than each node below it",
                    found=f"{self._named(parent)}, and {self._named(child)} below it{when}",
                )
        for parent in np.flatnonzero((self.own < 0) & (not self.several)):
            children = np.flatnonzero(self.parents[:, parent])
            below = self.counts[parent] - self.own[parent]
            raise InputError(
                "counts below a node must add up to no more than its own",
                found=f"{self._named(parent)}, and {below:,} below it: "
                f"{first_cases(map(self._named, children))}{when}",
                hint="--several says that a unit may be counted at several nodes",
            )

    def as_release(self, min_cell: int) -> Release:
        """What readers know of the table beside its counts, as of a release with its labels."""
        strict = self.above & ~np.eye(len(self.nodes), dtype=np.bool_)
        several = (strict.astype(np.int64) @ self.parents.astype(np.int64) > 1).any(axis=0)
        right = self.counts @ self.parents
        itself = (self.counts > 0) & ((self.counts > right) | several) & self.parents.any(axis=0)
        named: list[str] = self.nodes
        parents = {
            named[i]: tuple(named[int(j)] for j in np.flatnonzero(row))
            for i, row in enumerate(self.parents)
        }
        supports = {named[i]: int(n) for i, n in enumerate(self.counts) if n}
        leaves = np.flatnonzero((self.counts > 0) & ~(self.counts @ self.parents > 0)).tolist()
        own = {f"{named[i]} {_ITSELF}": i for i in np.flatnonzero(itself).tolist()}
        parents |= {name: (named[i],) for name, i in own.items()}
        supports |= {name: int(max(self.counts[i] - right[i], min_cell)) for name, i in own.items()}
        units = int(self.counts.max(initial=0))
        most = 2 * units + 4 * min_cell
        supports[_ELSEWHERE] = most - units // 2
        labels = [*(named[i] for i in leaves), *own, _ELSEWHERE]
        return Release(
            labelled=most,
            assertions=sum(supports[label] for label in labels),
            parents=parents,
            supports=supports,
            labels={label: depth for depth, label in enumerate(labels)},
            residual=frozenset(),
        )

    def _named(self, place: np.int64) -> str:
        return f"{self.nodes[place]} {self.counts[place]:,}"


def _told(tables: Sequence[_Table], min_cell: int) -> dict[Any, Told]:
    """The counts of each period as they may be shown."""
    if min_cell <= 1:
        return {t.period: dict(zip(t.nodes, t.counts.tolist(), strict=True)) for t in tables}
    if any(table.several for table in tables):
        return _as_releases(tables, min_cell)
    told: dict[Any, Told] = {}
    while tables:
        pairs = pairwise(tables)
        size = 1 + next(
            (i for i, (one, later) in enumerate(pairs) if not later.contains(one)), len(tables) - 1
        )
        told |= _together(tables[:size], min_cell, told)
        tables = tables[size:]
    return told


def _together(
    tables: Sequence[_Table], min_cell: int, before: Mapping[Any, Told]
) -> dict[Any, Told]:
    """Periods that may each contain the one before, by programs over all their counts.

    The unknowns are the units that each period adds to each node itself; without a root, an
    unknown number is elsewhere. Beside a period that this one cannot contain, a count that differs
    little from it is withheld.
    """
    owns = np.array([table.own for table in tables])
    counted = np.array([table.counts for table in tables])
    used = (counted > 0) & owns.any(axis=0)
    since, at = np.nonzero(used)
    came = np.diff(owns, axis=0, prepend=0)[used]
    elsewhere = [] if tables[0].has_root else [4 * min_cell + int(came.sum())]
    has = dict[Value, NDArray[np.float64]]()
    alone: dict[Value, Shown] = {}
    for moment, place in zip(*np.nonzero(counted), strict=True):
        node, n = tables[moment].nodes[place], int(counted[moment, place])
        then = [m for its in before.values() if (m := its.get(node)) is not None]
        little = any(is_small(abs(n - m), min_cell) for m in then)
        count, itself = (f"{moment} {node}", ""), (f"{moment} {node}", _ITSELF)
        alone[count], alone[itself] = (">0" if little or n < min_cell else n), None
        below = tables[moment].above[at, place] & (since <= moment)
        for value, cells in ((count, below), (itself, below & (at == place))):
            has[value] = np.append(cells.astype(np.float64), np.zeros(len(elsewhere)))

    def show(withheld: Collection[Value]) -> Mapping[Value, Shown]:
        return alone | dict.fromkeys(withheld, ">0")

    shown = shown_within(has, np.append(came, elsewhere).astype(np.float64), show, min_cell)
    return {
        table.period: {node: _exact(shown.get((f"{moment} {node}", ""), 0)) for node in table.nodes}
        for moment, table in enumerate(tables)
    }


def _exact(shown: Shown) -> int | None:
    return shown if isinstance(shown, int) else None


def _as_releases(tables: Sequence[_Table], min_cell: int) -> dict[Any, Told]:
    """Periods protected as an audit protects releases of records with several labels each.

    A node has units of its own where it counts more than all nodes right below it, or where some
    lie below several of these. How many units are counted nowhere in the table is unknown, and so
    is how many nodes each is counted at.
    """
    told: dict[Any, Told] = {}
    earlier: tuple[Known, ...] = ()
    for table in tables:
        release = table.as_release(min_cell)
        counts = {carried(n): int(m) for n, m in zip(table.nodes, table.counts, strict=True)}
        shown = protected(counts, release, min_cell, Known(earlier=earlier))
        ranges = left_possible(shown, release, min_cell)
        every = counts | release.carrying
        earlier += (Known(release.labelled, release.assertions, every, ranges),)
        told[table.period] = {cell.meets[0][1]: _exact(n) for cell, n in shown.items()}
    return told
