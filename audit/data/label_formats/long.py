"""Long tables: one row per assertion, or one row per instance with a list of its labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import read_table
from audit.data.columns import (
    column_for,
    exploded,
    id_among,
    pick,
    raw_labels,
    schema_of,
    separator_of,
)
from audit.data.label_format import Columns, LabelFormat, RawLabels
from audit.data.unnamed_columns import unnamed_columns


def read(path: Path, columns: Columns) -> RawLabels:
    """Read a table with ``instance`` and ``label``, or Parquet with a list in ``labels``.

    An empty or null list is an instance without labels.

    Raises:
        SchemaError: If a column is missing, or several could be meant.
    """
    frame = read_table(path, separator=separator_of(path))
    label = label_column(frame.schema, columns.label, path)
    listed = _is_list(frame.schema[label])
    roles = columns.beside
    named = {role: name for role, name in roles.items() if name}
    taken = {label, *(column_for(role, name, frame.columns, path) for role, name in named.items())}
    instance = id_among(frame.columns, columns.id, taken, path)
    picked = pick(
        frame, path, instance=instance, **{"labels" if listed else "label": label}, **roles
    )
    raw = raw_labels(exploded(picked) if listed else picked, picked, path)
    return replace(raw, unnamed=unnamed_columns(frame, instance, taken, path))


def matches(path: Path, head: bytes) -> bool:
    """Whether the table has a column ``label``, or a column ``labels`` that holds lists."""
    schema = schema_of(path, head)
    return "label" in schema or _is_list(schema.get("labels"))


def label_column(schema: Mapping[str, pl.DataType], named: str | None, path: Path) -> str:
    """The column of labels, or lists of labels: the one that the user named, else the only one.

    Raises:
        SchemaError: If there is none, or there are several candidates.
    """
    found = [name for name, dtype in schema.items() if _holds_labels(name, dtype)]
    if named is None and len(found) > 1:
        raise SchemaError(
            "exactly one column must hold the labels",
            found=f"the candidates {first_cases(found)}",
            where=path,
            hint="name it with --label",
        )
    return column_for("label", named or "".join(found) or "label", list(schema), path)


def _holds_labels(name: str, dtype: pl.DataType) -> bool:
    name = name.strip().lower()
    return name == "label" or (name == "labels" and _is_list(dtype))


def _is_list(dtype: pl.DataType | None) -> bool:
    return isinstance(dtype, (pl.List, pl.Array))


FORMAT = LabelFormat(
    name="long",
    title="CSV, TSV or Parquet with the columns instance and label, or Parquet with lists in"
    " labels",
    matches=matches,
    read=read,
)
