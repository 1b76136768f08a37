"""Queries for kinds of model behaviour, evaluated instance by instance.

*Abstraction Alignment*, section 4.1 and figure 2. The paper gives examples but no thresholds: the
defaults below are ours, and each can be set; a policy states further ones. A query evaluates an
instance's mass (its scores divided by their sum); an instance without mass matches no query.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, eye_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.engine.pairs.rows import row_numbers
from audit.engine.scores.cuts import atom_mass, cut_at, normalised
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.rules import MANY, BehaviourQuery

CONFIDENT = 0.9
"""Least share of the mass that counts as concentrated in one place."""
NOTICED = 0.05
"""Least share of the mass at which a parent counts as considered."""
SPLIT = 0.3
"""Least share of the mass at which a branch counts as one of two competing ones."""
_WORDS = {
    "leaves": "leaves that count: {}",
    "nodes": "nodes at depth {depth}: {}",
    "largest_leaf": "the largest leaf in {}",
    "largest_node": "the largest node at depth {depth} in {}",
}


class Query(ABC):
    """A yes-or-no question about one instance."""

    name: str
    words: str
    """The question as worded in reports; ``{name}`` is replaced by the parameter of that name."""

    @property
    def parameters(self) -> Mapping[str, float]:
        """Thresholds of the query, by name: the fields of one that has them."""
        return dict(vars(self))

    @abstractmethod
    def matches(self, values: Sparse, hierarchy: Hierarchy) -> BoolArray:
        """Whether each instance matches, shape (n_instances,).

        Args:
            values: Non-negative scores, shape (n_instances, n_nodes), canonical CSR.
        """


@dataclass(frozen=True)
class ConfidentInOneLeaf(Query):
    """One leaf has nearly all the mass."""

    at_least: float = CONFIDENT
    name = "confident_in_one_leaf"
    words = "Confident in one leaf"

    def matches(self, values: Sparse, hierarchy: Hierarchy) -> BoolArray:
        """Whether the share of some leaf reaches ``at_least``."""
        return _count(normalised(values), self.at_least, hierarchy.leaf) > 0


@dataclass(frozen=True)
class ContainedInOneParent(Query):
    """Several leaves share the mass, and all are children of one node."""

    at_least: float = CONFIDENT
    name = "contained_in_one_parent"
    words = "Confusion contained in one parent"

    def matches(self, values: Sparse, hierarchy: Hierarchy) -> BoolArray:
        """Whether a node with its children reaches ``at_least`` and no leaf does.

        The root contains everything and is ignored.
        """
        below = csr_array(normalised(values) @ _one_step_up(hierarchy))
        contained = _count(below, self.at_least, ~hierarchy.leaf) > 0
        return contained & ~ConfidentInOneLeaf(self.at_least).matches(values, hierarchy)


@dataclass(frozen=True)
class SpreadOverParents(Query):
    """The mass is spread over children of many different nodes."""

    more_than: int = 3
    each: float = NOTICED
    name = "spread_over_parents"
    words = "Spread over more than {more_than} parents"

    def matches(self, values: Sparse, hierarchy: Hierarchy) -> BoolArray:
        """Whether more than ``more_than`` sets of parents have a share of at least ``each``.

        Nodes are grouped by their set of parents, so that a node with two parents counts once.
        """
        return _count(_by_parents(normalised(values), hierarchy), self.each) > self.more_than


@dataclass(frozen=True)
class SplitBetweenBranches(Query):
    """Two children of the root share the mass, and both have a substantial part."""

    each: float = SPLIT
    together: float = CONFIDENT
    name = "split_between_branches"
    words = "Split between two branches"

    def matches(self, values: Sparse, hierarchy: Hierarchy) -> BoolArray:
        """Whether the two largest branches reach ``each`` and ``together``.

        Mass below two branches at once counts for neither. A hierarchy of one node has no branches.
        """
        if not len(hierarchy.branches):
            return np.zeros(values.shape[0], np.bool_)
        cut = cut_at(hierarchy.closure, hierarchy.branches)
        alone = np.diff(cut.atoms.indptr) == 1
        first, second = _two_largest(atom_mass(values, cut), alone)
        return (second >= self.each) & (first + second >= self.together)


QUERIES: tuple[Query, ...] = (
    ConfidentInOneLeaf(),
    ContainedInOneParent(),
    SpreadOverParents(),
    SplitBetweenBranches(),
)
"""Queries evaluated for reports, in report order."""


def _count(shares: Sparse, at_least: float, among: BoolArray | None = None) -> IntArray:
    """Columns of each row whose share reaches a limit, shape (n_instances,)."""
    reached = (shares.data >= at_least) & (shares.data > 0)
    if among is not None:
        reached &= among[shares.indices]
    return np.bincount(row_numbers(shares)[reached], minlength=shares.shape[0])


def _one_step_up(hierarchy: Hierarchy) -> Sparse:
    """1 where a is i or a parent of i, the root left out; shape (n_nodes, n_nodes)."""
    itself = eye_array(len(hierarchy), dtype=np.int64, format="csr")
    up = csr_array(hierarchy.edges + itself)
    up.data = (up.indices != hierarchy.root).astype(np.int64)
    return up


def _by_parents(shares: Sparse, hierarchy: Hierarchy) -> Sparse:
    """Shares by set of parents; what hangs at the root or has children is counted by itself."""
    parents = _one_step_up(hierarchy)
    inner = ~hierarchy.leaf
    parents.data *= inner[parents.indices]
    parents.eliminate_zeros()
    alone = inner | (np.diff(parents.indptr) == 0)
    keys = [(i,) if alone[i] else tuple(row(parents, i)) for i in range(len(hierarchy))]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    sets = np.array([numbers[key] for key in keys], np.int64)
    shape = (len(hierarchy), len(numbers))
    return csr_array(shares @ csr_array((np.ones(len(sets)), (np.arange(len(sets)), sets)), shape))


def _two_largest(shares: Sparse, among: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The two largest shares of each row, 0 where there are fewer; each of shape (n_instances,)."""
    kept = among[shares.indices]
    rows, data = row_numbers(shares)[kept], shares.data[kept]
    order = np.lexsort((-data, rows))
    rows, data = rows[order], data[order]
    place = np.arange(len(rows)) - np.searchsorted(rows, rows)
    largest = np.zeros((2, shares.shape[0]))
    for rank in (0, 1):
        largest[rank, rows[place == rank]] = data[place == rank]
    return largest[0], largest[1]


