"""Rows of the checks on written labels: one per reason, with the labels and their candidates."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from types import MappingProxyType
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, count, exact, share, text
from audit.checks.check import TOP_PARTS
from audit.checks.rows import Row, check_of_rows
from audit.checks.shared.carriers import distinct
from audit.measure.measure import Measurements
from audit.measure.validity import rows_on_their_day
from audit.results.findings import Evidence, Part

_NOTHING: Evidence = MappingProxyType({})
_LABELS = (*share("share", of="rows of"), *count("labels", of=NONE))
OF_ROWS_READ = (
    *count("rows", of="rows"),
    *exact("of", of="rows", reason="all rows read"),
    *_LABELS,
)
"""Numbers of `of_labels` on all rows read."""
OF_SOME_ROWS = (*count("rows of", of="rows"), *_LABELS)
"""Those on some of them."""
ON_DAY = (*count("not_dated", of="rows"), *text("column"))
"""What `of_dated` and `among_not_dated` add."""
LABEL_PARTS = Columns(count("instances"), text("may_stand_for valid"))
"""Parts made by `label_parts`."""
check_of_labels = partial(check_of_rows, of_parts=LABEL_PARTS, denominator="rows")
"""A check whose findings are rows of `of_labels`."""
ON_THEIR_DAY = "on their day"
"""Key of a finding on dated rows."""


def of_labels(
    measured: Measurements,
    labels: pl.DataFrame,
    *,
    key: str,
    of: int | None = None,
    more: Evidence = _NOTHING,
    on_day: str | None = None,
    **said: Any,
) -> Iterator[Row]:
    """One row about written labels; none if there are no such labels.

    Args:
        labels: One row per label, with columns ``label, rows, instances``. Optional columns
            ``may_stand_for`` and ``valid`` are added to the breakdown. Without ``line``, labels are
            nodes, and the finding is on their rows of the validity ``on_day``.
        key: Distinguishes the finding from others of the check.
        of: Number of rows examined; None for all rows read.
        more: Further evidence.
        said: Further fields of the `Row`. The sentence may use ``{rows}``, ``{of}``, ``{share}``
            and ``{labels}``.
    """
    if labels.is_empty():
        return
    rows, read = int(labels["rows"].sum()), measured.ledger.rows_read if of is None else of
    parts = label_parts(labels)
    yield Row(
        nodes=tuple(part.nodes[0] for part in parts),
        evidence={"rows": rows, "of": read, "share": rows / read, "labels": len(labels), **more},
        parts=parts,
        key=(key,),
        cases=partial(written_with, measured, labels, on_day),
        written=refused_in(labels, parts),
        **said,
    )


def written_with(
    measured: Measurements, labels: pl.DataFrame, on_day: str | None = None
) -> IntArray:
    """Instances with one of the labels of `of_labels`, ascending; without ``line``, on rows whose
    code had the validity ``on_day`` on its day (None: rows that are not dated)."""
    dataset = measured.loaded.dataset
    if "line" in labels.columns:
        lines = labels["line"].drop_nulls().implode()
        return distinct(dataset.written.filter(pl.col("line").is_in(lines)))
    places = pl.Series([*map(measured.hierarchy.index, labels["label"])], dtype=pl.UInt32)
    dated = rows_on_their_day(dataset, measured.policy.code_dates)
    judged = pl.col("on_day").eq_missing(pl.lit(on_day))
    return distinct(dated.filter(judged, pl.col("node").is_in(places.implode())))


def label_parts(labels: pl.DataFrame) -> tuple[Part, ...]:
    """Breakdown lines of the labels of most instances; columns as in `of_labels`."""
    names = [n for n in ("instances", "may_stand_for", "valid") if n in labels.columns]
    most = labels.sort(["instances", "label"], descending=[True, False]).head(TOP_PARTS)
    lines = most.select("label", *names).iter_rows()
    return tuple(Part((label,), dict(zip(names, own, strict=True))) for label, *own in lines)


def refused_in(labels: pl.DataFrame, parts: tuple[Part, ...]) -> tuple[str, ...]:
    """Labels of a breakdown that are no nodes, by ``node``; none where all labels are nodes."""
    if "node" not in labels.columns:
        return ()
    refused = {*labels.filter(pl.col("node").is_null())["label"]}
    return tuple(part.nodes[0] for part in parts if part.nodes[0] in refused)


def with_meanings(measured: Measurements, labels: pl.DataFrame, codes: str) -> pl.DataFrame:
    """Labels with ``may_stand_for``, the codes of a column with their titles."""
    describe, index = measured.hierarchy.describe, measured.hierarchy.index
    meanings = [" or ".join(describe(index(code)) for code in found) for found in labels[codes]]
    return labels.with_columns(may_stand_for=pl.Series(meanings, dtype=pl.String))


def of_dated(
    measured: Measurements, on_day: str, *, without: Collection[str] = (), **said: Any
) -> Iterator[Row]:
    """One warning on the dated rows whose code had the validity ``on_day`` on its day; else none.

    Args:
        without: Nodes left to another check.
        said: As in `of_labels`; ``{of}`` is dated rows, ``{column}`` the column of the day.
    """
    dates = measured.policy.code_dates
    if dates is None:
        return
    dated = int(measured.validity.drop_nulls("on_day")["rows"].sum())
    found = measured.validity.filter(~pl.col("node").is_in(list(without)), on_day=on_day)
    yield from of_labels(
        measured,
        found.rename({"node": "label"}),
        key=ON_THEIR_DAY,
        severity="warning",
        of=dated,
        more={"column": dates.column, "not_dated": measured.ledger.rows_mapped - dated},
        on_day=on_day,
        **said,
    )


def among_not_dated(
    measured: Measurements, labels: pl.DataFrame
) -> tuple[pl.DataFrame, str, Evidence]:
    """Labels with only their rows that have no date, a sentence on ``{not_dated}``, and its
    evidence; all rows, and nothing else, if the policy names no code dates."""
    if measured.policy.code_dates is None:
        return labels, "", _NOTHING
    left = measured.validity.filter(pl.col("on_day").is_null())
    own = labels.drop("line", "rows", "instances").unique()
    sentence = (
        " {rows|It is|They are} among {not_dated} rows whose instance has no day, or whose code "
        "has no dates."
    )
    found = own.join(left.select("rows", "instances", label="node"), on="label")
    return found, sentence, {"not_dated": int(left["rows"].sum())}
