"""Helper of the checks on raw labels: one finding per reason, with its labels."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import polars as pl

from audit.checks.check import TOP_PARTS
from audit.disclosure import Quantity, count, derived
from audit.measure.measure import Measurements
from audit.results.findings import Finding, Part, Severity

_NOTHING: Mapping[str, Quantity] = MappingProxyType({})


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
    in_ledger: bool = True,
    of: int | None = None,
    more: Mapping[str, Quantity] = _NOTHING,
) -> tuple[Finding, ...]:
    """One finding about raw labels; none if there are no such labels.

    Args:
        measured: The measurements.
        labels: One row per label, with columns ``label, rows, instances``. Optional columns
            ``may_stand_for``, ``valid``, ``fits_best`` and ``fitting`` (a number of instances) are
            added to the breakdown if not null.
        check: Name of the check.
        key: Distinguishes the finding from others of the check.
        severity: Severity of the finding.
        statement: May use ``{rows}``, ``{of}``, ``{share}`` and ``{labels}``.
        curator: Advice for the publisher of the data.
        data_user: Advice for users of the data.
        in_ledger: Whether the ledger publishes the number of rows; else it may be a small cell.
        of: Number of rows examined; None for all rows read.
        more: Further evidence; overrides evidence of the same name.
    """
    if labels.is_empty():
        return ()
    ordered = labels.sort(["instances", "label"], descending=[True, False])
    rows = int(labels["rows"].sum())
    read = measured.ledger.rows_read if of is None else of
    parts = label_parts(measured, ordered)
    return (
        Finding(
            check=check,
            severity=severity,
            nodes=tuple(part.nodes[0] for part in parts),
            statement=statement,
            evidence={
                "rows": Quantity(rows) if in_ledger else count(rows, read),
                "of": Quantity(read),
                "share": derived(rows / read, "rows", "of"),
                "labels": Quantity(len(labels)),
                **more,
            },
            curator=curator,
            data_user=data_user,
            touched=rows,
            parts=parts,
            key=(key,),
        ),
    )


def label_parts(measured: Measurements, ordered: pl.DataFrame) -> tuple[Part, ...]:
    """Breakdown lines of the first labels; columns as in `finding_of_labels`."""
    total = measured.n_instances
    return tuple(
        Part(
            (line["label"],),
            {"instances": count(line["instances"], total)}
            | {name: Quantity(line[name]) for name in ("may_stand_for", "valid") if name in line}
            | _fit(line, total),
        )
        for line in ordered.head(TOP_PARTS).iter_rows(named=True)
    )


def _fit(line: Mapping[str, Any], total: int) -> dict[str, Quantity]:
    """What the other codes of the instances with a label let expect, where they do."""
    if line.get("fits_best") is None:
        return {}
    fits_best = Quantity(line["fits_best"], "derived", sources=("instances", "fitting"))
    return {
        "fits_best": fits_best,
        "fitting": count(line["fitting"], line["instances"], total),
    }
