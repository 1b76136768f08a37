"""Tables that can be copied: how each kind of file is read whole with Polars, and written again."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from audit.base.databases import is_database
from audit.base.files import bare_suffix, read_bytes
from audit.base.remote import address_of
from audit.base.table import Table
from audit.base.tables import open_table
from audit.data.columns import Columns
from audit.data.dataset import LabelDataset
from audit.data.rows import columns_read
from audit.runs.settings import Settings

Write = Callable[[pl.DataFrame, Path], object]


@dataclass(frozen=True)
class OpenTable:
    """A table that was read whole, and what writes another one as such a file.

    Args:
        columns: Where its ids and labels stand.
    """

    path: Path
    columns: Columns
    frame: pl.DataFrame
    write: Write

    @property
    def joins(self) -> bool:
        """Whether a row holds all labels of an instance."""
        listed = self.frame.schema[self.columns.label[0]].is_nested()
        return listed or len(self.columns.label) > 1 or bool(self.columns.sep)


def open_tables(labels: LabelDataset, settings: Settings) -> list[OpenTable]:
    """The tables whose rows are the labels as they were read; none where one cannot be copied."""
    if is_database(settings.dataset) or address_of(settings.dataset) or not labels.sources:
        return []
    found = []
    for name, columns in labels.columns.items():
        files = [Path(name)] if Path(name).is_file() else [*labels.sources]
        for path in files:
            part = open_table(path, table=settings.table, text=settings.text)
            if not {*columns.label} <= {*part.schema}:
                continue
            opened = _opened(path, part, settings) if _is_plain(part, columns) else None
            if opened is None or not {*columns_read(columns, part.schema)} <= {*part.schema}:
                return []
            found.append(OpenTable(path, columns, *opened))
    return found


def _is_plain(part: Table, columns: Columns) -> bool:
    """Whether cells hold the labels themselves, so that they can be changed there."""
    written = part.head.select(
        pl.col(name).str.starts_with("[").any()
        for name in columns.label
        if part.schema[name] == pl.String()
    )
    as_lists = any(written.row(0)) if written.width else False
    return not (columns.take or part.class_names or as_lists or columns.flags)


def _opened(path: Path, part: Table, settings: Settings) -> tuple[pl.DataFrame, Write] | None:
    """The rows of Parquet, or of text with a line of names, and what writes them in the same form;
    None for text whose line of names is not found."""
    if bare_suffix(path) == ".parquet":
        return pl.read_parquet(path, hive_partitioning=False), pl.DataFrame.write_parquet
    lines = csv.reader(part.text.first, delimiter=part.text.separator or ",")
    header = next((n for n, cells in enumerate(lines) if cells == [*part.schema]), None)
    if header is None or not (part.text.separator and part.text.header) or settings.skip_rows:
        return None
    end = "\r\n" if b"\r\n" in read_bytes(path)[:65536] else "\n"
    above = "".join(line + end for line in part.text.first[:header])

    def write(rows: pl.DataFrame, into: Path) -> None:
        text = above + rows.write_csv(separator=part.text.separator, line_terminator=end)
        written = text.encode(settings.encoding or "utf-8")
        packed = path.suffix.lower() == ".gz"
        into.write_bytes(gzip.compress(written, mtime=0) if packed else written)

    return part.frame(), write
