"""CAML: one row per admission, with its codes joined by semicolons and the text of its notes."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from audit.base.files import read_table
from audit.data.columns import (
    column_for,
    exploded,
    is_parquet,
    names_of,
    parts,
    pick,
    raw_labels,
    schema_of,
    separator_of,
)
from audit.data.label_format import Columns, LabelFormat, RawLabels


def read(path: Path, columns: Columns) -> RawLabels:
    """Read the codes and skip the text; the group is ``SUBJECT_ID`` if there is that column."""
    names = names_of(path)
    patient = next((name for name in names if name.strip().lower() == "subject_id"), None)
    roles = {
        "instance": columns.id or "hadm_id",
        "labels": columns.label or "labels",
        "group": columns.group or patient,
        "split": columns.split,
        **columns.further,
    }
    found = {role: column_for(role, name, names, path) for role, name in roles.items() if name}
    picked = pick(_columns(path, found.values()), path, **found)
    listed = picked.with_columns(labels=parts(pl.col("labels"), ";"))
    return raw_labels(exploded(listed), listed, path, persons=True)


def matches(path: Path, head: bytes) -> bool:
    """Whether a text table has the columns ``hadm_id`` and ``labels``."""
    return not is_parquet(path) and {"hadm_id", "labels"} <= schema_of(path, head).keys()


def _columns(path: Path, wanted: Collection[str]) -> pl.DataFrame:
    """Some columns; of the others, read so that a broken row is seen, the values are not kept."""
    if is_parquet(path):
        return read_table(path)
    table = pl.scan_csv(path, separator=separator_of(path), infer_schema=False)
    try:
        return table.with_columns(pl.exclude(*wanted).is_null()).collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError):
        return read_table(path, separator=separator_of(path))


FORMAT = LabelFormat(
    name="caml",
    title="CSV with a header that has hadm_id and labels, the labels joined by semicolons",
    matches=matches,
    read=read,
)
