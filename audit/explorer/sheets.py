"""Tables of the window: the same rows as a page of HTML and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from audit.base.stored_tables import defused_text
from audit.explorer.links import address
from audit.explorer.run.paged_tables import Page, Row, Span

ROWS = 25
"""Rows of a page."""
ROWS_AT_ONCE = 20_000
"""Rows of a long table that are held at a time as it is written."""
REMARK = "exact: not for sharing"
Kind: TypeAlias = Literal[
    "text", "texts", "named", "marked", "node", "level", "count", "share", "points", "number",
    "precise", "finding", "told", "measured", "instance", "linked", "flag", "severity",
]  # fmt: skip
"""What values are. ``named`` is a text of the user's, ``marked`` one that stands out. ``points`` is
a difference of two shares, whose bounds stand in the row as ``x_low`` and ``x_high``. What is
``told``, or ``measured``, is shown as the row's ``cells`` have it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the name of its values in a row, its heading, and what they are.

    ``title`` names the value with the title of a node, ``beside`` that of a number that is drawn
    beside a count, such as what is expected. A ``linked`` text leads to the address of the same
    name and ``_address`` in its row, where there is one.
    """

    name: str
    heading: str
    kind: Kind = "text"
    title: str = "title"
    beside: str = ""

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.kind in ("count", "share", "points", "number", "precise", "measured")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all values of a row that belong to it."""
        further = {
            "node": (self.title,),
            "finding": ("id",),
            "level": (self.title,),
            "points": (f"{self.name}_low", f"{self.name}_high"),
        }
        return tuple(filter(None, (self.name, *further.get(self.kind, ()), self.beside)))


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page of a table, at the address ``path`` with the parameters ``asked``."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    page: Page
    span: Span
    path: str
    asked: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)
    order: str = ""

    @property
    def largest(self) -> float:
        """The largest number that is drawn in a row, so that all bars have one scale."""
        drawn = [column for column in self.columns if column.beside]
        names = [name for column in drawn for name in (column.name, column.beside)]
        return max((float(row[n] or 0) for row in self.page.rows for n in names), default=0.0) or 1

    @property
    def first(self) -> int:
        """Number of the first row, from 1; 0 if there is none."""
        return self.span.offset + 1 if self.page.rows else 0

    @property
    def last(self) -> int:
        """Number of the last row."""
        return self.span.offset + len(self.page.rows) if self.page.rows else 0

    @property
    def before(self) -> str:
        """Address of the page before this; empty if this is the first."""
        before = max(min(self.span.offset, self.page.total) - ROWS, 0)
        start = str(before) if before else ""
        return self._address(start=start, sheet=start and self.id) if self.span.offset else ""

    @property
    def after(self) -> str:
        """Address of the page after this; empty if this is the last."""
        more = self.page.rows and self.last < self.page.total
        return self._address(start=str(self.last), sheet=self.id) if more else ""

    @property
    def csv(self) -> str:
        """Address of the whole table as CSV."""
        return self._address(csv=self.id, start="", sheet="")

    def ordered_by(self, order: str) -> str:
        """Address of the same table in another order."""
        return self._address(order=order, start="", sheet="")

    def _address(self, **changed: str) -> str:
        return address(self.path, **{**self.asked, **changed})


def csv_text(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """A table as CSV: every row, a text that would be a formula defused."""
    names = _names_of(columns)
    return _lines([[*names, "sharing"]]) + _as_csv(names, rows)


def csv_parts(columns: Sequence[Column], rows: Callable[[Span], Page]) -> Iterator[str]:
    """A long table as CSV, some rows at a time; as `csv_text`."""
    yield csv_text(columns, ())
    names, offset = _names_of(columns), 0
    while part := rows(Span(offset, ROWS_AT_ONCE)).rows:
        yield _as_csv(names, part)
        offset += len(part)


def _names_of(columns: Sequence[Column]) -> list[str]:
    return list(dict.fromkeys(name for column in columns for name in column.names))


def _as_csv(names: Sequence[str], rows: Sequence[Row]) -> str:
    return _lines([*(_plain(row[name]) for name in names), REMARK] for row in rows)


def _lines(rows: Iterable[Sequence[Any]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return defused_text(value)
    if isinstance(value, (list, tuple)):
        return defused_text("; ".join(map(str, value)))
    return "" if value is None else value


def span_of(asked: Mapping[str, str]) -> Span:
    """The rows that an address asks for: all for a file, else a page; nonsense is the first."""
    if asked.get("csv"):
        return Span()
    start = asked.get("start", "")
    return Span(int(start) if start.isascii() and start.isdigit() and len(start) < 12 else 0, ROWS)
