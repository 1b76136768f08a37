"""Instances of a dataset: their counts, and properties that only instances themselves have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy.sparse import csc_array, csr_array

from audit.base.arrays import give_back_pages
from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.machine import give_back_freed_memory
from audit.base.progress import Progress
from audit.counting.counts import (
    Counts,
    PairRecords,
    by_length,
    counted_pairs,
    mapped_of,
    pair_table,
)
from audit.counting.pair_table import PairTable
from audit.counting.residual_nodes import Residual
from audit.data.dataset import LabelDataset
from audit.data.mapping import REASONS
from audit.engine.pairs.carried import AtNodes
from audit.engine.pairs.entailed import count_entailed
from audit.engine.pairs.margins import (
    MARGINS,
    Margin,
    Strata,
    count_margins,
    length_cuts,
    strata_from,
    strata_of,
)
from audit.engine.pairs.pair_counts import PairCounts, count_pairs
from audit.engine.pairs.record_counts import InstanceCounts, Mapped, RecordCounts, RecordRows
from audit.engine.pairs.rows import GrowingRows, row_slices
from audit.engine.pairs.sums import UNIT, Sums, summed, weighed_sums
from audit.engine.statistics.grouped import (
    Alike,
    Grouped,
    alike,
    joint_weights,
    node_sums,
)
from audit.hierarchies.relations import aggregated_values
from audit.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class Instances(Counts):
    """The instances of a dataset with their counts.

    Everything that is derived from them is computed when it is first used.

    Args:
        residual: Residual nodes by index.
    """

    dataset: LabelDataset
    policy: Policy
    residual: Mapping[int, Residual]

    @property
    def source(self) -> LabelDataset:
        """The dataset that is counted."""
        return self.dataset

    @cached_property
    def _known(self) -> Mapped:
        """Properties of labels: number i is node i, or, from n_nodes on, a reason of `REASONS`."""
        hierarchy = self.hierarchy
        nodes, reasons = np.arange(len(hierarchy)), np.arange(len(REASONS))
        node_of = np.concatenate([nodes, np.full_like(reasons, -1)])
        reason_of = np.concatenate([np.full_like(nodes, -1), reasons])
        return mapped_of(hierarchy, self.residual, node_of, reason_of)

    @cached_property
    def _counted(self) -> tuple[RecordCounts, Sparse, Sparse, AtNodes]:
        """`records`, `aggregated`, `specific` and `at_nodes`, all from one pass over the rows."""
        n_nodes = len(self.hierarchy)
        records, at_nodes = RecordCounts(), AtNodes()
        aggregated, specific = GrowingRows(n_nodes, np.int32), GrowingRows(n_nodes, np.int64)
        for rows in _record_rows(self.dataset):
            counts = InstanceCounts(rows, self._known)
            records.add(counts)
            aggregated.add(counts.carried.values)
            specific.add(counts.carried.specific)
            at_nodes.add(counts.carried.facts)
            give_back_pages()
        return records, aggregated.whole(), specific.whole(), at_nodes

    @property
    def records(self) -> RecordCounts:
        """Counts of whole instances by kind and key."""
        return self._counted[0]

    @property
    def aggregated(self) -> Sparse:
        """Aggregated values of labels, shape (n_instances, n_nodes), int32 canonical CSR."""
        return self._counted[1]

    @property
    def specific(self) -> Sparse:
        """Most specific labels, shape (n_instances, n_nodes)."""
        return self._counted[2]

    @property
    def at_nodes(self) -> AtNodes:
        """For each node the instances that carry it, and whether by a label at it or below it."""
        return self._counted[3]

    @property
    def _confused(self) -> Sparse:
        """Aggregated values by the policy's rule, whose confusion is measured."""
        if self.policy.aggregation == "descendants":
            return self.aggregated
        return aggregated_values(self.hierarchy, self.dataset.direct, self.policy.aggregation)

    @property
    def carried(self) -> Sparse:
        """Whether an instance carries a node, shape (n_instances, n_nodes), canonical CSR."""
        values = self.aggregated
        carried = np.ones(values.nnz, np.bool_), values.indices, values.indptr
        return csr_array(carried, shape=values.shape)

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
    def alike(self) -> Alike | None:
        """How much instances of a group resemble each other; None if no group has several."""
        return None if self.group_of is None else alike(self.specific, self.group_of)

    @cached_property
    def node_sums(self) -> FloatArray:
        """Sums over groups of a group's share that carries each node, and of its square, (2, n)."""
        if self.alike is None:
            return np.stack([self.support] * 2).astype(np.float64)
        return node_sums(self.aggregated, self.alike)

    def pair_records(self) -> PairRecords:
        """The counts of records from which pairs are judged, by those strata of the policy that
        the dataset has."""
        if self.policy.strata or self.alike is not None:
            return self.parted_by(self.policy.strata)
        return by_length(self.records, len(self.hierarchy))

    def parted_by(self, columns: tuple[str, ...]) -> PairRecords:
        """The counts of records from which pairs are judged, with given columns as strata."""
        dataset, lengths = self.dataset, np.diff(self.specific.indptr).astype(np.int64)
        categories = [
            found[name].cast(pl.String).rank("dense").fill_null(0).to_numpy().astype(np.int64)
            for name in columns
            for found in (dataset.instances, dataset.unnamed)
            if name in found.columns
        ]
        cuts = length_cuts(np.bincount(lengths))
        stratum, alike = strata_of(lengths, cuts, categories), self.alike
        return PairRecords(
            strata=self._margins(cuts, stratum),
            entailed=self.records.of("entailed"),
            alone=self.records.at("alone", len(self.hierarchy)),
            grouped=None if alike is None else self._grouped(cuts, stratum, alike),
        )

    def _margins(self, cuts: IntArray, stratum: IntArray, weight: IntArray | None = None) -> Strata:
        """The margins of the instances that take part, by weight where there is one."""
        parts: dict[Margin, list[Sums]] = {kind: [] for kind in MARGINS}
        for some in row_slices(self.aggregated.indptr):
            here = self.specific[some], self.aggregated[some], stratum[some], self._known.branch_of
            found = count_margins(*here, None if weight is None else weight[some])
            for kind, sums in found.items():
                parts[kind].append(sums)
        part = np.flatnonzero(stratum >= 0)
        each = np.ones(len(part), np.int64) if weight is None else weight[part]
        size = weighed_sums(stratum[part], each)
        margins = {kind: summed(of_kind) for kind, of_kind in parts.items()}
        unit = 1 if weight is None else UNIT
        return strata_from(cuts, size, margins, len(self.hierarchy), unit)

    def _grouped(self, cuts: IntArray, stratum: IntArray, alike: Alike) -> Grouped:
        """The instances that take part with their groups."""
        part = np.flatnonzero(stratum >= 0)
        part = part[np.argsort(alike.group[part], kind="stable")]
        return Grouped(
            carriers=csc_array(self.carried[part]),
            stratum=stratum[part],
            group=alike.group[part],
            weight=alike.weight[part] / UNIT,
            below=self.hierarchy.below,
            strata=self._margins(cuts, stratum, alike.weight),
            alike=alike,
        )

    def pairs_of(self, records: PairRecords, progress: Progress) -> PairTable:
        """Count every pair with a joint instance; with groups also ``observed``, by weight, and
        ``group_sum``.

        Time and memory grow with the sum over instances of (nodes per instance)^2.
        """
        counts = count_pairs(self._confused, progress)
        give_back_freed_memory()
        sums = {} if self.alike is None else self._weighed(counts, self.alike)
        pairs = counted_pairs(counts, len(self.dataset))
        del counts
        table = pair_table(self, pairs, records.entailed, sums)
        del pairs, sums
        give_back_freed_memory()
        return table

    def _weighed(self, counts: PairCounts, alike: Alike) -> dict[str, IntArray]:
        """``observed`` and ``group_sum`` of each pair, in units of 1 / `UNIT`.

        What instances with a label below both nodes weigh is left out.
        """
        weights = alike.weight, alike.part_of_group
        sums = joint_weights(counts, self.aggregated, weights)
        keys = counts.keys(len(self.hierarchy))
        for both, weight in zip(sums, weights, strict=True):
            through_one = count_entailed(self.specific, self.hierarchy.closure, weight)
            both[np.searchsorted(keys, through_one.keys)] -= through_one.joint
        return dict(zip(("observed", "group_sum"), sums, strict=True))


def _record_rows(dataset: LabelDataset) -> Iterator[RecordRows]:
    """Rows of whole instances: each with a node, and one for each reason of refused ones."""
    refused, n_nodes = dataset.refused, len(dataset.hierarchy)
    numbers = {name: n_nodes + n for n, name in enumerate(REASONS)}
    refused = refused.select(
        "instance", node=pl.col("reason").replace_strict(numbers, return_dtype=pl.UInt32)
    )
    for first, last, some in dataset.stretches():
        kept = dataset.assertions.select("instance", "node")[some]
        lacking = refused.filter(pl.col("instance").is_between(first, last, closed="left"))
        rows = pl.concat([kept, lacking]).sort("instance", maintain_order=True)
        instance = rows["instance"].to_numpy() - np.uint32(first)
        yield RecordRows(instance, rows["node"].to_numpy(), last - first)
