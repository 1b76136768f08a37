"""Counts of whole instances by kind and key, beside those of pairs; batches can be added up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias, get_args

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.engine.pairs.margins import LEAST_LABELS, MARGINS, Margin, count_margins, tallied
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.rows import chosen, row_numbers
from audit.engine.pairs.sums import SortedTail, Sums, counts_by_place, counts_only

Kind: TypeAlias = Literal[
    "label",
    "length",
    "rows",
    "repeated",
    "repeated_instances",
    "repeated_rows",
    "refused",
    "all_refused",
    "nested",
    "nested_instances",
    "uninformative",
    "below",
    "only_residual",
    "alone",
    "size",
    Margin,
]
"""What is counted, and by which key; all but ``repeated_rows`` counts instances.

``label``: carrying a label as written, by its number. ``length``: by number of different direct
labels. ``rows``: with a label, by number of rows that have a node. ``repeated``: having a node in
several rows, by node; ``repeated_instances``: those of any node; ``repeated_rows``: how many rows
that is beyond the first of their instance and node. ``refused``: without a label, by reason of a
refused row; ``all_refused``: of any reason. ``nested``: labelled with a node and its ancestor, by
``node * n_nodes + ancestor``; ``nested_instances``: of any two. ``uninformative``: with labels, all
of them at nodes that leave nearly everything open. ``below``: with a direct label strictly below a
node; ``only_residual``: those of them all of whose labels below it are residual,
by ``place in RESIDUAL_KINDS * n_nodes + node``. ``alone``: with a single most specific
label, by node. ``size``: with two or more, by their number; the margins of these: as
`audit.engine.pairs.margins.Margin` says, the parts being numbers of most specific labels. What has
no further key has key 0.
"""
KINDS: tuple[Kind, ...] = get_args(Kind)
RESIDUAL_KINDS = ("all", "other", "unspecified")
"""Kinds of residual labels that ``only_residual`` is counted for."""

_LABEL, _OWN, _OTHER, _UNSPECIFIED = 1 << 41, 1 << 40, 1 << 20, 1
"""What a direct label adds to a node: each to those at or above it, beside that `_OWN` to its own
node, and to those strictly above it the kind of a residual one. One product counts all of them."""
_OWN_ALONE = _LABEL + _OWN
"""Sum at a node with its own label and none below it: a most specific one."""


class Records(Protocol):
    """Counts of whole instances by kind and key."""

    def of(self, kind: Kind) -> Sums:
        """The counts of a kind: ``keys``, and the count of each as ``joint``."""

    def at(self, kind: Kind, size: int) -> IntArray:
        """The counts of a kind as an array indexed by key, longer than ``size`` if a key is."""
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
    """Counts in memory, to which the counts of other instances can be added.

    Args:
        counts: Counts by kind.
    """

    def __init__(self, counts: Mapping[Kind, Sums] | None = None) -> None:
        self._tails = {kind: SortedTail() for kind in KINDS}
        for kind, sums in (counts or {}).items():
            self._tails[kind].add(sums)

    def add(self, other: RecordCounts) -> None:
        """Add the counts of other instances."""
        for kind, sums in other:
            self._tails[kind].add(sums)

    def of(self, kind: Kind) -> Sums:
        """The counts of a kind: ``keys``, and the count of each as ``joint``."""
        return self._tails[kind].between(0, np.iinfo(np.int64).max)


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
        """What a label at i adds to a node a, as a sum of `_LABEL` and others; like ``closure``."""
        node, above = row_numbers(self.closure), self.closure.indices
        kinds = np.array([0, _OTHER, _UNSPECIFIED], np.int64)
        added = _LABEL + np.where(node == above, _OWN, kinds[self.residual[node]])
        stored = (added, above.astype(np.int32), self.closure.indptr.astype(np.int32))
        return csr_array(stored, shape=self.closure.shape)


@dataclass(frozen=True, eq=False)
class RecordRows:
    """The rows of some whole instances.

    Args:
        instance: Index of the instance from 0, ascending, shape (n_rows,).
        label: Number of the label as written, shape (n_rows,); -1: the row has none to count.
        instances: Number of instances; those without rows come last.
    """

    instance: IntArray
    label: IntArray
    instances: int


def count_records(rows: RecordRows, mapped: Mapped) -> tuple[RecordCounts, Sparse, Sparse]:
    """Count some instances.

    Returns:
        The counts, the direct labels and their aggregated values: the labels 0/1, both of shape
        (n_instances, n_nodes), canonical CSR.

    Time grows with the rows times the ancestors of their nodes.
    """
    counted = rows.label >= 0
    instance, label = rows.instance[counted], rows.label[counted]
    node, n_nodes = mapped.node_of[label], len(mapped.residual)
    kept = node >= 0
    of_node, in_rows = _tallied(instance[kept] * n_nodes + node[kept])
    direct = _direct(of_node, rows.instances, n_nodes)
    lengths = np.diff(direct.indptr)
    sums = aggregate(direct, mapped.added)
    specific = chosen(sums, sums.data == _OWN_ALONE)
    nested = chosen(sums, (sums.data & _OWN > 0) & (sums.data != _OWN_ALONE))
    counts: dict[Kind, Sums] = {
        "label": tallied(_tallied(instance * len(mapped.node_of) + label)[0] % _some(mapped)),
        "length": tallied(lengths),
        "rows": tallied(np.bincount(instance[kept], minlength=rows.instances)[lengths > 0]),
        **_repeated(of_node, in_rows, n_nodes),
        **count_refused(instance[~kept], mapped.reason_of[label[~kept]], lengths),
        **count_nested(direct, nested, mapped.closure),
        **count_uninformative(direct, mapped.uninformative),
        **_below(sums),
        **_margins(specific, sums, mapped.branch_of),
    }
    values = (sums.data // _LABEL, sums.indices, sums.indptr)
    return RecordCounts(counts), direct, csr_array(values, shape=sums.shape)


def _some(mapped: Mapped) -> int:
    return max(len(mapped.node_of), 1)


def _tallied(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Different keys, ascending, and how often each stands."""
    ordered = np.sort(keys, kind="stable")  # fast where few keys are out of order
    firsts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[firsts], np.diff(firsts, append=len(ordered))


