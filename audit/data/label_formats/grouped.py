"""Grouped lines: an id, a tab, and its labels joined by semicolons."""

from __future__ import annotations

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.data.label_format import Columns, LabelFormat, RawLabels, labels_on_lines
from audit.data.label_formats import wide
from audit.data.sources import Source

_HEADERS = {"label", "labels", "parent", "prediction", "predicted"}


def read(source: Source, columns: Columns) -> RawLabels:
    """Read lines of an id and its labels; an instance without labels has nothing after the tab.

    Raises:
        SchemaError: If a line does not have exactly one tab, or the user named a column.
    """
    return labels_on_lines(source, columns, ("\t", ";"), _require_tabs)


def matches(source: Source) -> bool:
    """Whether every line has one tab and labels without blanks, and the first is not a header."""
    lines = source.head_lines
    if not lines or not all(_is_grouped(line) for line in lines):
        return False
    return not (_HEADERS & source.columns.keys() or wide.matches(source))


def _is_grouped(line: str) -> bool:
    key, _, labels = line.partition("\t")
    return (
        line.count("\t") == 1
        and bool(key.strip())
        and not any(" " in label.strip() for label in labels.split(";"))
    )


def _require_tabs(lines: pl.DataFrame, source: Source) -> None:
    others = lines.filter(pl.col("text").str.count_matches("\t") != 1)
    if not others.is_empty():
        raise SchemaError(
            "every line must be an id, one tab, and labels joined by semicolons",
            found=first_cases(others.head(5)["text"].str.head(60), others.height),
            where=f"{source}:{others['line'][0]}",
        )


FORMAT = LabelFormat(
    name="grouped",
    title="lines of an id, a tab and labels joined by semicolons, without a header",
    matches=matches,
    read=read,
)
