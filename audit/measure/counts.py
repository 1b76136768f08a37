"""From a count to its tables: what `audit.measure.measure` measures, as far as counts can tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from audit.base.disk import PassingFolder, on_disk
from audit.base.progress import Progress, silent
from audit.counting.counts import PairCount
from audit.counting.pair_table import named, numbered, pair_table
from audit.counting.residual_nodes import residual_nodes
from audit.engine.pairs.pair_counts import PairCounts
from audit.measure.measure import Counted
from audit.measure.pair_excess import PairRecords, judge_pairs
from audit.measure.pair_verdicts import Verdicts
from audit.measure.residual_use import residual_use_of_counts
from audit.measure.validity import VALIDITY
from audit.policy.policy import Policy


def measure_counts(count: PairCount, policy: Policy, progress: Progress = silent) -> Counted:
    """Judge the pairs of a count and measure residual use, every instance being its own group.

    Memory grows with the pairs that are judged; the table of all pairs lies on the disk.

    Raises:
        OutputError: If the disk takes no more.
    """
    hierarchy, tally = count.hierarchy, count.tally
    residual = residual_nodes(hierarchy, policy)
    alone = count.records.at("alone", len(hierarchy))
    records = PairRecords(count.strata, tally.entailed, alone)
    verdicts, excess = judge_pairs(
        hierarchy, records, _judged_blocks(count), policy, progress=progress
    )
    progress("writing pairs")
    held = PassingFolder()
    return Counted(
        hierarchy=hierarchy,
        policy=policy,
        labelled_ancestors=policy.labelled_ancestors or hierarchy.labelled_ancestors,
        ledger=count.ledger,
        mappings=count.mappings,
        refusals=count.refusals,
        residual=residual,
        support=tally.support,
        direct_support=tally.direct_support,
        records=count.records,
        pairs=verdicts.judged(
            named(_on_disk(count, verdicts, held.path / "pairs.parquet"), hierarchy)
        ),
        excess=excess,
        residual_use=residual_use_of_counts(
            count.records,
            hierarchy,
            residual,
            tally.direct_support,
            policy.residual_instances.value,
        ),
        validity=pl.DataFrame(schema=VALIDITY),
        held=held,
    )


def _judged_blocks(count: PairCount) -> Iterator[tuple[int, pl.DataFrame]]:
    """What the judgement of pairs needs of each line of the pair table."""
    for line, pairs in _blocks(count):
        entailed = count.tally.joint_entailed(pairs)
        columns = {"a": pairs.a, "b": pairs.b, "joint": pairs.joint, "joint_entailed": entailed}
        yield line, pl.DataFrame(columns)


def _blocks(count: PairCount) -> Iterator[tuple[int, PairCounts]]:
    """Every pair, some at a time, with the line of the first of them."""
    line = 0
    for pairs in count.tally.blocks():
        yield line, pairs
        line += len(pairs)


def _table(count: PairCount, pairs: PairCounts) -> pl.DataFrame:
    return pair_table(count.hierarchy, pairs, count.tally.support).with_columns(
        joint_entailed=pl.Series(count.tally.joint_entailed(pairs))
    )


def _on_disk(count: PairCount, verdicts: Verdicts, file: Path) -> pl.LazyFrame:
    """The marked pair table with numbers for names, as it is read some lines at a time."""
    schema = _numbers(count, PairCounts.none(), verdicts, 0).to_arrow().schema
    with on_disk(file.parent), pq.ParquetWriter(file, schema, compression="lz4") as writer:
        for line, pairs in _blocks(count):
            writer.write_table(_numbers(count, pairs, verdicts, line).to_arrow().cast(schema))
    return pl.scan_parquet(file)


def _numbers(count: PairCount, pairs: PairCounts, verdicts: Verdicts, line: int) -> pl.DataFrame:
    return verdicts.marked(numbered(_table(count, pairs)), line)
