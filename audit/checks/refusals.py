"""What the checks on refused labels share: one finding for a reason, with its labels."""

from __future__ import annotations

import polars as pl

from audit.checks.check import TOP_PARTS
from audit.disclosure import Quantity, count, derived
from audit.measure import Measurements
from audit.result import Finding, Part, Severity


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
) -> tuple[Finding, ...]:
    """One finding about labels of the ledger; none where there are no such labels.

    Args:
        measured: The measurements.
        labels: Columns ``label, rows, instances``, a row a label.
        check: Name of the check.
        key: What tells the finding from others of the check.
        severity: How much it matters.
        statement: May use ``{rows}``, ``{of}``, ``{share}`` and ``{labels}``.
        curator: What who publishes the data should do.
        data_user: What who uses the data should do.
        in_ledger: Whether the ledger publishes the number of rows; else it may be a small cell.
    """
    if labels.is_empty():
        return ()
    ordered = labels.sort(["instances", "label"], descending=[True, False])
    rows, read = int(labels["rows"].sum()), measured.dataset.ledger.rows_read
    total = len(measured.dataset)
    parts = tuple(
        Part((label,), {"instances": count(instances, total)})
        for label, instances in ordered.head(TOP_PARTS).select("label", "instances").iter_rows()
    )
    return (
        Finding(
            check=check,
            severity=severity,
            nodes=tuple(part.nodes[0] for part in parts),
            statement=statement,
            evidence={
                "rows": Quantity(rows) if in_ledger else count(rows, read),
                "of": Quantity(read),
                "share": derived(rows / read, "rows"),
                "labels": Quantity(len(labels)),
            },
            curator=curator,
            data_user=data_user,
            touched=rows,
            parts=parts,
            key=(key,),
        ),
    )
