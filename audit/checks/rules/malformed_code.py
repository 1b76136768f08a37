"""malformed_code: labels that do not have the format of a code."""

from __future__ import annotations

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome, first_unmet
from audit.checks.shared.carriers import written_with
from audit.checks.shared.label_findings import finding_of_labels
from audit.checks.shared.labels_as_written import looked_at, refused_for
from audit.measure.measure import Measurements
from audit.results.findings import Finding

_NAME = "malformed_code"


def run(measured: Measurements) -> Outcome:
    """Report labels refused for their format; not applicable without a code format."""
    looked = looked_at(measured)
    return Outcome(
        denominator=looked.rows,
        denominator_unit=looked.unit,
        findings=finding_of_labels(
            measured,
            refused_for(measured, _NAME),
            check=_NAME,
            key="refused",
            severity="error",
            statement="{rows} of {of} rows ({share}) {rows|carries|carry} {labels} labels that "
            "{labels|is|are} not shaped "
            "like a code; {rows|it was|they were} refused and {rows|counts|count} nowhere else.",
            curator="Correct these labels; look for cut digits, joined codes and free text.",
            data_user="Leave these rows out, and say so.",
            of=looked.rows,
        ),
        not_applicable=first_unmet(
            (measured.hierarchy.coding, "this hierarchy has no rules for the shape of a label"),
            (not looked.why_not, looked.why_not),
        ),
    )


def cases(measured: Measurements, _: Finding) -> IntArray:
    """The instances with a malformed label."""
    return written_with(measured, refused_for(measured, _NAME))


CHECK = Check(_NAME, "Does every label have the shape of a code?", run, cases=cases)
