"""Instances in memory: their counts, and properties that only the instances themselves have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy.sparse import csc_array, csr_array

from audit.base.dag import IntArray, Sparse
from audit.base.machine import give_back_freed_memory
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.counting.counts import PairRecords, counted_pairs
from audit.counting.pair_table import PairTable
from audit.counting.residual_nodes import Residual, residual_kinds
from audit.data.dataset import LabelDataset
from audit.data.placing import REASONS, Ledger
from audit.engine.pairs.entailed import count_entailed, in_line, joint_entailed
from audit.engine.pairs.margins import (
    Strata,
    count_margins,
    counted_branches,
    length_cuts,
    length_histogram,
    lighter,
    most_specific,
    strata_from,
    strata_of,
)
from audit.engine.pairs.pair_counts import PairCounts, count_pairs, support
from audit.engine.pairs.propagation import LabelsBelow, aggregate, labels_below
from audit.engine.pairs.record_counts import (
    Kind,
    Mapped,
    RecordCounts,
    RecordRows,
    Records,
    count_nested,
    count_records,
    count_refused,
    count_uninformative,
)
from audit.engine.pairs.sums import NOTHING, UNIT, Sums, weighed_sums
from audit.engine.statistics.grouped import (
    Alike,
    Grouped,
    NodeSums,
    alike,
    joint_weights,
    node_sums,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values
from audit.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class Instances:
    """The instances of a dataset with their counts; implements `audit.counting.counts.Counts`.

    Everything that is derived from them is computed when it is first used.

    Args:
        residual: Residual nodes by index.
    """

    dataset: LabelDataset
    policy: Policy
    residual: Mapping[int, Residual]

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy, with a node for every label that was kept."""
        return self.dataset.hierarchy

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What columns, cells and labels were taken to mean."""
        return self.dataset.readings

    @property
    def ledger(self) -> Ledger:
        """The ledger of all rows: how many were read, mapped and refused."""
        return self.dataset.ledger

    @property
    def mappings(self) -> pl.DataFrame:
        """The mapped labels, one row per label."""
        return self.dataset.mappings

    @property
    def refusals(self) -> pl.DataFrame:
        """The refused labels, one row per label."""
        return self.dataset.refusals

    @cached_property
    def aggregated(self) -> Sparse:
        """Aggregated values of labels, shape (n_instances, n_nodes), int32 canonical CSR."""
        return aggregate(self.dataset.direct, self.hierarchy.closure).astype(np.int32)

    @property
    def _confused(self) -> Sparse:
        """Values whose confusion is measured; nodes carry the same instances in any reading."""
        if self.policy.aggregation == "descendants":
            return self.aggregated
        return aggregated_values(self.hierarchy, self.dataset.direct, self.policy.aggregation)

    @property
    def _carried(self) -> Sparse:
        """Whether an instance carries a node, shape (n_instances, n_nodes), canonical CSR."""
        values = self.aggregated
        carried = np.ones(values.nnz, np.bool_), values.indices, values.indptr
        return csr_array(carried, shape=values.shape)

    @cached_property
    def carriers(self) -> Sparse:
        """Instances that carry each node, shape (n_nodes, n_instances), canonical CSR of True."""
        return csr_array(self._carried.T)

    @cached_property
    def labelled_at(self) -> Sparse:
        """Direct labels by node, shape (n_nodes, n_instances), canonical CSR."""
        return csr_array(self.dataset.direct.T)

    @cached_property
    def below(self) -> LabelsBelow:
        """Direct labels strictly below each node, with the specific ones counted separately."""
        kinds = residual_kinds(self.residual, len(self.hierarchy))
        return labels_below(self.dataset.direct, self.hierarchy.strict_closure, kinds)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that divide the instances: the split, and the strata other than days and ages."""
        values = self.policy.columns_of_values
        return ("split", *(name for name in self.dataset.strata if name not in values))

    @cached_property
    def group_of(self) -> IntArray | None:
        """Index of each instance's group, shape (n_instances,); None if no group has several."""
        groups = self.dataset.instances["group"]
        return self.groups_by(groups) if groups.drop_nulls().is_duplicated().any() else None

    def groups_by(self, values: pl.Series) -> IntArray:
        """Group of each instance by some values, shape (n_instances,); its own where null."""
        alone = pl.concat_str(pl.lit("alone:"), "instance")
        named = pl.coalesce(pl.concat_str(pl.lit("group:"), pl.lit(values)), alone)
        numbers = self.dataset.instances.select(named.rank("dense")).to_series()
        return numbers.to_numpy().astype(np.int64) - 1

    @cached_property
    def specific(self) -> Sparse:
        """Most specific labels, shape (n_instances, n_nodes)."""
        above = csr_array(self.dataset.direct @ self.hierarchy.strict_closure)
        return most_specific(self.dataset.direct, above)

    @cached_property
    def alike(self) -> Alike | None:
        """How much instances of a group resemble each other; None if no group has several."""
        return None if self.group_of is None else alike(self.specific, self.group_of)

    @cached_property
    def support(self) -> IntArray:
        """Number of instances carrying each node, shape (n_nodes,)."""
        return support(self.aggregated)

    @cached_property
    def direct_support(self) -> IntArray:
        """Number of instances with each node as a label, shape (n_nodes,)."""
        return support(self.dataset.direct)

    @cached_property
    def node_sums(self) -> NodeSums:
        """Nodes by group."""
        return node_sums(self.aggregated, self.alike)

    @cached_property
    def records(self) -> LoadedRecords:
        """Counts of whole instances by kind and key."""
        return LoadedRecords(self.dataset, self.residual)

    def pair_records(self) -> PairRecords:
        """The counts of records from which pairs are judged, by those strata of the policy that
        the dataset has."""
        return self.parted_by(self.policy.strata)

    def parted_by(self, columns: tuple[str, ...], groups: IntArray | None = None) -> PairRecords:
        """The counts of records from which pairs are judged, with given columns as strata.

        With ``groups`` the records are in these, and each weighs one.
        """
        hierarchy, specific = self.hierarchy, self.specific
        cuts, stratum = self._strata_by(columns)
        branches = counted_branches(hierarchy.first_branch, hierarchy.leaf)
        margins = count_margins(specific, self.aggregated, stratum, branches)
        size = np.bincount(stratum[stratum >= 0]).astype(np.int64)
        strata = strata_from(cuts, size, margins, len(hierarchy))
        return PairRecords(
            strata=strata,
            entailed=count_entailed(specific, hierarchy.closure),
            alone=support(specific[np.flatnonzero(np.diff(specific.indptr) == 1)]),
            grouped=self._grouped(strata, stratum, self._alike_by(groups)),
        )

    def _strata_by(self, columns: tuple[str, ...]) -> tuple[IntArray, IntArray]:
        """Cuts of the number of labels, and each instance's stratum by it and by given columns.

        Instances with fewer than two most specific labels have stratum -1.
        """
        dataset, lengths = self.dataset, np.diff(self.specific.indptr).astype(np.int64)
        categories = [
            found[name].cast(pl.String).rank("dense").fill_null(0).to_numpy().astype(np.int64)
            for name in columns
            for found in (dataset.instances, dataset.unnamed)
            if name in found.columns
        ]
        cuts = length_cuts(length_histogram(lengths))
        return cuts, strata_of(lengths, cuts, categories)

    def _by_weight(self, strata: Strata, stratum: IntArray, weight: IntArray) -> Strata:
        """The margins of the instances that take part, by weight."""
        hierarchy, some = self.hierarchy, np.flatnonzero((stratum >= 0) & (weight < UNIT))
        of, less, n = stratum[some], UNIT - weight[some], len(strata.size)
        branches = counted_branches(hierarchy.first_branch, hierarchy.leaf)
        margins = count_margins(self.specific[some], self.aggregated[some], of, branches, less)
        size = weighed_sums(of, less, n)
        return lighter(strata, strata_from(strata.cuts, size, margins, len(hierarchy), UNIT))

    def _alike_by(self, groups: IntArray | None) -> Alike | None:
        if groups is None:
            return self.alike
        labelled = np.diff(self.specific.indptr) > 0
        size = np.bincount(groups, labelled).astype(np.int64)
        return Alike(groups, size, labelled, 0.0)

    def _grouped(self, strata: Strata, stratum: IntArray, alike: Alike | None) -> Grouped | None:
        """The instances that take part with their groups; None without groups."""
        if alike is None:
            return None
        part = np.flatnonzero(stratum >= 0)
        part = part[np.argsort(alike.group[part], kind="stable")]
        return Grouped(
            carriers=csc_array(self._carried[part]),
            stratum=stratum[part],
            group=alike.group[part],
            weight=alike.weight[part] / UNIT,
            below=self.hierarchy.below,
            strata=self._by_weight(strata, stratum, alike.weight),
            alike=alike,
        )

    def pairs_of(self, records: PairRecords, progress: Progress) -> PairTable:
        """Count every pair with a joint instance; with groups also ``observed``, by weight, and
        ``group_sum``.

        Time and memory grow with the sum over instances of (nodes per instance)^2.
        """
        hierarchy, counts = self.hierarchy, count_pairs(self._confused, progress)
        give_back_freed_memory()
        own = joint_entailed(counts, records.entailed, in_line(hierarchy.closure), len(hierarchy))
        sums = {} if self.alike is None else self._weighed(counts, records.entailed, self.alike)
        instances = self.ledger.instances
        table = counted_pairs(counts, instances).with_columns(joint_entailed=pl.Series(own))
        del counts  # which are as large as the table
        for name in [*sums]:
            table = table.with_columns(pl.Series(name, sums.pop(name) / UNIT))
        return PairTable(table.lazy(), lambda: hierarchy, self.support, instances)

    def _weighed(self, counts: PairCounts, entailed: Sums, alike: Alike) -> dict[str, IntArray]:
        """``observed`` and ``group_sum`` of each pair, in units of 1 / `UNIT`."""
        weights = alike.weight, alike.part_of_group
        sums = joint_weights(counts, self.aggregated, weights)
        for both, weight in zip(sums, weights, strict=True):
            self._less_entailed(both, counts, entailed, weight)
        return dict(zip(("observed", "group_sum"), sums, strict=True))

    def _less_entailed(
        self, both: IntArray, counts: PairCounts, entailed: Sums, weight: IntArray
    ) -> None:
        """Take the weights of instances with a label below both nodes of a pair from ``both``."""
        some = np.flatnonzero(weight < UNIT)
        keys = counts.keys(len(self.hierarchy))
        both[np.searchsorted(keys, entailed.keys)] -= UNIT * entailed.joint
        through_one = count_entailed(
            self.specific[some], self.hierarchy.closure, UNIT - weight[some]
        )
        both[np.searchsorted(keys, through_one.keys)] += through_one.joint


