"""Counting of pairs on Apache Spark: the driver, and below it what each task runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from audit.base.dag import FloatArray, IntArray
from audit.base.limits import MANY, limits, refuse_many_pairs, stated_limits
from audit.base.progress import Progress, silent
from audit.base.table import gathered
from audit.counting.counts import PairCount, counted_pairs, mapped_of
from audit.counting.label_nodes import (
    KEYS,
    LABELS,
    LabelNodes,
    label_counts,
    label_nodes,
    summed_counts,
)
from audit.counting.residual_nodes import residual_nodes
from audit.data.columns import Columns
from audit.data.rows import rows_in
from audit.data.spark import SparkRows
from audit.engine.pairs.pair_counts import PairCounts, PairSums
from audit.engine.pairs.record_counts import InstanceCounts, Mapped, RecordCounts, RecordRows
from audit.engine.pairs.sums import Sums
from audit.hierarchies.applied_policy import policy_for
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy, refuse_unknown_nodes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Frames: TypeAlias = Iterator[pl.DataFrame]
Task: TypeAlias = Callable[[Iterable[pl.DataFrame]], Frames]
"""What Spark has each task run."""

ROWS_AT_ONCE = 250_000
"""Number of rows that a task maps, or counts, at a time."""
SENT_AT_ONCE = 100_000
"""Number of rows that a task gives back at a time."""
PARTS_PER_CORE = 4
"""Number of parts of the keys for each core that adds them up."""
ROWS = {"instance": pl.String, "label": pl.Int64}
"""Columns of numbered rows; ``label`` is the label's number, null if the row has none to count."""
PAIRS = "pair"
"""Kind of the sums of pairs, in addition to those of whole instances."""
SUMS = {"kind": pl.String, "part": pl.Int64, "block": pl.Binary}
"""Columns of sums: a kind, a part of its keys, and a `BLOCK` of these in bytes, since Spark takes
longer to move millions of rows than a task to count them."""
BLOCK = pl.Schema({"key": pl.Int64, "joint": pl.Int64, "bits": pl.Float64})
"""Columns of a block: the count of each key, and the confusion of a pair."""
_SPARK = {pl.String: "string", pl.Boolean: "boolean", pl.Int64: "long", pl.Binary: "binary"}


def count_pairs(
    read: SparkRows,
    hierarchy: Hierarchy,
    *,
    policy: Policy | None = None,
    progress: Progress = silent,
) -> PairCount:
    """Count the pairs of rows in Spark.

    Rows are grouped by instance. Each task counts its instances as they are counted in memory, and
    Spark adds up what they counted. It repeats lost tasks.

    Args:
        read: The rows, in any order, and where ids and labels stand.
        hierarchy: The hierarchy.
        policy: Policy whose lists of residual nodes are used; None: the hierarchy's own.

    Returns:
        The same counts as of a dataset, exactly; confusion equal to rounding.
    """
    progress("reading labels")
    rows, columns = read.rows, read.columns
    found = _mapped(rows, partial(counted_labels, columns), LABELS).groupBy(*KEYS).sum("rows")
    counts = summed_counts([_collected(found.coalesce(_cores(rows)), LABELS)])
    labels = label_nodes(counts, hierarchy, columns, read.table)
    labels = replace(labels, readings=(*columns.readings, *labels.readings))
    labels = replace(labels, persons=columns.persons)
    known = known_of(labels, policy)
    progress("counting pairs")
    numbered_rows = _mapped(rows, partial(numbered, columns, labels), ROWS)
    placed = numbered_rows.repartition(_cores(rows), "instance").sortWithinPartitions("instance")
    parts = PARTS_PER_CORE * _cores(rows)
    sums = _mapped(placed, partial(counted, known, str(read.table), parts), SUMS)
    added = _mapped(sums.repartition(parts, "kind", "part"), added_parts, SUMS)
    return count_of(_collected(added, SUMS), labels)


def known_of(labels: LabelNodes, policy: Policy | None) -> Mapped:
    """The properties of labels and nodes that counting needs; a policy decides residual nodes."""
    hierarchy = labels.hierarchy
    policy = policy_for(hierarchy, policy)
    refuse_unknown_nodes(policy, set(hierarchy.nodes), hierarchy.name)
    residual = residual_nodes(hierarchy, policy)
    return mapped_of(hierarchy, residual, labels.node_of, labels.reason_of)


def _cores(df: DataFrame) -> int:
    """Number of cores, each for a task; Spark's own number of partitions is for more rows."""
    return int(df.sparkSession.sparkContext.defaultParallelism)


