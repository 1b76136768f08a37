"""Ids that a hierarchy's own file says it has retired, and the nodes that took their place."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

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
        main: The node of each alternative or obsolete id whose replacements all lead to it: labels
            so written are placed there.
        considered: Of every other retired id the nodes that may be meant, which people must
            decide: labels so written are refused. Retired ids, where these lead in a circle.
        same: What else a node, or a retired id, is called.
    """

    main: Mapping[str, str]
    considered: Mapping[str, tuple[str, ...]]
    same: Mapping[str, str] = field(default_factory=dict)
    name: str = "retired-ids/1"
    persons: bool = False
    integrity: None = None

    @property
    def retired(self) -> Mapping[str, tuple[str, ...]]:
        """Every retired id, with its successors."""
        return {**self.considered, **{old: (new,) for old, new in self.main.items()}}

    def place(self, label: str, table: str | None, nodes: Container[str]) -> Placement:
        """The node with that id, else the one that took the place of it."""
        label = label if label in nodes else self.same.get(label, label)
        node = label if label in nodes else self.main.get(label)
        if node is not None:
            return Placement(node=node)
        return Placement(reason="retired_code" if label in self.considered else "unknown_code")


def retired_ids(
    nodes: Collection[str],
    obsolete: Iterable[Obsolete],
    alternatives: Iterable[tuple[str, str]] = (),
    same: Mapping[str, str] = MappingProxyType({}),
) -> RetiredIds | None:
    """The rules for labels that are retired ids; None if there are no such ids.

    A successor that is retired itself is followed to what took its place. A retired id from which
    this leads to no node, as in a circle, has its retired successors.

    Args:
        nodes: Ids of all nodes; a successor that is neither one of them nor retired is left out.
        obsolete: The obsolete ids.
        alternatives: ``old, id``: ids that were merged into nodes or obsolete ids; an id that is a
            node itself is left out.
        same: As in `RetiredIds`.
    """
    replaced: dict[str, list[str]] = {}
    considered: dict[str, list[str]] = {}
    for one in obsolete:
        replaced.setdefault(one.id, []).extend(one.replaced_by)
        considered.setdefault(one.id, []).extend(one.consider)
    considered = {old: [*replaced[old], *others] for old, others in considered.items()}
    for old, new in alternatives:
        if old not in nodes:
            replaced.setdefault(old, []).append(new)
    either = replaced | considered
    main, several = dict[str, str](), dict[str, tuple[str, ...]]()
    for old in replaced:
        surely, dead_ends = _followed(old, replaced, nodes)
        if len(surely) == 1 and not any(either[one] for one in dead_ends):
            main[old] = surely[0]
        else:
            ends, _ = _followed(old, either, nodes)
            retired = [other for other in either[old] if other in either and other != old]
            several[old] = tuple(dict.fromkeys([*surely, *ends] or retired))
    return RetiredIds(main, several, same) if main or several or same else None


def _followed(
    old: str, successors: Mapping[str, Sequence[str]], nodes: Container[str]
) -> tuple[list[str], list[str]]:
    """The nodes that the successors of an id lead to, and the retired ids that have none."""
    passed, queue = {old}, [old]
    ends, dead_ends = dict[str, None](), list[str]()
    for one in queue:
        if not successors[one] and one != old:
            dead_ends.append(one)
        for other in successors[one]:
            if other in nodes:
                ends[other] = None
            elif other in successors and other not in passed:
                passed.add(other)
                queue.append(other)
    return list(ends), dead_ends
