"""Pipe-separated lines: an id and its labels, as CAML writes its predictions."""

from __future__ import annotations

import polars as pl

from audit.base.errors import SchemaError
from audit.data.label_format import Columns, LabelFormat, RawLabels, labels_on_lines
from audit.data.sources import Source


def read(source: Source, columns: Columns) -> RawLabels:
    """Read lines of an id and its labels; an id alone is an instance without labels.

    Raises:
        SchemaError: If an id holds a comma or a tab, as in a table, or the user named a column.
    """
    return labels_on_lines(source, columns, ("|", "|"), _require_ids)


def matches(source: Source) -> bool:
    """Whether every line begins with an id and some line has a pipe, or the suffix says so."""
    lines = source.head_lines
    ids = [line.partition("|")[0].strip() for line in lines]
    return (
        bool(lines)
        and (source.suffix == ".psv" or any("|" in line for line in lines))
        and all(ids)
        and not any(set("\t,{ \0") & set(instance) for instance in ids)
    )


def _require_ids(listed: pl.DataFrame, source: Source) -> None:
    others = listed.filter(pl.col("instance").str.contains(r"[\t,{\x00]"))
    if not others.is_empty():
        raise SchemaError(
            "every line must be an id and labels, separated by pipes",
            found=repr(others["instance"][0][:60]),
            where=f"{source}:{others['line'][0]}",
        )


FORMAT = LabelFormat(
    name="psv",
    title="lines of an id and labels separated by pipes, without a header",
    matches=matches,
    read=read,
)
