"""retired_code: codes that the edition at hand does not list, and that may have been valid."""

from __future__ import annotations

from audit.checks.check import Check
from audit.checks.refusals import finding_of_labels
from audit.checks.written import integrity_of, unexplained
from audit.measure import Measurements
from audit.result import CheckResult, Finding

_NAME = "retired_code"
_TITLE = "Are there codes that the edition at hand does not list?"


def run(measured: Measurements) -> CheckResult:
    """Report codes below a known category that the complete list of an edition lacks."""
    integrity, read = integrity_of(measured), measured.dataset.ledger.rows_read
    dated = integrity is not None and bool(integrity.editions)
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=read,
        denominator_unit="rows",
        findings=_findings(measured),
        not_applicable=_why_not(dated, read),
    )


def _why_not(dated: bool, read: int) -> str:
    if not dated:
        return "this hierarchy names no edition of its lists of codes"
    return "" if read else "no row was read"


def _findings(measured: Measurements) -> tuple[Finding, ...]:
    retired = unexplained(measured).drop_nulls("edition")
    editions = " and ".join(retired["edition"].unique().sort())
    return finding_of_labels(
        measured,
        retired,
        check=_NAME,
        key="unlisted",
        severity="note",
        statement="{rows} of {of} rows ({share}) carry {labels} codes that are not assignable in "
        f"{editions} and stand in no list of it; they may have been valid when coded. They were "
        "kept below the category that their digits name.",
        curator="Look the codes up in the edition that was valid when they were assigned.",
        data_user="Trust their category more than their last digits.",
        in_ledger=False,
    )


CHECK = Check(_NAME, _TITLE, run)
