"""Conversion of an earlier release to a table and back."""

from __future__ import annotations

from typing import Any

import polars as pl

from audit.disclosure import Cell, Earlier, LabelSet

_SETS = pl.List(pl.Struct({"scope": pl.String, "node": pl.String}))
_EARLIER: dict[str, Any] = {
    "meets": _SETS,
    "misses": _SETS,
    "of_labels": pl.Boolean,
    "differing": pl.Boolean,
    "count": pl.Int64,
    "least": pl.Int64,
    "most": pl.Int64,
}
_LABELLED, _ASSERTIONS = Cell(()), Cell((), of_labels=True)
"""Cells of the two totals, which have no label sets."""


def earlier_frame(earlier: Earlier | None) -> pl.DataFrame:
    """Table of an earlier release, a row per count; ``least, most`` are null if not published.

    The first two rows are the totals: labelled instances, and their labels. Without an earlier
    release the table is empty.
    """
    if earlier is None:
        return pl.DataFrame(schema=_EARLIER)
    counts = {_LABELLED: earlier.labelled, _ASSERTIONS: earlier.assertions, **earlier.counts}
    nothing = (None, None)
    return pl.DataFrame(
        [
            {
                "meets": _rows(cell.meets),
                "misses": _rows(cell.misses),
                "of_labels": cell.of_labels,
                "differing": cell.differing,
                "count": count,
                **dict(zip(("least", "most"), earlier.ranges.get(cell, nothing), strict=True)),
            }
            for cell, count in counts.items()
        ],
        schema=_EARLIER,
    )


def earlier_of(frame: pl.DataFrame) -> Earlier | None:
    """Inverse of `earlier_frame`."""
    if frame.is_empty():
        return None
    rows = [(_cell(row), row) for row in frame.iter_rows(named=True)]
    counts = {cell: row["count"] for cell, row in rows}
    return Earlier(
        labelled=counts.pop(_LABELLED),
        assertions=counts.pop(_ASSERTIONS),
        counts=counts,
        ranges={c: (row["least"], row["most"]) for c, row in rows if row["least"] is not None},
    )


def _rows(sets: tuple[LabelSet, ...]) -> list[dict[str, str]]:
    return [{"scope": scope, "node": node} for scope, node in sets]


def _cell(row: dict[str, Any]) -> Cell:
    meets, misses = (
        tuple((one["scope"], one["node"]) for one in row[name]) for name in ("meets", "misses")
    )
    return Cell(meets, misses, row["of_labels"], row["differing"])
