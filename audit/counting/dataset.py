"""The rows of a dataset in memory, in the form that instances are counted in."""

from __future__ import annotations

import numpy as np

from audit.base.dag import IntArray
from audit.data.dataset import REASONS, LabelDataset
from audit.engine.pairs.margins import counted_branches
from audit.engine.pairs.record_counts import Mapped, RecordCounts, RecordRows, count_records


def records_of(dataset: LabelDataset, residual: IntArray) -> RecordCounts:
    """What whole instances are counted by, counted of a dataset.

    Labels that became a node count as that node, those that were refused as their reason: under
    ``label`` a node has its own index, and a reason stands behind all nodes, by its place in
    `REASONS`.

    Args:
        dataset: The dataset.
        residual: Of each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,).

    Time grows with the rows times the ancestors of their nodes.
    """
    hierarchy = dataset.hierarchy
    nodes, reasons = np.arange(len(hierarchy)), np.arange(len(REASONS))
    mapped = Mapped(
        node_of=np.concatenate([nodes, np.full_like(reasons, -1)]),
        reason_of=np.concatenate([np.full_like(nodes, -1), reasons]),
        residual=residual,
        strict_closure=hierarchy.strict_closure,
        branch_of=counted_branches(hierarchy.first_branch, hierarchy.leaf),
        uninformative=hierarchy.uninformative,
    )
    counts, _ = count_records(_rows(dataset), mapped)
    return counts


def _rows(dataset: LabelDataset) -> RecordRows:
    """Every row with a node; of the refused ones, one an instance and reason."""
    kept, refused = dataset.assertions, dataset.refused
    behind = len(dataset.hierarchy)
    reasons = [behind + REASONS.index(reason) for reason in refused["reason"]]
    instance = np.concatenate([kept["instance"].to_numpy(), refused["instance"].to_numpy()])
    label = np.concatenate([kept["node"].to_numpy(), np.array(reasons, np.int64)])
    order = np.argsort(instance, kind="stable")
    rows, labels = (column[order].astype(np.int64) for column in (instance, label))
    return RecordRows(rows, labels, len(dataset))
