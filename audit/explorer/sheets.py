"""A table as a page shows it: its cells with what they lead to, and the way to its other pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import polars as pl

from audit.base.declared import Column
from audit.explorer.opened import PAIRS, OpenedRun
from audit.explorer.rows import ROWS
from audit.explorer.tables import NotThereError, Shown, is_node
from reports.cells import Cell, cell
from reports.figures import column_scale
from reports.marks import Scale
from reports.words import NOTHING, Row, printable
from reports.words import name as in_words

FEW = 8
"""Rows of a table that is shown beside others."""
ASKED = {"holding": "any text contains", "below": "at or below", "depth": "at depth"}
"""What a table can be asked beside its columns."""
MARKED = ("labels", "answers")
"""Columns of the records of a finding that say what is behind it."""


def address(path: str, **asked: object) -> str:
    """An address of the window; what is empty is not asked for."""
    kept = {name: value for name, value in asked.items() if value not in ("", None)}
    return f"{path}?{urlencode(kept)}" if kept else path


@dataclass(frozen=True, slots=True)
class Linked:
    """A cell, and where it leads; a node or a finding has an id behind its name."""

    cell: Cell
    to: str = ""
    id: str = ""
    marked: bool = False


@dataclass(frozen=True)
class Sheet:
    """Some rows of a table, at the address ``path`` with the parameters ``asked``.

    Args:
        first: Number of the first row, from 1.
        total: Number of all rows that are asked for.
        fixed: Parameters that say what the page is of, beside those of the table.
        few: Whether it stands beside others, and its other rows are a link away.
    """

    table: Shown
    columns: Sequence[Column]
    rows: Sequence[Sequence[Linked]]
    path: str
    asked: Mapping[str, str]
    first: int
    total: int
    fixed: Sequence[str]
    caption: str
    few: bool

    @property
    def marked(self) -> bool:
        """Whether anything is drawn beside its numbers."""
        return any(each.cell.mark for row in self.rows for each in row)

    @property
    def last(self) -> int:
        """Number of the last row."""
        return self.first + len(self.rows) - 1

    @property
    def own(self) -> bool:
        """Whether the address is the table's own, where it is filtered and put in order."""
        return self.path.startswith(("/table/", "/records"))

    @property
    def said(self) -> str:
        """What it was asked for beside a page and an order; empty for nothing."""
        headings = ASKED | {one.name: one.heading for one in self.table.columns.values()}
        asked = [name for name in self.asked if name not in ("start", "order", *self.fixed)]
        words = []
        for name in asked:
            column, _, end = name.partition(".")
            kept = "all but " if self.asked[name].startswith("!") else f"at {end} " if end else ""
            words.append(f"{headings[column]} {kept}{self.asked[name].removeprefix('!')}")
        return f": {', '.join(words)}" if words else ""

    def address(self, **changed: object) -> str:
        """The same table asked otherwise."""
        return address(self.path, **{**self.asked, **changed})

    @property
    def before(self) -> str:
        """Address of the page before this; empty if this is the first."""
        start = self.first - 1 if self.rows else self.total
        return self.address(start=max(start - ROWS, 0) or "") if start else ""

    @property
    def after(self) -> str:
        """Address of the page after this; empty if this is the last."""
        return self.address(start=self.last) if self.rows and self.last < self.total else ""

    def way(self, column: Column) -> str:
        """``ascending`` or ``descending`` if it is in the order of a column; else empty."""
        ways = {column.name: "ascending", f"-{column.name}": "descending"}
        return ways.get(self.asked.get("order", ""), "")

    def ordered_by(self, column: Column) -> str:
        """Address of its order by a column: largest numbers, first texts; then the other way."""
        first, then = ("", "-") if column.kind == "text" else ("-", "")
        again = self.asked.get("order") == f"{first}{column.name}"
        return self.address(order=f"{then if again else first}{column.name}", start="")

    def choices(self, column: Column) -> Sequence[tuple[str, str]]:
        """The texts of a column to choose from, with the one that is asked for, each as it is said;
        none of nodes."""
        found = self.table.choices.get(column.name, [])
        asked = self.asked.get(column.name)
        every = [*found, asked] if found and asked and asked not in found else found
        return [(one, in_words(one.replace("!", "all but ", 1))) for one in every]


