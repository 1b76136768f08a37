"""Changes in a workbook: only changed cells of one sheet differ, and every other part stays."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from xml.sax.saxutils import escape, unescape

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.data.label_format import Layout
from audit.data.sources.sheets import read_sheets
from audit.runs.fixes.changes import Edit, Ledger
from audit.runs.fixes.plan import Planner
from audit.runs.fixes.typed_files import write_archive

ENDINGS = (".xlsx", ".xlsm")
"""Endings of the names of workbooks that are written back."""
_ROW = re.compile(rb"<((?:\w+:)?)row\b([^>]*?)(?:/>|>(.*?)</\1row\s*>)", re.DOTALL)
_CELL = re.compile(rb"<((?:\w+:)?)c\b([^>]*?)(?:/>|>(.*?)</\1c\s*>)", re.DOTALL)
_SHEET = re.compile(r"<(?:\w+:)?sheet\b[^>]*>")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,14}(\.[0-9]{0,9}[1-9])?")
"""What a number is written as, and read again as the same text."""
_NEVER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class _Place:
    """A cell: where its element begins and ends, its name, attributes and content."""

    start: int
    end: int
    prefix: bytes
    attributes: bytes
    content: bytes | None

    def attribute(self, name: bytes) -> bytes:
        found = re.search(rb"\s" + name + rb"\s*=\s*[\"']([^\"']*)", self.attributes)
        return found[1] if found else b""

    @property
    def filled(self) -> bool:
        """Whether it holds a value, be it an empty text."""
        return re.search(rb"<(?:\w+:)?(v|is)\b", self.content or b"") is not None


def changed_workbook(path: Path, into: Path, layout: Layout, ledger: Ledger) -> bool:
    """Write a workbook with changed labels.

    A cell that is taken out stays, without a value, so that no other one moves.

    Returns:
        Whether anything changes; else nothing is written.

    Raises:
        InputError: If the sheet cannot be told, or a cell that changes holds a formula.
    """
    with zipfile.ZipFile(path) as book:
        sheet = _sheet(path, layout)
        part = _part(book, sheet.name, path)
        edits = _Sheet(book.read(part), sheet, path).edits(Planner(sheet, layout, ledger))
        if not edits:
            return False
        write_archive(book, into, part, edits)
    return True


@dataclass(frozen=True, eq=False)
class _Table:
    """The cells of a sheet as its reader has them."""

    name: str
    frame: pl.DataFrame

    @property
    def names(self) -> Sequence[str]:
        return self.frame.columns

    @property
    def height(self) -> int:
        return self.frame.height

    @cached_property
    def _values(self) -> list[list[str | None]]:
        return [column.to_list() for column in self.frame]

    def cell(self, row: int, place: int) -> str | None:
        return self._values[place][row]


def _sheet(path: Path, layout: Layout) -> _Table:
    named = {*filter(None, [layout.id]), *layout.labels}
    found = [
        _Table(name, frame)
        for name, (frame, _) in read_sheets(path).items()
        if named <= {*frame.columns}
    ]
    if len(found) != 1:
        raise InputError(
            "a workbook with one sheet of the columns of ids and labels is required",
            found=f"{len(found)}: {first_cases(one.name for one in found)}" if found else "none",
            where=path,
            hint="save the sheet that is meant as a workbook of its own, and audit that",
        )
    return found[0]


def _part(book: zipfile.ZipFile, sheet: str, path: Path) -> str:
    """The name of the part of a sheet."""
    listed = book.read("xl/workbook.xml").decode("utf-8")
    of_name = {
        _attribute(one, "name"): _attribute(one, r"\w+:id") for one in _SHEET.findall(listed)
    }
    known = book.read("xl/_rels/workbook.xml.rels").decode("utf-8")
    of_id = {
        _attribute(one, "Id"): _attribute(one, "Target")
        for one in re.findall(r"<(?:\w+:)?Relationship\b[^>]*>", known)
    }
    target = of_id.get(of_name.get(sheet, ""), "")
    part = target.lstrip("/") if target.startswith("/") else str(PurePosixPath("xl") / target)
    if part not in book.namelist():
        raise _unlike(path, f"no part of the sheet {sheet!r}")
    return part


def _attribute(element: str, name: str) -> str:
    found = re.search(rf"\s{name}\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", element)
    return unescape(found[1] or found[2] or "", {"&quot;": '"', "&apos;": "'"}) if found else ""


def _unlike(path: Path, found: str) -> InputError:
    return InputError(
        "a workbook as spreadsheet programs write them is required",
        found=found,
        where=path,
        hint="save it anew as .xlsx, and audit that",
    )


class _Sheet:
    """The XML of a sheet, and its cells as its reader has them."""

    def __init__(self, data: bytes, table: _Table, path: Path) -> None:
        self._data, self._table, self._path = data, table, path
        rows = [*self._rows()]
        filled = [(number, cells) for number, cells in rows if cells]
        self._body = filled[len(filled) - table.height :]
        self._last = max((number for number, _ in rows), default=0)
        if len(filled) <= table.height:
            raise _unlike(path, f"{len(filled)} rows, of which {table.height} are read")

    def _rows(self) -> Iterator[tuple[int, Mapping[int, _Place]]]:
        """The number of each row, and its cells by column; none where no cell has a value."""
        number = 0
        for row in _ROW.finditer(self._data):
            stated = re.search(rb"\sr\s*=\s*[\"'](\d+)", row[2])
            number = int(stated[1]) if stated else number + 1
            cells, column = dict[int, _Place](), 0
            for one in _CELL.finditer(self._data, row.start(3), row.end(3)) if row[3] else ():
                place = _Place(one.start(), one.end(), one[1], one[2], one[3])
                own = re.match(rb"[A-Z]+", place.attribute(b"r"))
                column = _column(own[0].decode()) if own else column + 1
                cells[column] = place
            yield number, cells if any(one.filled for one in cells.values()) else {}

    def edits(self, planner: Planner) -> list[Edit]:
        """What a planner's changes make of it."""
        plan = planner.plan()
        found = [self._written(row, place, str(new)) for (row, place), new in plan.cells.items()]
        for row in plan.gone:
            cells = self._body[row][1].values()
            found += [Edit(one.start, one.end, self._blank(one)) for one in cells if one.filled]
        if plan.further:
            found += self._behind(planner, plan.further)
        return found

    @cached_property
    def _first(self) -> int:
        """The column of the first name, from 1."""
        return min(n for _, cells in self._rows() for n, one in cells.items() if one.filled)

    def _written(self, row: int, place: int, text: str) -> Edit:
        number, cells = self._body[row]
        column = self._first + place
        if column in cells:
            one = cells[column]
            if re.search(rb"<(?:\w+:)?f\b", one.content or b""):
                raise InputError(
                    "cells that hold what was typed are required where labels change",
                    found=f"a formula in {_letters(column)}{number}",
                    where=self._path,
                    hint="paste the values over it, and audit the workbook anew",
                )
            return Edit(one.start, one.end, self._filled(one, text))
        before = [n for n in cells if n < column]
        beside = cells[max(before)] if before else cells[min(cells)]
        at = beside.end if before else beside.start
        new = _Place(at, at, beside.prefix, f' r="{_letters(column)}{number}"'.encode(), None)
        return Edit(at, at, self._filled(new, text))

    def _blank(self, one: _Place) -> bytes:
        plain = re.sub(rb"\st\s*=\s*([\"'])[^\"']*\1", b"", one.attributes).rstrip()
        return b"<" + one.prefix + b"c" + plain + b"/>"

    def _filled(self, one: _Place, text: str) -> bytes:
        """A cell with a text; numbers and truths stay such where they are read as the same."""
        if not text:
            return self._blank(one)
        if _NEVER.search(text):
            raise InputError("a label without control characters is required", found=repr(text))
        kind, begun, p = one.attribute(b"t"), self._blank(one)[:-2], one.prefix
        value = {b"b": {"true": "1", "false": "0"}.get(text.lower())}.get(kind)
        if kind in (b"", b"n") and one.filled and _NUMBER.fullmatch(text):
            value = text
        if value is not None:
            stated = b' t="b"' if kind == b"b" else b""
            inside = b"<" + p + b"v>" + value.encode() + b"</" + p + b"v>"
        else:
            stated, space = b' t="inlineStr"', b' xml:space="preserve"' * (text != text.strip())
            inside = b"<" + p + b"is><" + p + b"t" + space + b">" + escape(text).encode()
            inside += b"</" + p + b"t></" + p + b"is>"
        return begun + stated + b">" + inside + b"</" + p + b"c>"

    def _behind(self, planner: Planner, further: Sequence[tuple[int, str]]) -> Iterator[Edit]:
        """Further rows at the end of the sheet, so that no other one moves."""
        (place,), end = planner.places, re.search(rb"</((?:\w+:)?)sheetData\s*>", self._data)
        if end is None:
            raise _unlike(self._path, "no end of its rows")
        rows, last, p = b"", self._last + len(further), end[1]
        for number, (row, label) in enumerate(further, start=self._last + 1):
            cells = self._body[row][1]
            own = {self._first + place: label}
            made = b"".join(
                self._moved(cells.get(column), column, number, own.get(column), planner)
                for column in sorted({*cells, *own})
            )
            rows += b"<" + p + f'row r="{number}">'.encode() + made + b"</" + p + b"row>"
        yield Edit(end.start(), end.start(), rows)
        found = re.search(rb"(<(?:\w+:)?dimension\s+ref=\"\w+:[A-Z]+)(\d+)\"", self._data)
        if found:
            yield Edit(found.start(2), found.end(2), str(max(int(found[2]), last)).encode())

    def _moved(
        self, one: _Place | None, column: int, number: int, label: str | None, planner: Planner
    ) -> bytes:
        """A cell of a further row: its label, or what all rows of the instance have alike."""
        name = f' r="{_letters(column)}{number}"'.encode()
        one = one or _Place(0, 0, b"", b"", None)
        others = re.sub(rb"\sr\s*=\s*[\"'][^\"']*[\"']", b"", one.attributes)
        moved = _Place(0, 0, one.prefix, name + others, one.content)
        if label is not None:
            return self._filled(moved, label)
        formula = re.search(rb"<(?:\w+:)?f\b", one.content or b"")
        if column - self._first in planner.varying or formula or not one.filled:
            return self._blank(moved)
        p = one.prefix
        return b"<" + p + b"c" + moved.attributes + b">" + (one.content or b"") + b"</" + p + b"c>"


def _column(letters: str) -> int:
    """The number of a column from 1.

    >>> _column("A"), _column("AB")
    (1, 28)
    """
    number = 0
    for one in letters:
        number = 26 * number + ord(one) - ord("A") + 1
    return number


def _letters(column: int) -> str:
    """The letters of a column by its number from 1.

    >>> _letters(1), _letters(28)
    ('A', 'AB')
    """
    name = ""
    while column:
        column, one = divmod(column - 1, 26)
        name = chr(ord("A") + one) + name
    return name
