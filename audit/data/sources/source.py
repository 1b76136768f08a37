"""Source: what a dataset is read from, wherever it is."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import polars as pl

from audit.base.errors import AuditError, InputError
from audit.base.files import SNIFFED_BYTES, called, refuse_pickle
from audit.base.readings import Reading
from audit.base.text_tables import Preamble, is_header, preamble_of, separator_in, told_of_titles
from audit.data.class_names import ClassNames, with_class_names

if TYPE_CHECKING:
    from audit.data.known_nodes import KnownNodes

Line: TypeAlias = tuple[str, str]
"""Where a line of text is, for messages, and its text."""

_BINARY = (b"\x93NUMPY", b"PK\x03\x04", b"\x89HDF", b"SQLite format 3", b"\xd0\xcf\x11\xe0")
"""What files begin with that are no text."""
_NAMES = ("id", "instance", "label", "labels", "code", "class", "category", "tag", "tags")
"""Names by which a line is a header, whatever nodes are called."""
_NAME = re.compile(r"[^\W\d]+(?:[ _-][^\W\d]+){0,4}")
_UNNAMED = "column "
"""What stands before the letter of a column that has no name, as in a workbook."""
HEAD = 1_000
"""Number of rows that a format recognises a table by, where the first bytes do not say so."""
ID_NAMES = ("id", "instance", "hadm_id")
"""Names of columns that hold the instance's id unless the user names one; case is ignored."""


