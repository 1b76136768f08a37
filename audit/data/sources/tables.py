"""A file that holds one table or several in a form of its own, and which of them is meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.files import first_bytes
from audit.base.readings import Reading
from audit.data.sources.in_memory import Frame
from audit.data.sources.source import HEAD

_MOSTLY = 0.5
"""Share of cells that are nodes from which a table holds labels."""


class TableFile(Frame):
    """A file that is read whole; of several tables the only one that holds nodes counts.

    Of a table of ``id`` and ``label`` either may be the other, which nodes decide too; numbers of
    classes are those of which there are fewer.

    Args:
        path: The file.
        tables: Its tables by name, of text and lists of text.
        said: What is told of how they stand in the file.
        kind: What the file is, for messages.
        numbered: Whether ids are the numbers of rows.
    """

    def __init__(
        self,
        path: Path,
        tables: Mapping[str, pl.DataFrame],
        said: Sequence[Reading] = (),
        *,
        kind: str,
        numbered: bool = False,
    ) -> None:
        self._tables = {name: table for name, table in tables.items() if table.width}
        frame = next(iter(self._tables.values()), pl.DataFrame())
        super().__init__(frame, numbered=numbered)
        self.kind = kind
        self.readings = tuple(said)
        self.name = str(path)
        self.path = path
        self.files = (path,)
        self.suffix = path.suffix.lower()
        self.head = first_bytes(path)

    def know(self, nodes: Any, *, named_classes: bool = False, id: str | None = None) -> None:
        if len(self._tables) != 1:
            held = [name for name, table in self._tables.items() if _holds(table, nodes)]
            if len(held) != 1:
                raise InputError(
                    f"{self.kind} with one table of labels is required",
                    found=f"{len(self._tables)} tables: {first_cases(self._tables)}"
                    + f"; {len(held)} hold nodes" * (nodes is not None),
                    where=self,
                    hint="save the one that is meant as a file of its own",
                )
            why, rows = "the others hold no nodes", len(self._tables[held[0]])
            told = Reading(
                f"{held[0]!r} is the table of labels", why, rows, "save another one by itself"
            )
            self._tables = {held[0]: self._tables[held[0]]}
            self.readings = (told, *self.readings)
        (self.frame,) = self._tables.values()
        if [*self.frame.columns] == EITHER and nodes is not None:
            shares = [_share(self.frame[name], nodes) for name in EITHER]
            classes = named_classes and shares == [0, 0] and _holds_classes(self.frame)
            if shares[0] > shares[1] or classes:
                self.frame = _turned(self.frame)
        super().know(nodes, named_classes=named_classes, id=id)

    def _lacking(self, required: str) -> InputError:
        error = super()._lacking(required)
        error.hint = f"leave --format out: it is read as a table of {first_cases(self.schema)}"
        return error


EITHER = ["id", "label"]
"""Columns of a table of which either may be the other."""


def _holds(table: pl.DataFrame, nodes: Any) -> bool:
    """Whether a column of a table holds nodes, or several are named as some."""
    if nodes is None:
        return False
    named = sum(map(nodes.means, table.columns)) > 1
    return named or any(_share(column, nodes) >= _MOSTLY for column in table)


def _share(column: pl.Series, nodes: Any) -> float:
    cells = column.head(HEAD)
    cells = cells.explode() if cells.dtype.is_nested() else cells
    return nodes.share(cells.cast(pl.String).drop_nulls()) or 0.0


def _holds_classes(table: pl.DataFrame) -> bool:
    """Whether the ids of a table are rather numbers of classes than its labels are."""
    if table.schema["label"] != pl.String or not table["id"].str.contains(r"^\d+$").all():
        return False
    fewer = table["id"].n_unique() < table["label"].n_unique()
    return fewer or not table["label"].str.contains(r"^\d+$").all()


def _turned(table: pl.DataFrame) -> pl.DataFrame:
    """A table of labels, each with its ids, as one of ids."""
    listed = table.schema["label"].is_nested()
    pairs = table.explode("label") if listed else table
    return pairs.select(id="label", label="id")
