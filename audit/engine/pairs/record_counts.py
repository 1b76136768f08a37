"""Counts of whole instances by kind and key, beside those of pairs; batches add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.engine.pairs.carried import BELOW, RESIDUAL, Carried, added_by_labels
from audit.engine.pairs.entailed import count_entailed
from audit.engine.pairs.margins import LEAST_LABELS, Margin, count_margins
from audit.engine.pairs.pair_counts import support
from audit.engine.pairs.sums import NOTHING, Sums, counts_by_place, summed, tallied

Kind: TypeAlias = str
"""What is counted, and by which key; all but ``repeated_rows`` and ``between`` are counts
of instances.

``label``: carrying a label as written, by its number. ``direct``: with a node as a label;
``support``: with it or one below. ``length``: by number of different direct labels. ``rows``: with
a label, by number of rows that have a node. ``repeated``: having a node in several rows, by node;
``repeated_instances``: those of any node; ``repeated_rows``: how many rows that is beyond the first
of their instance and node. ``refused``: without a label, by reason of a refused row;
``all_refused``: of any reason. ``nested``: labelled with a node and its ancestor, by
``node * n_nodes + ancestor``; ``nested_instances``: of any two. ``uninformative``: with labels, all
of them at nodes that leave nearly everything open. ``below``: with a direct label strictly below a
node; ``only_residual``: those of them all of whose labels below it are residual,
by ``place in RESIDUAL_KINDS * n_nodes + node``. ``alone``: with a single most specific
label, by node. ``size``: with two or more, by their number; the margins of these: as
`audit.engine.pairs.margins.Margin` says, the parts being numbers of most specific labels.
``entailed``: from `audit.engine.pairs.entailed.count_entailed`. What has no further key has key 0.
"""
RESIDUAL_KINDS = ("all", "other", "unspecified")
"""Kinds of residual labels that ``only_residual`` is counted for."""


class Records(Protocol):
    """Counts of whole instances by kind and key."""

    def of(self, kind: Kind) -> Sums:
        """The number of instances, as ``joint``, under each key of a `Kind`."""

    def at(self, kind: Kind, size: int) -> IntArray:
        """The counts of a kind by key from 0, shape (size,), or more if a key is larger."""
        sums = self.of(kind)
        found = np.zeros(max(size, int(sums.keys.max(initial=-1)) + 1), np.int64)
        found[sums.keys] = sums.joint
        return found

    def total(self, kind: Kind) -> int:
        """Sum of the counts of a kind over its keys."""
        return int(self.of(kind).joint.sum())

    def __iter__(self) -> Iterator[tuple[Kind, Sums]]:
        """Every kind with its counts."""
        return ((kind, self.of(kind)) for kind in KINDS)


class RecordCounts(Records):
    """Counts to which those of other instances can be added."""

    def __init__(self, counts: Mapping[Kind, Sums] | None = None) -> None:
        self._parts = {kind: [(counts or {}).get(kind, NOTHING)] for kind in KINDS}

    def add(self, other: Records) -> None:
        """Add the counts of other instances; time grows with the logarithm of their number."""
        for kind, sums in other:
            parts = self._parts[kind]
            parts.append(sums)
            if sum(map(len, parts)) > 2 * len(parts[0]):
                parts[:] = [summed(parts)]

    def of(self, kind: Kind) -> Sums:
        """The number of instances added so far, as ``joint``, under each key of a `Kind`."""
        return summed(self._parts[kind])


@dataclass(frozen=True, eq=False)
class Mapped:
    """Properties of labels and nodes that counting instances needs.

    Args:
        node_of: Node of each label as written, shape (n_labels,); -1: it was refused.
        reason_of: Number of the reason why it was refused, shape (n_labels,); -1: it was not.
        residual: For each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,).
        uninformative: Whether a node leaves nearly everything open, shape (n_nodes,).
    """

    node_of: IntArray
    reason_of: IntArray
    residual: IntArray
    closure: Sparse
    branch_of: IntArray
    uninformative: BoolArray

    @cached_property
    def added(self) -> Sparse:
        """What a label at i adds to a node a, by `added_by_labels`."""
        return added_by_labels(self.closure, self.residual)


@dataclass(frozen=True, eq=False)
class RecordRows:
    """The rows of some whole instances.

    Args:
        instance: Index of the instance from 0, ascending, any integers, shape (n_rows,).
        label: Number of the label as written, likewise; -1: the row has none to count.
        instances: Number of instances; those without rows come last.
    """

    instance: NDArray[np.integer[Any]]
    label: NDArray[np.integer[Any]]
    instances: int


@dataclass(frozen=True, eq=False)
class InstanceCounts(Records):
    """The counts of some whole instances, each kind computed when it is asked for.

    Time grows with the rows times the ancestors of their nodes.
    """

    rows: RecordRows
    mapped: Mapped

    def of(self, kind: Kind) -> Sums:
        """The number of these instances, as ``joint``, under each key of a `Kind`."""
        found = _COUNTED[kind](self)
        if isinstance(found, int):
            return counts_by_place(np.array([found], np.int64))
        return found if isinstance(found, Sums) else tallied(found)

    @property
    def _n_nodes(self) -> int:
        return len(self.mapped.residual)

    @cached_property
    def carried(self) -> Carried:
        """The instances' labels, propagated."""
        keys, _ = self._of_node
        shape = self.rows.instances, self._n_nodes
        number, node = np.divmod(keys, shape[1])
        indptr = np.zeros(shape[0] + 1, np.int32)
        np.cumsum(np.bincount(number, minlength=shape[0]), out=indptr[1:])
        stored = (np.ones(len(keys), np.int64), node.astype(np.int32), indptr)
        return Carried.of(csr_array(stored, shape=shape), self.mapped.added)

    @property
    def _written(self) -> tuple[IntArray, NDArray[np.integer[Any]]]:
        """Instance and label of each row that has a label to count."""
        counted = np.flatnonzero(self.rows.label >= 0)
        return self.rows.instance[counted].astype(np.int64), self.rows.label[counted]

    @property
    def _of_node(self) -> tuple[IntArray, IntArray]:
        """``instance * n_nodes + node`` of each label, ascending, and how many rows have it."""
        instance, label = self._written
        node = self.mapped.node_of[label]
        keys = np.sort((instance * self._n_nodes + node)[node >= 0], kind="stable")
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        return keys[firsts], np.diff(firsts, append=len(keys))

    @cached_property
    def _again(self) -> tuple[IntArray, IntArray]:
        """Instance and node of each label that stands in several rows."""
        keys, rows = self._of_node
        return np.divmod(keys[rows > 1], self._n_nodes)

    @cached_property
    def _unlabelled(self) -> tuple[IntArray, IntArray]:
        """Instance without labels and reason of a refused row, each pair once."""
        (instance, label), reasons = self._written, self.mapped.reason_of
        lengths = np.diff(self.carried.direct.indptr)
        alone = (lengths[instance] == 0) & (reasons[label] >= 0)
        n = int(reasons.max(initial=0)) + 1
        return np.divmod(np.unique(instance[alone] * n + reasons[label[alone]]), n)

    @property
    def _specific(self) -> IntArray:
        """Number of most specific labels of each instance."""
        return np.diff(self.carried.specific.indptr).astype(np.int64)

    @cached_property
    def _margins(self) -> Mapping[Margin, Sums]:
        """Margins by number of most specific labels, of the instances with at least two."""
        part = np.where(self._specific >= LEAST_LABELS, self._specific, -1)
        branches = self.mapped.branch_of
        return count_margins(self.carried.specific, self.carried.values, part, branches)

    def _labels(self) -> IntArray:
        """Label numbers to be tallied: each label as written once for every instance with it."""
        (instance, label), n_labels = self._written, len(self.mapped.node_of)
        return np.unique(instance * n_labels + label) % max(n_labels, 1)

    def _rows(self) -> IntArray:
        """Number of rows with a node of each instance that has some."""
        keys, rows = self._of_node
        each = np.bincount(keys // self._n_nodes, rows).astype(np.int64)
        return each[each > 0]

    def _nested(self) -> IntArray:
        """``node * n_nodes + ancestor`` of every two labels of an instance, one above the other."""
        beside, direct, n_nodes = self.carried.nested.tocoo(), self.carried.direct, self._n_nodes
        rows = np.unique(beside.row)
        labels = direct[rows].tocoo()
        ancestors = self.mapped.closure[labels.col].tocoo()
        node, above = labels.col[ancestors.row].astype(np.int64), ancestors.col
        instance = rows[labels.row[ancestors.row]].astype(np.int64)
        keys = beside.row.astype(np.int64) * n_nodes + beside.col
        met = np.isin(instance * n_nodes + above, keys) & (node != above)
        return np.asarray((node * n_nodes + above)[met])

    def _having(self, bit: int) -> IntArray:
        """The node of each value that instances carry whose facts have a bit."""
        return self.carried.facts.indices[self.carried.facts.data & bit > 0].astype(np.int64)

    def _only_residual(self) -> IntArray:
        """``place in RESIDUAL_KINDS * n_nodes + node`` where all labels below are residual."""
        return np.concatenate([k * self._n_nodes + self._having(b) for k, b in enumerate(RESIDUAL)])

    def _alone(self) -> IntArray:
        """Nodes to be tallied: the label of each instance with a single most specific one."""
        each = np.repeat(self._specific == 1, self._specific)
        return np.asarray(self.carried.specific.indices[each])


_COUNTED: Mapping[Kind, Callable[[InstanceCounts], IntArray | Sums | int]] = {
    "label": InstanceCounts._labels,
    "direct": lambda of: counts_by_place(support(of.carried.direct)),
    "support": lambda of: counts_by_place(support(of.carried.values)),
    "length": lambda of: np.diff(of.carried.direct.indptr),
    "rows": InstanceCounts._rows,
    "repeated": lambda of: of._again[1],
    "repeated_instances": lambda of: len(np.unique(of._again[0])),
    "repeated_rows": lambda of: int((of._of_node[1] - 1).sum()),
    "refused": lambda of: of._unlabelled[1],
    "all_refused": lambda of: len(np.unique(of._unlabelled[0])),
    "nested": InstanceCounts._nested,
    "nested_instances": lambda of: int((np.diff(of.carried.nested.indptr) > 0).sum()),
    "uninformative": lambda of: int(only_among(of.carried.direct, of.mapped.uninformative).sum()),
    "below": lambda of: of._having(BELOW),
    "only_residual": InstanceCounts._only_residual,
    "alone": InstanceCounts._alone,
    "size": lambda of: of._specific[of._specific >= LEAST_LABELS],
    "carried": lambda of: of._margins["carried"],
    "labelled": lambda of: of._margins["labelled"],
    "between": lambda of: of._margins["between"],
    "entailed": lambda of: count_entailed(of.carried.specific, of.mapped.closure),
}
"""How each kind is counted: the key of each instance, or counts, or one count of no further key."""
KINDS: tuple[Kind, ...] = tuple(_COUNTED)


def only_among(direct: Sparse, nodes: BoolArray) -> BoolArray:
    """Whether all labels of an instance, at least one, are among given nodes, (n_instances,).

    Args:
        nodes: Whether each node is given, shape (n_nodes,).
    """
    labels = np.diff(direct.indptr)
    return np.asarray((labels > 0) & (direct @ nodes.astype(np.int64) == labels))
