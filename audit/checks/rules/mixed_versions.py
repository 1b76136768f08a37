"""mixed_versions: rows coded in another version of the classification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import Columns
from audit.checks.check import Check, Outcome, first_unmet
from audit.checks.shared.carriers import written_with
from audit.checks.shared.evidence import LABEL_PARTS, OF_ROWS_READ
from audit.checks.shared.label_findings import finding_of_labels
from audit.checks.shared.labels_as_written import integrity_of, mapped, refused_for, written
from audit.hierarchies.coding import VERSIONS
from audit.hierarchies.icd import icd9, icd10
from audit.hierarchies.icd.built_in import complete_codes
from audit.measure.measure import Measurements
from audit.results.findings import Finding

_NAME = "mixed_versions"


def run(measured: Measurements) -> Outcome:
    """Report rows marked as another version, and refused labels in its format."""
    integrity, read = integrity_of(measured), measured.ledger.rows_read
    asked = integrity is not None and integrity.other_version is not None
    return Outcome(
        denominator=read,
        denominator_unit="rows",
        findings=()
        if integrity is None
        else tuple(one for kind in _KINDS for one in _finding(measured, kind)),
        not_applicable=first_unmet((asked, "no other version of this hierarchy is known")),
    )


@dataclass(frozen=True)
class _Kind:
    """One of the findings: its key, its labels, and what is said of them."""

    key: str
    labels: Callable[[Measurements], pl.DataFrame]
    statement: str
    curator: str = (
        "Publish the versions apart, or with a column that says which version a row is of."
    )
    data_user: str = (
        "Audit the rows of the other version with its own hierarchy; here they count nowhere."
    )


def _finding(measured: Measurements, kind: _Kind) -> tuple[Finding, ...]:
    return finding_of_labels(
        measured,
        kind.labels(measured),
        check=_NAME,
        key=kind.key,
        severity="warning",
        statement=kind.statement,
        curator=kind.curator,
        data_user=kind.data_user,
    )


def _of_the_other(measured: Measurements) -> pl.DataFrame:
    """Labels of rows whose version has no such code, while the other version has it."""
    columns = ("line", "label", "table", "rows", "instances")
    every = pl.concat([mapped(measured).select(columns), refused_for(measured).select(columns)])
    said = every["table"].replace_strict(_SAID, default=None, return_dtype=pl.String)
    if "10" not in said and not set(every["table"]) & {*VERSIONS.values()}:
        return every.clear()
    ninth = complete_codes("diagnoses") | complete_codes("procedures")
    tenth = complete_codes(icd10.DIAGNOSES)
    contradicted = []
    for label, version in zip(every["label"], said, strict=True):
        has = {"9": bool(ninth & {*icd9.readings(label or "", None)})}
        has["10"] = icd10.dotted(label or "") in tenth
        contradicted.append(version is not None and any(has.values()) and not has[version])
    return every.filter(pl.Series(contradicted, dtype=pl.Boolean))


_SAID = {table: version for version, table in VERSIONS.items()}
_SAID |= dict.fromkeys(icd9.TABLES, "9") | {icd10.DIAGNOSES: "10"}
"""The version that a row says, by its table."""


def _marked(measured: Measurements) -> pl.DataFrame:
    return refused_for(measured, "other_version")


def _shaped_otherwise(measured: Measurements) -> pl.DataFrame:
    refused = written(measured).filter(pl.col("node").is_null())
    integrity = integrity_of(measured)
    shape = None if integrity is None else integrity.other_version
    shaped = [shape is not None and shape(label) for label in refused["label"]]
    return refused.filter(pl.Series(shaped, dtype=pl.Boolean))


_KINDS = (
    _Kind(
        "contradicted",
        _of_the_other,
        statement="{rows} of {of} rows ({share}) {rows|is|are} marked with a version that "
        "lacks {rows|its|their} code, while the other version has it ({labels} labels).",
        curator="Correct the column of versions, or these codes.",
        data_user="Do not trust the version of these rows.",
    ),
    _Kind(
        "marked",
        _marked,
        statement="{rows} of {of} rows ({share}) {rows|is|are} of another version of the "
        "classification, as marked, with {labels} different "
        "labels; {rows|it was|they were} refused.",
    ),
    _Kind(
        "shaped",
        _shaped_otherwise,
        statement="{rows} of {of} rows ({share}) {rows|carries|carry} {labels} labels that "
        "{labels|is no code|are no codes} of this version but {labels|has|have} the "
        "shape of another version's codes; {rows|it was|they were} refused.",
    ),
)


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with a row marked as another version, or a label in its format."""
    kind = next(one for one in _KINDS if (one.key,) == finding.key)
    return written_with(measured, kind.labels(measured))


CHECK = Check(
    _NAME,
    "Are rows coded in another version of the classification?",
    run,
    cases=cases,
    evidence=Columns(OF_ROWS_READ),
    of_parts=LABEL_PARTS,
    denominator="rows",
)
