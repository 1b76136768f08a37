"""Coding rules of ICD-9-CM: spelling and shape of codes, and their place in the hierarchy."""

from __future__ import annotations

import csv
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar

from audit.hierarchies.coding import VERSIONS, Integrity, Placement

DATA = Path(__file__).parent / "data" / "once_valid.csv"
"""Table ``table, first, last, codes``: dotted codes of a code set that were assignable from the
first to the last of these fiscal years."""


@cache
def once_valid(table: str) -> Mapping[str, str]:
    """The years of each code that other editions than the listed one had: ``FY1997 to FY2005``.

    Args:
        table: ``diagnoses`` or ``procedures`` of ICD-9-CM, from FY1997, or ``diagnoses-10``,
            ICD-10-CM, from FY2014. Empty for any other.
    """
    with DATA.open(encoding="utf-8", newline="") as stream:
        return {
            code: " to ".join(dict.fromkeys(f"FY{line[end]}" for end in ("first", "last")))
            for line in csv.DictReader(stream)
            if line["table"] == table
            for code in line["codes"].split()
        }


TABLES = ("diagnoses", "procedures")
"""Names of the two code sets; written with its dot, no code belongs to both."""

_SHAPES = {
    "diagnoses": re.compile(r"(?:[0-9]{3}|V[0-9]{2})(?:\.[0-9]{1,2})?|E[0-9]{3}(?:\.[0-9])?"),
    "procedures": re.compile(r"[0-9]{2}(?:\.[0-9]{1,2})?"),
}
_OF_ICD10 = re.compile(
    r"[A-DF-UW-Z][0-9][0-9AB](?:\.?[0-9A-Z]{1,4})?|E[0-9]{2}\.[0-9A-Z]{1,4}"
    r"|(?=[0-9]*[A-Z])[0-9][0-9A-HJ-NP-Z]{6}"
)
_EXTERNAL_CAUSE = re.compile(r"E[0-9]{3}(?:\.[0-9])?")
_MANIFESTATION = re.compile(
    r"\bin (?:[a-z]+ ){0,4}(?:conditions|diseases|disorders) classifi(?:able|ed) elsewhere"
    r"(?! and of unspecified site)",
    re.IGNORECASE,
)
_AROUND = re.compile(r"^\s+|[\s.]+$")


def cleaned(code: str) -> str:
    """A code in upper case without blanks around it or dots behind it.

    >>> cleaned(" v10. ")
    'V10'
    """
    return _AROUND.sub("", code).upper()


def dotted(code: str, table: str) -> str:
    """Normalise a code: upper case, with its dot, no blanks around it and no dots behind it.

    The dot goes after 2 characters in procedures, after 4 in E codes, after 3 elsewhere. Works on
    any string, whether or not it is a code, and is idempotent.

    >>> dotted("4019", "diagnoses"), dotted("e8120.", "diagnoses"), dotted("3605", "procedures")
    ('401.9', 'E812.0', '36.05')
    """
    code = cleaned(code)
    width = 2 if table == "procedures" else 4 if code.startswith("E") else 3
    return code if "." in code or len(code) <= width else f"{code[:width]}.{code[width:]}"


@lru_cache(maxsize=1 << 16)
def table_of(code: str) -> str | None:
    """The code set that a dotted code belongs to by its shape; None if it is not a code.

    >>> table_of("36.05"), table_of("360.5"), table_of("36-5")
    ('procedures', 'diagnoses', None)
    """
    return next((table for table in TABLES if _SHAPES[table].fullmatch(code)), None)


@lru_cache(maxsize=1 << 16)
def readings(label: str, table: str | None) -> tuple[str, ...]:
    """The dotted codes that a label may stand for; empty if it does not have the shape of a code.

    Only a label without a dot and without a table has two readings: a diagnosis, then a procedure.

    >>> readings("3605", None), readings("36.05", None), readings("36.05", "diagnoses")
    (('360.5', '36.05'), ('36.05',), ())
    """
    codes = [(dotted(label, known), known) for known in ([table] if table in TABLES else TABLES)]
    return tuple(code for code, known in codes if table_of(code) == known)


