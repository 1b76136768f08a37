"""The record that registers a format of label files, and what every loader hands on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import SchemaError, first_cases

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
"""First columns of `RawLabels.instances`: every instance once, also one without labels.

The further columns that the user names follow, in that order and under those names.
"""

PLACES: dict[str, Any] = {"instance": pl.String, "split": pl.String, "labels": pl.List(pl.String)}
"""Columns of `RawLabels.places`: an instance that was met in several places, a row a place.

A place is a record where the format has one record an instance, else a split. ``labels`` are those
found there as written, sorted, repeated ones kept.
"""

STRATUM = "stratum:"
"""What stands before the name of a further column while it is a role beside other roles."""


@dataclass(frozen=True)
class Columns:
    """The columns, or keys of a JSON line, that the user names; None leaves it to the format.

    ``classes`` is the file that names the columns of a matrix, which has no names of its own;
    ``strata`` are further columns of the instances, such as site, period or coder.

    Raises:
        SchemaError: If a further column is named twice, or as a column that every dataset has.
    """

    id: str | None = None
    label: str | None = None
    group: str | None = None
    split: str | None = None
    classes: Path | None = None
    strata: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        taken = [*INSTANCES, *self.strata]
        repeated = sorted({name for name in self.strata if taken.count(name) > 1})
        if repeated:
            raise SchemaError(
                f"strata must have different names, none of them {', '.join(INSTANCES)}",
                found=first_cases(repeated),
                hint="the group and the split are named with --group and --split",
            )

    @property
    def further(self) -> dict[str, str | None]:
        """Columns of the strata by role."""
        return {f"{STRATUM}{name}": name for name in self.strata}

    @property
    def beside(self) -> dict[str, str | None]:
        """Columns beside the id and the labels by role: group, split and strata."""
        return {"group": self.group, "split": self.split, **self.further}


@dataclass(frozen=True)
class RawLabels:
    """Labels as read, before any hierarchy is asked.

    Args:
        rows: Columns `ROWS`.
        instances: Columns `INSTANCES`, then the strata, all text. An instance in several splits
            has the first in code-point order.
        places: Columns `PLACES`; empty where each instance was met in one place.
        sources: The files that were read, in a stable order.
        titles: Title dictionaries that lie beside the data.
        persons: Whether the format holds persons' records.
        format: Name of the format it was read as.
        unnamed: ``instance`` and columns that nobody named and that part the instances, a row an
            instance.
    """

    rows: pl.DataFrame
    instances: pl.DataFrame
    sources: tuple[Path, ...]
    places: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PLACES))
    titles: tuple[Path, ...] = ()
    persons: bool = False
    format: str = "rows"
    unnamed: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema={"instance": pl.String})
    )


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
