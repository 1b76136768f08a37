"""Tables of measurements as they may be shared: counts in steps, numbers without telling digits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from audit.disclosure import in_digits, shown_in_steps
from audit.engine.statistics.intervals import wilson

VERDICTS = frozenset(("verdict", "interval_verdict"))
"""Keys that say on which side of a limit a number is; withheld with it."""


class SharedTable(NamedTuple):
    """What is shared of a table.

    Args:
        keys: Columns that say what a row is about.
        values: Columns of numbers, withheld where the first of ``counts`` is small; without counts,
            where the total is.
        counts: Columns that count instances or examples; the first is the least.
        most: Number of rows that are shared, the first ones; None for all.
        each: The column of whose values so many rows are shared each; empty for the whole table.
        apart: Those of ``values`` that compare the row's instances with all others.
        exempt: Those that are withheld with the others, and computed from no count of instances.
        records: Whether rows are single records, shared only where a count of one is shown.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    most: int | None = None
    each: str = ""
    apart: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()
    records: bool = False

    def rows_of(self, frame: pl.DataFrame, min_cell: int) -> pl.DataFrame:
        """The rows that may be shared, with all their columns."""
        most = 0 if self.records and min_cell > 1 else self.most
        if most is None or not self.each:
            return frame.head(len(frame) if most is None else most)
        return frame.filter(pl.int_range(pl.len()).over(self.each) < most)


def columns(
    keys: str,
    values: str = "",
    counts: str = "",
    *,
    apart: str = "",
    exempt: str = "",
    most: int | None = None,
    each: str = "",
) -> SharedTable:
    """What is shared of a table, its columns named in texts; ``apart, exempt`` are values too.

    >>> columns("model split", counts="n").keys
    ('model', 'split')
    """
    told = tuple(f"{values} {apart} {exempt}".split())
    of_rows = tuple(keys.split()), told, tuple(counts.split())
    return SharedTable(*of_rows, most, each, tuple(apart.split()), tuple(exempt.split()))


def shared_rows(
    frame: pl.DataFrame, rule: SharedTable, totals: Mapping[str, int], min_cell: int
) -> list[dict[str, Any]]:
    """The rows of a table in which no count below ``min_cell`` can be read.

    Args:
        frame: The table.
        rule: What is shared of it.
        totals: What counts are part of: ``instances``, and the totals of counts of other names.
        min_cell: Smallest count shown.
    """
    return [_row(row, rule, totals, min_cell) for row in rule.rows_of(frame, min_cell).to_dicts()]


def _row(
    row: Mapping[str, Any], rule: SharedTable, totals: Mapping[str, int], min_cell: int
) -> dict[str, Any]:
    whole = totals["instances"]
    counted = [(row[name], totals.get(name, whole)) for name in rule.counts]
    counts = [(int(n), total) for n, total in counted if n is not None]
    size = (row[rule.counts[0]] or 0) if rule.counts else whole
    small = size < min_cell
    values = {name: row[name] for name in rule.values if name in row}
    exempt = {name: values[name] for name in rule.exempt if name in values}
    told = in_digits(
        {name: value for name, value in values.items() if name not in exempt},
        counts or [(whole, whole)],
        min_cell,
        rule.apart,
        wilson,
    )
    return {
        **{
            key: None if (small and key in VERDICTS) or row[key] != row[key] else row[key]
            for key in rule.keys
            if key in row
        },
        **{name: None if small else (told | exempt)[name] for name in values},
        **{
            name: None if n is None else shown_in_steps(n, total, min_cell)
            for name, (n, total) in zip(rule.counts, counted, strict=True)
        },
    }
