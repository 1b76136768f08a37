"""retired_code: codes not valid on their day; without dates, codes missing from a complete list."""

from __future__ import annotations

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.checks.shared.dated_codes import (
    ON_THEIR_DAY,
    among_not_dated,
    cases_not_dated,
    cases_on_day,
    finding_on_day,
    not_dated,
    not_dated_sentence,
)
from audit.checks.shared.label_findings import finding_of_labels
from audit.checks.shared.labels_as_written import explained, integrity_of, unexplained
from audit.measure.measure import Measurements
from audit.measure.validity import INVALID
from audit.results.findings import Finding

_NAME = "retired_code"
_TITLE = "Are there codes that were not valid when coded, or that the edition in use does not list?"


def run(measured: Measurements) -> Outcome:
    """Report codes that were not valid on their day, by the code dates that the policy names.

    For rows without a date, report codes below a known category that are missing from the complete
    list of an edition.
    """
    integrity, read = integrity_of(measured), measured.ledger.rows_read
    listed = integrity is not None and bool(integrity.editions)
    return Outcome(
        denominator=read,
        denominator_unit="rows",
        findings=(*_on_their_day(measured), *_in_no_list(measured)),
        not_applicable=_why_not(listed or measured.policy.code_dates is not None, read),
    )


def _why_not(can_tell: bool, read: int) -> str:
    if not can_tell:
        return "this hierarchy names no edition of its lists of codes"
    return "" if read else "no row was read"


def _on_their_day(measured: Measurements) -> tuple[Finding, ...]:
    return finding_on_day(
        measured,
        INVALID,
        check=_NAME,
        statement="{rows} of {of} dated rows ({share}) {rows|carries|carry} {labels} codes that "
        "{labels|was|were} not valid on "
        "{rows|its|their} day, which {column} gives: retired before it, or not yet introduced.",
        curator="Look up which code was valid on these days, and whether the day of coding is the "
        "one that was asked about.",
        data_user="Trust their category more than their last digits; what they stand for may "
        "differ from records that were coded by the edition of their day.",
        without=explained(measured),
    )


def _in_no_list(measured: Measurements) -> tuple[Finding, ...]:
    retired = not_dated(measured, _lacked(measured))
    editions = " and ".join(retired["edition"].unique().sort())
    return finding_of_labels(
        measured,
        retired,
        check=_NAME,
        key="unlisted",
        severity="note",
        statement="{rows} of {of} rows ({share}) {rows|carries|carry} {labels} codes that "
        "{labels|is|are} not assignable in "
        f"{editions} and {{labels|stands|stand}} in no list of it; {{labels|it|they}} may have "
        "been valid when coded. {labels|It was|They were} "
        "kept below the category that {labels|its|their} digits "
        f"name.{not_dated_sentence(measured)}",
        curator="Look the codes up in the edition that was valid when they were assigned.",
        data_user="Trust their category more than their last digits.",
        in_ledger=False,
        more=among_not_dated(measured, retired),
    )


def _lacked(measured: Measurements) -> pl.DataFrame:
    """Codes that the complete list of a known edition lacks."""
    return unexplained(measured).drop_nulls("edition")


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with such a code (on its day, for dated rows)."""
    if finding.key == (ON_THEIR_DAY,):
        return cases_on_day(measured, INVALID, without=explained(measured))
    return cases_not_dated(measured, _lacked(measured))


CHECK = Check(_NAME, _TITLE, run, cases=cases)
