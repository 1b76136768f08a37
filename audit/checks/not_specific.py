"""not_specific: labels that are headings, with more specific codes below them."""

from __future__ import annotations

import polars as pl

from audit.checks.check import Check
from audit.checks.refusals import finding_of_labels
from audit.checks.written import integrity_of
from audit.integrity import Integrity
from audit.measure import Measurements
from audit.result import CheckResult, Finding

_NAME = "not_specific"
_TITLE = "Are there labels that are not assignable, with more specific codes below them?"


def run(measured: Measurements) -> CheckResult:
    """Report labels at headings of the code sets that are listed completely."""
    integrity, read = integrity_of(measured), measured.dataset.ledger.rows_read
    listed = integrity is not None and bool(measured.hierarchy.complete_tables)
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=read,
        denominator_unit="rows",
        findings=() if integrity is None or not listed else _findings(measured, integrity),
        not_applicable=_why_not(listed, read),
    )


def _why_not(listed: bool, read: int) -> str:
    if not listed:
        return "no complete list of codes says which are assignable"
    return "" if read else "no row was read"


def _findings(measured: Measurements, integrity: Integrity) -> tuple[Finding, ...]:
    headings = _headings(measured, integrity)
    return tuple(
        finding
        for table in sorted(measured.hierarchy.complete_tables)
        for finding in finding_of_labels(
            measured,
            headings.filter(pl.col("code_set") == table),
            check=_NAME,
            key=table,
            severity="note",
            statement="{rows} of {of} rows ({share}) carry {labels} labels that are not "
            f"assignable in {integrity.editions.get(table, f'the list of {table} at hand')}, which "
            "has more specific codes below them; they may have been valid when coded.",
            curator="Check when these records were coded; where the more specific codes existed "
            "already, the label was cut or left open.",
            data_user="Take these labels as the headings that they are: which code below them was "
            "meant is not known.",
            in_ledger=False,
        )
    )


def _headings(measured: Measurements, integrity: Integrity) -> pl.DataFrame:
    """``label, rows, instances, code_set`` of labels that are not assignable."""
    mappings = measured.dataset.mappings
    code_sets = {
        node: _code_set_below(measured, integrity, node)
        for node in mappings["node"].unique()
        if not measured.hierarchy.assignable[measured.hierarchy.index(node)]
    }
    return mappings.select(
        "rows",
        "instances",
        label="node",
        code_set=pl.col("node").replace_strict(code_sets, default=None, return_dtype=pl.String),
    ).drop_nulls("code_set")


def _code_set_below(measured: Measurements, integrity: Integrity, node: str) -> str | None:
    """The code set of the first assignable node below a node; None where there is none."""
    hierarchy = measured.hierarchy
    below = hierarchy.descendants(node)
    assignable = (code for code in below if hierarchy.assignable[hierarchy.index(code)])
    return next(map(integrity.table_of, assignable), None)


CHECK = Check(_NAME, _TITLE, run)