def has_shape_of_icd10_alone(label: str) -> bool:
    """Whether a label has the shape of an ICD-10-CM or ICD-10-PCS code but of no ICD-9-CM code.

    Codes that start with V or E fit both and never count, unless the dot of an E code stands after
    two digits; a procedure of ICD-10-PCS counts if it starts with a digit and has a letter.

    >>> [has_shape_of_icd10_alone(label) for label in ("I10", "0SRB04Z", "E11.9")]
    [True, True, True]
    >>> [has_shape_of_icd10_alone(label) for label in ("E119", "V700", "4019", "40I9")]
    [False, False, False, False]
    """
    return _OF_ICD10.fullmatch(cleaned(label)) is not None


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


def prefixes(code: str) -> tuple[str, ...]:
    """The proper prefixes of a dotted code, longest first; empty for a category.

    >>> prefixes("250.01")
    ('250.0', '250')
    """
    head, _, digits = code.partition(".")
    shorter = tuple(f"{head}.{digits[:n]}" for n in range(len(digits) - 1, 0, -1))
    return (*shorter, head) if digits else ()


def nearest_prefix(code: str, nodes: Container[str]) -> str | None:
    """The longest proper prefix of a dotted code that is a node; None if none is."""
    return next((prefix for prefix in prefixes(code) if prefix in nodes), None)


INTEGRITY = Integrity(
    table_of=table_of,
    readings=readings,
    tables=TABLES,
    zero_tables=TABLES,
    never_a_code=lambda code: len(code) == 2 and code.isdecimal(),
    other_version=has_shape_of_icd10_alone,
    never_first=why_never_first,
)
"""Properties of codes that hold for any edition of ICD-9-CM."""


@dataclass(frozen=True)
class ICD9Coding:
    """Labels are codes, with or without their dot, in any case, optionally with their table.

    Of several readings the one that is a node is meant, else one that was a code once, else one
    whose category is a node. A code whose category is a node is kept; if the code itself is not a
    node, it is added under its nearest prefix. A label that is not a code but the id of a node,
    such as a range, is that node.
    """

    name: str = "icd9cm/1"
    persons: bool = True
    """Whether instances with such labels are records of persons, whose small counts are hidden."""
    reason_without_place: str = "unknown_code"
    """Reason to refuse a label that has the shape of a code but no place in the hierarchy."""
    integrity: Integrity = INTEGRITY
    retired: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """None: its lists of codes name no successors."""
    other_tables: ClassVar[Mapping[str, str]] = {
        "diagnoses-10": "other_version",
        "procedures-10": "no_hierarchy",
        "who-10": "other_version",
        VERSIONS["10"]: "other_version",
    }
    """Tables whose rows are refused, and why; no hierarchy here holds ICD-10-PCS."""

    def place(self, label: str, table: str | None, nodes: Container[str]) -> Placement:
        """Find the node of a label as written, or the reason why it has none."""
        if refused := self.other_tables.get(table or ""):
            return Placement(reason=refused)
        codes, once = self.integrity.readings(label, table), self.integrity.years or {}
        if not codes:
            node = cleaned(label)
            is_node = node in nodes and self.integrity.table_of(node) is None
            return Placement(node) if is_node else Placement(reason="malformed_code")
        code = max(codes, key=lambda c: (c in nodes, c in once, c.partition(".")[0] in nodes))
        if code in nodes:
            return Placement(code)
        parent = self.parent_of(code, nodes)
        return Placement(code, parent) if parent else Placement(reason=self.reason_without_place)

    def parent_of(self, code: str, nodes: Container[str]) -> str | None:
        """The node under which a dotted code is added; None if there is none."""
        return nearest_prefix(code, nodes)


ICD9 = ICD9Coding(
    integrity=replace(
        INTEGRITY,
        editions=dict.fromkeys(TABLES, "version 32 (FY2015)"),
        years={code: years for table in TABLES for code, years in once_valid(table).items()},
    )
)
"""The rules that `audit.load_hierarchy("icd9cm")` uses."""
