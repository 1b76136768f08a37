"""The plan of a count: its mapped labels, its residual nodes, and its memory and disk space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.counting.counts import PairCount
from audit.counting.kept import refuse_other_nodes
from audit.counting.residual_nodes import residual_kinds, residual_nodes
from audit.data.mapping import LabelNodes, label_nodes, summed_counts
from audit.engine.pairs.margins import counted_branches
from audit.engine.pairs.record_counts import Mapped
from audit.hierarchies.applied_policy import policy_for
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy, refuse_unknown_nodes

MEMORY = 2 * 2**30
"""Default number of bytes that a count may use beside the program itself."""


@dataclass(frozen=True, eq=False)
class CountSettings:
    """The settings of a count.

    Args:
        hierarchy: The hierarchy as in its file.
        policy: Policy whose lists of residual nodes are used; what it does not state, or None,
            comes from the hierarchy's built-in policy.
        memory: Number of bytes that may be used.
        added_to: Counts of other instances, to be included in the result.
    """

    hierarchy: Hierarchy
    policy: Policy | None
    memory: int
    added_to: PairCount | None


@dataclass(frozen=True, eq=False)
class Plan:
    """The plan of a count whose labels are known.

    Args:
        labels: The mapped labels of the source.
        residual: For each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,).
        memory: Number of bytes that may be used.
        folder: Folder for instances and counts on the disk.
        where: The source, for messages.
    """

    labels: LabelNodes
    residual: IntArray
    memory: int
    folder: Path
    where: object

    @property
    def mapped(self) -> Mapped:
        """The properties of labels and nodes that counting instances needs."""
        labels, hierarchy = self.labels, self.labels.hierarchy
        branches = counted_branches(hierarchy.first_branch, hierarchy.leaf)
        return Mapped(
            node_of=labels.node_of,
            reason_of=labels.reason_of,
            residual=self.residual,
            closure=hierarchy.closure,
            branch_of=branches,
            uninformative=hierarchy.uninformative,
        )

    @cached_property
    def first(self) -> IntArray:
        """Nodes in use, the most frequent first by approximate support, shape (n_used,)."""
        carried = carried_about(self.labels)
        used = np.flatnonzero(carried)
        return used[np.argsort(-carried[used], kind="stable")]


def planned(settings: CountSettings, counts: pl.DataFrame, folder: Path, where: object) -> Plan:
    """Plan a count from its settings and the counts of its labels.

    Args:
        settings: The settings.
        counts: Label counts of the source, from `audit.data.mapping.label_counts`.
        folder: Folder for instances and counts on the disk.
        where: The source, for messages.

    Raises:
        InputError: If the nodes of the count to add to have changed since.
        PolicyError: If the policy names a node that neither hierarchy nor labels have.
    """
    before = settings.added_to
    every = counts if before is None else summed_counts([counts, before.labels.counts])
    labels = label_nodes(every, settings.hierarchy, where)
    policy = policy_for(labels.hierarchy, settings.policy)
    refuse_unknown_nodes(policy, set(labels.hierarchy.nodes), labels.hierarchy.name)
    hierarchy = labels.hierarchy
    residual = residual_kinds(residual_nodes(hierarchy, policy), len(hierarchy))
    if before is not None:
        refuse_other_nodes(before, labels, residual)
    return Plan(labels, residual, settings.memory, folder, where)


def carried_about(labels: LabelNodes) -> IntArray:
    """Number of rows with a label at or below each node, an estimate of support, (n_nodes,)."""
    rows = labels.written.filter(~pl.col("homeless")).sort("number")["rows"].to_numpy()
    mapped, n_nodes = labels.node_of >= 0, len(labels.hierarchy)
    direct = np.bincount(labels.node_of[mapped], rows[mapped], minlength=n_nodes)
    return np.asarray(direct.astype(np.int64) @ labels.hierarchy.closure)
