"""Counting the pairs of data larger than memory, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from audit.base.disk import PassingFolder
from audit.base.errors import InputError
from audit.base.machine import cores, give_back_freed_memory
from audit.base.progress import Progress, silent
from audit.base.table import Table
from audit.base.tables import open_table
from audit.counting.counts import PairCount
from audit.counting.label_nodes import label_counts, summed_counts
from audit.counting.passes import MEMORY, Counting, CountSettings, planned
from audit.data.columns import AS_WRITTEN, Columns
from audit.data.resolving import resolved
from audit.data.rows import is_numbered, rows_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.policy.policy import Policy

BYTES_PER_ROW = 1_000
"""Largest memory in bytes for counting one row of a batch, over all threads."""
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
        memory: Bytes that may be used beside the program itself, the result and 8 bytes per
            instance. Pairs of rare nodes beyond it are kept on the disk.
        policy: Policy whose lists of residual nodes are used; None: the hierarchy's built-in one.

    Raises:
        InputError: If the file is damaged, there is no row, memory is too small for a batch, or it
            must be asked what the data mean.
        SchemaError: If a column is missing, or the rows of an instance are not consecutive.
        OutputError: If the disk is full.
    """
    known = hierarchy if isinstance(hierarchy, Hierarchy) else load_hierarchy(hierarchy)
    table = data if isinstance(data, Table) else open_table(data)
    found = resolved(table, columns, known)
    reading = _Reading(table, found, _rows_at_once(batch, memory))
    counts, files = _count_labels(reading, progress), PassingFolder()
    settings = CountSettings(known, policy, memory, found)
    plan = planned(settings, counts, files.path, table)
    total, read = int(counts["rows"].sum()), 0
    with ThreadPoolExecutor(cores()) as threads:
        counting = Counting(plan, threads)
        for rows in reading.by_instance().frames():
            counting.add(plan.labels.numbered(rows))
            read = _read(rows, read)
            progress("counting pairs", read, max(total, read), "rows")
        counting.end()
        count = counting.result(files)
    give_back_freed_memory()
    told = (*found.readings, *count.labels.readings)
    return replace(count, labels=replace(count.labels, readings=told, persons=found.persons))


@dataclass(frozen=True)
class _Reading:
    """The rows of a table, some at a time."""

    table: Table
    columns: Columns
    at_once: int

    def frames(self) -> Iterator[pl.DataFrame]:
        return rows_of(self.table, self.columns, at_once=self.at_once)

    def by_instance(self) -> _Reading:
        """The same rows, those of an instance together where the table can bring them so."""
        if self.table.ordered is None or is_numbered(self.columns, self.table.schema):
            return self
        return replace(self, table=self.table.ordered(self.columns.id))


def _read(rows: pl.DataFrame, before: int) -> int:
    """Number of rows of the table that were read, with those of a frame."""
    return before if rows.is_empty() else rows["row"][-1] + 1


def _count_labels(reading: _Reading, progress: Progress) -> pl.DataFrame:
    """Number of assertions of each label; raises InputError if the table has no rows."""
    counts, read = summed_counts([]), 0
    for rows in reading.frames():
        counts = summed_counts([counts, label_counts(rows)])
        read = _read(rows, read)
        progress("reading labels", read, None, "rows")
    if not read:
        raise InputError("a dataset with rows is required", found="none", where=reading.table)
    return counts


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
