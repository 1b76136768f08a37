"""Counting of pairs on Apache Spark: the driver, and below it what each task runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from audit.base.dag import IntArray
from audit.base.limits import limits, stated_limits
from audit.base.progress import Progress, silent
from audit.base.table import gathered
from audit.counting.counts import PairCount
from audit.counting.label_nodes import KEYS, LabelNodes, label_counts, summed_counts
from audit.counting.passes import MEMORY, Counting, CountSettings, Plan, carried_about, planned
from audit.counting.storage import LAST, packed_sums, unpacked_sums
from audit.data.columns import Columns
from audit.data.rows import rows_in
from audit.data.spark import SparkRows
from audit.engine.pairs.record_counts import KINDS, RecordCounts
from audit.engine.pairs.sums import SortedTail, Sums, counts_by_place, summed
from audit.engine.pairs.tally import Batch, PairTally
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Frames: TypeAlias = Iterator[pl.DataFrame]
Task: TypeAlias = Callable[[Iterable[pl.DataFrame]], Frames]
"""What Spark has each task run."""

_SPARK = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.int64(): "long",
    pa.int32(): "int",
    pa.binary(): "binary",
    pa.list_(pa.int32()): "array<int>",
    pa.list_(pa.string()): "array<string>",
}


def count_pairs(
    read: SparkRows,
    hierarchy: Hierarchy,
    *,
    policy: Policy | None = None,
    progress: Progress = silent,
) -> PairCount:
    """Count the pairs of rows in Spark, as `audit.counting.file.count_pairs` does for a file.

    Rows are grouped by instance. Each task counts its instances and returns packed tallies by range
    of pairs, and further tasks add up the tallies of each range. Spark repeats lost tasks.

    Args:
        read: The rows, in any order, and where ids and labels stand.
        hierarchy: The hierarchy.
        policy: As in `audit.counting.file.count_pairs`.

    Returns:
        The same counts as on one machine, exactly; confusion equal to rounding.
    """
    progress("reading labels")
    rows, columns = read.rows, read.columns
    task = partial(counted_labels, columns)
    found = _mapped(rows, task, LABELS).groupBy(*KEYS).sum("rows").coalesce(_cores(rows))
    labels = summed_counts([_collected(found, LABELS)])
    settings = CountSettings(hierarchy, policy, MEMORY, columns)
    plan = planned(settings, labels, Path(), read.table)
    readings = (*columns.readings, *plan.labels.readings)
    plan = replace(plan, where=str(read.table), labels=replace(plan.labels, readings=readings))
    progress("counting pairs")
    return counted(_collected(_tallies(rows, columns, plan), TALLIES), plan)


def _tallies(rows: DataFrame, columns: Columns, plan: Plan) -> DataFrame:
    """What all tasks counted, each of some instances, added up by kind and part."""
    known = _mapped(rows, partial(numbered, columns, plan.labels), NUMBERED)
    together = known.repartition(_cores(rows), "instance").sortWithinPartitions("instance")
    task = partial(tallied, plan, bounds_of(plan.labels))
    by = ("kind", "part")
    tallies = _mapped(together, task, TALLIES).repartition(_cores(rows), *by)
    return _mapped(tallies.sortWithinPartitions(*by), added, TALLIES)


def _cores(df: DataFrame) -> int:
    """A task a core; Spark's own number of partitions is for more rows than are left here."""
    return int(df.sparkSession.sparkContext.defaultParallelism)


