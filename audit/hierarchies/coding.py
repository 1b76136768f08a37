"""Coding rules: how labels as written are mapped to the nodes of a classification."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Protocol

VERSIONS = {"9": "icd-9", "10": "icd-10"}
"""Table of a row that says the version of ICD of its code, but not its code set, by version."""

STATED = "stated version"
"""Table of a row with the value of ``--code-version`` where that names no version of ICD."""
BESIDE = "codes beside"
"""Table of a row whose code is of two versions, and of another one by those of its record."""


@dataclass(frozen=True)
class Integrity:
    """Properties of a classification's codes, by which checks recognise damaged labels.

    A check that needs a property which is None or empty is not applicable.

    Args:
        table_of: The code set that a node belongs to by its shape; None for a range.
        readings: The ids that a label may stand for in a code set (None: in any), whether or not
            they are nodes.
        tables: Code sets whose codes can be mistaken for one another.
        zero_tables: Code sets whose codes may start with 0.
        never_a_code: Whether a node is a heading that was not a code in any edition.
        editions: Edition of each code set that the classification lists completely.
        years: Fiscal years of the codes that other editions had, as text; None: no list tells.
        other_version: Whether a label has the shape of a code of another version only.
        never_first: Why a node, given with its title, must not be first; None if it may.
    """

    table_of: Callable[[str], str | None]
    readings: Callable[[str, str | None], tuple[str, ...]]
    tables: tuple[str, ...] = ()
    zero_tables: tuple[str, ...] = ()
    never_a_code: Callable[[str], bool] | None = None
    editions: Mapping[str, str] = field(default_factory=dict)
    years: Mapping[str, str] | None = None
    other_version: Callable[[str], bool] | None = None
    never_first: Callable[[str, str], str | None] | None = None

    def never_valid(self, placement: Placement) -> bool:
        """Whether no edition has the code of a label that the hierarchy does not have."""
        lacked = placement.reason == "unknown_code" or placement.parent is not None
        return lacked and self.years is not None and placement.node not in self.years


@dataclass(frozen=True, slots=True)
class Placement:
    """The node of a label as written, or the reason why it has none.

    Args:
        node: The node's id; None if the label is refused.
        parent: The parent of a node that is to be added; None if the hierarchy has the node.
        reason: Why the label is refused, as a reason of the ledger; None if it is not.
    """

    node: str | None = None
    parent: str | None = None
    reason: str | None = None

    @property
    def listed(self) -> bool:
        """Whether the hierarchy has the node."""
        return self.node is not None and self.parent is None


class Coding(Protocol):
    """Rules that map labels as written to node ids, unlisted codes included."""

    @property
    def name(self) -> str:
        """Name and version of the rules, which are part of a run's identity."""

    @property
    def persons(self) -> bool:
        """Whether instances with such labels are records of persons, so small counts are hidden."""

    @property
    def integrity(self) -> Integrity | None:
        """Properties of the codes that integrity checks use; None: there are none."""

    @property
    def retired(self) -> Mapping[str, tuple[str, ...]]:
        """Labels that the hierarchy itself says it has retired, with their successors, if any."""

    def place(self, label: str, table: str | None, nodes: Container[str]) -> Placement:
        """Find the node of a label as written; ``table`` names the code set it was found in."""
