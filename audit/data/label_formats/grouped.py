"""Grouped lines: an id, a tab, and its labels joined by semicolons."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.data.columns import (
    exploded,
    head_lines,
    lines_of,
    parts,
    pick,
    raw_labels,
    refuse_named,
    schema_of,
)
from audit.data.label_format import Columns, LabelFormat, RawLabels
from audit.data.label_formats import wide

_HEADERS = {"label", "labels", "parent"}


def read(path: Path, columns: Columns) -> RawLabels:
    """Read lines of an id and its labels; an instance without labels has nothing after the tab.

    Raises:
        SchemaError: If a line does not have exactly one tab, or the user named a column.
    """
    refuse_named(columns, path, "id", "label", "group", "split", "strata")
    lines = lines_of(path)
    _require_tabs(lines, path)
    text = pl.col("text").str.splitn("\t", 2)
    listed = lines.select(
        instance=text.struct.field("field_0"),
        labels=parts(text.struct.field("field_1"), ";"),
    )
    listed = pick(listed, path, instance="instance", labels="labels")
    return raw_labels(exploded(listed), listed, path)


def matches(path: Path, head: bytes) -> bool:
    """Whether every line has one tab and labels without blanks, and the first is no header."""
    lines = head_lines(path, head)
    if not lines or not all(_is_grouped(line) for line in lines):
        return False
    return not (_HEADERS & schema_of(path, head).keys() or wide.matches(path, head))


def _is_grouped(line: str) -> bool:
    key, _, labels = line.partition("\t")
    return (
        line.count("\t") == 1
        and bool(key.strip())
        and not any(" " in label.strip() for label in labels.split(";"))
    )


def _require_tabs(lines: pl.DataFrame, path: Path) -> None:
    others = lines.filter(pl.col("text").str.count_matches("\t") != 1)
    if not others.is_empty():
        raise SchemaError(
            "every line must be an id, one tab, and labels joined by semicolons",
            found=first_cases(others.head(5)["text"].str.head(60), others.height),
            where=f"{path}:{others['line'][0]}",
        )


FORMAT = LabelFormat(
    name="grouped",
    title="lines of an id, a tab and labels joined by semicolons, without a header",
    matches=matches,
    read=read,
)