def _single(count: int) -> Sums:
    return counts_only(np.zeros(1, np.int64), np.array([count], np.int64))


def _direct(keys: IntArray, instances: int, n_nodes: int) -> Sparse:
    number, node = np.divmod(keys, n_nodes)
    indptr = np.zeros(instances + 1, np.int32)
    np.cumsum(np.bincount(number, minlength=instances), out=indptr[1:])
    stored = (np.ones(len(keys), np.int64), node.astype(np.int32), indptr)
    return csr_array(stored, shape=(instances, n_nodes))


def _margins(specific: Sparse, carried: Sparse, branch_of: IntArray) -> dict[Kind, Sums]:
    """Margins for the expectation of pairs, by number of most specific labels."""
    lengths = np.diff(specific.indptr).astype(np.int64)
    single = specific.indices[np.repeat(lengths == 1, lengths)]
    counted = np.where(lengths >= LEAST_LABELS, lengths, -1)
    margins = count_margins(specific, carried, counted, branch_of)
    found: dict[Kind, Sums] = {kind: margins[kind] for kind in MARGINS}
    return found | {"alone": tallied(single), "size": tallied(counted[counted >= 0])}


def _repeated(of_node: IntArray, in_rows: IntArray, n_nodes: int) -> dict[Kind, Sums]:
    again = of_node[in_rows > 1]
    if not len(again):
        return {}
    return {
        "repeated": tallied(again % n_nodes),
        "repeated_instances": _single(len(np.unique(again // n_nodes))),
        "repeated_rows": _single(int((in_rows - 1).sum())),
    }


def count_refused(instance: IntArray, reason: IntArray, lengths: IntArray) -> dict[Kind, Sums]:
    """Count the kinds ``refused`` and ``all_refused``.

    Args:
        instance: Index of the instance of each refused row, shape (n_rows,).
        reason: Number of the reason why it was refused, same shape.
        lengths: Number of labels of each instance, shape (n_instances,).
    """
    alone = lengths[instance] == 0
    if not alone.any():
        return {}
    reasons = int(reason.max()) + 1
    by_reason, _ = _tallied(instance[alone] * reasons + reason[alone])
    return {
        "refused": tallied(by_reason % reasons),
        "all_refused": _single(len(np.unique(instance[alone]))),
    }


def count_nested(direct: Sparse, nested: Sparse, closure: Sparse) -> dict[Kind, Sums]:
    """Count the kinds ``nested`` and ``nested_instances``.

    Args:
        nested: A stored value where a label of the instance has another one strictly below it, same
            shape.
    """
    beside = nested.tocoo()
    if not beside.nnz:
        return {}
    n_nodes = direct.shape[1]
    rows = np.unique(beside.row)
    labels = direct[rows].tocoo()
    ancestors = closure[labels.col].tocoo()
    node, above = labels.col[ancestors.row].astype(np.int64), ancestors.col
    instance = rows[labels.row[ancestors.row]].astype(np.int64)
    met = np.isin(instance * n_nodes + above, beside.row.astype(np.int64) * n_nodes + beside.col)
    return {
        "nested": tallied((node * n_nodes + above)[met & (node != above)]),
        "nested_instances": _single(len(rows)),
    }


def count_uninformative(direct: Sparse, uninformative: BoolArray) -> dict[Kind, Sums]:
    """Count the kind ``uninformative``; the parameters are those of `only_among`."""
    alone = only_among(direct, uninformative)
    return {"uninformative": _single(int(alone.sum()))} if alone.any() else {}


def only_among(direct: Sparse, nodes: BoolArray) -> BoolArray:
    """Whether all labels of an instance, at least one, are among given nodes, (n_instances,).

    Args:
        nodes: Whether each node is given, shape (n_nodes,).
    """
    labels = np.diff(direct.indptr)
    return np.asarray((labels > 0) & (direct @ nodes.astype(np.int64) == labels))


def _below(sums: Sparse) -> dict[Kind, Sums]:
    """Instances by node that their labels are below, and those residual throughout there."""
    n_nodes = sums.shape[1]
    residual = np.flatnonzero(sums.data & (_OWN - 1))
    values, node = sums.data[residual], sums.indices[residual].astype(np.int64)
    other, unspecified = (values & (_OWN - 1)) // _OTHER, values % _OTHER
    all_below = values // _LABEL - (values & _OWN) // _OWN
    alone = all_below == other + unspecified
    node, other, unspecified = node[alone], other[alone], unspecified[alone]
    only = (node, n_nodes + node[unspecified == 0], 2 * n_nodes + node[other == 0])
    return {
        "below": counts_by_place(np.bincount(sums.indices[sums.data != _OWN_ALONE])),
        "only_residual": counts_by_place(np.bincount(np.concatenate(only))),
    }
