"""Cells: published counts, each defined by label sets that an instance must meet or miss.

A count of this kind depends only on whether an instance has a label in certain sets of nodes. Two
instances that meet the same sets are therefore equivalent for every count, and all published
counts are linear in the numbers of instances of each kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import SYNTHETIC_ROOT
from audit.disclosure.quantity import Quantity

Scope: TypeAlias = Literal["at", "below", "strictly_below", "specific", "informative", "depth"]
LabelSet: TypeAlias = tuple[Scope, str]
"""A set of labels: at a node, at or below it, strictly below it, strictly below it without residual
labels, below it without uninformative labels; or those at a depth."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """The instances with a label in each set of ``meets`` and none in a set of ``misses``.

    With ``of_labels`` it counts their labels in its single set instead of the instances; with
    ``differing`` only instances with a label in each of the two sets and none in both.
    """

    meets: tuple[LabelSet, ...]
    misses: tuple[LabelSet, ...] = ()
    of_labels: bool = False
    differing: bool = False

    @property
    def label_sets(self) -> tuple[LabelSet, ...]:
        """All label sets that the cell depends on."""
        return self.meets + self.misses

    @property
    def sides(self) -> list[Cell]:
        """The cells of each label set that the cell meets; it is part of each."""
        return [Cell((side,)) for side in self.meets]

    @property
    def by_label(self) -> bool:
        """Whether the cell can only be counted from individual labels."""
        return self.of_labels or self.differing


def carried(node: str) -> Cell:
    """Instances that carry a node."""
    return Cell((("below", node),))


def labelled(node: str) -> Cell:
    """Instances with a node as a label."""
    return Cell((("at", node),))


def together(first: Cell, second: Cell) -> Cell:
    """Instances in both cells."""
    meets = sorted({*first.meets, *second.meets})
    return Cell(tuple(meets), tuple(sorted({*first.misses, *second.misses})))


def count_of(cell: Cell, value: int, *totals: int) -> Quantity:
    """A count that names its cell, of nodes that are carried or labels, or of two of these."""
    name = tuple(f"{scope}:{node}" for scope, node in cell.meets)
    return Quantity(int(value), "count", tuple(map(int, totals)), name)


def cell_named(sources: Sequence[str]) -> Cell | None:
    """The cell that `count_of` named; None if it is no such cell."""
    pairs = [source.partition(":") for source in sources]
    made = [{"below": carried, "at": labelled}.get(scope) for scope, _, _ in pairs]
    cells = [make(node) for make, (_, _, node) in zip(made, pairs, strict=True) if make]
    return together(cells[0], cells[-1]) if len(cells) == len(pairs) in (1, 2) else None


def differing(first: str, second: str) -> Cell:
    """Instances that carry both nodes without a label at or below both."""
    return replace(together(carried(first), carried(second)), differing=True)


def labelled_below(node: str) -> Cell:
    """Instances with a label strictly below a node."""
    return Cell((("strictly_below", node),))


def only_residual_below(node: str) -> Cell:
    """Instances with labels strictly below a node, all of which are residual."""
    return Cell((("strictly_below", node),), (("specific", node),))


def only_uninformative(root: str) -> Cell:
    """Instances with labels, all of which are uninformative (`Release.uninformative`)."""
    return Cell((("below", root),), (("informative", root),))


def labels_at(depth: int) -> Cell:
    """Labels, summed over instances, of the nodes at a depth."""
    return Cell((("depth", str(depth)),), of_labels=True)


@dataclass(frozen=True, eq=False)
class Release:
    """What readers know of a release before any count of a node is published.

    Args:
        labelled: Number of instances with a label; the ledger says how many have none.
        assertions: Number of different labels, summed over instances.
        parents: Parents of each node.
        supports: Number of instances that carry each node, for nodes in use.
        labels: Nodes that are a label of some instance, with their depth.
        residual: Residual nodes.
        direct: Number of instances with each label itself, where others lie below it.
    """

    labelled: int
    assertions: int
    parents: Mapping[str, tuple[str, ...]]
    supports: Mapping[str, int]
    labels: Mapping[str, int]
    residual: frozenset[str]
    direct: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def carrying(self) -> dict[Cell, int]:
        """Number of instances that carry each node in use, by cell."""
        return {carried(node): count for node, count in self.supports.items()}

    @cached_property
    def _labels_below(self) -> dict[str, list[int]]:
        """Numbers of the labels at or below each node that has any."""
        below: dict[str, list[int]] = {}
        for number, label in enumerate(self.labels):
            for node in self.at_or_above(label):
                below.setdefault(node, []).append(number)
        return below

    def at_or_above(self, node: str) -> set[str]:
        """A node with all that lie above it."""
        seen, waiting = {node}, [node]
        while waiting:
            for parent in self.parents.get(waiting.pop(), ()):
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return seen

    @cached_property
    def root(self) -> str | None:
        """The node that lies below no other; None in a hierarchy of one node."""
        tops = (p for above in self.parents.values() for p in above if p not in self.parents)
        return next(tops, None)

    @cached_property
    def uninformative(self) -> frozenset[str]:
        """Labels in use that say little, as `audit.hierarchies.Hierarchy` defines such nodes."""
        inner = {parent for above in self.parents.values() for parent in above}
        if not inner & self.labels.keys():
            return frozenset()
        leaves = self.parents.keys() - inner
        below = Counter(node for leaf in leaves for node in self.at_or_above(leaf))
        wide = {node for node, count in below.items() if 2 * count > len(leaves)}
        tops = {
            node
            for node, above in self.parents.items()
            if SYNTHETIC_ROOT in above and below[node] ** 2 > len(leaves)
        }
        return frozenset((wide | tops) & inner & self.labels.keys())

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Children in use of each node."""
        children: dict[str, list[str]] = {}
        for node in sorted(self._labels_below):
            for parent in self.parents.get(node, ()):
                children.setdefault(parent, []).append(node)
        return children

    def total(self, cell: Cell) -> int:
        """Total that a cell is part of: the number of all labels, or of all labelled instances."""
        return self.assertions if cell.of_labels else self.labelled

    def members(self, label_set: LabelSet) -> NDArray[np.bool_]:
        """Whether each label in use is in a set, shape (n_labels,)."""
        if label_set not in self._members:
            self._members[label_set] = self._flags(label_set)
        return self._members[label_set]

    def _flags(self, label_set: LabelSet) -> NDArray[np.bool_]:
        scope, name = label_set
        if scope == "depth":
            return np.array([depth == int(name) for depth in self.labels.values()], np.bool_)
        held = np.zeros(len(self.labels), np.bool_)
        held[[i for i in self._labels_below.get(name, ()) if self._holds(scope, name, i)]] = True
        return held

    def _holds(self, scope: Scope, node: str, number: int) -> bool:
        label = self._names[number]
        if scope == "at":
            return label == node
        if scope == "informative":
            return label not in self.uninformative
        return scope == "below" or (
            label != node and not (scope == "specific" and label in self.residual)
        )

    @cached_property
    def _members(self) -> dict[LabelSet, NDArray[np.bool_]]:
        return {}

    @cached_property
    def _names(self) -> list[str]:
        return list(self.labels)

    def by_node_above(self, cells: Iterable[Cell]) -> dict[str, list[Cell]]:
        """The counts of single nodes and labels among some, by each node that they lie below."""
        above: dict[str, list[Cell]] = {}
        for cell in cells:
            if not cell.by_label and not cell.misses and len(cell.meets) == 1:
                ((scope, node),) = cell.meets
                for one in self.at_or_above(node) if scope in ("at", "below") else ():
                    if one != node or scope == "at":
                        above.setdefault(one, []).append(cell)
        return above

    def at(self, label: str) -> LabelSet:
        """The set that holds a single label, in canonical form for this release."""
        return self._name(("at", label))

    def same(self, cell: Cell) -> Cell:
        """The cell in canonical form: a label without labels below it is the same as its node."""
        return replace(cell, meets=self._named(cell.meets), misses=self._named(cell.misses))

    def _named(self, sets: Iterable[LabelSet]) -> tuple[LabelSet, ...]:
        return tuple(sorted({self._name(one) for one in sets}))

    def _name(self, label_set: LabelSet) -> LabelSet:
        scope, node = label_set
        below = self._labels_below.get(node, [])
        alone = len(below) == 1 and self._names[below[0]] == node
        return ("below", node) if scope == "at" and alone else label_set
