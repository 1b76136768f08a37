"""What was counted of a source of labels: pairs, supports, and the ledger of its rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from audit.base.dag import IntArray
from audit.base.disk import written_whole
from audit.base.progress import Progress
from audit.counting.judged_pairs import Pairs, TalliedPairs
from audit.data.mapping import LabelNodes, Ledger
from audit.engine.pairs.margins import MARGINS, Strata, strata_from, with_parts
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.record_counts import RecordCounts, Records
from audit.engine.pairs.specific import LEAST_LABELS
from audit.engine.pairs.strata import NO_STRATUM, length_cuts, strata_of
from audit.engine.pairs.sums import Sums
from audit.engine.pairs.tally import PairTally
from audit.engine.statistics.grouped import Grouped
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class PairRecords:
    """What is known of the records whose pairs are judged.

    Args:
        strata: Those of two most specific labels or more.
        entailed: From `audit.engine.pairs.entailed.count_entailed`, of all records.
        alone: Records with a single most specific label, by label, shape (n_nodes,).
        grouped: Those of ``strata`` with the groups that they are repeated in; None without groups.
    """

    strata: Strata
    entailed: Sums
    alone: IntArray
    grouped: Grouped | None = None


class Counts(Protocol):
    """What counts tell of some instances, wherever and however they were counted.

    `audit.counting.dataset.Instances` counts them in memory; `PairCount` was counted in batches, on
    Spark, or in an earlier run.
    """

    @property
    def hierarchy(self) -> Hierarchy:
        """With a node for every label that was kept."""

    @property
    def ledger(self) -> Ledger:
        """What became of every row."""

    @property
    def mappings(self) -> pl.DataFrame:
        """What was mapped, a row a label, as `LabelDataset.mappings` has it."""

    @property
    def refusals(self) -> pl.DataFrame:
        """What was refused, a row a label, as `LabelDataset.refusals` has it."""

    @property
    def support(self) -> IntArray:
        """Instances carrying each node, shape (n_nodes,)."""

    @property
    def direct_support(self) -> IntArray:
        """Instances with each node as a label, shape (n_nodes,)."""

    @property
    def records(self) -> Records:
        """Instances by what their own rows and labels are like."""

    def pair_records(self) -> PairRecords:
        """The instances as their pairs are judged."""

    def pairs_of(self, records: PairRecords, progress: Progress) -> Pairs:
        """Every pair with a joint instance; the records are those of `pair_records`."""


@dataclass(frozen=True, eq=False)
class PairCount:
    """What was counted of a source: all that an audit of counts knows.

    Args:
        labels: The labels of the source, mapped.
        tally: Instances, supports and pairs, by index of node.
        records: Counts of instances beside those of pairs.
        residual: Of each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,).
        holder: What its files go with.
    """

    labels: LabelNodes
    tally: PairTally
    records: RecordCounts
    residual: IntArray
    holder: object = None

    @property
    def hierarchy(self) -> Hierarchy:
        """With a node for every label that was kept."""
        return self.labels.hierarchy

    @property
    def support(self) -> IntArray:
        """Instances carrying each node, shape (n_nodes,)."""
        return self.tally.support

    @property
    def direct_support(self) -> IntArray:
        """Instances with each node as a label, shape (n_nodes,)."""
        return self.tally.direct_support

    def pair_records(self) -> PairRecords:
        """The instances as their pairs are judged, each of which stands alone."""
        alone = self.records.at("alone", len(self.hierarchy))
        return PairRecords(self.strata, self.tally.entailed, alone)

    def pairs_of(self, records: PairRecords, progress: Progress) -> TalliedPairs:
        """Every pair with a joint instance, some first nodes at a time."""
        return TalliedPairs(self.hierarchy, self.tally)

    @property
    def record_frame(self) -> pl.DataFrame:
        """The counts of instances beside those of pairs: ``kind, key, count``."""
        frames = (
            pl.DataFrame({"key": sums.keys, "count": sums.joint}).select(
                pl.lit(kind).alias("kind"), "key", "count"
            )
            for kind, sums in self.records
        )
        return pl.concat(frames)

    @property
    def digest(self) -> str:
        """Tells it from other counts, by all of it but its pairs."""
        digest = hashlib.sha256(self.tally.support.tobytes())
        for frame in (self.labels.counts, self.record_frame):
            digest.update(frame.write_csv().encode())
        return digest.hexdigest()

    def __len__(self) -> int:
        return self.tally.instances

    @cached_property
    def ledger(self) -> Ledger:
        """What became of every row."""
        return self.labels.ledger(self.tally.instances, int(self.tally.lengths[:1].sum()))

    @cached_property
    def refusals(self) -> pl.DataFrame:
        """What was refused, a row a label: as `LabelDataset.refusals`."""
        return self.labels.refusals(self._labelled)

    @cached_property
    def mappings(self) -> pl.DataFrame:
        """What was mapped, a row a label: as `LabelDataset.mappings`."""
        return self.labels.mappings(self._labelled)

    @cached_property
    def strata(self) -> Strata:
        """The instances of two most specific labels or more, by their number of these."""
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
        """Pairs with ids, supports and counts: ``a, b, support_a, support_b, joint,
        joint_entailed, confusion_sum``.
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
        """Write all pairs as Parquet, some nodes at a time; the same counts give the same bytes.

        Raises:
            OutputError: If the file cannot be written; none is left half-written.
        """
        schema = self.frame(PairCounts.none()).to_arrow().schema
        with written_whole(Path(path)) as begun, pq.ParquetWriter(begun, schema) as writer:
            for pairs in self.tally.blocks():
                writer.write_table(self.frame(pairs).to_arrow().cast(schema))
