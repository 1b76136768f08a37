"""Reading of labels in batches of rows, so that memory does not grow with the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from audit.data.label_format import BEHIND, STATED, Chosen, table_by
from audit.data.mapping import KEYS, REASONS, label_counts
from audit.data.records import is_blank, pick
from audit.data.sources import Source


@dataclass(frozen=True)
class Rows:
    """Consecutive rows of a source as read, from number ``first`` to before ``stop``."""

    first: int
    stop: int
    frame: pl.DataFrame
    source: Source

    @property
    def labels(self) -> pl.DataFrame:
        """``instance, label`` as tidy text, ``row`` (from 0), and ``counted``: whether the row is
        an assertion in the ledger. An instance without labels has one row that is not. With
        ``table`` where rules mark rows."""
        return labels_of(self.frame, self.source, self.first)

    @property
    def counts(self) -> pl.DataFrame:
        """Number of assertions of each label."""
        return counts_of(self.frame, self.source)


def rows_of(source: Source, chosen: Chosen, *, at_once: int) -> Iterator[Rows]:
    """Read the rows of a table or of JSON lines, about ``at_once`` at a time."""
    start = 0
    for frame in chosen.frames(source, chosen, at_once):
        stop = start + frame.height
        yield Rows(start, stop, frame, source)
        start = stop


def labels_of(frame: pl.DataFrame, source: Source, first: int = 0) -> pl.DataFrame:
    """The ``labels`` of `Rows` from a frame of instance, label and maybe the marks of rows."""
    listed = _is_listed(frame)
    names = ("instance", "labels" if listed else "label", "table")
    picked = pick(frame, source, **dict(zip(names, frame.columns, strict=False)))
    picked = picked.with_columns(row=pl.int_range(first, first + pl.len()))
    if not listed:
        return _apart(picked.with_columns(counted=pl.lit(True)), frame)
    some = pl.col("labels").list.len().fill_null(0) > 0
    counted = some | pl.col("instance").is_null()
    filled = picked.with_columns(labels=pl.when(some).then("labels"), counted=counted)
    return _apart(filled.explode("labels").rename({"labels": "label"}), frame)


def _apart(rows: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with the code sets that their labels stand behind, if they do, as ``table``."""
    if frame.columns[1] != STATED:
        return rows
    parts = pl.col("label").str.split_exact(BEHIND, 1).struct
    stated, label = parts.field("field_0"), parts.field("field_1").str.strip_chars()
    mark = pl.col("table") if "table" in rows.columns else pl.lit(None, pl.String)
    own = table_by(mark, pl.when(stated != "").then(stated))
    table = pl.when(mark.is_in(REASONS)).then(mark).otherwise(own)
    return rows.with_columns(label=pl.when(label != "").then(label), table=table)


def counts_of(frame: pl.DataFrame, source: Source) -> pl.DataFrame:
    """The `label_counts` of the ``labels`` of a frame; each different label is made tidy once."""
    if _is_listed(frame) or frame.columns[1] == STATED:
        return label_counts(labels_of(frame, source))
    labels_of(frame.clear(), source)
    table = pl.nth(2) if frame.width > 2 else pl.lit(None, pl.String)
    homeless = is_blank(pl.nth(0), frame.dtypes[0])
    rows = frame.select(pl.nth(1).alias("label"), table.alias("table"), homeless.alias("homeless"))
    counts = rows.group_by(KEYS).agg(pl.len().cast(pl.Int64).alias("rows"))
    return counts.with_columns(pick(counts, source, label="label")["label"])


def _is_listed(frame: pl.DataFrame) -> bool:
    return isinstance(frame.dtypes[1], (pl.List, pl.Array))


def batched(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """The same rows in order, at least so many at a time but for the last; none of no frame.

    >>> [len(batch) for batch in batched([pl.DataFrame({"a": [1, 2]})] * 3, 3)]
    [4, 2]
    """
    held: list[pl.DataFrame] = []
    for frame in frames:
        held.append(frame)
        if sum(map(len, held)) >= rows:
            yield pl.concat(held)
            held = []
    if held:
        yield pl.concat(held)
