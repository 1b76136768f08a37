"""Long tables: one row per assertion, or one row per instance with a list of its labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.data.label_format import (
    Batches,
    Columns,
    LabelFormat,
    RawLabels,
    exploded,
    id_beside,
    raw_labels,
)
from audit.data.label_formats import joined
from audit.data.label_formats.several import refuse_one_of_several
from audit.data.records import column_for, id_among, pick
from audit.data.sources import Source
from audit.data.unnamed_columns import unnamed_columns


def read(source: Source, columns: Columns) -> RawLabels:
    """Read a table with ``instance`` and ``label``, or Parquet with a list in ``labels``.

    An empty or null list is an instance without labels.

    Raises:
        SchemaError: If a column is missing, or several could be meant.
    """
    frame = source.table()
    label = label_column(frame.schema, columns.label, source)
    listed = _is_list(frame.schema[label])
    instance, taken = id_beside(frame, columns, [label], source)
    chosen = {"instance": instance, "labels" if listed else "label": label}
    picked = pick(frame, source, **chosen, **columns.beside)
    raw = raw_labels(exploded(picked) if listed else picked, picked, source)
    return replace(raw, unnamed=unnamed_columns(frame, instance, taken, source))


def matches(source: Source) -> bool:
    """Whether the table has a column ``label``, or a column ``labels`` that holds lists."""
    listed = _is_list(source.columns.get("labels"))
    return ("label" in source.columns or listed) and not joined.matches(source)


def columns_in_batches(source: Source, instance: str | None, label: str | None) -> tuple[str, str]:
    """The columns of the instance's id and of the labels, as `read` finds them."""
    label = label_column(source.schema, label, source)
    instance = id_among(list(source.schema), instance, {label}, source)
    source.refuse_numbers(instance, label)
    return instance, label


def frames_in_batches(
    source: Source, instance: str, label: str, at_once: int, start: int
) -> Iterator[pl.DataFrame]:
    """Frames of the two columns, whose names ignore case."""
    wanted, names = {"instance": instance, "label": label}, list(source.schema)
    columns = [column_for(role, name, names, source) for role, name in wanted.items()]
    return source.frames(columns, at_once, start)


def label_column(schema: Mapping[str, pl.DataType], named: str | None, source: Source) -> str:
    """The column of labels, or lists of labels: the one that the user named, else the only one.

    Raises:
        SchemaError: If there is none, or there are several candidates.
    """
    found = [name for name, dtype in schema.items() if _holds_labels(name, dtype)]
    if named is None and len(found) > 1:
        raise SchemaError(
            "exactly one column must hold the labels",
            found=f"the candidates {first_cases(found)}",
            where=source,
            hint="name it with --label",
        )
    column = column_for("label", named or "".join(found) or "label", list(schema), source)
    refuse_one_of_several(column, list(schema), source)
    return column


def _holds_labels(name: str, dtype: pl.DataType) -> bool:
    name = name.strip().lower()
    return name == "label" or (name == "labels" and _is_list(dtype))


def _is_list(dtype: pl.DataType | None) -> bool:
    return isinstance(dtype, (pl.List, pl.Array))


BATCHES = Batches(columns_in_batches, frames_in_batches)
"""How a table whose columns are known is read in batches, whatever else it may look like."""

FORMAT = LabelFormat(
    name="long",
    title="CSV, TSV or Parquet with the columns instance and label, or Parquet with lists in"
    " labels",
    matches=matches,
    read=read,
    batches=BATCHES,
)
