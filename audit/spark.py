"""The same counts of pairs on Apache Spark; needs the extra ``spark``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from audit.contiguous import Contiguous
from audit.dag import FloatArray, IntArray, Sparse
from audit.engine.pairs import PairCounts
from audit.engine.tally import Batch, PairTally, Sums
from audit.hierarchies import load_hierarchy
from audit.hierarchy import Hierarchy
from audit.label_nodes import label_counts, label_nodes, summed_counts, with_nodes
from audit.loaders.batches import labels_of
from audit.pair_count import PairCount, counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Frames: TypeAlias = Iterator[pl.DataFrame]
Task: TypeAlias = Callable[[Iterable[pl.DataFrame]], Frames]

ROWS_AT_ONCE = 250_000
"""Rows that a task counts at a time."""
WHERE = Path("rows")
"""What messages call the rows of a frame."""
LENGTH, DIRECT, SUPPORT, PAIR, ENTAILED = range(5)
"""What a row of a tally's table counts."""

_TEXT, _LONG = pa.string(), pa.int64()
_LABELS = pa.schema({"label": _TEXT, "homeless": pa.bool_(), "rows": _LONG})
_NODES = pa.schema({"instance": _TEXT, "node": _LONG})
_TALLY = pa.schema({"kind": pa.int32(), "key": _LONG, "count": _LONG, "bits": pa.float64()})
_SPARK = {_TEXT: "string", pa.bool_(): "boolean", _LONG: "long", pa.int32(): "int"}
_SPARK[pa.float64()] = "double"


def count_pairs(
    df: DataFrame, hierarchy: Hierarchy | str | Path, *, instance: str, label: str
) -> PairCount:
    """Count the pairs of a Spark DataFrame as `audit.stream.count_pairs` counts those of a file.

    Rows are brought together by instance, each task makes a tally of its instances, and Spark adds
    the tallies up, within each task and then over all. A task that is lost is made again by Spark.

    Args:
        df: A row an assertion, or a row an instance with an array of labels; in any order.
        hierarchy: A hierarchy, the name of a built-in one, or a hierarchy file.
        instance: Column of the instance's id.
        label: Column of the label or of the array.

    Returns:
        Counts exactly equal to those of one machine, confusion equal to rounding.
    """
    known = hierarchy if isinstance(hierarchy, Hierarchy) else load_hierarchy(hierarchy)
    rows = df.select(instance, label)
    read = _mapped(rows, _label_counts, _LABELS).groupBy("label", "homeless").sum("rows")
    labels = label_nodes(summed_counts([_collected(read, _LABELS)]), known)
    closure = labels.hierarchy.closure
    nodes = _mapped(rows, partial(_with_nodes, labels.nodes), _NODES).repartition("instance")
    tallies = _mapped(nodes.sortWithinPartitions("instance"), partial(_tallied, closure), _TALLY)
    sums = tallies.groupBy("kind", "key").sum("count", "bits")
    tally = PairTally(closure)
    tally.add_counted(*_batch(_collected(sums, _TALLY), len(labels.hierarchy)))
    return counted(labels, tally)


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


def _with_nodes(labels: pl.DataFrame, frames: Iterable[pl.DataFrame]) -> Frames:
    for frame in frames:
        yield with_nodes(labels_of(frame, WHERE), labels)


def _tallied(closure: Sparse, frames: Iterable[pl.DataFrame]) -> Frames:
    """The tally of a partition whose rows are sorted by instance."""
    tally, instances = PairTally(closure), Contiguous(int(closure.shape[0]), WHERE)
    for frame in _gathered(frames):
        rows = frame.with_columns(row=pl.lit(0, pl.Int64))
        tally.update(instances.add(rows))
    tally.update(instances.rest())
    yield _margin(LENGTH, tally.lengths)
    yield _margin(DIRECT, tally.direct_support)
    yield _margin(SUPPORT, tally.support)
    yield _sums(ENTAILED, tally.entailed.keys, tally.entailed.joint)
    for pairs in tally.blocks():
        keys = pairs.a * tally.n_nodes + pairs.b
        yield _sums(PAIR, keys, pairs.joint, pairs.confusion_sum)


def _gathered(frames: Iterable[pl.DataFrame]) -> Frames:
    held: list[pl.DataFrame] = []
    for frame in frames:
        held.append(frame)
        if sum(part.height for part in held) >= ROWS_AT_ONCE:
            yield pl.concat(held)
            held = []
    if held:
        yield pl.concat(held)


def _margin(kind: int, counts: IntArray) -> pl.DataFrame:
    some = np.flatnonzero(counts)
    return _sums(kind, some, counts[some])


def _sums(
    kind: int, keys: IntArray, counts: IntArray, bits: FloatArray | None = None
) -> pl.DataFrame:
    measured = np.zeros(len(keys)) if bits is None else bits
    frame = pl.DataFrame({"key": keys, "count": counts, "bits": measured})
    return frame.with_columns(kind=pl.lit(kind, pl.Int32))


def _batch(table: pl.DataFrame, n_nodes: int) -> tuple[Batch, list[PairCounts]]:
    """The sums of all tallies as one batch, and its pairs."""
    table = table.sort("kind", "key")

    def of(kind: int) -> tuple[IntArray, IntArray, FloatArray]:
        some = table.filter(kind=kind)
        return tuple(some[name].to_numpy() for name in ("key", "count", "bits"))  # type: ignore[return-value]

    def margin(kind: int, size: int) -> IntArray:
        keys, counts, _ = of(kind)
        full = np.zeros(max(size, keys.max(initial=-1) + 1), np.int64)
        full[keys] = counts
        return full

    keys, joint, confusion = of(PAIR)
    entailed = Sums(*of(ENTAILED))
    pairs = PairCounts(keys // n_nodes, keys % n_nodes, joint, confusion)
    supports = margin(DIRECT, n_nodes), margin(SUPPORT, n_nodes)
    return Batch(margin(LENGTH, 0), *supports, entailed), [pairs]
