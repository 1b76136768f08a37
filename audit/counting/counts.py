"""The counts of a source of labels: pairs, supports, and the ledger of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.counting.label_nodes import LabelNodes
from audit.counting.pair_table import PairTable
from audit.counting.residual_nodes import Residual, residual_kinds
from audit.data.placing import Ledger
from audit.engine.pairs.entailed import in_line, joint_entailed
from audit.engine.pairs.margins import (
    LEAST_LABELS,
    MARGINS,
    NO_STRATUM,
    Strata,
    counted_branches,
    length_cuts,
    strata_from,
    strata_of,
    with_parts,
)
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.record_counts import Mapped, RecordCounts, Records
from audit.engine.pairs.sums import UNIT, Sums
from audit.engine.statistics.grouped import Grouped, NodeSums
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class PairRecords:
    """The counts of records from which pairs are judged.

    Args:
        strata: Margins of the records with at least two most specific labels, each counted once.
        entailed: From `audit.engine.pairs.entailed.count_entailed`, of all records.
        alone: Number of records with a single most specific label, by label, shape (n_nodes,).
        grouped: The records of ``strata`` with their groups; None if there are no groups.
    """

    strata: Strata
    entailed: Sums
    alone: IntArray
    grouped: Grouped | None = None

    @property
    def weighed(self) -> Strata:
        """The same margins by weight, which is one for each record where there are no groups."""
        return self.strata if self.grouped is None else self.grouped.strata


class Counts(Protocol):
    """The interface of counts, which does not depend on where and how instances were counted.

    `audit.counting.dataset.Instances` counts in memory; a `PairCount` was counted in batches, or on
    Spark.
    """

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy, with a node for every label that was kept."""

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What columns, cells and labels were taken to mean."""

    @property
    def ledger(self) -> Ledger:
        """The ledger of all rows: how many were read, mapped and refused."""

    @property
    def mappings(self) -> pl.DataFrame:
        """The mapped labels, one row per label, as in `LabelDataset.mappings`."""

    @property
    def refusals(self) -> pl.DataFrame:
        """The refused labels, one row per label, as in `LabelDataset.refusals`."""

    @property
    def support(self) -> IntArray:
        """Number of instances carrying each node, shape (n_nodes,)."""

    @property
    def direct_support(self) -> IntArray:
        """Number of instances with each node as a label, shape (n_nodes,)."""

    @property
    def node_sums(self) -> NodeSums:
        """Nodes by group."""

    @property
    def records(self) -> Records:
        """Counts of whole instances by kind and key."""

    def pair_records(self) -> PairRecords:
        """The counts of records from which pairs are judged."""

    def pairs_of(self, records: PairRecords, progress: Progress) -> PairTable:
        """Every pair with a joint instance; ``records`` are from `pair_records`."""


@dataclass(frozen=True, eq=False)
class PairCount:
    """The counts of a source, which are all the input of an audit without instances.

    Args:
        records: Counts of whole instances by kind and key.
        pairs: Every pair with a joint instance.
    """

    labels: LabelNodes
    records: RecordCounts
    pairs: PairCounts

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy, with a node for every label that was kept."""
        return self.labels.hierarchy

    @cached_property
    def support(self) -> IntArray:
        """Number of instances carrying each node, shape (n_nodes,)."""
        return self.records.at("support", len(self.hierarchy))

    @cached_property
    def direct_support(self) -> IntArray:
        """Number of instances with each node as a label, shape (n_nodes,)."""
        return self.records.at("direct", len(self.hierarchy))

    @property
    def node_sums(self) -> NodeSums:
        """Nodes, each instance being a group of its own."""
        support = self.support.astype(np.float64)
        return NodeSums(support, support)

    def pair_records(self) -> PairRecords:
        """The counts of records from which pairs are judged, without groups."""
        alone = self.records.at("alone", len(self.hierarchy))
        return PairRecords(self.strata, self.records.of("entailed"), alone)

    def pairs_of(self, records: PairRecords, progress: Progress) -> PairTable:
        """Every pair with a joint instance."""
        return pair_table(self, self.pairs, records)

    @property
    def record_frame(self) -> pl.DataFrame:
        """The counts of whole instances as a table: ``kind, key, count``."""
        frames = (
            pl.DataFrame({"key": sums.keys, "count": sums.joint}).select(
                pl.lit(kind).alias("kind"), "key", "count"
            )
            for kind, sums in self.records
        )
        return pl.concat(frames)

    def __len__(self) -> int:
        return self.records.total("length")

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What columns, cells and labels were taken to mean."""
        return self.labels.readings

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of all rows: how many were read, mapped and refused."""
        return self.labels.ledger(len(self), int(self.records.at("length", 1)[0]))

    @cached_property
    def refusals(self) -> pl.DataFrame:
        """The refused labels, one row per label, as in `LabelDataset.refusals`."""
        return self.labels.refusals(self._labelled)

    @cached_property
    def mappings(self) -> pl.DataFrame:
        """The mapped labels, one row per label, as in `LabelDataset.mappings`."""
        return self.labels.mappings(self._labelled)

    @cached_property
    def strata(self) -> Strata:
        """Margins of the instances with at least two most specific labels, in strata of length."""
        size = self.records.at("size", LEAST_LABELS)
        cuts, n_nodes = length_cuts(size), len(self.hierarchy)
        lengths = np.repeat(np.arange(len(size)), np.minimum(size, 1))
        stratum = np.full(len(size), NO_STRATUM, np.int64)
        stratum[lengths] = strata_of(lengths, cuts)
        used = np.flatnonzero(stratum >= 0)
        margins = {
            kind: with_parts(self.records.of(kind), stratum, n_nodes ** (1 + (kind == "between")))
            for kind in MARGINS
        }
        sizes = np.bincount(stratum[used], size[used]).astype(np.int64)
        return strata_from(cuts, sizes, margins, n_nodes)

    @property
    def _labelled(self) -> IntArray:
        return self.records.at("label", len(self.labels.node_of))


def mapped_of(
    hierarchy: Hierarchy, residual: Mapping[int, Residual], node_of: IntArray, reason_of: IntArray
) -> Mapped:
    """The properties of labels and nodes that counting instances needs."""
    return Mapped(
        node_of=node_of,
        reason_of=reason_of,
        residual=residual_kinds(residual, len(hierarchy)),
        closure=hierarchy.closure,
        branch_of=counted_branches(hierarchy.first_branch, hierarchy.leaf),
        uninformative=hierarchy.uninformative,
    )


def pair_table(
    counts: Counts,
    pairs: PairCounts,
    records: PairRecords,
    sums: Mapping[str, IntArray] | None = None,
) -> PairTable:
    """The table of all pairs with a joint instance, and sums of them in units of 1 / `UNIT`."""
    hierarchy, instances = counts.hierarchy, counts.ledger.instances
    lines, n_nodes = in_line(hierarchy.closure), len(hierarchy)
    table = counted_pairs(pairs, instances).with_columns(
        pl.Series("joint_entailed", joint_entailed(pairs, records.entailed, lines, n_nodes)),
        *(pl.Series(name, values / UNIT) for name, values in (sums or {}).items()),
    )
    return PairTable(table.lazy(), lambda: hierarchy, counts.support, instances)


def counted_pairs(counts: PairCounts, instances: int) -> pl.DataFrame:
    """`ENDS`, ``joint`` and ``confusion`` of each pair, its mean over all instances."""
    return pl.DataFrame(
        {
            "a": counts.a.astype(np.uint32),
            "b": counts.b.astype(np.uint32),
            "joint": counts.joint,
            "confusion": counts.confusion_sum / max(instances, 1),
        }
    )
