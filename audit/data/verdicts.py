"""Verdicts: what people say of the answers of a model, in a column of its predictions."""

from __future__ import annotations

from types import MappingProxyType

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import name_among
from audit.data.class_names import Classes
from audit.data.prediction_format import RawPredictions
from audit.data.prediction_formats.listed import as_frame
from audit.data.records import pick, table_of
from audit.data.sources import Source

VERDICTS = MappingProxyType({"right": 1, "wrong": -1, "unsure": 0})
"""The words of a verdict, case ignored, and what each counts; a blank says nothing, as unsure."""


def set_aside(source: Source, column: str | None, classes: Classes | None) -> Source:
    """The source without a column of verdicts, which it has beside its table; itself without one.

    Raises:
        SchemaError: If there is no such column, or it holds other words than `VERDICTS`.
    """
    if column is None:
        return source
    table = table_of(source)
    name = name_among(table.columns, column, source)
    said = pick(table, source, verdict=name)["verdict"].str.to_lowercase()
    other = (said.is_not_null() & ~said.is_in([*VERDICTS])).arg_true()
    if len(other):
        cases = [f"{said[row]} in row {row + 1}" for row in other.head(5)]
        raise SchemaError(
            f"{', '.join(VERDICTS)} or a blank is required as a verdict",
            found=f"in {name!r} {first_cases(cases, len(other))}",
            where=source,
        )
    made = as_frame(table.drop(name), source, classes)
    made.verdicts = said.replace_strict(VERDICTS, default=0, return_dtype=pl.Int64)
    return made


def require_verdicts(raw: RawPredictions, format: str) -> None:
    """Raise SchemaError where rows of a format are no answers, of which verdicts could be."""
    if raw.verdicts is None:
        raise SchemaError(
            "a table with a row for each answer is required beside --verdict",
            found=f"predictions in the format {format}",
            where=raw.name,
        )
