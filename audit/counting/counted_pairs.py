"""Rows of counted pairs, of which all else of the table of pairs is computed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from audit.base.disk import PassingFolder, on_disk
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.tally import PairTally


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
    """The counted columns of a tally's pairs, written to the disk, where memory holds one block.

    Returns:
        The rows, and what keeps their file alive.

    Raises:
        OutputError: If the disk is full.
    """
    folder = PassingFolder()
    file, none = folder.path / "pairs.parquet", PairCounts.none()
    schema = _tallied(tally, none).to_arrow().schema
    with on_disk(folder.path), pq.ParquetWriter(file, schema, compression="lz4") as writer:
        for pairs in tally.blocks():
            writer.write_table(_tallied(tally, pairs).to_arrow().cast(schema))
    return pl.scan_parquet(file), folder


def _tallied(tally: PairTally, pairs: PairCounts) -> pl.DataFrame:
    entailed = pl.Series(tally.joint_entailed(pairs))
    return counted_pairs(pairs, tally.instances).with_columns(joint_entailed=entailed)
