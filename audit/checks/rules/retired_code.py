"""retired_code: codes not valid on their day; without dates, codes missing from a complete list."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, count
from audit.checks.check import Check, Outcome, first_unmet
from audit.checks.shared.carriers import written_with
from audit.checks.shared.evidence import LABEL_PARTS, OF_SOME_ROWS, ON_DAY
from audit.checks.shared.label_findings import (
    ON_THEIR_DAY,
    among_not_dated,
    cases_not_dated,
    cases_on_day,
    finding_of_labels,
    finding_on_day,
    not_dated,
    not_dated_sentence,
)
from audit.checks.shared.labels_as_written import explained, integrity_of, unexplained, written
from audit.checks.shared.proposals import by_candidates, of_lines, together
from audit.measure.measure import Measurements
from audit.measure.validity import INVALID
from audit.results.findings import Finding

_NAME = "retired_code"
_MOST_NAMED = 3
"""Largest number of codes that a sentence names."""
_REPLACED = "replaced"
"""Key of the finding on labels that the hierarchy has retired."""


def run(measured: Measurements) -> Outcome:
    """Report codes that were not valid on their day, by the code dates that the policy names.

    For rows without a date, report codes that the edition does not have and others had, with their
    years. Report labels that the hierarchy itself has retired, with their successors.
    """
    integrity, read = integrity_of(measured), measured.ledger.rows_read
    listed = integrity is not None and bool(integrity.editions)
    can_tell = listed or measured.policy.code_dates is not None or bool(_successors(measured))
    return Outcome(
        denominator=read,
        denominator_unit="rows",
        findings=(
            *_on_their_day(measured),
            *_in_no_list(measured),
            *_replaced(measured),
        ),
        not_applicable=first_unmet(
            (
                can_tell,
                "this hierarchy names neither an edition of its lists of codes nor a code that it "
                "retired",
            ),
        ),
    )


def _on_their_day(measured: Measurements) -> tuple[Finding, ...]:
    return finding_on_day(
        measured,
        INVALID,
        check=_NAME,
        statement="{rows} of {of} dated rows ({share}) {rows|has|have} a code that was not "
        "valid on {rows|its|their} day ({column}): {labels} codes, retired before or introduced "
        "later.",
        curator="Look up which code was valid on these days, and whether the column holds the day "
        "of coding.",
        data_user="Trust their category more than their last digits; their meaning may differ "
        "from that in records coded by the edition of their day.",
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
        statement=f"{{rows}} of {{of}} rows ({{share}}) {{rows|has|have}} {_these(retired)} "
        f"{editions} does not list, though other editions do. {{labels|It was|They were}} kept "
        f"below the category that {{labels|its|their}} digits name.{not_dated_sentence(measured)}",
        curator="Look the codes up in the edition that was valid when they were assigned.",
        data_user="Trust their category more than their last digits.",
        more=among_not_dated(measured),
    )


def _these(labels: pl.DataFrame) -> str:
    """The codes themselves where they are few, else how many."""
    codes = labels["label"].unique().sort().to_list()
    few = len(codes) <= _MOST_NAMED
    return f"{' or '.join(codes)}, which" if few else "{labels} codes that"


def _lacked(measured: Measurements) -> pl.DataFrame:
    """Codes that the complete list of a known edition lacks, with their years, ``valid``."""
    integrity = integrity_of(measured)
    years = {} if integrity is None else integrity.years or {}
    named = pl.col("label").replace_strict(years, default=None, return_dtype=pl.String)
    return unexplained(measured).drop_nulls("edition").with_columns(valid=named)


def _replaced(measured: Measurements) -> tuple[Finding, ...]:
    labels = _retired_by_hierarchy(measured)
    kept = labels.filter(pl.col("node").is_not_null())
    return finding_of_labels(
        measured,
        labels,
        check=_NAME,
        key=_REPLACED,
        severity="warning",
        statement="{rows} of {of} rows ({share}) {rows|has|have} {labels} labels that the "
        "hierarchy has retired; {kept} {kept|was|were} kept at the only node that took "
        "{kept|its|their} place, and {refused} {refused|was|were} refused.",
        curator="Use the successor instead, and decide where several are possible.",
        data_user="Labels that were merged into one node can no longer be distinguished; rows "
        "that were refused count nowhere else.",
        more={"kept": len(kept), "refused": len(labels) - len(kept)},
    )


def _successors(measured: Measurements) -> Mapping[str, tuple[str, ...]]:
    coding = measured.hierarchy.coding
    return {} if coding is None else coding.retired


def _retired_by_hierarchy(measured: Measurements) -> pl.DataFrame:
    """Labels that the hierarchy has retired, with ``may_stand_for``, its successors."""
    successors, hierarchy = _successors(measured), measured.hierarchy
    labels = written(measured).filter(pl.col("label").is_in([*successors]))
    named_successors = [
        " or ".join(
            hierarchy.describe(hierarchy.index(node))
            if node in hierarchy
            else f"{node}, retired too"
            for node in successors[label]
        )
        for label in labels["label"]
    ]
    named = pl.Series("may_stand_for", [one or None for one in named_successors], pl.String)
    return labels.with_columns(named.fill_null("nothing that the hierarchy names"))


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with such a code (on its day, for dated rows)."""
    if finding.key == (ON_THEIR_DAY,):
        return cases_on_day(measured, INVALID, without=explained(measured))
    if finding.key == (_REPLACED,):
        return written_with(measured, _retired_by_hierarchy(measured))
    return cases_not_dated(measured, _lacked(measured))


def proposes(measured: Measurements, finding: Finding) -> pl.DataFrame:
    """The successors that the hierarchy names, where it retired a label."""
    if finding.key != (_REPLACED,):
        return together([])
    successors, hierarchy = _successors(measured), measured.hierarchy
    labels = _retired_by_hierarchy(measured).select("line", "label", "table")
    named = [[n for n in successors[one] if n in hierarchy] for one in labels["label"]]
    labels = labels.with_columns(pl.Series("candidates", named, pl.List(pl.String)))
    found = of_lines(measured, labels.filter(pl.col("candidates").list.len() > 0))
    return together(
        by_candidates(
            measured,
            found,
            "the hierarchy retired it in favour of several",
            of_one="the hierarchy retired it in favour of this one alone",
        )
    )


CHECK = Check(
    _NAME,
    "Are codes used that were not valid at the time, or that no list has?",
    run,
    cases=cases,
    evidence=Columns(OF_SOME_ROWS, ON_DAY, count("kept refused", of=NONE)),
    of_parts=LABEL_PARTS,
    denominator="rows",
    proposes=proposes,
)
