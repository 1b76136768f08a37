"""The same counts of pairs on Apache Spark; needs the extra ``spark``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from audit import spark_tasks as tasks
from audit.added_counts import with_added
from audit.dag import IntArray
from audit.disk import PassingFolder
from audit.engine.pairs import PairCounts
from audit.engine.record_counts import KINDS, RecordCounts
from audit.engine.strata import length_cuts
from audit.engine.sums import NOTHING, Sums, summed
from audit.engine.tally import Batch, PairTally
from audit.hierarchies import load_hierarchy
from audit.hierarchy import Hierarchy
from audit.label_nodes import summed_counts
from audit.pair_count import PairCount
from audit.plan import MEMORY, Asked, Plan, planned
from audit.policy import Policy
from audit.progress import Progress, silent
from audit.spark_tasks import ALL, DIRECT, Frames
from audit.strata_counts import StratumCounts
from audit.sums_file import unpacked_sums, write_sums

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Task: TypeAlias = Callable[[Iterable[pl.DataFrame]], Frames]

_SPARK = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.int64(): "long",
    pa.int32(): "int",
    pa.binary(): "binary",
    pa.list_(pa.int32()): "array<int>",
}


def count_pairs(
    df: DataFrame,
    hierarchy: Hierarchy | str | Path,
    *,
    instance: str,
    label: str,
    policy: Policy | None = None,
    added_to: PairCount | None = None,
    progress: Progress = silent,
) -> PairCount:
    """Count the pairs of a Spark DataFrame as `audit.stream.count_pairs` counts those of a file.

    Rows are brought together by instance, and instances by their number of labels, so that a task
    counts the pairs of few strata. Tallies come packed by range of pairs, and tasks add up those of
    a range. A task that is lost is made again by Spark.

    Args:
        df: A row an assertion, or a row an instance with an array of labels; in any order.
        hierarchy: A hierarchy, the name of a built-in one, or a hierarchy file.
        instance: Column of the instance's id.
        label: Column of the label or of the array.
        policy: As `audit.stream.count_pairs` takes it.
        added_to: As `audit.stream.count_pairs` takes it.
        progress: What is told which step runs.

    Returns:
        Counts exactly equal to those of one machine, confusion equal to rounding.

    Raises:
        InputError: If the count that it is added to took nodes otherwise.
    """
    known = hierarchy if isinstance(hierarchy, Hierarchy) else load_hierarchy(hierarchy)
    rows, holder = df.select(instance, label), PassingFolder()
    progress("reading labels")
    read = _mapped(rows, tasks.counted_labels, tasks.LABELS).groupBy("label", "homeless")
    labels = summed_counts([_collected(read.sum("rows").coalesce(_cores(rows)), tasks.LABELS)])
    plan = planned(Asked(known, policy, MEMORY, added_to), labels, holder.path, tasks.WHERE)
    progress("reading instances")
    with _kept(_recorded(rows, plan)) as recorded:
        records = _record_counts(recorded)
        if plan.cuts is None:
            plan = replace(plan, cuts=length_cuts(records.at("length", 0)))
        progress("counting pairs")
        with _kept(_tallies(recorded, plan)) as tallies:
            count = _counted(tallies, records, plan, holder)
    return count if added_to is None else with_added(count, added_to, holder.path)


def _recorded(rows: DataFrame, plan: Plan) -> DataFrame:
    """Instances counted one by one, and their direct labels."""
    numbered = _mapped(rows, partial(tasks.numbered, plan.labels), tasks.NUMBERED)
    together = numbered.repartition(_cores(rows), "instance").sortWithinPartitions("instance")
    return _mapped(together, partial(tasks.recorded, plan), tasks.RECORDED)


def _record_counts(recorded: DataFrame) -> RecordCounts:
    counts = recorded.filter(recorded.kind != DIRECT)
    table = counts.selectExpr(f"{ALL} stratum", "kind", "0 part", "packed sums")
    added = _Collected(_added(table))
    return RecordCounts({kind: added.sums(kind) for kind in KINDS})


def _tallies(recorded: DataFrame, plan: Plan) -> DataFrame:
    """The pairs, added up; those of few lengths a task, since it gives all pairs that it met."""
    direct, by = recorded.filter(recorded.kind == DIRECT), ("length", "spread")
    shared = direct.repartitionByRange(_cores(direct), *by).sortWithinPartitions(*by)
    task = partial(tasks.tallied, plan, tasks.layout_of(plan.labels))
    return _added(_mapped(shared, task, tasks.TALLIES))


def _added(tallies: DataFrame) -> DataFrame:
    """The tallies of all tasks, those of the same stratum, kind and part added up."""
    by = ("stratum", "kind", "part")
    together = tallies.repartition(_cores(tallies), *by).sortWithinPartitions(*by)
    return _mapped(together, tasks.added, tasks.TALLIES)


def _cores(df: DataFrame) -> int:
    """A task a core; Spark's own number of partitions is for more rows than are left here."""
    return int(df.sparkSession.sparkContext.defaultParallelism)


