"""unknown_code: labels that the hierarchy does not have."""

from __future__ import annotations

import polars as pl

from audit.checks.carriers import written_with
from audit.checks.check import Check
from audit.checks.refusals import finding_of_labels
from audit.checks.written import refused_for, unexplained
from audit.dag import IntArray
from audit.measure import Counted, Measurements
from audit.result import CheckResult, Finding

_NAME = "unknown_code"
_TITLE = "Is every label a node of the hierarchy?"
_REFUSED = "refused"
"""Key of the finding on refused labels."""


def run(measured: Counted) -> CheckResult:
    """Report refused labels, and codes that stand in no list whose edition is not known.

    Where the edition is known, `retired_code` tells of the codes that it lacks.
    """
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=measured.ledger.rows_read,
        denominator_unit="rows",
        findings=(*_refused(measured), *_unlisted(measured)),
        not_applicable="" if measured.ledger.rows_read else "no row was read",
    )


def _refused(measured: Counted) -> tuple[Finding, ...]:
    return finding_of_labels(
        measured,
        refused_for(measured, _NAME),
        check=_NAME,
        key=_REFUSED,
        severity="error",
        statement="{rows} of {of} rows ({share}) carry {labels} labels that the hierarchy does not "
        "have; they were refused and count nowhere else.",
        curator="Correct these labels, or name the hierarchy and version they come from.",
        data_user="Leave these rows out, and say so: no ancestor of them can be known.",
    )


def _unlisted(measured: Counted) -> tuple[Finding, ...]:
    return finding_of_labels(
        measured,
        _in_no_list(measured),
        check=_NAME,
        key="unlisted",
        severity="warning",
        statement="{rows} of {of} rows ({share}) carry {labels} codes that stand in no complete "
        "list of codes at hand; they were kept below the category that their digits name.",
        curator="Look the codes up in the edition that was valid when they were assigned.",
        data_user="Trust their category more than their last digits.",
        in_ledger=False,
    )


def _in_no_list(measured: Counted) -> pl.DataFrame:
    return unexplained(measured).filter(pl.col("edition").is_null())


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with such a label."""
    refused = finding.key == (_REFUSED,)
    labels = refused_for(measured, _NAME) if refused else _in_no_list(measured)
    return written_with(measured, labels)


CHECK = Check(_NAME, _TITLE, run, on_counts=run, cases=cases)
