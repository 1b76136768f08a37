"""Counting the pairs of data larger than memory, in batches of whole instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.errors import InputError, SchemaError
from audit.base.limits import MANY, refuse_many_pairs
from audit.base.machine import give_back_freed_memory
from audit.base.progress import Progress, silent
from audit.base.table import Table
from audit.base.tables import open_table
from audit.counting.counts import PairCount, counted_pairs, mapped_of
from audit.counting.label_nodes import LabelNodes, label_counts, label_nodes, summed_counts
from audit.counting.residual_nodes import residual_nodes
from audit.data.columns import AS_WRITTEN, Columns
from audit.data.resolving import resolved
from audit.data.rows import is_numbered, rows_of
from audit.engine.pairs.pair_counts import PairSums
from audit.engine.pairs.record_counts import InstanceCounts, Mapped, RecordCounts, RecordRows
from audit.hierarchies.applied_policy import policy_for
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.policy.policy import Policy, refuse_unknown_nodes

MEMORY = 2 * 2**30
"""Default number of bytes that batches may use beside the program itself and the counts."""
BYTES_PER_ROW = 1_000
"""Largest memory in bytes for counting one row of a batch."""
ROWS_AT_ONCE = 1_000_000
"""Number of rows of a batch if memory allows."""
LEAST_ROWS = 10_000
"""Number of rows of the smallest batch that is worth its overhead."""


def count_pairs(
    data: object,
    hierarchy: Hierarchy | str | Path,
    columns: Columns = AS_WRITTEN,
    *,
    batch: int | None = None,
    memory: int = MEMORY,
    policy: Policy | None = None,
    progress: Progress = silent,
) -> PairCount:
    """Count the pairs of a table, or of what `audit.base.tables.open_table` opens, unloaded.

    The data are read twice: once for its distinct labels, which are mapped as in
    `audit.load_labels`, and once to count.

    Args:
        data: The table; the rows of an instance must be consecutive, over the parts of a folder by
            name, too. Rows of a database are brought together by it.
        hierarchy: A hierarchy, the name of a built-in one, or a hierarchy file.
        columns: What is stated of its columns, rows and labels.
        batch: Number of rows counted at a time; None: as memory allows.
        memory: Bytes that a batch may use beside the program itself, the counts and 8 bytes per
            instance.
        policy: Policy whose lists of residual nodes are used; None: the hierarchy's built-in one.

    Raises:
        InputError: If the file is damaged, there is no row, memory is too small for a batch, or it
            must be asked what the data mean.
        SchemaError: If a column is missing, or the rows of an instance are not consecutive.
        OutputError: If the disk is full, on which a database sorts.
    """
    known = hierarchy if isinstance(hierarchy, Hierarchy) else load_hierarchy(hierarchy)
    table = data if isinstance(data, Table) else open_table(data)
    found = resolved(table, columns, known)
    at_once = _rows_at_once(batch, memory)
    counts, read = summed_counts([]), 0
    for rows in rows_of(table, found, at_once=at_once):
        counts = summed_counts([counts, label_counts(rows)])
        read = _read(rows, read)
        progress("reading labels", read, None, "rows")
    if not read:
        raise InputError("a dataset with rows is required", found="none", where=table)
    labels = label_nodes(counts, known, found, table)
    counting, total = Counting(mapped(labels, policy)), int(counts["rows"].sum())

    def numbered() -> Iterator[pl.DataFrame]:
        read = 0
        for rows in rows_of(_by_instance(table, found), found, at_once=at_once):
            yield labels.numbered(rows)
            read = _read(rows, read)
            progress("counting pairs", read, max(total, read), "rows")

    for whole in whole_instances(numbered(), labels.node_of, table):
        counting.add(whole)
    give_back_freed_memory()
    told = (*found.readings, *labels.readings)
    labels = replace(labels, readings=told, persons=found.persons)
    return counting.count(labels)


def _read(rows: pl.DataFrame, before: int) -> int:
    """Number of rows of the table that were read, with those of a frame."""
    return before if rows.is_empty() else rows["row"][-1] + 1


def _by_instance(table: Table, columns: Columns) -> Table:
    """The same rows, those of an instance together where the table can bring them so."""
    if table.ordered is None or is_numbered(columns, table.schema):
        return table
    return table.ordered(columns.id)


def _rows_at_once(batch: int | None, memory: int) -> int:
    room = memory // 2 // BYTES_PER_ROW
    rows = min(room, ROWS_AT_ONCE) if batch is None else batch
    if room < LEAST_ROWS or rows > room or rows < 1:
        needed = 2 * BYTES_PER_ROW * max(rows, LEAST_ROWS)
        raise InputError(
            f"memory of at least {needed / 2**20:,.0f} MiB is required"
            if batch is None or batch > 0
            else "a batch of at least one row is required",
            found=f"{memory / 2**20:,.0f} MiB for batches of {rows:,} rows",
            hint="give more memory"
            if batch is None
            else "give more memory, or count fewer rows at a time",
        )
    return rows


def mapped(labels: LabelNodes, policy: Policy | None) -> Mapped:
    """What counting needs of labels, given the policy that names residual nodes."""
    hierarchy = labels.hierarchy
    policy = policy_for(hierarchy, policy)
    refuse_unknown_nodes(policy, set(hierarchy.nodes), hierarchy.name)
    residual = residual_nodes(hierarchy, policy)
    return mapped_of(hierarchy, residual, labels.node_of, labels.reason_of)


class Counting:
    """A running count of batches of instances."""

    def __init__(self, mapped: Mapped) -> None:
        self.mapped = mapped
        self.records, self.pairs = RecordCounts(), PairSums(len(mapped.residual))

    def add(self, rows: RecordRows) -> None:
        """Count whole instances, each of which is added once."""
        counts = InstanceCounts(rows, self.mapped)
        self.records.add(counts)
        self.pairs.add(counts.carried.values)

    def count(self, labels: LabelNodes) -> PairCount:
        """The count of all instances that were added."""
        instances = self.records.total("length")
        return PairCount(labels, self.records, counted_pairs(self.pairs.counts(), instances))


ROWS = {"instance": pl.String, "label": pl.Int64, "row": pl.Int64}
"""Columns of numbered rows; ``label`` is the label's number, null if the row has none to count."""


