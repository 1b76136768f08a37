"""The counts of a source of labels: pairs, supports, and the ledger of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from audit.base.dag import IntArray
from audit.base.disk import PassingFolder, on_disk, written_whole
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.counting.label_nodes import LabelNodes
from audit.counting.pair_table import PairTable
from audit.counting.storage import ROWS_PER_GROUP
from audit.data.placing import Ledger
from audit.engine.pairs.margins import (
    LEAST_LABELS,
    MARGINS,
    NO_STRATUM,
    Strata,
    length_cuts,
    strata_from,
    strata_of,
    with_parts,
)
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.record_counts import RecordCounts, Records
from audit.engine.pairs.sums import Sums
from audit.engine.pairs.tally import PairTally
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
        tally: Counts of instances, supports and pairs, by node index.
        records: Counts of whole instances by kind and key.
        residual: For each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,).
        holder: Object that keeps the temporary files of the counts alive.
    """

    labels: LabelNodes
    tally: PairTally
    records: RecordCounts
    residual: IntArray
    holder: object = None

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy, with a node for every label that was kept."""
        return self.labels.hierarchy

    @property
    def support(self) -> IntArray:
        """Number of instances carrying each node, shape (n_nodes,)."""
        return self.tally.support

    @property
    def direct_support(self) -> IntArray:
        """Number of instances with each node as a label, shape (n_nodes,)."""
        return self.tally.direct_support

    @property
    def node_sums(self) -> NodeSums:
        """Nodes, each instance being a group of its own."""
        support = self.support.astype(np.float64)
        return NodeSums(support, support)

    def pair_records(self) -> PairRecords:
        """The counts of records from which pairs are judged, without groups."""
        alone = self.records.at("alone", len(self.hierarchy))
        return PairRecords(self.strata, self.tally.entailed, alone)

    def pairs_of(self, records: PairRecords, progress: Progress) -> PairTable:
        """Every pair with a joint instance, on the disk."""
        progress("writing pairs")
        counted, holder = tallied_pairs(self.tally)
        return PairTable(
            counted, lambda: self.hierarchy, self.support, self.tally.instances, holder=holder
        )

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
        return self.tally.instances

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What columns, cells and labels were taken to mean."""
        return self.labels.readings

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of all rows: how many were read, mapped and refused."""
        return self.labels.ledger(self.tally.instances, int(self.tally.lengths[:1].sum()))

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

    @property
    def pairs(self) -> PairCounts:
        """Every pair with a joint instance."""
        return self.tally.counts()

    def frame(self, pairs: PairCounts) -> pl.DataFrame:
        """A table of pairs with ids, supports and counts.

        Columns ``a, b, support_a, support_b, joint, joint_entailed, confusion_sum``.
        """
        ids, support = pl.Enum(self.hierarchy.nodes), self.tally.support
        return pl.DataFrame(
            {
                "a": pl.Series(pairs.a.astype(np.uint32)).cat.to(ids),
                "b": pl.Series(pairs.b.astype(np.uint32)).cat.to(ids),
                "support_a": support[pairs.a],
                "support_b": support[pairs.b],
                "joint": pairs.joint,
                "joint_entailed": self.tally.joint_entailed(pairs),
                "confusion_sum": pairs.confusion_sum,
            }
        ).with_columns(pl.col("a", "b").cast(pl.String))

    def write(self, path: str | Path) -> None:
        """Write all pairs as Parquet, in blocks; equal counts give equal bytes."""
        schema = self.frame(PairCounts.none()).to_arrow().schema
        with written_whole(Path(path)) as begun, pq.ParquetWriter(begun, schema) as writer:
            for pairs in self.tally.blocks():
                writer.write_table(self.frame(pairs).to_arrow().cast(schema))


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


def tallied_pairs(tally: PairTally) -> tuple[pl.LazyFrame, PassingFolder]:
    """The counted columns of a tally's pairs, written to the disk, where memory holds one block."""
    folder = PassingFolder()
    file, none = folder.path / "pairs.parquet", PairCounts.none()
    schema = _tallied(tally, none).to_arrow().schema
    with on_disk(folder.path), pq.ParquetWriter(file, schema, compression="lz4") as writer:
        for pairs in tally.blocks():
            table = _tallied(tally, pairs).to_arrow().cast(schema)
            writer.write_table(table, row_group_size=ROWS_PER_GROUP)
    return pl.scan_parquet(file), folder


def _tallied(tally: PairTally, pairs: PairCounts) -> pl.DataFrame:
    entailed = pl.Series(tally.joint_entailed(pairs))
    return counted_pairs(pairs, tally.instances).with_columns(joint_entailed=entailed)
