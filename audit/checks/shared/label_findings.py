"""Findings of the checks on raw labels: one per reason, with its labels, valid on their day."""

from __future__ import annotations

from collections.abc import Collection
from types import MappingProxyType

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import TOP_PARTS
from audit.checks.shared.carriers import distinct, written_with
from audit.measure.measure import Measurements
from audit.measure.validity import rows_on_their_day
from audit.results.findings import Evidence, Finding, Part, Severity

_NOTHING: Evidence = MappingProxyType({})


def finding_of_labels(
    measured: Measurements,
    labels: pl.DataFrame,
    *,
    check: str,
    key: str,
    severity: Severity,
    statement: str,
    curator: str,
    data_user: str,
    of: int | None = None,
    more: Evidence = _NOTHING,
) -> tuple[Finding, ...]:
    """One finding about raw labels; none if there are no such labels.

    Args:
        labels: One row per label, with columns ``label, rows, instances``. Optional columns
            ``may_stand_for``, ``valid``, ``fits_best`` and ``fitting`` (a number of instances) are
            added to the breakdown if not null.
        key: Distinguishes the finding from others of the check.
        statement: May use ``{rows}``, ``{of}``, ``{share}`` and ``{labels}``.
        of: Number of rows examined; None for all rows read.
        more: Further evidence; overrides evidence of the same name.
    """
    if labels.is_empty():
        return ()
    ordered = labels.sort(["instances", "label"], descending=[True, False])
    rows = int(labels["rows"].sum())
    read = measured.ledger.rows_read if of is None else of
    parts = label_parts(ordered)
    return (
        Finding(
            check=check,
            severity=severity,
            nodes=tuple(part.nodes[0] for part in parts),
            statement=statement,
            evidence={
                "rows": rows,
                "of": read,
                "share": rows / read,
                "labels": len(labels),
                **more,
            },
            curator=curator,
            data_user=data_user,
            touched=rows,
            parts=parts,
            key=(key,),
        ),
    )


def label_parts(ordered: pl.DataFrame) -> tuple[Part, ...]:
    """Breakdown lines of the first labels; columns as in `finding_of_labels`."""
    return tuple(
        Part(
            (line["label"],),
            {"instances": line["instances"]}
            | {name: line[name] for name in ("may_stand_for", "valid") if name in line}
            | {name: line[name] for name in ("fits_best", "fitting") if line.get("fits_best")},
        )
        for line in ordered.head(TOP_PARTS).iter_rows(named=True)
    )


ON_THEIR_DAY = "on their day"
"""Key of a finding on dated rows."""
_NOT_DATED = pl.col("on_day").is_null()


def finding_on_day(
    measured: Measurements,
    on_day: str,
    *,
    check: str,
    statement: str,
    curator: str,
    data_user: str,
    without: Collection[str] = (),
) -> tuple[Finding, ...]:
    """One warning about the dated rows whose code had the given validity on its day; else none.

    Args:
        statement: May use ``{rows}``, ``{of}`` (dated rows), ``{share}``, ``{labels}`` and
            ``{column}``, the column of the day.
        without: Nodes left to another check.
    """
    found = measured.validity.filter(_rows_on_day(on_day, without))
    dates = measured.policy.code_dates
    if dates is None or found.is_empty():
        return ()
    dated = _rows(measured, ~_NOT_DATED)
    return finding_of_labels(
        measured,
        found.select("rows", "instances", "valid", label="node"),
        check=check,
        key=ON_THEIR_DAY,
        severity="warning",
        statement=statement,
        curator=curator,
        data_user=data_user,
        of=dated,
        more={"column": dates.column, "not_dated": measured.ledger.rows_mapped - dated},
    )


def cases_on_day(measured: Measurements, on_day: str, without: Collection[str] = ()) -> IntArray:
    """The instances of the rows in `finding_on_day`, ascending."""
    return distinct(_named_rows(measured).filter(_rows_on_day(on_day, without)))


def _rows_on_day(on_day: str, without: Collection[str]) -> pl.Expr:
    return (pl.col("on_day") == on_day) & ~pl.col("node").is_in(list(without))


def _named_rows(measured: Measurements) -> pl.DataFrame:
    """``instance`` (index), ``node`` and ``on_day`` of every mapped row."""
    rows = rows_on_their_day(measured.loaded.dataset, measured.policy.code_dates)
    names = pl.Series(measured.hierarchy.nodes, dtype=pl.String)
    return rows.with_columns(node=names.gather(rows["node"]))


def not_dated(measured: Measurements, labels: pl.DataFrame) -> pl.DataFrame:
    """Labels with only their rows that have no date; all rows if the policy names no code dates."""
    if measured.policy.code_dates is None:
        return labels
    left = measured.validity.filter(_NOT_DATED).select("rows", "instances", label="node")
    return labels.drop("line", "rows", "instances").unique().join(left, on="label")


def cases_not_dated(measured: Measurements, labels: pl.DataFrame) -> IntArray:
    """The instances of the rows that `not_dated` keeps, ascending."""
    if measured.policy.code_dates is None:
        return written_with(measured, labels)
    of_them = pl.col("node").is_in(labels["label"].implode())
    return distinct(_named_rows(measured).filter(_NOT_DATED & of_them))


def among_not_dated(measured: Measurements) -> Evidence:
    """``not_dated``, the number of rows without a date, if the policy names code dates."""
    if measured.policy.code_dates is None:
        return {}
    return {"not_dated": _rows(measured, _NOT_DATED)}


def not_dated_sentence(measured: Measurements) -> str:
    """A sentence on ``{not_dated}``; empty if the policy names no code dates."""
    if measured.policy.code_dates is None:
        return ""
    return (
        " {rows|It is|They are} among {not_dated} rows whose instance has no day, or whose code "
        "has no dates."
    )


def _rows(measured: Measurements, which: pl.Expr) -> int:
    return int(measured.validity.filter(which)["rows"].sum())
