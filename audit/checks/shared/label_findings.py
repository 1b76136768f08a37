"""Rows of the checks on written labels: one per reason, with the labels and their candidates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from types import MappingProxyType

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import TOP_PARTS
from audit.checks.rows import Row
from audit.checks.shared.carriers import distinct, written_with
from audit.measure.measure import Measurements
from audit.measure.validity import rows_on_their_day
from audit.results.findings import Evidence, Part, Severity

_NOTHING: Evidence = MappingProxyType({})
ON_THEIR_DAY = "on their day"
"""Key of a finding on dated rows."""


def of_labels(
    measured: Measurements,
    labels: pl.DataFrame,
    *,
    key: str,
    severity: Severity,
    sentence: str,
    curator: str,
    data_user: str,
    of: int | None = None,
    more: Evidence = _NOTHING,
    on_day: str | None = None,
    aside: bool = False,
    proposes: Callable[[], pl.DataFrame] | None = None,
) -> Iterator[Row]:
    """One row about written labels; none if there are no such labels.

    Args:
        labels: One row per label, with columns ``label, rows, instances``. Optional columns
            ``may_stand_for`` and ``valid`` are added to the breakdown. Without ``line``, labels are
            nodes, and the finding is on their rows of the validity ``on_day``.
        key: Distinguishes the finding from others of the check.
        sentence: May use ``{rows}``, ``{of}``, ``{share}`` and ``{labels}``.
        of: Number of rows examined; None for all rows read.
        more: Further evidence.
    """
    if labels.is_empty():
        return
    rows, read = int(labels["rows"].sum()), measured.ledger.rows_read if of is None else of
    parts = label_parts(labels)

    def cases() -> IntArray:
        if "line" in labels.columns:
            return written_with(measured, labels.drop_nulls("line"))
        return _with_nodes(measured, labels["label"], on_day)

    yield Row(
        severity=severity,
        nodes=tuple(part.nodes[0] for part in parts),
        sentence=sentence,
        evidence={"rows": rows, "of": read, "share": rows / read, "labels": len(labels), **more},
        curator=curator,
        data_user=data_user,
        parts=parts,
        key=(key,),
        aside=aside,
        cases=cases,
        proposes=proposes,
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


def _with_nodes(measured: Measurements, nodes: pl.Series, on_day: str | None) -> IntArray:
    """Instances with a row of one of the nodes that has a validity on its day, ascending."""
    rows = rows_on_their_day(measured.loaded.dataset, measured.policy.code_dates)
    places = pl.Series([measured.hierarchy.index(node) for node in nodes], dtype=pl.UInt32)
    chosen = pl.col("node").is_in(places.implode()) & pl.col("on_day").eq_missing(pl.lit(on_day))
    return distinct(rows.filter(chosen))


def of_dated(
    measured: Measurements,
    on_day: str,
    *,
    sentence: str,
    curator: str,
    data_user: str,
    without: Collection[str] = (),
) -> Iterator[Row]:
    """One warning about the dated rows whose code had a validity on its day; else none.

    Args:
        sentence: May use ``{rows}``, ``{of}`` (dated rows), ``{share}``, ``{labels}`` and
            ``{column}``, the column of the day.
        without: Nodes left to another check.
    """
    if measured.policy.code_dates is None:
        return
    found = measured.validity.filter(on_day=on_day)
    dated = int(measured.validity.drop_nulls("on_day")["rows"].sum())
    yield from of_labels(
        measured,
        found.filter(~pl.col("node").is_in(list(without))).rename({"node": "label"}),
        key=ON_THEIR_DAY,
        severity="warning",
        sentence=sentence,
        curator=curator,
        data_user=data_user,
        of=dated,
        more={
            "column": measured.policy.code_dates.column,
            "not_dated": measured.ledger.rows_mapped - dated,
        },
        on_day=on_day,
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
