"""Tables of measurements as they may be shared: counts in steps, numbers without telling digits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from audit.disclosure import DIGITS, Shown, shown_in_steps

CHANCES = frozenset(("p", "q", "p_t", "p_permutation", "p_value", "q_value"))
"""Names of p-values and q-values, as are those that end in ``_p`` and ``_q``."""


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
        records: Whether rows are single records, shared only where a count of one is shown.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    most: int | None = None
    each: str = ""
    records: bool = False

    def rows_of(self, frame: pl.DataFrame, min_cell: int) -> pl.DataFrame:
        """The rows that may be shared, with all their columns."""
        most = 0 if self.records and min_cell > 1 else self.most
        if most is None or not self.each:
            return frame.head(len(frame) if most is None else most)
        return frame.filter(pl.int_range(pl.len()).over(self.each) < most)


def columns(
    keys: str, values: str = "", counts: str = "", *, most: int | None = None, each: str = ""
) -> SharedTable:
    """What is shared of a table, its columns named in texts.

    >>> columns("model split", counts="n").keys
    ('model', 'split')
    """
    return SharedTable(
        tuple(keys.split()), tuple(values.split()), tuple(counts.split()), most, each
    )


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
    size = (row[rule.counts[0]] or 0) if rule.counts else totals["instances"]
    small = size < min_cell
    return {
        **{
            key: None if (small and key in VERDICTS) or row[key] != row[key] else row[key]
            for key in rule.keys
            if key in row
        },
        **{
            name: None if small else _number(name, row[name], min_cell)
            for name in rule.values
            if name in row
        },
        **{
            name: _count(row[name], totals.get(name, totals["instances"]), min_cell)
            for name in rule.counts
        },
    }


def _count(value: int | None, total: int, min_cell: int) -> Shown:
    return None if value is None else shown_in_steps(value, total, min_cell)


def _number(name: str, value: float | None, min_cell: int) -> float | None:
    """A number without the digits from which the counts behind it could be computed."""
    if value is None or not math.isfinite(value):
        return None
    if min_cell <= 1 or value == 0:
        return value
    if name in CHANCES or name.endswith(("_p", "_q")):
        return float(f"{value:.0e}")
    return round(value, DIGITS)