def whole_instances(
    frames: Iterable[pl.DataFrame], node_of: IntArray, where: object
) -> Iterator[RecordRows]:
    """The rows of whole instances, from frames of `ROWS` in which those of one are consecutive.

    The last instance of a frame is held back, because the next one may continue it. Instances that
    are complete are remembered as 64-bit hashes: among ten million two ids share one with a
    probability of three in a million; the data are then refused, never miscounted.

    Args:
        node_of: Node of each label by its number; negative: it was refused.
    """
    empty, seen, pairs = pl.DataFrame(schema=ROWS), pl.Series(dtype=pl.UInt64), 0
    waiting = empty
    for frame in chain(frames, [None]):
        rows = waiting if frame is None else pl.concat([waiting, frame.drop_nulls("instance")])
        number = rows["instance"].rle_id()
        last = number[-1] if len(number) else 0
        ended = len(rows) if frame is None else int(number.search_sorted(last))
        rows, waiting, instance = rows[:ended], rows[ended:], number[:ended].to_numpy()
        firsts = rows[np.flatnonzero(np.diff(instance, prepend=-1))]
        seen = _with_seen(seen, firsts, where)
        if len(rows) and np.bincount(instance).max() >= MANY:
            pairs = _refuse_many_labels(rows, node_of, where, pairs)
        label = rows["label"].fill_null(-1).to_numpy()
        yield RecordRows(instance, label, len(firsts))


def _refuse_many_labels(rows: pl.DataFrame, node_of: IntArray, where: object, before: int) -> int:
    known = rows.drop_nulls("label")
    kept = known.with_columns(node=node_of[known["label"].to_numpy()]).filter(pl.col("node") >= 0)
    labels = kept.group_by("instance").agg(pl.col("node").n_unique())
    return refuse_many_pairs(labels["node"], int(node_of.max(initial=-1)) + 1, where, before)


def _with_seen(seen: pl.Series, firsts: pl.DataFrame, where: object) -> pl.Series:
    """Hashes of the instances that are complete; SchemaError if one of them is there again."""
    hashes = firsts["instance"].hash()
    before = seen.filter(seen.is_in(hashes.implode()))
    again = firsts.filter(hashes.is_in(before.implode()) | ~hashes.is_first_distinct())
    if len(again):
        instance, row = again["instance"][0], again["row"][0]
        raise SchemaError(
            "the rows of an instance must follow each other",
            found=f"the instance {instance!r} again after others, in row {row + 1:,}",
            where=where,
            hint="sort the rows by instance",
        )
    return seen.append(hashes)
