"""Long tables: one row per assertion, or one row per instance with a list of its labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from audit.base.errors import first_cases
from audit.data.label_format import Chosen, Columns
from audit.data.label_formats import joined, tables
from audit.data.label_formats.several import refuse_one_of_several
from audit.data.records import UnclearColumnsError, column_for, id_among
from audit.data.sources import Source


def choose(source: Source, columns: Columns, rows: Source) -> Chosen:
    """The columns of the labels and of the id, as `audit.data.label_format.Choose`.

    An empty or null list is an instance without labels.

    Raises:
        SchemaError: If a column is missing, or several could be meant.
    """
    names = list(source.schema)
    label = label_column(source.schema, columns.label, source)
    if not _is_list(source.schema[label]):
        taken = {label, *tables.roles_of(columns, names, source).values()}
        columns = replace(columns, id=id_among(names, columns.id, taken, source))
    return tables.chosen_rows(source, columns, rows, [label])


def matches(source: Source) -> bool:
    """Whether the table has a column ``label``, or a column ``labels`` that holds lists."""
    listed = _is_list(source.columns.get("labels"))
    return ("label" in source.columns or listed) and not joined.matches(source)


def label_column(schema: Mapping[str, pl.DataType], named: str | None, source: Source) -> str:
    """The column of labels, or lists of labels: the one that the user named, else the only one.

    Raises:
        SchemaError: If there is none, or there are several candidates.
    """
    found = [name for name, dtype in schema.items() if _holds_labels(name, dtype)]
    if named is None and len(found) != 1:
        raise UnclearColumnsError(
            "exactly one column must hold the labels, as one named label does",
            found=f"the candidates {first_cases(found)}"
            if found
            else f"the columns {first_cases(schema)}",
            where=source,
            hint="name it with --label",
        )
    column = column_for("label", named or found[0], list(schema), source)
    refuse_one_of_several(column, source)
    return column


def _holds_labels(name: str, dtype: pl.DataType) -> bool:
    name = name.strip().lower()
    return name == "label" or (name == "labels" and _is_list(dtype))


def _is_list(dtype: pl.DataType | None) -> bool:
    return isinstance(dtype, (pl.List, pl.Array))


FORMAT = tables.table_format(
    name="long",
    title="CSV, TSV or Parquet with the columns instance and label, or Parquet with lists in"
    " labels",
    matches=matches,
    choose=choose,
)
