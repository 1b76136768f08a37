"""The rows of a frame: those that are asked for, by pages or some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

ROWS = 25
"""Rows of a page."""
ROWS_AT_ONCE = 50_000
"""Rows of CSV that are written at a time."""


@dataclass(frozen=True, eq=False)
class Query:
    """Which rows of a table, and in which order: by the column ``order``, nulls last; empty for
    the order of the table.

    Args:
        where: What holds of each row.
        nodes: What holds of the numbers of the nodes in columns of a table of pairs.
    """

    where: tuple[pl.Expr, ...] = ()
    nodes: tuple[pl.Expr, ...] = ()
    order: str = ""
    falling: bool = False
    start: int = 0

    def ranked(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Rows in this order; ties stay as they are."""
        if not self.order:
            return rows
        return rows.sort(self.order, descending=self.falling, nulls_last=True, maintain_order=True)


class Stored:
    """The rows of a frame, with null for NaN."""

    numbered = False
    """Whether a `Query` asks for nodes by number, in ``nodes``; else by id, in ``where``."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self.schema: Mapping[str, pl.DataType] = frame.collect_schema()
        floats = [name for name, kind in self.schema.items() if kind.is_float()]
        self.frame = frame.with_columns(pl.col(floats).fill_nan(None))

    def page(self, query: Query) -> tuple[pl.DataFrame, int]:
        """The rows of a page, and how many the query has."""
        rows = self.frame.filter(*query.where)
        wanted = query.ranked(rows).slice(query.start, ROWS)
        total, page = pl.collect_all([rows.select(pl.len()), wanted])
        return page, int(total.item())

    def batches(self, query: Query) -> Iterator[pl.DataFrame]:
        """All rows of a query, some at a time, as they are stored, whatever order it asks for."""
        rows = self.frame.filter(*query.where)
        yield from rows.collect_batches(chunk_size=ROWS_AT_ONCE, maintain_order=True)
