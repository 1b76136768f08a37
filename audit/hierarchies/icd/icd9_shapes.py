"""Rules on the text of ICD-9-CM codes and titles: codes of another version, and first place."""

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
    """Whether a label has the shape of an ICD-10-CM or ICD-10-PCS code but of no ICD-9-CM code.

    Codes that start with V or E fit both and never count; a procedure of ICD-10-PCS counts if it
    starts with a digit and has a letter.

    >>> has_shape_of_icd10_alone("I10"), has_shape_of_icd10_alone("0SRB04Z")
    (True, True)
    >>> [has_shape_of_icd10_alone(label) for label in ("E119", "V700", "4019", "40I9")]
    [False, False, False, False]
    """
    text = label.strip().upper()
    return any(shape.fullmatch(text) for shape in (_ICD10_DIAGNOSIS, _ICD10_PROCEDURE))


def why_never_first(code: str, title: str) -> str | None:
    """The rule that forbids a code in first place; None if there is none.

    External causes are never first, nor are manifestations, which are recognised by their titles.
    Titles that continue "and of unspecified site" are not manifestations, as such a code may be
    used alone.

    >>> why_never_first("E885.9", "Fall from other slipping, tripping, or stumbling")
    'an external cause'
    >>> why_never_first("420.0", "Acute pericarditis in diseases classified elsewhere")
    'a manifestation by its title: in diseases classified elsewhere'
    """
    if _EXTERNAL_CAUSE.fullmatch(code):
        return "an external cause"
    found = _MANIFESTATION.search(title)
    return f"a manifestation by its title: {found[0].lower()}" if found else None
