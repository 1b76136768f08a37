"""The record that registers a format of label files, and the raw labels that loaders return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.data.class_names import Classes
from audit.data.sources import Source

ROWS = {
    "instance": pl.String,
    "label": pl.String,
    "position": pl.Int64,
    "table": pl.String,
    "refused": pl.String,
}
"""Columns of `RawLabels.rows`: one instance-label assertion per row, as read.

``label`` is null if the source has none; ``position`` is the position in the record, from 1, if
there is an order; ``table`` is the code set that the row was found in; ``refused`` is a reason of
the ledger if the loader already knows one.
"""

INSTANCES = {"instance": pl.String, "group": pl.String, "split": pl.String}
"""First columns of `RawLabels.instances`: every instance once, including those without labels.

The strata that the user names follow, in that order and under those names.
"""

PLACES: dict[str, Any] = {"instance": pl.String, "split": pl.String, "labels": pl.List(pl.String)}
"""Columns of `RawLabels.places`: one row per place of an instance that occurs in several places.

A place is a record if the format has one record per instance, else a split. ``labels`` are the
labels found there as written, sorted, with repetitions.
"""

STRATUM = "stratum:"
"""Prefix that marks the name of a stratum among the names of roles."""


@dataclass(frozen=True)
class Columns:
    """The columns, or keys of a JSON line, that the user names; None: the format detects it.

    ``label`` may be a pattern of several columns, as ``DX*``, where the format has a row per
    instance. ``classes`` are the column names of a matrix, which has none of its own, or their
    file; ``strata`` are further columns of the instances, such as site, period or coder.

    Raises:
        SchemaError: If a stratum is named twice, or has the name of a column of every dataset.
    """

    id: str | None = None
    label: str | None = None
    group: str | None = None
    split: str | None = None
    classes: Classes | None = None
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
        """Names of the columns of the strata, by role."""
        return {f"{STRATUM}{name}": name for name in self.strata}

    @property
    def beside(self) -> dict[str, str | None]:
        """Names of the columns other than id and label, by role: group, split and strata."""
        return {"group": self.group, "split": self.split, **self.further}


@dataclass(frozen=True)
class RawLabels:
    """Labels as read, before they are mapped to a hierarchy.

    Args:
        rows: Columns `ROWS`.
        instances: Columns `INSTANCES`, then the strata, all text. An instance in several splits
            has the first in code-point order.
        places: Columns `PLACES`; empty if every instance occurs in one place only.
        sources: The files that were read, in a stable order.
        digest: Digest of the source if it is in no file, else empty.
        titles: Title dictionaries found next to the data.
        persons: Whether the format holds records of persons.
        format: Name of the format that it was read as.
        unnamed: ``instance`` and possible strata that the user did not name, one row per instance.
    """

    rows: pl.DataFrame
    instances: pl.DataFrame
    sources: tuple[Path, ...]
    places: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PLACES))
    titles: tuple[Path, ...] = ()
    persons: bool = False
    format: str = "rows"
    digest: str = ""
    unnamed: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema={"instance": pl.String})
    )


@dataclass(frozen=True)
class Batches:
    """How a format gives its rows in batches, so that they are counted without being loaded.

    Args:
        columns: The columns of the instance's id and of the label, or list of labels, given those
            that the user named, if any.
        frames: Frames of the two columns, in that order, about so many rows at a time, after so
            many rows; frames end at the same rows each time.
    """

    columns: Callable[[Source, str | None, str | None], tuple[str, str]]
    frames: Callable[[Source, str, str, int, int], Iterator[pl.DataFrame]]


@dataclass(frozen=True)
class LabelFormat:
    """One format of labels.

    Args:
        name: What ``--format`` and ``audit list formats`` call it.
        title: What it looks like, in one line.
        matches: Whether a source is of this format.
        read: Reads the labels of a source.
        batches: How it gives batches; None if it does not.
        of_folders: Whether ``matches`` judges a folder as a whole; else a folder is of the format
            if each of its parts is.
        own_files: Names of files in such a folder that are no other dataset.
    """

    name: str
    title: str
    matches: Callable[[Source], bool]
    read: Callable[[Source, Columns], RawLabels]
    batches: Batches | None = None
    of_folders: bool = False
    own_files: tuple[str, ...] = ()
