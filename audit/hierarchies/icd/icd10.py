"""Coding rules of ICD-10-CM: spelling and shape of codes, and their place in the hierarchy."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import ClassVar

from audit.hierarchies.coding import VERSIONS, Integrity, Placement
from audit.hierarchies.icd import icd9

DIAGNOSES = "diagnoses-10"
"""Name of the ICD-10-CM code set: the table of MIMIC-IV, and what the hierarchy lists."""
WHO = "who-10"
"""Name of the code set of ICD-10 as the WHO publishes it, of which many codes are here too."""
CATEGORY = r"[A-Z](?:[0-9][0-9A-Z]|[A-Z][0-9])"
"""Pattern of the three characters before the dot: a letter, then a digit at least once."""

_OTHER_TABLES = {
    "diagnoses": "other_version",
    "procedures": "other_version",
    "procedures-10": "no_hierarchy",
    VERSIONS["9"]: "other_version",
}
_SHAPE = re.compile(rf"{CATEGORY}(?:\.[0-9A-Z]{{1,4}})?")
_EXTERNAL_CAUSE = re.compile(r"[V-Y][0-9]{2}(?:\..+)?")


def dotted(code: str) -> str:
    """Normalise a code: upper case, a dot after 3 characters, none behind, no blanks around.

    Works on any string, whether or not it is a code, and is idempotent.

    >>> dotted("e119"), dotted("T148XXA"), dotted(" I10. ")
    ('E11.9', 'T14.8XXA', 'I10')
    """
    code = icd9.cleaned(code)
    return code if "." in code or len(code) <= 3 else f"{code[:3]}.{code[3:]}"


def table_of(node: str) -> str | None:
    """The code set of a dotted text, from category to 7th character; None if it is not a code.

    >>> table_of("S72.001A"), table_of("A00-B99"), table_of("401.9")
    ('diagnoses-10', None, None)
    """
    return DIAGNOSES if _SHAPE.fullmatch(node) else None


def readings(label: str, table: str | None) -> tuple[str, ...]:
    """The dotted code that a label stands for; empty if it does not have the shape of a code.

    >>> readings("t148xxa", None), readings("T148XXA", "procedures-10")
    (('T14.8XXA',), ())
    """
    code = dotted(label)
    return (code,) if table_of(code) and table not in _OTHER_TABLES else ()


def has_shape_of_icd9_alone(label: str) -> bool:
    """Whether a label has the shape of an ICD-9-CM code but not of an ICD-10-CM code.

    Codes that start with V or E fit both and never count.

    >>> [has_shape_of_icd9_alone(label) for label in ("401.9", "36.05", "V70.0", "E8120", "40199")]
    [True, True, False, False, True]
    """
    return bool(icd9.readings(label, None)) and label.lstrip()[0].isdecimal()


def why_never_first(code: str, title: str) -> str | None:
    """The rule that forbids a code in first place; None if there is none.

    External causes are never first, nor are manifestations, which are recognised by their titles.

    >>> why_never_first("W19.XXXA", "Unspecified fall, initial encounter")
    'an external cause'
    """
    if _EXTERNAL_CAUSE.fullmatch(code):
        return "an external cause"
    return icd9.why_never_first(code, title)


INTEGRITY = Integrity(
    table_of=table_of,
    readings=readings,
    tables=(DIAGNOSES,),
    other_version=has_shape_of_icd9_alone,
    never_first=why_never_first,
)
"""Properties of codes that hold for any release of ICD-10-CM."""


@dataclass(frozen=True)
class ICD10Coding(icd9.ICD9Coding):
    """As `icd9.ICD9Coding`: a code may be of another release, or its 7th character not valid for
    it; of the WHO's codes only those that the hierarchy has are placed."""

    name: str = "icd10cm/1"
    integrity: Integrity = INTEGRITY
    other_tables: ClassVar[Mapping[str, str]] = _OTHER_TABLES

    def place(self, label: str, table: str | None, nodes: Container[str]) -> Placement:
        """Find the node of a label as written, or the reason why it has none."""
        if table == WHO and dotted(label) not in nodes:
            return Placement(reason="other_version")
        return super().place(label, table, nodes)