class Source:
    """What labels or predictions are read from: a file, a folder of parts, a frame, a table.

    A format knows nothing else of where data are. What formats are recognised by is read once.
    A source that lacks what it is asked for, as a frame lacks bytes, raises InputError.
    """

    kind = "no data"
    """What it is, for messages."""
    numbered = False
    """Whether its ids are row numbers from 0, which it was given, since it has none."""

    vocabularies = False
    """Whether its codes may be of several vocabularies, of which one is read."""

    told: tuple[Reading, ...] = ()
    """What is told of how it was made readable."""
    nodes: KnownNodes | None = None
    """The nodes of the hierarchy that its labels are mapped to, if they are known."""
    named_classes = False
    """Whether the user names the classes, so that labels may be numbers."""
    id: str | None = None
    """What the user calls the column of ids, in labels that predictions are of."""
    instances: Collection[str] = ()
    """The ids of these labels."""
    queried: Mapping[str, str] = MappingProxyType({})
    """Of rows of a database ``path``, the address as it may be told, ``driver`` and ``query``."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """What is told of how the table stands in its file."""
        titles = self.preamble.lines * self.preamble.titled if self.is_text else 0
        told = (*self.told, *told_of_titles(titles, titles))
        if not (self.is_text and (self.preamble.header or "").startswith(_UNNAMED)):
            return told
        decision, why = "the first row names no columns", "its cells are such as those below"
        return (*told, Reading(decision, why, 1, "write a name for each column above it"))

    def know(
        self, nodes: KnownNodes | None, *, named_classes: bool = False, id: str | None = None
    ) -> None:
        """Let formats recognise columns of this source, and of its parts, by nodes."""
        for one in (self, *self.parts):
            one.nodes, one.named_classes, one.id = nodes, named_classes, id

    def known_id(self, names: Iterable[str]) -> str | None:
        """The one of some columns that is called as the user calls that of the labels' ids, else
        the only one half of whose first values are such ids, without folders and endings."""
        names = [*names]
        named = next(iter(called(names, [] if self.id is None else [self.id])), None)
        if named is not None or not self.instances:
            return named
        held = [name for name in names if self._holds_ids(name)]
        return held[0] if len(held) == 1 else None

    def _holds_ids(self, name: str) -> bool:
        values, known = [bare_id(one) for one in self.first_values(name)], self._bare_ids
        numbers = all(map(str.isdecimal, values))  # may be those of classes
        return not numbers and len(values) <= 2 * sum(one in known for one in values)

    @cached_property
    def _bare_ids(self) -> frozenset[str]:
        return frozenset(map(bare_id, self.instances))

    @cached_property
    def class_names(self) -> ClassNames:
        """Names of class numbers that the data say themselves, unless the user names them."""
        return {}

    def __str__(self) -> str:
        return self.name

    @cached_property
    def is_text(self) -> bool:
        """Whether its values are written as text, so that a table of it has no types."""
        return False

    @cached_property
    def suffix(self) -> str:
        """The suffix of its name in lower case, with the dot, that of packing left out."""
        return ""

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The files that hold the data, in order; empty if no file does."""
        return ()

    @cached_property
    def parts(self) -> Sequence[Source]:
        """Sources whose rows, one after the other, are those of this one."""
        return (self,)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of contents in memory; empty of files, and of what a query alone tells."""
        return ""

    @cached_property
    def size(self) -> int:
        """Number of bytes that the data take where they are."""
        return sum(path.stat().st_size for path in self.files)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, unpacked; empty if it is not one file."""
        return b""

    @cached_property
    def _first_lines(self) -> list[str]:
        if not self.is_text or self.head.startswith(_BINARY):
            return []
        lines = self.head.decode("utf-8-sig", errors="replace").split("\n")
        if len(self.head) >= SNIFFED_BYTES and len(lines) > 1:
            lines.pop()
        return [line.rstrip("\r") for line in lines]

    @cached_property
    def preamble(self) -> Preamble:
        """What stands before the rows of a text table."""
        try:
            return self._headed(preamble_of(self._first_lines))
        except AuditError as error:
            error.where = error.where or str(self)
            raise

    def _headed(self, found: Preamble) -> Preamble:
        """What stands before the rows, with names of columns where the first line is a row.

        It is one where a cell of it is a node, as most of those below are, but not above all of
        them, or two words of it stand in their columns again, or a number of it does and no cell is
        a name; but not where an id and labels stand on each side of a tab.
        """
        lines = [line for line in found.of_lines(self._first_lines) if line.strip()][:HEAD]
        sign = separator_in("".join(lines[:1]))
        nodes, rows = self.nodes, cells(lines, sign or ",")
        if nodes is None or found.header or sign is None or (sign == "\t" and len(rows[0]) == 2):
            return found
        first, *below = rows
        alike = [row for row in below if len(row) == len(first)]
        if not alike or called(first, _NAMES):
            return found
        is_json, again, has_row = first[0].startswith(("{", "[")), 0, False
        nameless = not (any(map(_NAME.fullmatch, first)) or all(map(str.isdecimal, first)))
        for n, cell in enumerate(first):
            held = {row[n] for row in alike if nodes.weight(row[n]) > 0}
            most = 2 * sum(row[n] in held for row in alike) > len(alike)
            is_top = all(nodes.is_above(cell, one) for one in held)
            has_row |= nodes.weight(cell) > 0 and most and not is_top
            stands = any(row[n] == cell for row in alike if row != first)
            again += stands and any(map(str.isalpha, cell))
            has_row |= nameless and stands and cell.isdecimal()
        if not has_row and (is_json or again < 2):
            return found
        names = (f"{_UNNAMED}{chr(ord('A') + place)}" for place in range(len(first)))
        return replace(found, header=sign.join(names))

    @cached_property
    def head_lines(self) -> list[str]:
        """The complete, nonblank lines among the first bytes, without notes; none if no text."""
        return [line for line in self.preamble.of_lines(self._first_lines) if line.strip()]

    @cached_property
    def head_rows(self) -> list[list[str]]:
        """The first rows of a table as text, the names of its columns before them."""
        return cells(self.head_lines, self.separator) if self.head_lines else []

    def last_row(self, columns: list[str]) -> dict[str, Any]:
        """At least some columns of the last row of a table, if any, or of JSON lines."""
        return {}

    def first_cells(self, column: str) -> list[str]:
        """The first cells of a column of text; none of another column."""
        return self.first_values(column) if self.schema.get(column) == pl.String() else []

    def first_values(self, column: str) -> list[str]:
        """The first cells of a column of any type, as text."""
        rows = self.head_rows
        if not rows or column not in rows[0]:
            return []
        place = rows[0].index(column)
        return [row[place] for row in rows[1:] if len(row) == len(rows[0])]

    def share_of_nodes(self, column: str) -> float | None:
        """Share of the first cells, or entries of lists, that are nodes; None if all are blank, or
        no nodes are known."""
        if self.nodes is None:
            return None
        entries = [one for own in self.first_lists(column) for one in own]
        return self.nodes.share(entries or self.first_cells(column))

    def first_lists(self, column: str) -> list[list[str]]:
        """The first lists of text of a column, without nulls; none of another column."""
        if self.schema.get(column) != pl.List(pl.String):
            return []
        first = next(self.frames([column], HEAD), pl.DataFrame({column: [[]]}))
        return first[column].fill_null([]).list.drop_nulls().to_list()

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """Names of columns as written, with types; in text all are text; empty if no table."""
        lines = self.head_lines
        no_table = not lines or lines[0].startswith(("{", "["))
        return {} if no_table else dict.fromkeys(cells(lines[:1], self.separator)[0], pl.String())

    @cached_property
    def columns(self) -> dict[str, pl.DataType]:
        """The schema with names in lower case, without blanks around them."""
        return {name.strip().lower(): dtype for name, dtype in self.schema.items()}

    @property
    def separator(self) -> str:
        """The separator of a text table: the first of tab, comma, semicolon in its header; bars
        only where that is a header."""
        lines = self.head_lines
        known = separator_in("".join(lines[:1]))
        return known or ("|" if "|" in "".join(lines[:1]) and self._has_bars else ",")

    @cached_property
    def _has_bars(self) -> bool:
        names = self.head_lines[0].split("|")
        of_nodes = self.nodes is not None and any(map(self.nodes.weight, names[1:]))
        return not of_nodes and is_header(self.head_lines, "|")

    def table(self, only: Collection[str] | None = None) -> pl.DataFrame:
        """All rows of a table, or some columns; values of text stay text, empty ones are null."""
        raise self._lacking("a table")

    def text(self) -> str:
        """All of it as text, with lines ended by a line feed."""
        raise self._lacking("a file of text")

    def lines(self) -> Iterator[Line]:
        """The lines that are not blank, from the whole text."""
        raise self._lacking("a file of text")

    def streamed_lines(self) -> Iterator[Line]:
        """As `lines`, without holding the text in memory."""
        raise self._lacking("a file of text")

    def open(self) -> BinaryIO:
        """The bytes of a file, unpacked."""
        raise self._lacking("a file")

    def frames(self, columns: list[str], at_once: int) -> Iterator[pl.DataFrame]:
        """Some columns of a table, about so many rows at a time."""
        from audit.data.sources.arrow import gathered

        frames = gathered(self.batches(columns, at_once), at_once)
        return (with_class_names(frame, self.class_names) for frame in frames)

    def batches(self, columns: list[str], at_once: int) -> Iterator[Any]:
        """What `frames` are made of: Arrow batches, smaller than a frame."""
        raise self._lacking("a table")

    def by_instance(self) -> Source:
        """The same rows, those of an instance together as far as the source can bring them so."""
        return self

    def load(self) -> None:
        """Hold all rows from now on, where it does not read them again wherever they are."""

    def close(self) -> None:
        """Let go of what it is reached by; it can then be read no more."""

    def require_parts(self) -> None:
        """Refuse a folder that does not hold the parts of one table."""

    def refuse_pickle(self) -> None:
        """Refuse a file of pickled objects."""
        for part in self.parts:
            for path in part.files:
                refuse_pickle(path, part.head)

    def refuse_numbers(self, instance: str, label: str | None = None) -> None:
        """Refuse labels and ids that have become numbers, where the source can tell.

        Case of both columns is ignored, and a column that is not there.
        """

    def _lacking(self, required: str) -> InputError:
        return InputError(f"{required} is required", found=self.kind, where=self)


def bare_id(text: str) -> str:
    """An id without folders before it and the ending of a file.

    >>> bare_id("val/ILSVRC_1.JPEG"), bare_id("12.5")
    ('ILSVRC_1', '12.5')
    """
    return re.sub(r"\.[A-Za-z][A-Za-z0-9]{1,4}$", "", re.split(r"[/\\]", text.strip())[-1])


def as_cells(frame: pl.DataFrame) -> list[list[str]]:
    """The names of a frame's columns, and its rows as text."""
    return [frame.columns, *(["" if v is None else str(v) for v in row] for row in frame.rows())]


def cells(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Fields of the first lines of a table."""
    try:
        return list(csv.reader((f"{line}\n" for line in lines), delimiter=separator))
    except csv.Error:
        return [[line] for line in lines]