def _mapped(df: DataFrame, task: Task, schema: pa.Schema) -> DataFrame:
    """The rows that a task makes of those of each partition, within the limits stated here.

    Spark looks columns up by names, in which it reads dots otherwise; so they have numbers there.
    """
    stated, names = stated_limits(), df.columns

    def run(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with limits(**stated):
            for frame in task(pl.DataFrame(pl.from_arrow(part), schema=names) for part in parts):
                yield from frame.to_arrow().select(schema.names).cast(schema).to_batches()

    plain = df.toDF(*(f"column_{n}" for n in range(len(names))))
    return plain.mapInArrow(
        run, ", ".join(f"{field.name} {_SPARK[field.type]}" for field in schema)
    )


def _collected(df: DataFrame, schema: pa.Schema) -> pl.DataFrame:
    """Summed rows on the driver, under the names that they had before."""
    return pl.DataFrame(pl.from_arrow(df.toArrow().rename_columns(schema.names).cast(schema)))


DIRECT, SUPPORT, ENTAILED, PAIRS = "direct", "support", "entailed", "pair"
"""Kinds of sums in addition to those of whole instances."""
ROWS_AT_ONCE = 250_000
"""Number of rows that a task maps, or groups into instances, at a time."""
PARTS = 64
"""Number of parts of the sums of pairs; the sums of all tasks are added up part by part."""

_TEXT, _INT, _LONG = pa.string(), pa.int32(), pa.int64()
_LABELS = dict.fromkeys(("label", "table", "refused"), _TEXT)
LABELS = pa.schema({**_LABELS, "homeless": pa.bool_(), "rows": _LONG})
"""Number of assertions as `audit.counting.label_nodes.LABELS`."""
NUMBERED = pa.schema({"instance": _TEXT, "labels": pa.list_(_INT)})
"""Label numbers of all or some rows of an instance; -1: the row has no label to count."""
TALLIES = pa.schema({"kind": _TEXT, "part": _INT, "sums": pa.binary()})
"""Packed sums of a kind, for a part of the keys."""


def bounds_of(labels: LabelNodes) -> IntArray:
    """First key of each part of the pairs, and the key after the last, shape (n_parts + 1,).

    Parts have about the same number of pairs, as estimated from the rows of each label.
    """
    n_nodes, carried = len(labels.hierarchy), carried_about(labels)
    used = np.flatnonzero(carried)
    most = np.cumsum(np.minimum(carried[used], np.arange(len(used))[::-1]))
    ends = np.searchsorted(most, np.arange(1, PARTS) / PARTS * most[-1:].sum())
    return np.unique([0, *used[ends[ends < len(used)]], n_nodes]) * n_nodes


def counted_labels(columns: Columns, frames: Iterable[pl.DataFrame]) -> Frames:
    """Number of assertions of each label, as `LABELS`."""
    rows = (rows_in(frame, columns) for frame in gathered(iter(frames), ROWS_AT_ONCE))
    yield summed_counts(map(label_counts, rows))


def numbered(columns: Columns, labels: LabelNodes, frames: Iterable[pl.DataFrame]) -> Frames:
    """Convert rows to `NUMBERED`; rows of an instance that are near each other are combined."""
    number = pl.col("label").fill_null(-1).cast(pl.Int32)
    for rows in gathered(iter(frames), ROWS_AT_ONCE):
        known = labels.numbered(rows_in(rows, columns)).drop_nulls("instance")
        yield known.group_by("instance", maintain_order=True).agg(number.alias("labels"))


def tallied(plan: Plan, bounds: IntArray, frames: Iterable[pl.DataFrame]) -> Frames:
    """Count `NUMBERED` rows, which must be sorted by instance, on one core; returns `TALLIES`."""
    os.environ["AUDIT_JOBS"] = "1"
    with TemporaryDirectory() as folder, ThreadPoolExecutor(1) as threads:
        counting = Counting(replace(plan, folder=Path(folder)), threads)
        for rows in gathered(map(_one_a_label, frames), ROWS_AT_ONCE):
            counting.add(rows)
        counting.end()
        tally = counting.tally
        margins = {DIRECT: tally.direct_support, SUPPORT: tally.support}
        whole = dict(counting.records) | {ENTAILED: tally.entailed}
        whole |= {kind: counts_by_place(counts) for kind, counts in margins.items()}
        yield _frame([(kind, 0, packed_sums(sums)) for kind, sums in whole.items()])
        for sums in tally.sums():
            yield _frame(_parts(sums, bounds))


def added(frames: Iterable[pl.DataFrame]) -> Frames:
    """Add up `TALLIES` of the same kind and part; the rows must be sorted by both."""
    for place, same in groupby(_rows(frames), itemgetter("kind", "part")):
        tail = SortedTail()
        for row in same:
            tail.add(unpacked_sums(row["sums"]))
        yield _frame([(*place, packed_sums(tail.between(0, LAST)))])


def counted(tallies: pl.DataFrame, plan: Plan) -> PairCount:
    """The counts of all tasks together."""
    whole, n_nodes = _Whole(tallies), len(plan.labels.hierarchy)
    records = RecordCounts({kind: whole.sums(kind) for kind in KINDS})
    pairs = SortedTail([whole.sums(PAIRS)])
    tally = PairTally(plan.labels.hierarchy.closure, square=0, tail=pairs)
    batch = Batch(
        lengths=records.at("length", 0),
        direct=whole.margin(DIRECT, n_nodes),
        support=whole.margin(SUPPORT, n_nodes),
        entailed=whole.sums(ENTAILED),
    )
    tally.add_counted(batch)
    return PairCount(plan.labels, tally, records, plan.residual)


class _Whole:
    """Packed sums of all tasks."""

    def __init__(self, tallies: pl.DataFrame) -> None:
        self.tallies = tallies.sort("kind", "part")

    def parts(self, kind: str) -> Iterator[Sums]:
        """The sums of a kind, a part at a time."""
        return map(unpacked_sums, self.tallies.filter(kind=kind)["sums"])

    def sums(self, kind: str) -> Sums:
        return summed([*self.parts(kind)])

    def margin(self, kind: str, size: int) -> IntArray:
        """The counts of a kind by key, shape (size,)."""
        sums, full = self.sums(kind), np.zeros(size, np.int64)
        full[sums.keys] = sums.joint
        return full


def _one_a_label(numbered: pl.DataFrame) -> pl.DataFrame:
    """`NUMBERED` rows as those of `audit.counting.passes.ROWS`."""
    rows = numbered.explode("labels").with_columns(row=pl.lit(0, pl.Int64))
    return rows.select("instance", pl.col("labels").cast(pl.Int64).alias("label"), "row")


def _rows(frames: Iterable[pl.DataFrame]) -> Iterator[dict[str, Any]]:
    return (row for frame in frames for row in frame.iter_rows(named=True))


def _frame(rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    empty = pl.DataFrame(pl.from_arrow(TALLIES.empty_table()))
    return pl.DataFrame(rows, schema=empty.schema, orient="row")


def _parts(sums: Sums, bounds: IntArray) -> list[tuple[str, int, bytes]]:
    """Sums of pairs by part; a part that two blocks share stands twice."""
    ends = np.searchsorted(sums.keys, bounds)
    parts = [(part, slice(*some)) for part, some in enumerate(pairwise(ends))]
    return [
        (PAIRS, part, packed_sums(sums[some])) for part, some in parts if some.start < some.stop
    ]
