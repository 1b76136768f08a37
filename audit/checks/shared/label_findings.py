"""Rows of the checks on written labels: one per reason, with the labels and their candidates."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from types import MappingProxyType
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import TOP_PARTS
from audit.checks.rows import Row, check_of_rows
from audit.checks.shared.carriers import distinct, written_with
from audit.checks.shared.evidence import LABEL_PARTS
from audit.measure.measure import Measurements
from audit.measure.validity import rows_on_their_day
from audit.results.findings import Evidence, Part

_NOTHING: Evidence = MappingProxyType({})
check_of_labels = partial(check_of_rows, of_parts=LABEL_PARTS, denominator="rows", proposes=True)
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

    def cases() -> IntArray:
        if "line" in labels.columns:
            return written_with(measured, labels.drop_nulls("line"))
        dated = rows_on_their_day(measured.loaded.dataset, measured.policy.code_dates)
        places = pl.Series([*map(measured.hierarchy.index, labels["label"])], dtype=pl.UInt32)
        return distinct(
            dated.filter(
                pl.col("node").is_in(places.implode()),
                pl.col("on_day").eq_missing(pl.lit(on_day)),
            )
        )

    yield Row(
        nodes=tuple(part.nodes[0] for part in parts),
        evidence={"rows": rows, "of": read, "share": rows / read, "labels": len(labels), **more},
        parts=parts,
        key=(key,),
        cases=cases,
        **said,
    )


def label_parts(labels: pl.DataFrame) -> tuple[Part, ...]:
    """Breakdown lines of the labels of most instances; columns as in `of_labels`."""
    ordered = labels.sort(["instances", "label"], descending=[True, False])
    return tuple(
        Part(
            (line["label"],),
            {name: line[name] for name in ("instances", "may_stand_for", "valid") if name in line},
        )
        for line in ordered.head(TOP_PARTS).iter_rows(named=True)
    )


def with_meanings(measured: Measurements, labels: pl.DataFrame, codes: str) -> pl.DataFrame:
    """Labels with ``may_stand_for``, the codes of a column with their titles."""
    hierarchy = measured.hierarchy
    meanings = [
        " or ".join(hierarchy.describe(hierarchy.index(code)) for code in found)
        for found in labels[codes]
    ]
    return labels.with_columns(may_stand_for=pl.Series(meanings, dtype=pl.String))


def of_dated(
    measured: Measurements, on_day: str, *, without: Collection[str] = (), **said: Any
) -> Iterator[Row]:
    """One warning about the dated rows whose code had a validity on its day; else none.

    Args:
        without: Nodes left to another check.
        said: As in `of_labels`; ``{of}`` is dated rows, ``{column}`` the column of the day.
    """
    if measured.policy.code_dates is None:
        return
    dated = int(measured.validity.drop_nulls("on_day")["rows"].sum())
    found = measured.validity.filter(~pl.col("node").is_in(list(without)), on_day=on_day)
    more = {
        "column": measured.policy.code_dates.column,
        "not_dated": measured.ledger.rows_mapped - dated,
    }
    yield from of_labels(
        measured,
        found.rename({"node": "label"}),
        key=ON_THEIR_DAY,
        severity="warning",
        of=dated,
        more=more,
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
