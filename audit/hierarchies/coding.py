"""How labels as written become nodes: what a classification says of its codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from audit.hierarchies.integrity import Integrity

if TYPE_CHECKING:
    from audit.hierarchies.hierarchy import Hierarchy

Unlisted: TypeAlias = Literal["refuse", "hang"]
"""What becomes of labels that a hierarchy lacks: refused, or hung where their digits say."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a label as written belongs: a node, or the reason why it has none.

    Args:
        node: The node's id; None where the label is refused.
        parent: Where a node that the hierarchy lacks hangs; None where it has the node.
        reason: Why the label is refused: a reason of the ledger.
    """

    node: str | None = None
    parent: str | None = None
    reason: str | None = None


class Coding(Protocol):
    """How labels as written become node ids: spelling, shape, a place for the unlisted."""

    @property
    def name(self) -> str:
        """Name and version of the rules, part of a run's identity."""

    @property
    def persons(self) -> bool:
        """Whether instances labelled so are persons' records, whose small counts are suppressed."""

    @property
    def integrity(self) -> Integrity | None:
        """What can be asked of the codes themselves; None: nothing."""

    def place(self, label: str, table: str | None, hierarchy: Hierarchy) -> Placement:
        """Place one label as written; ``table`` says which code set it was found in."""
