"""Lines without a header: an id and its labels, joined by semicolons after a tab, or by pipes."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.text_tables import is_header
from audit.data.label_format import (
    Columns,
    LabelFormat,
    RawLabels,
    exploded,
    raw_labels,
    refuse_named,
)
from audit.data.label_formats import wide
from audit.data.records import parts, pick
from audit.data.sources import Source

_HEADERS = {"label", "labels", "codes", "parent", "prediction", "predicted"}


def read_grouped(source: Source, columns: Columns) -> RawLabels:
    """Read lines of an id and its labels; an instance without labels has nothing after the tab."""
    return _labels_on_lines(source, columns, ("\t", ";"), _require_tabs)


def read_piped(source: Source, columns: Columns) -> RawLabels:
    """Read lines as CAML writes its predictions; an id alone is an instance without labels."""
    return _labels_on_lines(source, columns, ("|", "|"), _require_ids)


def is_grouped(source: Source) -> bool:
    """Whether every line has one tab and labels without blanks, and the first is not a header."""
    lines = source.head_lines
    if not lines or not all(_is_grouped(line) for line in lines):
        return False
    nodes = source.nodes
    named = nodes and not any(map(nodes.means, source.schema)) and is_header(lines, "\t")
    return not (_HEADERS & source.columns.keys() or wide.matches(source) or named)


def is_piped(source: Source) -> bool:
    """Whether every line begins with an id and some line has a pipe, or the suffix says so."""
    lines = source.head_lines
    ids = [line.partition("|")[0].strip() for line in lines]
    return (
        bool(lines)
        and source.separator != "|"
        and not _HEADERS & source.columns.keys()
        and (source.suffix == ".psv" or any("|" in line for line in lines))
        and all(ids)
        and not any(set("\t,{ \0") & set(instance) for instance in ids)
    )


def _lines_of(source: Source) -> pl.DataFrame:
    """The nonblank lines of a text file, as ``line`` (number from 1) and ``text``."""
    lines = pl.DataFrame({"text": source.text().split("\n")}).with_row_index("line", offset=1)
    return lines.filter(pl.col("text").str.strip_chars() != "")


def _labels_on_lines(
    source: Source,
    columns: Columns,
    separators: tuple[str, str],
    refuse: Callable[[pl.DataFrame, Source], None],
) -> RawLabels:
    """The labels of a text whose lines have no header: an id, a separator, labels between others.

    ``refuse`` raises SchemaError for ``line, text, instance, labels`` of a part.
    """
    refuse_named(columns, source, "id", "label", "group", "split", "strata", "rules")
    after_id, between = separators
    halves = pl.col("text").str.splitn(after_id, 2).struct
    own = {"instance": halves.field("field_0"), "labels": parts(halves.field("field_1"), between)}
    split = []
    for part in source.parts:
        lines = _lines_of(part).with_columns(**own)
        refuse(lines, part)
        split.append(lines.select("instance", "labels"))
    listed = pick(pl.concat(split), source, instance="instance", labels="labels")
    return raw_labels(exploded(listed), listed, source, columns.rules)


def _is_grouped(line: str) -> bool:
    key, _, labels = line.partition("\t")
    return (
        line.count("\t") == 1
        and bool(key.strip(' "'))
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


def _require_ids(listed: pl.DataFrame, source: Source) -> None:
    others = listed.filter(pl.col("instance").str.contains(r"[\t,{\x00]"))
    if not others.is_empty():
        raise SchemaError(
            "every line must be an id and labels, separated by pipes",
            found=repr(others["instance"][0][:60]),
            where=f"{source}:{others['line'][0]}",
        )


GROUPED = LabelFormat(
    name="grouped",
    title="lines of an id, a tab and labels joined by semicolons, without a header",
    matches=is_grouped,
    read=read_grouped,
)
PSV = LabelFormat(
    name="psv",
    title="lines of an id and labels separated by pipes, without a header",
    matches=is_piped,
    read=read_piped,
)
