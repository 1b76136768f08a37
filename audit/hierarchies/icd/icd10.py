"""Coding rules of ICD-10-CM: spelling and shape of codes, and their place in the hierarchy."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass

from audit.hierarchies.coding import VERSIONS, Integrity, Placement
from audit.hierarchies.icd import icd9

DIAGNOSES = "diagnoses-10"
"""Name of the ICD-10-CM code set: the table of MIMIC-IV, and what the hierarchy lists."""

WHO = "who-10"
"""Name of the code set of ICD-10 as the WHO publishes it, of which many codes are here too."""

_OTHER_TABLES = {
    "diagnoses": "other_version",
    "procedures": "other_version",
    "procedures-10": "no_hierarchy",
    VERSIONS["9"]: "other_version",
}
"""Why rows of other tables are refused: ICD-9-CM, and ICD-10-PCS that no hierarchy here holds."""

CATEGORY = r"[A-Z](?:[0-9][0-9A-Z]|[A-Z][0-9])"
"""Pattern of the three characters before the dot: a letter, then a digit at least once."""

_SHAPE = re.compile(rf"{CATEGORY}(?:\.[0-9A-Z]{{1,4}})?")
_EXTERNAL_CAUSE = re.compile(r"[V-Y][0-9]{2}(?:\..+)?")


def dotted(code: str) -> str:
    """Normalise a code: upper case, no surrounding blanks, a dot after 3 characters.

    Works on any string, whether or not it is a code, and is idempotent.

    >>> dotted("e119"), dotted("T148XXA"), dotted(" I10 ")
    ('E11.9', 'T14.8XXA', 'I10')
    """
    code = code.strip().upper()
    return code if "." in code or len(code) <= 3 else f"{code[:3]}.{code[3:]}"


def is_code(code: str) -> bool:
    """Whether a dotted string has the shape of a code, from category to 7th character.

    >>> is_code("S72.001A"), is_code("A00-B99"), is_code("401.9")
    (True, False, False)
    """
    return _SHAPE.fullmatch(code) is not None


def table_of(node: str) -> str | None:
    """The code set of a node; None for a range."""
    return DIAGNOSES if is_code(node) else None


def readings(label: str, table: str | None) -> tuple[str, ...]:
    """The dotted code that a label stands for; empty if it does not have the shape of a code.

    >>> readings("t148xxa", None), readings("T148XXA", "procedures-10")
    (('T14.8XXA',), ())
    """
    code = dotted(label)
    return (code,) if is_code(code) and table not in _OTHER_TABLES else ()


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
class ICD10Coding:
    """Labels are ICD-10-CM codes, with or without their dot, in any case of letters.

    A code whose category is a node is kept. If the code itself is not a node, because it is of
    another release or its 7th character is not valid for it, it is added under its nearest prefix.
    A label that is not a code but the id of a node, such as a range, is that node.
    """

    name: str = "icd10cm/1"
    persons: bool = True
    integrity: Integrity = INTEGRITY

    @property
    def retired(self) -> Mapping[str, tuple[str, ...]]:
        """None: its lists of codes name no successors."""
        return {}

    def place(self, label: str, table: str | None, nodes: Container[str]) -> Placement:
        """Find the node of a label as written, or the reason why it has none."""
        if table in _OTHER_TABLES:
            return Placement(reason=_OTHER_TABLES[table])
        code = dotted(label)
        if code in nodes:
            return Placement(code)
        if table == WHO:
            return Placement(reason="other_version")
        if not is_code(code):
            node = label.strip().upper()
            return Placement(node) if node in nodes else Placement(reason="malformed_code")
        parent = icd9.nearest_prefix(code, nodes)
        if parent is None:
            return Placement(reason="unknown_code")
        return Placement(code, parent)