class Stated(Query):
    """A query as a policy or an option states it; a published one by its name alone.

    A node counts from ``at_least`` of an instance's mass. Nodes at a depth have the aggregated
    value, each descendant once.
    """

    def __init__(self, stated: BehaviourQuery) -> None:
        self.stated = stated.as_published
        self.name = stated.name
        self.words = (
            f"{self.name.capitalize()}: {', '.join(self._conditions())} "
            f"(a node counts from {self.stated.at_least:g})"
        )

    @property
    def parameters(self) -> Mapping[str, float]:
        """Share of the mass from which a node counts."""
        return {"at_least": self.stated.at_least}

    def matches(self, values: Sparse, hierarchy: Hierarchy) -> BoolArray:
        """Whether each instance meets every condition, shape (n_instances,); not without mass."""
        own = normalised(values)
        above = csr_array(own @ hierarchy.closure)
        groups = {
            "leaves": (own, hierarchy.leaf),
            "nodes": (above, hierarchy.depth == self.stated.depth),
        }
        found = {name: _counted(*group, self.stated.at_least) for name, group in groups.items()}
        measured: dict[str, IntArray | FloatArray] = {
            "leaves": found["leaves"][0],
            "nodes": found["nodes"][0],
            "largest_leaf": found["leaves"][1],
            "largest_node": found["nodes"][1],
        }
        matching = np.bincount(row_numbers(own)[own.data > 0], minlength=values.shape[0]) > 0
        for name, (least, greatest) in self.stated.conditions.items():
            matching &= (measured[name] >= least) & (measured[name] <= greatest)
        return matching

    def _conditions(self) -> list[str]:
        depth = self.stated.depth
        return [
            _WORDS[name].format(_span(*bounds), depth=depth)
            for name, bounds in self.stated.conditions.items()
        ]


def _counted(shares: Sparse, among: BoolArray, at_least: float) -> tuple[IntArray, FloatArray]:
    """How many chosen columns of each row reach a share, and the largest of these, 0 without."""
    kept = among[shares.indices] & (shares.data >= at_least)
    rows, data = row_numbers(shares)[kept], shares.data[kept]
    largest = np.zeros(shares.shape[0])
    np.maximum.at(largest, rows, data)
    return np.bincount(rows, minlength=shares.shape[0]), largest


def _span(least: float, greatest: float) -> str:
    if greatest >= MANY:
        return f"at least {least:g}"
    return f"{least:g}" if least == greatest else f"{least:g} to {greatest:g}"
