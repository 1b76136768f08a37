"""Coding rules: how labels as written are mapped to the nodes of a classification."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from audit.hierarchies.integrity import Integrity

Unlisted: TypeAlias = Literal["refuse", "hang"]
"""Treatment of labels that a hierarchy lacks: refuse them, or add them where their digits say."""


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
