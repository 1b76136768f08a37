"""Ids that a hierarchy's own file says it has retired, and the nodes that took their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass

from audit.hierarchies.coding import Placement

OBSOLETE = ("obsolete", "is_obsolete", "deprecated")
"""Names under which files say that an id is obsolete: of ontology portals, of OBO, of OWL."""
REPLACED_BY, CONSIDER = "replaced_by", "consider"
"""Names under which OBO says what took the place of an obsolete id."""


@dataclass(frozen=True, slots=True)
class Obsolete:
    """An id that a file calls obsolete.

    Args:
        id: The id, which is not a node.
        replaced_by: Ids that the file states as its replacement.
        consider: Ids that may be meant, as the file says.
    """

    id: str
    replaced_by: tuple[str, ...] = ()
    consider: tuple[str, ...] = ()


@dataclass(frozen=True)
class RetiredIds:
    """Maps ids that a hierarchy has retired to the nodes that took their place.

    Args:
        main: The node of each alternative id, which two mergers do not both claim, and the only
            replacement of each obsolete id: labels so written are placed there.
        considered: Of every other retired id the nodes that may be meant, which people must
            decide: labels so written are refused.
    """

    main: Mapping[str, str]
    considered: Mapping[str, tuple[str, ...]]
    name: str = "retired-ids/1"
    persons: bool = False
    integrity: None = None

    @property
    def retired(self) -> Mapping[str, tuple[str, ...]]:
        """Every retired id, with its successors."""
        return {**self.considered, **{old: (new,) for old, new in self.main.items()}}

    def place(self, label: str, table: str | None, nodes: Container[str]) -> Placement:
        """The node with that id, else the one that took the place of it."""
        node = label if label in nodes else self.main.get(label)
        if node is not None:
            return Placement(node=node)
        return Placement(reason="retired_code" if label in self.considered else "unknown_code")


def retired_ids(
    nodes: Collection[str],
    obsolete: Iterable[Obsolete],
    alternatives: Collection[tuple[str, str]] = (),
) -> RetiredIds | None:
    """The rules for labels that are retired ids; None if there are no such ids.

    Args:
        nodes: Ids of all nodes; a successor that is none of them is left out.
        obsolete: The obsolete ids.
        alternatives: ``old, node``: ids that were merged into nodes; an id that is a node itself is
            left out.
    """
    alternatives = [(old, node) for old, node in alternatives if old not in nodes]
    times = Counter(old for old, _ in alternatives)
    main = {old: node for old, node in alternatives if times[old] == 1}
    considered: dict[str, tuple[str, ...]] = {}
    for old, node in alternatives:
        if times[old] > 1:
            considered[old] = (*considered.get(old, ()), node)
    for one in obsolete:
        replaced = [other for other in dict.fromkeys(one.replaced_by) if other in nodes]
        if len(replaced) == 1:
            main[one.id] = replaced[0]
        else:
            others = [other for other in one.consider if other in nodes]
            considered[one.id] = tuple(dict.fromkeys([*replaced, *others]))
    return RetiredIds(main, considered) if main or considered else None