def _mapped(df: DataFrame, task: Task, schema: Mapping[str, Any]) -> DataFrame:
    """The rows that a task makes of those of each partition, within the limits stated here.

    Spark looks columns up by names, in which it reads dots otherwise; so they have numbers there.
    """
    stated, names = stated_limits(), df.columns

    def run(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with limits(**stated):
            for frame in task(pl.DataFrame(pl.from_arrow(part), schema=names) for part in parts):
                table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
                yield from table.to_batches(SENT_AT_ONCE)

    plain = df.toDF(*(f"column_{n}" for n in range(len(names))))
    return plain.mapInArrow(
        run, ", ".join(f"{name} {_SPARK[kind]}" for name, kind in schema.items())
    )


def _collected(df: DataFrame, schema: Mapping[str, Any]) -> pl.DataFrame:
    """All rows, on the driver, their columns in order renamed to the names of ``schema``."""
    return pl.DataFrame(pl.from_arrow(df.toArrow().rename_columns([*schema])))


def counted_labels(columns: Columns, frames: Iterable[pl.DataFrame]) -> Frames:
    """Number of assertions of each label, as `LABELS`."""
    rows = (rows_in(frame, columns) for frame in gathered(iter(frames), ROWS_AT_ONCE))
    yield summed_counts(map(label_counts, rows))


def numbered(columns: Columns, labels: LabelNodes, frames: Iterable[pl.DataFrame]) -> Frames:
    """Rows by number of their label, as `ROWS`."""
    for rows in gathered(iter(frames), ROWS_AT_ONCE):
        yield labels.numbered(rows_in(rows, columns)).drop_nulls("instance")


def counted(known: Mapped, where: object, parts: int, frames: Iterable[pl.DataFrame]) -> Frames:
    """Count instances, given as `ROWS` sorted by instance: `SUMS` by kind and part of the keys."""
    records, pairs = RecordCounts(), PairSums(len(known.residual))
    for rows in whole_instances(gathered(iter(frames), ROWS_AT_ONCE), known.node_of, where):
        counts = InstanceCounts(rows, known)
        records.add(counts)
        pairs.add(counts.carried.values)
    for kind, sums in records:
        yield _sums(kind, parts, sums.keys, sums.joint, np.zeros(len(sums)))
    found = pairs.counts()
    yield _sums(PAIRS, parts, found.keys(len(known.residual)), found.joint, found.confusion_sum)


def added_parts(frames: Iterable[pl.DataFrame]) -> Frames:
    """The blocks of all tasks for each kind and part, added up to one block; as `SUMS`."""
    sums = pl.concat([pl.DataFrame(schema=SUMS), *frames])
    for (kind, part), own in sums.group_by("kind", "part"):
        yield pl.DataFrame([[kind], [part], [_bytes(_added(own))]], SUMS)


def _added(sums: pl.DataFrame) -> pl.DataFrame:
    """The blocks of all rows of ``sums`` added up by key, as one `BLOCK`."""
    blocks = [pl.DataFrame(schema=BLOCK), *map(pl.read_ipc, sums["block"])]
    return pl.concat(blocks).group_by("key").sum()


def whole_instances(
    frames: Iterable[pl.DataFrame], node_of: IntArray, where: object
) -> Iterator[RecordRows]:
    """Rows of whole instances, by label number, from frames of `ROWS` sorted by instance.

    The last instance of a frame is held back, because the next one may continue it.

    Args:
        node_of: Node of each label number, negative if refused; it serves to refuse too many pairs.
    """
    waiting, pairs = pl.DataFrame(schema=ROWS), 0
    for frame in chain(frames, [None]):
        rows = waiting if frame is None else pl.concat([waiting, frame])
        number = rows["instance"].rle_id()
        last = number[-1] if len(number) else 0
        ended = len(rows) if frame is None else int(number.search_sorted(last))
        rows, waiting, instance = rows[:ended], rows[ended:], number[:ended].to_numpy()
        label = rows["label"].fill_null(-1).to_numpy()
        if len(rows) and np.bincount(instance).max() >= MANY:
            known = np.where(label >= 0, node_of[label], -1)
            labels = pl.DataFrame({"instance": instance, "node": known}).filter(pl.col("node") >= 0)
            each = labels.group_by("instance").agg(pl.col("node").n_unique())["node"]
            pairs = refuse_many_pairs(each, int(node_of.max(initial=-1)) + 1, where, pairs)
        yield RecordRows(instance, label, int(instance[-1]) + 1 if len(instance) else 0)


def _sums(kind: str, parts: int, keys: IntArray, joint: IntArray, bits: FloatArray) -> pl.DataFrame:
    """Sums of a kind as `SUMS`, a row for each of so many parts of their keys."""
    block = pl.DataFrame({"key": keys, "joint": joint, "bits": bits}).cast(BLOCK)
    by_part = block.group_by(pl.col("key") % parts)
    return pl.DataFrame([(kind, part, _bytes(own)) for (part,), own in by_part], SUMS, orient="row")


def _bytes(block: pl.DataFrame) -> bytes:
    stream = BytesIO()
    block.write_ipc(stream)
    return stream.getvalue()


def count_of(sums: pl.DataFrame, labels: LabelNodes) -> PairCount:
    """The counts of a source, from the `SUMS` of all tasks."""
    by_kind = {str(kind): _added(own).sort("key") for (kind,), own in sums.group_by("kind")}
    pairs = by_kind.pop(PAIRS, pl.DataFrame(schema=BLOCK))
    key, joint, bits = (pairs[name].to_numpy() for name in BLOCK)
    records = {
        kind: Sums(own["key"].to_numpy(), own["joint"].to_numpy()) for kind, own in by_kind.items()
    }
    counts = RecordCounts(records)
    found = PairCounts(*np.divmod(key, len(labels.hierarchy)), joint, bits)
    return PairCount(labels, counts, counted_pairs(found, counts.total("length")))
