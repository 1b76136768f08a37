"""malformed_code: labels that do not have the shape of a code."""

from __future__ import annotations

import polars as pl

from audit.checks.check import Check
from audit.checks.refusals import finding_of_labels
from audit.measure import Counted
from audit.result import CheckResult

_NAME = "malformed_code"
_TITLE = "Does every label have the shape of a code?"


def run(measured: Counted) -> CheckResult:
    """Report labels refused for their shape; not applicable without rules of spelling."""
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=measured.ledger.rows_read,
        denominator_unit="rows",
        findings=finding_of_labels(
            measured,
            measured.refusals.filter(pl.col("reason") == _NAME),
            check=_NAME,
            key="refused",
            severity="error",
            statement="{rows} of {of} rows ({share}) carry {labels} labels that are not shaped "
            "like a code; they were refused and count nowhere else.",
            curator="Correct these labels; look for cut digits, joined codes and free text.",
            data_user="Leave these rows out, and say so.",
        ),
        not_applicable=_why_not(measured),
    )


def _why_not(measured: Counted) -> str:
    if not measured.hierarchy.coding:
        return "this hierarchy has no rules for the shape of a label"
    return "" if measured.ledger.rows_read else "no row was read"


CHECK = Check(_NAME, _TITLE, run, on_counts=run)
