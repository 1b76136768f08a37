"""lost_zero: codes that were read as numbers and lost zeros at their ends."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.checks.carriers import written_with
from audit.checks.check import Check
from audit.checks.refusals import finding_of_labels, label_parts
from audit.checks.written import LOST_ZERO, MAYBE_LOST_ZERO, integrity_of, lines, read_again
from audit.dag import IntArray
from audit.disclosure import Quantity, count
from audit.integrity import Integrity
from audit.measure import Counted, Measurements
from audit.result import CheckResult, Finding

_NAME = "lost_zero"
_TITLE = "Have codes lost zeros at their ends?"
_COULD = LOST_ZERO | MAYBE_LOST_ZERO
_NONE_LEFT = "all"
"""Last part of the key of a finding that no row of a code set starts with 0."""
_CURATOR = "Export the codes again as text: on the way they were taken for numbers."
_DATA_USER = (
    "Do not count codes that could be another with zeros at their ends, until this is mended."
)


def run(measured: Counted) -> CheckResult:
    """Report labels that are a code only with zeros put back, or a code set without any 0."""
    integrity = integrity_of(measured)
    why_not = _why_not(measured, integrity)
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=measured.ledger.rows_read,
        denominator_unit="rows",
        findings=() if why_not or integrity is None else _findings(measured, integrity),
        not_applicable=why_not,
    )


def _why_not(measured: Counted, integrity: Integrity | None) -> str:
    if integrity is None or not integrity.zero_tables:
        return "no code of this hierarchy is known to start with 0"
    return "" if measured.ledger.rows_read else "no row was read"


def _findings(measured: Counted, integrity: Integrity) -> tuple[Finding, ...]:
    labels = read_again(measured, integrity)
    return tuple(
        finding
        for table in integrity.zero_tables
        for finding in _of_code_set(measured, table, labels.filter(pl.col("code_set") == table))
    )


def _of_code_set(measured: Counted, table: str, labels: pl.DataFrame) -> tuple[Finding, ...]:
    read = int(labels["rows"].sum())
    expected = measured.policy.leading_zero_share.value * read
    zeros = labels["label"].str.strip_chars_start().str.starts_with("0").any()
    if zeros or expected < measured.policy.leading_zero_rows.value:
        return _rows(measured, table, labels, read)
    return (_none_left(measured, table, labels, read, int(expected)),)


def _rows(measured: Counted, table: str, labels: pl.DataFrame, read: int) -> tuple[Finding, ...]:
    """A finding on the labels that are a code only with zeros put back; none without such."""
    return finding_of_labels(
        measured,
        lines(measured, labels.filter(LOST_ZERO), "with_zeros"),
        check=_NAME,
        key=table,
        severity="warning",
        statement=f"{{rows}} of {{of}} rows of {table} ({{share}}) {{rows|carries|carry}} "
        "{labels} labels that "
        "{labels|is|are} no code as {labels|it stands|they stand} and may stand for one with "
        "zeros put back at {labels|its|their} ends; "
        "{ambiguous} more rows can be read otherwise too and {ambiguous|is|are} not counted.",
        curator=_CURATOR,
        data_user=_DATA_USER,
        in_ledger=False,
        of=read,
        more={"ambiguous": count(_rows_of(labels, MAYBE_LOST_ZERO), read)},
    )


def _none_left(
    measured: Counted, table: str, labels: pl.DataFrame, read: int, expected: int
) -> Finding:
    """The finding that no row of a code set starts with 0, with the labels that could."""
    could = lines(measured, labels.filter(_COULD), "with_zeros")
    parts = label_parts(measured, could.sort(["instances", "label"], descending=[True, False]))
    root = measured.hierarchy.nodes[measured.hierarchy.root]
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=tuple(part.nodes[0] for part in parts) or (root,),
        statement=f"None of {{of}} rows of {table} starts with 0, where at least {{expected_rows}} "
        "would be expected; {rows} rows {rows|is|are} a code only with zeros put back, and "
        "{ambiguous} more "
        "can be read otherwise too.",
        evidence={
            "of": Quantity(read),
            "expected_rows": Quantity(expected),
            "rows": count(_rows_of(labels, LOST_ZERO), read),
            "ambiguous": count(_rows_of(labels, MAYBE_LOST_ZERO), read),
        },
        curator=_CURATOR,
        data_user=_DATA_USER,
        touched=read,
        parts=parts,
        key=(table, _NONE_LEFT),
    )


def _rows_of(labels: pl.DataFrame, which: pl.Expr) -> int:
    return int(labels.filter(which)["rows"].sum())


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with a label that is a code only with zeros put back.

    Where no row of the code set starts with 0, those with a label that could be one: the rows that
    a reader would expect to start with 0 may have been lost altogether, and then there are none.
    """
    integrity = integrity_of(measured)
    if integrity is None:
        return np.empty(0, np.int64)
    table, *none_left = finding.key
    labels = read_again(measured, integrity).filter(pl.col("code_set") == table)
    return written_with(measured, labels.filter(_COULD if none_left else LOST_ZERO))


CHECK = Check(
    _NAME,
    _TITLE,
    run,
    counts_with=("leading_zero_share", "leading_zero_rows"),
    on_counts=run,
    cases=cases,
)
