"""wrong_table: codes of one code set in the table of another."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import Columns
from audit.checks.check import Check, Outcome, first_unmet
from audit.checks.shared.carriers import written_with
from audit.checks.shared.evidence import LABEL_PARTS, OF_SOME_ROWS
from audit.checks.shared.label_findings import finding_of_labels
from audit.checks.shared.labels_as_written import (
    FITS_ELSEWHERE_ALONE,
    WRONG_TABLE,
    integrity_of,
    lines,
    read_again,
    refused_for,
)
from audit.checks.shared.proposals import of_lines, proposals
from audit.measure.measure import Measurements, once
from audit.results.findings import Finding

_NAME = "wrong_table"

_MOST = 0.5
"""Share of a table's misplaced rows above which the table is reported instead of its rows, and of
those shaped like codes that no edition has from which misplaced rows are no slips."""


def run(measured: Measurements) -> Outcome:
    """Report labels that are a code of another table and not of theirs, or a whole table."""
    by_table = _by_table(measured)
    tables = tuple(by_table)
    read = {table: int(found["rows"].sum()) for table, found in by_table.items()}
    return Outcome(
        denominator=sum(read.values()),
        denominator_unit="rows of a known table",
        findings=tuple(
            finding
            for table, found in by_table.items()
            for finding in _of_table(measured, table, found, read[table])
        ),
        not_applicable=first_unmet(
            (len(tables) >= 2, "codes of this hierarchy belong to one code set"),
            (sum(read.values()), "no row says which table it was found in"),
        ),
    )


@once
def _by_table(measured: Measurements) -> dict[str, pl.DataFrame]:
    """Labels as `read_again`, by the table that they were found in."""
    integrity = integrity_of(measured)
    if integrity is None:
        return {}
    labels = read_again(measured, integrity)
    return {table: labels.filter(pl.col("table") == table) for table in integrity.tables}


def _of_table(
    measured: Measurements, table: str, labels: pl.DataFrame, read: int
) -> tuple[Finding, ...]:
    foreign = labels.filter(FITS_ELSEWHERE_ALONE)
    told, of = measured.rounding.bins("rows").at_worst(int(foreign["rows"].sum()), read)
    if told > _MOST * of:
        return _whole(measured, table, foreign, read)
    return _rows(measured, table, labels.filter(WRONG_TABLE), read)


def _whole(
    measured: Measurements, table: str, foreign: pl.DataFrame, read: int
) -> tuple[Finding, ...]:
    return finding_of_labels(
        measured,
        lines(measured, foreign, "elsewhere"),
        check=_NAME,
        key=_whole_key(table),
        severity="error",
        statement=f"{{rows}} of {{of}} rows of {table} ({{share}}), with {{labels}} labels, "
        "{rows|is a valid code|are valid codes} of another table and not of this one: "
        "the table seems to hold the other code set.",
        curator="Check whether two tables were exchanged on export, and publish them again.",
        data_user="Leave the whole table out until it is exchanged.",
        of=read,
    )


def _rows(
    measured: Measurements, table: str, misplaced: pl.DataFrame, read: int
) -> tuple[Finding, ...]:
    """A finding on rows, aside where `malformed_code` reports all of them already.

    None where they are the fewer of those that it reports as shaped like a code of the table, and
    that no edition has: then they may be slips.
    """
    integrity, malformed = integrity_of(measured), refused_for(measured, "malformed_code")
    told = bool(misplaced["line"].is_in(malformed["line"].implode()).all())
    slips = sum(
        number
        for label, number in malformed.filter(table=table).select("label", "rows").iter_rows()
        if integrity and integrity.readings(label, table)
    )
    rows, others = measured.rounding.bins("rows").at_worst(int(misplaced["rows"].sum()), slips)
    if told and rows < _MOST * others:
        return ()
    found = finding_of_labels(
        measured,
        lines(measured, misplaced, "elsewhere"),
        check=_NAME,
        key=table,
        severity="warning",
        statement=f"{{rows}} of {{of}} rows of {table} ({{share}}) {{rows|carries|carry}} "
        f"{{labels}} labels that {{labels|is no code|are no codes}} of {table} but "
        "{labels|a valid one|valid ones} of another table.",
        curator="Check how the tables were joined and exported, and put these rows where they "
        "belong.",
        data_user="Leave these rows out, and say so.",
        of=read,
    )
    return tuple(replace(one, aside=told) for one in found)


def _whole_key(table: str) -> str:
    return f"all {table}"


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with a label that belongs to another table."""
    return written_with(measured, _labels_of(measured, finding))


def _labels_of(measured: Measurements, finding: Finding) -> pl.DataFrame:
    (key,), by_table = finding.key, _by_table(measured)
    found = {table: labels.filter(WRONG_TABLE) for table, labels in by_table.items()}
    found |= {_whole_key(t): labels.filter(FITS_ELSEWHERE_ALONE) for t, labels in by_table.items()}
    return found[key]


def proposes(measured: Measurements, finding: Finding) -> pl.DataFrame:
    """A look at each label: which table it belongs to is no change of the label."""
    labels = _labels_of(measured, finding).select("line", "label", "table")
    said = "it is a code of another table, and none of its own"
    return proposals(of_lines(measured, labels), "review", "review", said)


CHECK = Check(
    _NAME,
    "Are codes in the wrong table, such as diagnoses among procedures?",
    run,
    cases=cases,
    evidence=Columns(OF_SOME_ROWS),
    of_parts=LABEL_PARTS,
    denominator="rows",
    proposes=proposes,
)