def _counted(
    tallies: DataFrame, records: RecordCounts, plan: Plan, holder: PassingFolder
) -> PairCount:
    """The count on the driver, a stratum at a time."""
    n_nodes, margins, files = len(plan.labels.hierarchy), [], []
    for stratum in range(len(np.asarray(plan.cuts))):
        part = _Collected(tallies.filter(tallies.stratum == stratum))
        files.append(holder.path / f"stratum-{stratum:03d}.parquet")
        write_sums(part.parts("pair"), files[-1], confusion=False)
        margins.append(
            (part.margin("size", 1)[0], *(part.margin(of, n_nodes) for of in ("support", "direct")))
        )
    size, support, direct = (np.array(column) for column in zip(*margins, strict=True))
    whole = _Collected(tallies.filter(tallies.stratum == ALL))
    tally = PairTally(plan.labels.hierarchy.closure)
    tally.add_counted(
        Batch(
            lengths=records.at("length", 0),
            direct=whole.margin("direct", n_nodes),
            support=whole.margin("support", n_nodes),
            entailed=whole.sums("entailed"),
        ),
        (_pairs(sums, n_nodes) for sums in whole.parts("pair")),
    )
    return PairCount(
        labels=plan.labels,
        tally=tally,
        records=records,
        strata=StratumCounts(np.asarray(plan.cuts), size, support, direct, tuple(files), holder),
        residual=plan.residual,
    )


class _Collected:
    """Packed sums of a stratum on the driver."""

    def __init__(self, rows: DataFrame) -> None:
        self.rows = _collected(rows, tasks.TALLIES).sort("kind", "part")

    def parts(self, kind: str) -> Iterator[Sums]:
        """The sums of a kind, a part at a time."""
        return map(unpacked_sums, self.rows.filter(kind=kind)["sums"])

    def sums(self, kind: str) -> Sums:
        return summed([NOTHING, *self.parts(kind)])

    def margin(self, kind: str, size: int) -> IntArray:
        """The counts of a kind by key, shape (size,)."""
        sums, full = self.sums(kind), np.zeros(size, np.int64)
        full[sums.keys] = sums.joint
        return full


def _pairs(sums: Sums, n_nodes: int) -> PairCounts:
    return PairCounts(*np.divmod(sums.keys, n_nodes), sums.joint, sums.confusion)


@contextmanager
def _kept(df: DataFrame) -> Iterator[DataFrame]:
    """Rows that several jobs read and one makes."""
    kept = df.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


def _mapped(df: DataFrame, task: Task, schema: pa.Schema) -> DataFrame:
    """The rows that a task makes of those of each partition."""

    def run(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for frame in task(pl.DataFrame(pl.from_arrow(part)) for part in parts):
            yield from frame.to_arrow().select(schema.names).cast(schema).to_batches()

    return df.mapInArrow(run, ", ".join(f"{field.name} {_SPARK[field.type]}" for field in schema))


def _collected(df: DataFrame, schema: pa.Schema) -> pl.DataFrame:
    """Summed rows on the driver, under the names that they had before."""
    return pl.DataFrame(pl.from_arrow(df.toArrow().rename_columns(schema.names).cast(schema)))
