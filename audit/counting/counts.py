"""The counts of a source of labels: pairs, supports, and the ledger of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import polars as pl

from audit.base.arrays import stored
from audit.base.dag import FloatArray, IntArray
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.counting.label_nodes import CountedLabels, LabelNodes
from audit.counting.pair_table import PairTable
from audit.counting.pair_verdicts import keys_of
from audit.counting.residual_nodes import Residual, residual_kinds
from audit.data.dataset import LabelDataset
from audit.data.mapping import Ledger
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
from audit.engine.statistics.grouped import Grouped
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
    """Counts of instances, wherever and however they were counted.

    `audit.counting.dataset.Instances` counts in memory; a `PairCount` was counted in batches, or on
    Spark.
    """

    @property
    def source(self) -> LabelDataset | CountedLabels:
        """The hierarchy, readings and ledger of the rows, and the mapped and refused labels."""

    @property
    def records(self) -> Records:
        """Counts of whole instances by kind and key."""

    @property
    def node_sums(self) -> FloatArray:
        """Sums over groups of the share of a group's labelled instances that carry each node, and
        of the squares of these shares, shape (2, n_nodes)."""

    def pair_records(self) -> PairRecords:
        """The counts of records from which pairs are judged."""

    def pairs_of(self, records: PairRecords, progress: Progress) -> PairTable:
        """Every pair with a joint instance; ``records`` are from `pair_records`."""

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy, with a node for every label that was kept."""
        return self.source.hierarchy

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What columns, cells and labels were taken to mean."""
        return self.source.readings

    @property
    def ledger(self) -> Ledger:
        """The ledger of all rows: how many were read, mapped and refused."""
        return self.source.ledger

    @property
    def mappings(self) -> pl.DataFrame:
        """The mapped labels, one row per label, as in `LabelDataset.mappings`."""
        return self.source.mappings

    @property
    def refusals(self) -> pl.DataFrame:
        """The refused labels, one row per label, as in `LabelDataset.refusals`."""
        return self.source.refusals

    @cached_property
    def support(self) -> IntArray:
        """Number of instances carrying each node, shape (n_nodes,)."""
        return self.records.at("support", len(self.hierarchy))

    @cached_property
    def direct_support(self) -> IntArray:
        """Number of instances with each node as a label, shape (n_nodes,)."""
        return self.records.at("direct", len(self.hierarchy))


@dataclass(frozen=True, eq=False)
class PairCount(Counts):
    """The counts of a source, which are all the input of an audit without instances.

    Args:
        counted: Counts of whole instances by kind and key.
        pairs: Every pair with a joint instance, from `counted_pairs`.
    """

    labels: LabelNodes
    counted: RecordCounts
    pairs: pl.DataFrame

    @property
    def records(self) -> RecordCounts:
        """Counts of whole instances by kind and key."""
        return self.counted

    @cached_property
    def source(self) -> CountedLabels:
        """The hierarchy, readings and ledger of the rows, and the mapped and refused labels."""
        return self.labels.counted(self.records)

    @property
    def node_sums(self) -> FloatArray:
        """The number of instances that carry each node, in both rows for want of groups, (2, n)."""
        return np.stack([self.support] * 2).astype(np.float64)

    def pair_records(self) -> PairRecords:
        """The counts of records from which pairs are judged, without groups."""
        return by_length(self.records, len(self.hierarchy))

    def pairs_of(self, records: PairRecords, progress: Progress) -> PairTable:
        """Every pair with a joint instance."""
        return pair_table(self, self.pairs, records.entailed)

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
        return self.ledger.instances


def by_length(records: Records, n_nodes: int) -> PairRecords:
    """The counts from which pairs are judged, the strata being lengths alone, without groups."""
    size = records.at("size", LEAST_LABELS)
    cuts, lengths = length_cuts(size), np.flatnonzero(size)
    stratum = np.full(len(size), NO_STRATUM, np.int64)
    stratum[lengths] = strata_of(lengths, cuts)
    margins = {
        kind: with_parts(records.of(kind), stratum, n_nodes ** (1 + (kind == "between")))
        for kind in MARGINS
    }
    sizes = np.bincount(stratum[lengths], size[lengths]).astype(np.int64)
    return PairRecords(
        strata=strata_from(cuts, sizes, margins, n_nodes),
        entailed=records.of("entailed"),
        alone=records.at("alone", n_nodes),
    )


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
    pairs: pl.DataFrame,
    entailed: Sums,
    sums: Mapping[str, IntArray] | None = None,
) -> PairTable:
    """The table of all pairs with a joint instance, and sums of them in units of 1 / `UNIT`.

    Args:
        pairs: From `counted_pairs`.
        entailed: From `audit.engine.pairs.entailed.count_entailed`.
    """
    hierarchy = counts.hierarchy
    keys, lines = keys_of(pairs, len(hierarchy)), in_line(hierarchy.closure)
    alone = joint_entailed(keys, pairs["joint"].to_numpy(), entailed, lines)
    del keys
    table = pairs.with_columns(
        pl.Series("joint_entailed", stored(alone)),
        *(pl.Series(name, stored(values / UNIT)) for name, values in (sums or {}).items()),
    )
    return PairTable(table.lazy(), lambda: hierarchy, counts.support, counts.ledger.instances)


def counted_pairs(counts: PairCounts, instances: int) -> pl.DataFrame:
    """`ENDS`, ``joint`` and ``confusion`` of each pair, its mean over all instances."""
    return pl.DataFrame(
        {
            "a": stored(counts.a.astype(np.uint32)),
            "b": stored(counts.b.astype(np.uint32)),
            "joint": stored(counts.joint),
            "confusion": stored(counts.confusion_sum / max(instances, 1)),
        }
    )
