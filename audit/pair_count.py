"""What was counted of a source of labels: pairs, supports, and the ledger of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from audit.dataset import Ledger
from audit.engine.pairs import PairCounts
from audit.engine.tally import PairTally
from audit.hierarchy import Hierarchy
from audit.label_nodes import LabelNodes
from audit.spill import written_whole


@dataclass(frozen=True, eq=False)
class PairCount:
    """What was counted of a source.

    Args:
        hierarchy: With a node for every label that was kept.
        tally: Instances, supports and pairs, by index of node.
        ledger: What became of every row.
        refusals: ``reason, label, rows``: what was refused, a row a label.
    """

    hierarchy: Hierarchy
    tally: PairTally
    ledger: Ledger
    refusals: pl.DataFrame

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


def counted(labels: LabelNodes, tally: PairTally) -> PairCount:
    """The count of a source, from its labels and the tally of its instances."""
    empty = int(tally.lengths[:1].sum())
    return PairCount(
        labels.hierarchy, tally, labels.ledger(tally.instances, empty), labels.refusals
    )