@dataclass(frozen=True, eq=False)
class LoadedRecords(Records):
    """Counts of the instances of a dataset by kind and key, each computed when it is first used.

    Mapped labels count as their nodes, refused labels as their reasons: under ``label`` the key of
    a node is its index, and the key of a reason is the number of nodes plus its position in
    `REASONS`.

    Args:
        residual: Residual nodes by index.

    Kinds that checks use are counted separately; all others are counted once together, in time that
    grows with the rows times the ancestors of their nodes.
    """

    dataset: LabelDataset
    residual: Mapping[int, Residual]

    def of(self, kind: Kind) -> Sums:
        """The counts of a kind: ``keys``, and the count of each as ``joint``."""
        if kind in ("refused", "all_refused"):
            return self._refused.get(kind, NOTHING)
        if kind in ("nested", "nested_instances"):
            return self._nested.get(kind, NOTHING)
        if kind == "uninformative":
            uninformative = self.dataset.hierarchy.uninformative
            return count_uninformative(self.dataset.direct, uninformative).get(kind, NOTHING)
        return self._all.of(kind)

    @cached_property
    def _refused(self) -> Mapping[Kind, Sums]:
        refused = self.dataset.refused
        reason = np.array([REASONS.index(reason) for reason in refused["reason"]], np.int64)
        lengths = np.diff(self.dataset.direct.indptr)
        return count_refused(refused["instance"].to_numpy().astype(np.int64), reason, lengths)

    @cached_property
    def _nested(self) -> Mapping[Kind, Sums]:
        direct, hierarchy = self.dataset.direct, self.dataset.hierarchy
        nested = csr_array(direct.multiply(direct @ hierarchy.strict_closure))
        return count_nested(direct, nested, hierarchy.closure)

    @cached_property
    def _all(self) -> RecordCounts:
        hierarchy = self.dataset.hierarchy
        nodes, reasons = np.arange(len(hierarchy)), np.arange(len(REASONS))
        mapped = Mapped(
            node_of=np.concatenate([nodes, np.full_like(reasons, -1)]),
            reason_of=np.concatenate([np.full_like(nodes, -1), reasons]),
            residual=residual_kinds(self.residual, len(hierarchy)),
            closure=hierarchy.closure,
            branch_of=counted_branches(hierarchy.first_branch, hierarchy.leaf),
            uninformative=hierarchy.uninformative,
        )
        counts, *_ = count_records(_rows(self.dataset), mapped)
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
