"""Rows of a run by pages: spans of them, and the tables of an analysis, asked for by columns."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from audit.base.tables import open_table
from audit.results.parts import AnalysisPart
from audit.runs.manifest import RESTRICTED

Row: TypeAlias = Mapping[str, Any]
"""One row of a table by column, with exact numbers."""
Source: TypeAlias = Literal["data", "model"]
"""Whether labels or predictions were counted."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a longer table, and how many it has."""

    rows: Sequence[Row] = ()
    total: int = 0

    def each(self, change: Callable[[Row], Row]) -> Page:
        """The same page with each row changed."""
        return Page([change(row) for row in self.rows], self.total)


@dataclass(frozen=True, slots=True)
class Span:
    """Which rows of a table are wanted: ``limit`` of them after the first ``offset``."""

    offset: int = 0
    limit: int | None = None

    @property
    def rows(self) -> slice:
        """The same as a slice."""
        return slice(self.offset, None if self.limit is None else self.offset + self.limit)

    def of(self, rows: Sequence[Row]) -> Page:
        """These rows of a table that is held as a whole."""
        return Page(rows[self.rows], len(rows))


Values: TypeAlias = Literal["text", "count", "number", "flag", "texts"]
"""What a column holds: a text, a whole number, any other number, yes or no, or several texts."""
MOST_CHOICES = 24
"""Different texts of a column that can be chosen from."""
LOOKED_AT = 2_000
"""First rows of a table that show whether a column has more."""
KEPT_QUERIES = 8
"""Queries of a table whose rows are kept in mind."""
_PLACE = "place in the table"


@dataclass(frozen=True, slots=True)
class TableQuery:
    """Which rows of a table, and in which order.

    Columns that the table lacks, or that hold no text, restrict nothing.

    Args:
        holding: A text that one of the columns of text must hold, whatever its case; empty for any.
        rising: Whether the smallest come first. Ties keep their order, and rows without a number
            come last.
    """

    equal: Mapping[str, str] = field(default_factory=dict)
    holding: str = ""
    order: str = ""
    rising: bool = False


def part_tables(folder: Path, part: AnalysisPart) -> Mapping[str, PartTable]:
    """The tables that an analysis added to a run, by their names there."""
    return {
        name: PartTable(folder / RESTRICTED / f"{part.file_of(name)}.parquet")
        for name in (*part.frames, *part.restricted)
    }


class PartTable:
    """A Parquet file that is read by pages.

    The rows of a query are found by the columns that it is about, and kept as numbers of rows; a
    page reads those of its own. ``columns`` says what each column holds, in order; those of nested
    numbers are left out.
    """

    def __init__(self, path: Path) -> None:
        schema = open_table(path).schema
        known = {name: _values(kind) for name, kind in schema.items()}
        self.columns = {name: kind for name, kind in known.items() if kind is not None}
        self._numbers = [name for name in self.columns if schema[name].is_float()]
        self._table = pl.scan_parquet(path)
        self._choices: dict[str, Sequence[str]] = {}
        self._found: OrderedDict[str, np.ndarray] = OrderedDict()

    @cached_property
    def rows(self) -> int:
        """Number of its rows."""
        return int(self._table.select(pl.len()).collect().item())

    def page(self, query: TableQuery, span: Span) -> Page:
        """Rows of a query."""
        if not self._conditions(query) and not self._ordering(query):
            rows = self._table.slice(span.offset, span.limit)
            return Page(self._shown_rows(rows), self.rows)
        places = self._places(query)
        return Page(self._rows_at(places[span.rows]), len(places))

    def choices(self, column: str) -> Sequence[str]:
        """The different texts of a column in code-point order; empty if they are many or none."""
        if self.columns.get(column) != "text":
            return ()
        if column not in self._choices:
            self._choices[column] = self._few_values(column)
        return self._choices[column]

    def _few_values(self, column: str) -> Sequence[str]:
        for rows in (self._table.head(LOOKED_AT), self._table):
            different = rows.select(pl.col(column).unique()).collect()[column].drop_nulls()
            if len(different) > MOST_CHOICES:
                return ()
        return sorted(different.to_list())

    def _places(self, query: TableQuery) -> np.ndarray:
        """Numbers of the rows of a query in its order; those of the last queries are kept."""
        key = repr((sorted(query.equal.items()), query.holding, query.order, query.rising))
        places = self._found.get(key)
        if places is None:
            places = self._search(query)
            self._found[key] = places
            while len(self._found) > KEPT_QUERIES:
                self._found.popitem(last=False)
        return places

    def _search(self, query: TableQuery) -> np.ndarray:
        order = self._ordering(query)
        rows = self._table.with_row_index(_PLACE).filter(*self._conditions(query))
        if order:
            by = pl.col(order).cast(pl.Float64).fill_nan(None)
            falling = not query.rising
            rows = rows.sort(by, descending=falling, nulls_last=True, maintain_order=True)
        return rows.select(_PLACE).collect()[_PLACE].to_numpy()

    def _conditions(self, query: TableQuery) -> list[pl.Expr]:
        texts = [name for name, kind in self.columns.items() if kind == "text"]
        equal = [pl.col(name) == text for name, text in query.equal.items() if name in texts]
        if not query.holding or not texts:
            return equal
        holding = pl.col(texts).str.contains_any([query.holding], ascii_case_insensitive=True)
        return [*equal, pl.any_horizontal(holding)]

    def _ordering(self, query: TableQuery) -> str:
        return query.order if self.columns.get(query.order) in ("count", "number") else ""

    def _rows_at(self, places: np.ndarray) -> list[dict[str, object]]:
        """The rows with some numbers, in the order of these."""
        if not len(places):
            return []
        wanted = pl.Series(np.sort(places), dtype=pl.get_index_type()).implode()
        rows = self._table.with_row_index(_PLACE).filter(pl.col(_PLACE).is_in(wanted))
        read = self._shown_rows(rows.drop(_PLACE))
        return [read[at] for at in np.searchsorted(np.sort(places), places)]

    def _shown_rows(self, rows: pl.LazyFrame) -> list[dict[str, object]]:
        kept = rows.select(list(self.columns)).with_columns(pl.col(self._numbers).fill_nan(None))
        return kept.collect().to_dicts()


def _values(kind: pl.DataType) -> Values | None:
    """What a column of a type holds; None for what is not shown in a cell."""
    if kind == pl.Boolean:
        return "flag"
    if kind.is_integer():
        return "count"
    if kind.is_float():
        return "number"
    if kind == pl.List(pl.String):
        return "texts"
    return "text" if kind in (pl.String, pl.Categorical, pl.Enum) else None