def sheet(
    run: OpenedRun,
    table: Shown,
    path: str,
    asked: Mapping[str, str],
    *,
    fixed: Sequence[str] = (),
    caption: str = "",
    most: int = ROWS,
    page: tuple[pl.DataFrame, int] | None = None,
) -> Sheet:
    """The rows of a table that an address asks for.

    Args:
        most: How many there are at most; fewer than a page stand beside other tables.
        page: The rows of the page, and how many there are, where they are known.
    """
    query = table.query({one: asked[one] for one in asked if one not in fixed}, run.hierarchy)
    found, total = page or table.rows.page(query)
    every = table.columns.values()
    within = {name for one in every for name in (one.title, one.among, *one.ends)}
    columns = [one for one in every if one.name not in within]
    rows = found[:most].to_dicts()
    scales = {one.name: column_scale(one, rows) if one.mark else None for one in columns}
    return Sheet(
        table=table,
        columns=columns,
        rows=[[_linked(run, table, one, row, scales[one.name]) for one in columns] for row in rows],
        path=path,
        asked=asked,
        first=query.start + 1,
        total=total,
        fixed=fixed,
        caption=caption or table.heading,
        few=most < ROWS,
    )


def few(run: OpenedRun, table: Shown, caption: str = "", **asked: str) -> Sheet:
    """The first rows of a table that is shown beside others; the rest is a link away."""
    path, fixed = f"/table/{table.name}", ("node",) if table.name in PAIRS else ()
    return sheet(run, table, path, asked, fixed=fixed, caption=caption, most=FEW)


def _linked(run: OpenedRun, table: Shown, column: Column, row: Row, scale: Scale | None) -> Linked:
    """A cell with its link: nodes, findings, records, pairs, checks and addresses lead on."""
    value, name = row[column.name], column.name
    if isinstance(value, list):
        return Linked(Cell(printable("; ".join(one or NOTHING for one in value))))
    if value is None or isinstance(value, bool) or column.kind != "text":
        shown = cell(column, row, table.columns, None, scale)
        text, small = printable([shown.text, shown.small])
        return Linked(Cell(text, small, shown.mark, shown.numeric))
    said = printable(in_words(str(value)) if column.words else str(value))
    if is_node(column) or (name == "relation" and value in run.hierarchy):
        to = address("/node", id=value) if value in run.hierarchy else ""
        return Linked(Cell(printable(row.get(column.title) or run.title(value))), to, said)
    if name in ("id", "finding") and value in run.findings:
        title = printable(row.get(column.title) or "")
        return Linked(Cell(title), address("/finding", id=value), said)
    return Linked(Cell(said), _to(run, table, name, row), marked=name in MARKED)


def _to(run: OpenedRun, table: Shown, name: str, row: Row) -> str:
    """Where a text leads; empty for nowhere."""
    value = str(row[name])
    if name == "check":
        return address("/table/findings", check=value)
    if name in ("instance", "id"):
        return address("/record", id=value, finding=row.get("finding"))
    if name == "relation" and {"a", "b"} <= row.keys():
        return address("/pair", a=row["a"], b=row["b"])
    if table.name == "behaviours" and name == "title":
        cases = address("/table/cases", finding=f"behaviour:{row['name']}")
        return address("/records", behaviour=row["name"]) if run.records else cases
    return value if value.startswith(("https://", "http://")) and " " not in value else ""


def refuse_unknown(asked: Mapping[str, str], known: Iterable[str]) -> None:
    """Raise NotThereError if an address asks for what a page does not have."""
    names = [*known]
    if unknown := sorted({*asked} - {*names}):
        has = f"it has {', '.join(names)}" if names else "it has none"
        raise NotThereError(f"This page has no parameter {', '.join(unknown)}; {has}.")
