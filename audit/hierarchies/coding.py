"""What a classification says of its codes: the nodes of labels, retired ids, notes on others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from audit.policy.rules import Companion

VERSIONS = {"9": "icd-9", "10": "icd-10"}
"""Table of a row that says the version of ICD of its code, but not its code set, by version."""


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
        """Whether no edition has a label's code, nor the hierarchy; False where no list tells."""
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


REPLACED_BY, CONSIDER = "replaced_by", "consider"
"""Names under which OBO says what took the place of an obsolete id."""


@dataclass(slots=True)
class Entry:
    """What a file states of one node at one place; all its entries together say what it is.

    Args:
        node: Its id.
        title: Its title, if the place has one.
        parents: Ids of its parents.
        assignable: Whether it may be a label; None: if it is a leaf.
        obsolete: Whether its id is obsolete.
        replaced_by: Ids that take the place of an obsolete one.
        consider: Ids that may be meant by an obsolete one.
        merged: Ids that were merged into it.
    """

    node: str
    title: str | None = None
    parents: Sequence[str] = ()
    assignable: bool | None = None
    obsolete: bool = False
    replaced_by: Sequence[str] = ()
    consider: Sequence[str] = ()
    merged: Sequence[str] = ()


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
        """The node with that id or that took its place; else refused as retired or unknown."""
        label = label if label in nodes else self.same.get(label, label)
        node = label if label in nodes else self.main.get(label)
        if node is not None:
            return Placement(node=node)
        return Placement(reason="retired_code" if label in self.considered else "unknown_code")


def retired_ids(
    nodes: Collection[str], entries: Sequence[Entry], same: Mapping[str, str] = MappingProxyType({})
) -> RetiredIds | None:
    """The rules for labels that are retired ids; None without such ids and without ``same``.

    A successor that is retired itself is followed to what took its place. A retired id from which
    this leads to no node, as in a circle, has its retired successors.

    Args:
        nodes: Ids of all nodes; a successor that is neither one of them nor retired is left out.
        entries: Those that are obsolete, and those into which others were merged; an id that was
            merged and is a node itself is left out.
        same: As in `RetiredIds`.
    """
    replaced, considered = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for one in entries:
        if one.obsolete:
            replaced[one.node] += one.replaced_by
            considered[one.node] += one.consider
    either = {old: [*replaced[old], *others] for old, others in considered.items()}
    for one in entries:
        for old in one.merged:
            if old not in nodes:
                replaced[old].append(one.node)
    either = replaced | either
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


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One note of a classification: a code at or below its node excludes certain others.

    Args:
        node: The node that has the note, which applies to its descendants too.
        excluded: Nodes that the note names, with their descendants; none is an ancestor or a
            descendant of ``node``. Empty if it only names codes at or below ``node``.
        text: The note as published.
        wide: Whether it belongs to a range of categories, or names more than one such range.
    """

    node: str
    excluded: tuple[str, ...]
    text: str
    wide: bool


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The exclusion notes of one release of a classification.

    Args:
        unparsed: ``node, text`` of notes that name no codes, or name them with conditions.
    """

    release: str
    notes: tuple[Exclusion, ...]
    unparsed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Companions:
    """The notes of one release of a classification that require a second code.

    Args:
        unread: Number of notes that are conditional or name no codes.
    """

    release: str
    rules: tuple[Companion, ...]
    unread: int = 0
