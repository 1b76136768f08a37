"""malformed_code: labels without the shape of a code, and codes that no edition has."""

from __future__ import annotations

import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, count
from audit.checks.check import Check, Outcome, first_unmet
from audit.checks.shared.carriers import written_with
from audit.checks.shared.evidence import LABEL_PARTS, OF_SOME_ROWS
from audit.checks.shared.label_findings import finding_of_labels
from audit.checks.shared.labels_as_written import (
    LOOKED_UP,
    integrity_of,
    looked_at,
    refused_for,
)
from audit.checks.shared.proposals import near_codes
from audit.hierarchies.icd.built_in import complete_codes
from audit.hierarchies.icd.icd10 import DIAGNOSES, WHO
from audit.measure.measure import Measurements
from audit.results.findings import Evidence, Finding

_NAME = "malformed_code"
_CURATOR = (
    ", for digits that are too many or exchanged, and for codes of another classification. A code "
    "of your own is kept if a dictionary given with --titles has it."
)


def run(measured: Measurements) -> Outcome:
    """Report labels refused for their format, and codes refused because no edition has them.

    Not applicable without a code format.
    """
    looked = looked_at(measured)
    labels = refused_for(measured, _NAME)
    never = _of_no_edition(measured, labels)
    return Outcome(
        denominator=looked,
        denominator_unit=LOOKED_UP,
        findings=finding_of_labels(
            measured,
            labels,
            check=_NAME,
            key="refused",
            severity="error",
            statement="{rows} of {of} rows ({share}) {rows|carries|carry} {labels} labels that "
            f"{_what_they_are(measured, never)}; "
            "{rows|the row was|the rows were} refused.",
            curator="Correct these labels: look for cut digits, joined codes and free text"
            + (_CURATOR if never else "."),
            data_user="Leave these rows out, and say so.",
            of=looked,
            more=never,
        ),
        not_applicable=first_unmet(
            (measured.hierarchy.coding, "this hierarchy has no rules for the shape of a label")
        ),
    )


def _of_no_edition(measured: Measurements, labels: pl.DataFrame) -> dict[str, int]:
    """How many of the refused labels are shaped like a code, which no edition has; and how many
    of these are codes of the WHO."""
    integrity = integrity_of(measured)
    if integrity is None or integrity.years is None:
        return {}
    codes = [integrity.readings(*row) for row in labels.select("label", "table").rows()]
    never = sum(map(bool, codes))
    if not never or DIAGNOSES not in integrity.tables:
        return {"never_valid": never} if never else {}
    found = sum(not complete_codes(WHO).isdisjoint(some) for some in codes)
    return {"never_valid": never} | ({"of_who": found} if found else {})


def _what_they_are(measured: Measurements, counts: Evidence) -> str:
    integrity = integrity_of(measured)
    if not counts or integrity is None or not integrity.years:
        return "{labels|is|are} not shaped like a code"
    editions = " or ".join({*integrity.editions.values()})
    who = ", and {of_who} {of_who|is a code|are codes} of ICD-10 of the WHO"
    return (
        "{labels|is no code|are no codes}; {never_valid} of them {never_valid|looks like one|look "
        f"like codes}}, but in no edition from {min(integrity.years.values())[:6]} to {editions}"
        f"{who if 'of_who' in counts else ''}"
    )


def cases(measured: Measurements, _: Finding) -> IntArray:
    """The instances with a malformed label."""
    return written_with(measured, refused_for(measured, _NAME))


def proposes(measured: Measurements, _: Finding) -> pl.DataFrame:
    """The codes that a label may be a slip of."""
    return near_codes(measured, refused_for(measured, _NAME))


CHECK = Check(
    _NAME,
    "Are there labels that are no code of any edition?",
    run,
    cases=cases,
    evidence=Columns(OF_SOME_ROWS, count("never_valid of_who", of=NONE)),
    of_parts=LABEL_PARTS,
    denominator="rows",
    proposes=proposes,
)
