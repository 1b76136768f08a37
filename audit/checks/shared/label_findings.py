"""What the checks on labels as written share: one finding for a reason, with its labels."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import polars as pl

from audit.checks.check import TOP_PARTS
from audit.measure.measure import Measurements
from audit.results.disclosure import Quantity, count, derived
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
    """One finding about labels as written; none where there are no such labels.

    Args:
        measured: The measurements.
        labels: Columns ``label, rows, instances``, a row a label; a label's line also says what is
            in a column ``may_stand_for`` or ``valid``, and in ``fits_best`` and ``fitting``, the
            instances that it is counted over, where these are not null.
        check: Name of the check.
        key: What tells the finding from others of the check.
        severity: How much it matters.
        statement: May use ``{rows}``, ``{of}``, ``{share}`` and ``{labels}``.
        curator: What who publishes the data should do.
        data_user: What who uses the data should do.
        in_ledger: Whether the ledger publishes the number of rows; else it may be a small cell.
        of: Rows that were looked at; None: all rows read.
        more: Further evidence, or a count in place of one said here.
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
    """The first of some labels, a line each; columns as in `finding_of_labels`."""
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
