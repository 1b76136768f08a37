"""The same counts of pairs on Apache Spark; needs the extra ``spark``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from audit.added_counts import with_added
from audit.counting import Recording, Tallying
from audit.dag import FloatArray, IntArray
from audit.disk import PassingFolder
from audit.engine.pairs import PairCounts
from audit.engine.record_counts import KINDS, RecordCounts
from audit.engine.strata import length_cuts
from audit.engine.sums import Sums
from audit.engine.tally import Batch, PairTally
from audit.hierarchies import load_hierarchy
from audit.hierarchy import Hierarchy
from audit.label_nodes import LabelNodes, label_counts, summed_counts
from audit.loaders.batches import labels_of
from audit.pair_count import PairCount
from audit.plan import MEMORY, Asked, Plan, planned
from audit.policy import Policy
from audit.progress import Progress, silent
from audit.strata_counts import StratumCounts
from audit.sums_file import write_sums

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Frames: TypeAlias = Iterator[pl.DataFrame]
Task: TypeAlias = Callable[[Iterable[pl.DataFrame]], Frames]

ROWS_AT_ONCE = 250_000
"""Rows that a task counts at a time."""
PARTS = 32
"""Parts in which the sums of tallies come to the driver, so that each is small."""
WHERE = Path("rows")
"""What messages call the rows of a frame."""
WHOLE = ("direct", "support", "pair", "entailed", *KINDS)
"""What rows of a tally's table count over all strata, by number."""
BY_STRATUM = ("size", "support", "direct", "pair")
"""What they count within a stratum, by number."""
ALL = -1
"""The stratum of what is counted over all."""

_TEXT, _LONG, _INT = pa.string(), pa.int64(), pa.int32()
_LABELS = pa.schema({"label": _TEXT, "homeless": pa.bool_(), "rows": _LONG})
_NUMBERED = pa.schema({"instance": _TEXT, "label": _LONG})
_NODES = pa.schema({"instance": _TEXT, "node": _LONG})
_TALLY = pa.schema(
    {"stratum": _INT, "kind": _INT, "key": _LONG, "count": _LONG, "bits": pa.float64()}
)
_SPARK = {_TEXT: "string", pa.bool_(): "boolean", _LONG: "long", _INT: "int"}
_SPARK[pa.float64()] = "double"


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

    Rows are brought together by instance, each task makes a tally of its instances, and Spark adds
    the tallies up, within each task and then over all. A task that is lost is made again by Spark.

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
    read = _mapped(rows, _label_counts, _LABELS).groupBy("label", "homeless").sum("rows")
    labels = summed_counts([_collected(read.coalesce(_tasks(rows)), _LABELS)])
    plan = planned(Asked(known, policy, MEMORY, added_to), labels, holder.path, WHERE)
    if plan.cuts is None:
        progress("counting labels of instances")
        plan = replace(plan, cuts=_cuts(rows, plan.labels))
    progress("counting pairs")
    count = _counted(_tallies(rows, plan), plan, holder)
    return count if added_to is None else with_added(count, added_to, holder.path)


def _cuts(rows: DataFrame, labels: LabelNodes) -> IntArray:
    """First length of each stratum, from the number of different nodes of each instance."""
    nodes = _mapped(rows, partial(_with_nodes, labels), _NODES).distinct()
    lengths = nodes.groupBy("instance").count().withColumnRenamed("count", "length")
    counted = lengths.groupBy("length").count().coalesce(_tasks(rows))
    by_length = pl.DataFrame(pl.from_arrow(counted.toArrow()))
    histogram = np.zeros(int(by_length["length"].max() or 0) + 1, np.int64)  # type: ignore[arg-type]
    histogram[by_length["length"].to_numpy()] = by_length["count"].to_numpy()
    return length_cuts(histogram)


def _tallies(rows: DataFrame, plan: Plan) -> DataFrame:
    """The tallies of all tasks, added up; a task a core, since each gives all pairs that it met."""
    numbered = _mapped(rows, partial(_with_numbers, plan.labels), _NUMBERED)
    together = numbered.repartition(_tasks(rows), "instance").sortWithinPartitions("instance")
    tallies = _mapped(together, partial(_tallied, plan), _TALLY)
    by = ("stratum", "kind", "key")
    return tallies.repartition(max(PARTS, _tasks(rows)), *by).groupBy(*by).sum("count", "bits")


def _tasks(rows: DataFrame) -> int:
    """One a core; Spark's own number of partitions is for more rows than are left here."""
    return int(rows.sparkSession.sparkContext.defaultParallelism)


def _counted(sums: DataFrame, plan: Plan, holder: PassingFolder) -> PairCount:
    """The count on the driver, a stratum at a time."""
    from pyspark import StorageLevel

    kept = sums.persist(StorageLevel.DISK_ONLY)
    try:
        table = _Table(_collected(kept.filter(kept.stratum == ALL), _TALLY), WHOLE)
        n_nodes, strata = len(plan.labels.hierarchy), []
        for stratum in range(0 if plan.cuts is None else len(plan.cuts)):
            part = _Table(_collected(kept.filter(kept.stratum == stratum), _TALLY), BY_STRATUM)
            file = holder.path / f"stratum-{stratum:03d}.parquet"
            write_sums([part.sums("pair")], file, confusion=False)
            margins = (part.margin(name, n_nodes) for name in ("support", "direct"))
            strata.append((part.margin("size", 1)[0], *margins, file))
    finally:
        kept.unpersist()
    size, support, direct, files = zip(*strata, strict=True)
    tally = PairTally(plan.labels.hierarchy.closure)
    tally.add_counted(*table.batch(n_nodes))
    return PairCount(
        labels=plan.labels,
        tally=tally,
        records=RecordCounts({kind: table.sums(kind) for kind in KINDS}),
        strata=StratumCounts(
            cuts=np.asarray(plan.cuts, np.int64),
            size=np.array(size, np.int64),
            support=np.array(support, np.int64),
            direct=np.array(direct, np.int64),
            files=files,
            holder=holder,
        ),
        residual=plan.residual,
    )


