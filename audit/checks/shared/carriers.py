"""Select instances by what they carry, alone or together, and break them down by nodes.

`RelatedLabels` is the kernel of all checks of labels together: labels of an instance, and what a
relation names beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse, edge_matrix, row
from audit.checks.check import TOP_PARTS
from audit.engine.pairs.pair_counts import support
from audit.engine.pairs.rows import GrowingRows, row_slices
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below
from audit.results.findings import Part, share_evidence

MOST_NAMED = 3
"""Largest number of nodes of a side of a rule that a sentence names in full."""


def carrying_any(measured: Measurements, nodes: Sequence[str]) -> IntArray:
    """Instances that carry at least one of the nodes, ascending."""
    places = map(measured.hierarchy.index, nodes)
    return np.unique(measured.loaded.at_nodes.carrying(*places))


def carrying_both(measured: Measurements, a: str, b: str) -> IntArray:
    """Instances that carry both nodes, ascending."""
    at = measured.loaded.at_nodes
    one, other = (at.carrying(measured.hierarchy.index(node)) for node in (a, b))
    return np.intersect1d(one, other, assume_unique=True)


def carrying_apart(measured: Measurements, a: str, b: str) -> IntArray:
    """Instances that carry both nodes without a label at or below both, ascending."""
    below, index = measured.hierarchy.below, measured.hierarchy.index
    shared = np.intersect1d(row(below, index(a)), row(below, index(b)), assume_unique=True)
    both = carrying_both(measured, a, b)
    return both[~labelled_with(measured, shared)[both]]


def labels_apart(hierarchy: Hierarchy, a: int, b: int) -> str:
    """What a sentence adds to "both A and B" where a node is at or below both; else empty."""
    shared = np.intersect1d(row(hierarchy.below, a), row(hierarchy.below, b), assume_unique=True)
    return " without a label below both" if len(shared) else ""


def labelled_with(measured: Measurements, nodes: IntArray) -> BoolArray:
    """Whether each instance has one of the nodes as a direct label, shape (n_instances,)."""
    found = np.zeros(measured.n_instances, np.bool_)
    found[measured.loaded.at_nodes.labelled(*nodes)] = True
    return found


def distinct(rows: pl.DataFrame) -> IntArray:
    """The distinct values of the column ``instance``, ascending."""
    return np.unique(rows["instance"].to_numpy()).astype(np.int64)


def named(hierarchy: Hierarchy, nodes: Sequence[str], title: str = "") -> str:
    """Nodes of a side of a rule as "a, b or 3 others", or as "title (a, b or 3 others)".

    Behind a title they stand without their own; of more than two codes all but the first do.
    """
    few = nodes if len(nodes) <= MOST_NAMED else nodes[: MOST_NAMED - 1]
    others = len(nodes) - len(few)
    full = 0 if title else 1 if hierarchy.integrity and len(nodes) > 2 else len(few)
    names = [*(hierarchy.describe(hierarchy.index(node)) for node in few[:full]), *few[full:]]
    *first, last = [*names, *([f"{others} others"] if others else [])]
    listed = f"{', '.join(first)} or {last}" if first else last
    return f"{title} ({listed})" if title else listed


def most_frequent(hierarchy: Hierarchy, instances: IntArray, *nodes: IntArray) -> tuple[Part, ...]:
    """Breakdown of instances by nodes, or by pairs of them; those that none has are left out.

    Args:
        instances: Number of instances of each line, shape (n_lines,).
        nodes: One node of each line, or two arrays of these, shape (n_lines,).
    """
    order = np.lexsort((*nodes[::-1], -instances))[:TOP_PARTS]
    lines = np.stack([instances, *nodes])[:, order].T.tolist()
    names = hierarchy.nodes
    return tuple(Part(tuple(names[i] for i in own), {"instances": n}) for n, *own in lines if n)


def under_rule(
    measured: Measurements, nodes: Sequence[str], instances: IntArray, of: int
) -> dict[str, Any]:
    """Fields of a `Row` on instances, among ``of``, whose labels below ``nodes`` a rule is on."""
    labels = np.flatnonzero(at_or_below(measured.hierarchy, nodes))
    times = support(measured.loaded.dataset.direct[instances])[labels]
    parts = most_frequent(measured.hierarchy, times, labels)
    return {
        "nodes": tuple(nodes) if len(nodes) == 1 else parts[0].nodes,
        "evidence": share_evidence(len(instances), of),
        "parts": parts,
        "cases": instances,
    }


@dataclass(frozen=True, eq=False)
class RelatedLabels:
    """Labels of instances, and the nodes that a relation names beside them.

    Args:
        labels: 1 where an instance has a label, shape (n_instances, n_nodes).
        relation: 1 where the column is named beside the label of the row, shape (n_nodes, n_nodes).
        other: 1 where an instance has, or carries, a node, shape (n_instances, n_nodes).
    """

    labels: Sparse
    relation: Sparse
    other: Sparse

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Labels, the node beside each, and the instances with both, shape (n_pairs,) each."""
        some = np.flatnonzero(np.diff(self.relation.indptr))
        named = self.relation[some]
        found = csr_array(named.shape, dtype=np.int64)
        for rows in row_slices(self.other.indptr):
            joint = csr_array(self.labels[rows][:, some]).T @ self.other[rows]
            found = csr_array(found + csr_array(joint).multiply(named))
        met = found.tocoo()
        return some[met.row], met.col.astype(np.int64), met.data.astype(np.int64)

    @cached_property
    def hit(self) -> Sparse:
        """1 where an instance has a node beside a label that the relation names it beside.

        Only pairs that some instance has are looked for, so that a wide relation costs no more.
        """
        met, width = edge_matrix(*self.pairs[:2], self.relation.shape[0]), self.other.shape[1]
        found = GrowingRows(width, np.int64)
        for rows in row_slices(self.other.indptr):
            here = csr_array(csr_array(self.labels[rows] @ met).multiply(self.other[rows]))
            here.data[:] = 1
            found.add(here)
        return found.whole()

    @cached_property
    def instances(self) -> IntArray:
        """The instances with a `hit`, ascending."""
        return np.flatnonzero(np.diff(self.hit.indptr))

    def told(self, measured: Measurements, of: int, **texts: str) -> dict[str, Any]:
        """Fields of a `Row` on `instances`, among ``of``; ``texts`` are evidence beside numbers."""
        *ends, joint = self.pairs
        parts = most_frequent(measured.hierarchy, joint, *ends)
        return {
            "nodes": parts[0].nodes,
            "evidence": {**texts, **share_evidence(len(self.instances), of), "pairs": len(joint)},
            "parts": parts,
            "cases": self.instances,
        }
