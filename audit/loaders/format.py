"""The record that registers a format of label files, and what every loader hands on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

ROWS = {
    "instance": pl.String,
    "label": pl.String,
    "position": pl.Int64,
    "table": pl.String,
    "refused": pl.String,
}
"""Columns of `RawLabels.rows`: one instance-label assertion a row, as read.

``label`` is null where the source has none; ``position`` is the place in the record where there is
an order, from 1; ``table`` is the code set the row was found in; ``refused`` is a reason of the
ledger where the loader knows one already.
"""

INSTANCES = {"instance": pl.String, "group": pl.String, "split": pl.String}
"""Columns of `RawLabels.instances`: every instance once, also one without labels."""


@dataclass(frozen=True)
class Columns:
    """The columns, or keys of a JSON line, that the user names; None leaves it to the format.

    ``classes`` is the file that names the columns of a matrix, which has no names of its own.
    """

    id: str | None = None
    label: str | None = None
    group: str | None = None
    split: str | None = None
    classes: Path | None = None


@dataclass(frozen=True)
class RawLabels:
    """Labels as read, before any hierarchy is asked.

    Args:
        rows: Columns `ROWS`.
        instances: Columns `INSTANCES`.
        sources: The files that were read, in a stable order.
        titles: Title dictionaries that lie beside the data.
        persons: Whether the format holds persons' records.
        format: Name of the format it was read as.
    """

    rows: pl.DataFrame
    instances: pl.DataFrame
    sources: tuple[Path, ...]
    titles: tuple[Path, ...] = ()
    persons: bool = False
    format: str = "rows"


@dataclass(frozen=True)
class LabelFormat:
    """One format of label files.

    Args:
        name: What ``--format`` and ``audit list formats`` call it.
        title: What it looks like, in one line.
        matches: Whether a path is of it; the bytes are the file's first, empty for a folder.
        read: Reads it.
    """

    name: str
    title: str
    matches: Callable[[Path, bytes], bool]
    read: Callable[[Path, Columns], RawLabels]
