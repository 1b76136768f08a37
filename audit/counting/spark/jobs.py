"""Counting of pairs on Apache Spark; needs the extra ``spark``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import polars as pl
import pyarrow as pa

from audit.base.limits import limits, stated_limits
from audit.base.progress import Progress, silent
from audit.base.readings import Reading
from audit.counting.counts import PairCount
from audit.counting.kept import with_added
from audit.counting.plan import MEMORY, CountSettings, Plan, planned
from audit.counting.spark import tasks
from audit.counting.spark.tasks import Frames
from audit.data.label_format import STATED
from audit.data.mapping import KEYS, summed_counts
from audit.data.row_rules import EVERY, RowRules
from audit.data.sources.spark import BLANK
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.policy.policy import Policy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Task: TypeAlias = Callable[[Iterable[pl.DataFrame]], Frames]

_COUNTED_BY_SPARK = {"string", "tinyint", "smallint", "int", "bigint"}
"""Types of columns whose values Spark writes as text like Polars."""
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
    df: DataFrame,
    hierarchy: Hierarchy | str | Path,
    *,
    instance: str,
    label: str,
    policy: Policy | None = None,
    added_to: PairCount | None = None,
    readings: tuple[Reading, ...] = (),
    rules: RowRules = EVERY,
    progress: Progress = silent,
) -> PairCount:
    """Count the pairs of a Spark DataFrame, as `audit.counting.file.count_pairs` does for a file.

    Rows are grouped by instance. Each task counts its instances and returns packed tallies by range
    of pairs, and further tasks add up the tallies of each range. Spark repeats lost tasks.

    Args:
        df: One row per assertion, or one row per instance with an array of labels; in any order.
        hierarchy: A hierarchy, the name of a built-in one, or a hierarchy file.
        instance: Column of the instance's id.
        label: Column of the label or of the array.
        policy: As in `audit.counting.file.count_pairs`.
        added_to: As in `audit.counting.file.count_pairs`.
        readings: What columns and cells were taken to mean.
        rules: As in `audit.counting.file.count_pairs`.
        progress: Progress callback.

    Returns:
        The same counts as on one machine, exactly; confusion equal to rounding.

    Raises:
        InputError: If the nodes of ``added_to`` have changed since.
    """
    known = hierarchy if isinstance(hierarchy, Hierarchy) else load_hierarchy(hierarchy)
    rows = _marked(df, instance, label, rules)
    progress("reading labels")
    labels = summed_counts([_label_counts(rows)])
    plan = planned(CountSettings(known, policy, MEMORY, added_to), labels, Path(), tasks.WHERE)
    plan = replace(plan, labels=replace(plan.labels, readings=(*readings, *plan.labels.readings)))
    progress("counting pairs")
    count = tasks.counted(_collected(_tallies(rows, plan), tasks.TALLIES), plan)
    return count if added_to is None else with_added(count, added_to)


def _marked(df: DataFrame, instance: str, label: str, rules: RowRules) -> DataFrame:
    """Ids and labels, with the marks of their rows where rules give some."""
    if rules == EVERY:
        return df.select(instance, label)
    columns = dict.fromkeys([instance, label, *rules.roles.values()])
    text, rows = pa.string(), df.select(*columns)
    listed = rows.dtypes[1][1].startswith("array")
    name = label if label == STATED else "labels" if listed else "label"
    schema = pa.schema({"instance": text, name: pa.list_(text) if listed else text, "table": text})
    return _mapped(rows, partial(tasks.marked, rules), schema)


def _label_counts(rows: DataFrame) -> pl.DataFrame:
    """Number of assertions of each label; Spark counts plain columns itself, as it reads them."""
    if {kind for _, kind in rows.dtypes} <= _COUNTED_BY_SPARK and rows.columns[1] != STATED:
        return tasks.tidied(_collected(_written(rows), tasks.LABELS))
    read = _mapped(rows, tasks.counted_labels, tasks.LABELS).groupBy(*KEYS)
    return _collected(read.sum("rows").coalesce(_cores(rows)), tasks.LABELS)


def _written(rows: DataFrame) -> DataFrame:
    """Number of rows of each label as written, and whether they lack an instance."""
    from pyspark.sql import functions

    named = rows.toDF(*("instance", "label", "table")[: len(rows.columns)])
    instance, label = named["instance"], named["label"]
    table = named["table"] if "table" in named.columns else functions.lit(None)
    blank = instance.isNull()
    if named.dtypes[0][1] == "string":
        blank |= instance.rlike(BLANK)
    by = (
        label.cast("string").alias("label"),
        table.cast("string").alias("table"),
        blank.alias("homeless"),
    )
    return named.groupBy(*by).agg(functions.count("*").alias("rows")).coalesce(_cores(rows))


def _tallies(rows: DataFrame, plan: Plan) -> DataFrame:
    """What all tasks counted, each of some instances, added up by kind and part."""
    numbered = _mapped(rows, partial(tasks.numbered, plan.labels), tasks.NUMBERED)
    together = numbered.repartition(_cores(rows), "instance").sortWithinPartitions("instance")
    task = partial(tasks.tallied, plan, tasks.bounds_of(plan.labels))
    by = ("kind", "part")
    tallies = _mapped(together, task, tasks.TALLIES).repartition(_cores(rows), *by)
    return _mapped(tallies.sortWithinPartitions(*by), tasks.added, tasks.TALLIES)


def _cores(df: DataFrame) -> int:
    """A task a core; Spark's own number of partitions is for more rows than are left here."""
    return int(df.sparkSession.sparkContext.defaultParallelism)


def _mapped(df: DataFrame, task: Task, schema: pa.Schema) -> DataFrame:
    """The rows that a task makes of those of each partition, within the limits stated here."""

    stated = stated_limits()

    def run(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with limits(**stated):
            for frame in task(pl.DataFrame(pl.from_arrow(part)) for part in parts):
                yield from frame.to_arrow().select(schema.names).cast(schema).to_batches()

    return df.mapInArrow(run, ", ".join(f"{field.name} {_SPARK[field.type]}" for field in schema))


def _collected(df: DataFrame, schema: pa.Schema) -> pl.DataFrame:
    """Summed rows on the driver, under the names that they had before."""
    return pl.DataFrame(pl.from_arrow(df.toArrow().rename_columns(schema.names).cast(schema)))
