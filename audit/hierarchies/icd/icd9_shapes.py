"""What the text of an ICD-9-CM code or title gives away: another version, never in first place."""

from __future__ import annotations

import re

_ICD10_DIAGNOSIS = re.compile(r"[A-DF-UW-Z][0-9][0-9AB](?:\.?[0-9A-Z]{1,4})?")
_ICD10_PROCEDURE = re.compile(r"(?=[0-9]*[A-Z])[0-9][0-9A-HJ-NP-Z]{6}")
_EXTERNAL_CAUSE = re.compile(r"E[0-9]{3}(?:\.[0-9])?")
_MANIFESTATION = re.compile(
    r"\bin (?:[a-z]+ ){0,4}(?:conditions|diseases|disorders) classifi(?:able|ed) elsewhere"
    r"(?! and of unspecified site)",
    re.IGNORECASE,
)


def has_shape_of_icd10_alone(label: str) -> bool:
    """Whether a label is shaped like a code of ICD-10-CM or ICD-10-PCS and of nothing in ICD-9-CM.

    Codes that start with V or E are shaped like both and never count; a procedure of ICD-10-PCS
    counts where it starts with a digit and has a letter.

    >>> has_shape_of_icd10_alone("I10"), has_shape_of_icd10_alone("0SRB04Z")
    (True, True)
    >>> [has_shape_of_icd10_alone(label) for label in ("E119", "V700", "4019", "40I9")]
    [False, False, False, False]
    """
    text = label.strip().upper()
    return any(shape.fullmatch(text) for shape in (_ICD10_DIAGNOSIS, _ICD10_PROCEDURE))


def why_never_first(code: str, title: str) -> str | None:
    """The rule that keeps a code from first place; None where none does.

    External causes never stand first, nor do manifestations, which are told by their titles. Titles
    that go on "and of unspecified site" are no manifestations: such a code may stand alone.

    >>> why_never_first("E885.9", "Fall from other slipping, tripping, or stumbling")
    'an external cause'
    >>> why_never_first("420.0", "Acute pericarditis in diseases classified elsewhere")
    'a manifestation by its title: in diseases classified elsewhere'
    """
    if _EXTERNAL_CAUSE.fullmatch(code):
        return "an external cause"
    found = _MANIFESTATION.search(title)
    return f"a manifestation by its title: {found[0].lower()}" if found else None