def _mapped(df: DataFrame, task: Task, schema: pa.Schema) -> DataFrame:
    """The rows that a task makes of those of each partition."""

    def run(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for frame in task(pl.DataFrame(pl.from_arrow(part)) for part in parts):
            yield from frame.to_arrow().select(schema.names).cast(schema).to_batches()

    return df.mapInArrow(run, ", ".join(f"{field.name} {_SPARK[field.type]}" for field in schema))


def _collected(df: DataFrame, schema: pa.Schema) -> pl.DataFrame:
    """Summed rows on the driver, under the names that they had before."""
    return pl.DataFrame(pl.from_arrow(df.toArrow().rename_columns(schema.names).cast(schema)))


def _label_counts(frames: Iterable[pl.DataFrame]) -> Frames:
    yield summed_counts(label_counts(labels_of(frame, WHERE)) for frame in frames)


def _with_numbers(labels: LabelNodes, frames: Iterable[pl.DataFrame]) -> Frames:
    for frame in frames:
        yield labels.numbered(labels_of(frame, WHERE))


def _with_nodes(labels: LabelNodes, frames: Iterable[pl.DataFrame]) -> Frames:
    """The rows that have an instance and a node."""
    for rows in _with_numbers(labels, frames):
        numbered = rows.drop_nulls(["instance", "label"])
        node = pl.Series("node", labels.node_of[numbered["label"].to_numpy()])
        yield numbered.with_columns(node).filter(pl.col("node") >= 0)


def _tallied(plan: Plan, frames: Iterable[pl.DataFrame]) -> Frames:
    """The tally of a partition whose rows are sorted by instance, on one core."""
    os.environ["AUDIT_JOBS"] = "1"
    with TemporaryDirectory() as folder, ThreadPoolExecutor(1) as threads:
        here = replace(plan, folder=Path(folder))
        recording = Recording(here, threads, {})
        for frame in _gathered(frames):
            recording.add(frame.with_columns(row=pl.lit(0, pl.Int64)), 0)
        recording.end()
        tallying = Tallying(here, recording, threads, {})
        for _ in tallying.batches():
            pass
        yield from _table(tallying.result(None))


def _gathered(frames: Iterable[pl.DataFrame]) -> Frames:
    held: list[pl.DataFrame] = []
    for frame in frames:
        held.append(frame)
        if sum(part.height for part in held) >= ROWS_AT_ONCE:
            yield pl.concat(held)
            held = []
    if held:
        yield pl.concat(held)


def _table(count: PairCount) -> Frames:
    """A count as rows that add up."""
    tally, strata = count.tally, count.strata
    margins = {"direct": tally.direct_support, "support": tally.support}
    sums = {name: _some(counts) for name, counts in margins.items()}
    for name, counted in [*sums.items(), ("entailed", tally.entailed), *count.records]:
        yield _rows(ALL, WHOLE.index(name), counted)
    for pairs in tally.blocks():
        keys = pairs.a * tally.n_nodes + pairs.b
        yield _rows(ALL, WHOLE.index("pair"), Sums(keys, pairs.joint, pairs.confusion_sum))
    for stratum in range(len(strata.cuts)):
        parts = (strata.size[[stratum]], strata.support[stratum], strata.direct[stratum])
        counts = [*map(_some, parts), strata.pairs(stratum)]
        for kind, counted in enumerate(counts):
            yield _rows(stratum, kind, counted)


def _some(counts: IntArray) -> Sums:
    some = np.flatnonzero(counts)
    return Sums(some, counts[some], np.zeros(len(some)))


def _rows(stratum: int, kind: int, sums: Sums) -> pl.DataFrame:
    frame = pl.DataFrame({"key": sums.keys, "count": sums.joint, "bits": sums.confusion})
    return frame.with_columns(stratum=pl.lit(stratum, pl.Int32), kind=pl.lit(kind, pl.Int32))


class _Table:
    """Summed rows of tallies by what they count, in order of their keys."""

    def __init__(self, rows: pl.DataFrame, kinds: tuple[str, ...]) -> None:
        self.rows, self.kinds = rows.sort("kind", "key"), kinds

    def sums(self, kind: str) -> Sums:
        some = self.rows.filter(kind=self.kinds.index(kind))
        keys, count = (some[name].to_numpy() for name in ("key", "count"))
        bits: FloatArray = some["bits"].to_numpy()
        return Sums(keys, count, bits)

    def margin(self, kind: str, size: int) -> IntArray:
        sums = self.sums(kind)
        full = np.zeros(max(size, int(sums.keys.max(initial=-1)) + 1), np.int64)
        full[sums.keys] = sums.joint
        return full

    def batch(self, n_nodes: int) -> tuple[Batch, list[PairCounts]]:
        """All instances as one batch, and its pairs."""
        counted = Batch(
            lengths=self.margin("length", 0),
            direct=self.margin("direct", n_nodes),
            support=self.margin("support", n_nodes),
            entailed=self.sums("entailed"),
        )
        pair = self.sums("pair")
        pairs = PairCounts(*np.divmod(pair.keys, n_nodes), pair.joint, pair.confusion)
        return counted, [pairs]
