"""Counting the pairs of data larger than memory, in batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from audit.base.disk import PassingFolder, written_whole
from audit.base.errors import InputError
from audit.base.files import read_table
from audit.base.machine import cores, give_back_freed_memory
from audit.base.progress import Progress, silent
from audit.counting.counts import PairCount
from audit.counting.passes import MEMORY, Counting, CountSettings, planned
from audit.data.batches import Rows, rows_of
from audit.data.formats import chosen_of
from audit.data.known_nodes import KnownNodes
from audit.data.label_format import Chosen, Columns
from audit.data.mapping import summed_counts
from audit.data.row_rules import EVERY, RowRules
from audit.data.sources import File, Source, source_of
from audit.data.sources.events import Events
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.policy.policy import Policy

EXPANSION = 40
"""Largest number of bytes of memory for each byte of the data, which may be compressed."""
MOST_PARTS = 256
"""Largest number of files open at a time."""

_ROWS = pa.schema(
    {"instance": pa.large_string(), "label": pa.large_string(), "counted": pa.bool_()}
)
_RECORDS = pa.schema({"instance": pa.large_string(), "labels": pa.large_list(pa.large_string())})


def regrouped(source: Source, chosen: Chosen, folder: Path, *, memory: int, at_once: int) -> Source:
    """Write a Parquet file in ``folder`` with one row per instance and the list of its ``labels``.

    Instances are distributed over files by the hash of their id, and the rows of each file are
    grouped in memory. Rows without an instance stay separate. Returns the file.

    Args:
        source: What `audit.data.batches.rows_of` can read.
        chosen: The columns, or keys, of the ids and labels.
        folder: An empty folder for the files.
        memory: Number of bytes that the rows of one file may use.

    Raises:
        OutputError: If the disk is full.
    """
    if chosen.rules != EVERY or chosen.tables or isinstance(source, Events):
        found = "code sets of some columns" if chosen.tables else str(chosen.rules)
        found = source.kind if isinstance(source, Events) else found
        raise InputError("every row must count alike where sort=True", found=found)
    parts = min(max(math.ceil(source.size * EXPANSION / memory), 1), MOST_PARTS)
    files = [folder / f"part-{number:03d}.parquet" for number in range(parts)]
    together = folder / "together.parquet"
    with written_whole(together) as begun:
        _spread(source, chosen, files, at_once)
        with pq.ParquetWriter(begun, _RECORDS) as writer:
            for file in files:
                records = read_table(file).group_by("instance", maintain_order=True)
                listed = records.agg(pl.col("label").filter("counted").alias("labels"))
                writer.write_table(listed.to_arrow().cast(_RECORDS))
                file.unlink()
    return File(together)


def _spread(source: Source, chosen: Chosen, files: list[Path], at_once: int) -> None:
    with ExitStack() as open_files:
        writers = [open_files.enter_context(pq.ParquetWriter(file, _ROWS)) for file in files]
        for rows in rows_of(source, chosen, at_once=at_once):
            part = (rows.labels["instance"].hash() % len(files)).fill_null(0)
            for number, writer in enumerate(writers):
                some = rows.labels.filter(part == number).select(_ROWS.names)
                writer.write_table(some.to_arrow().cast(_ROWS))


BYTES_PER_ROW = 1_000
"""Largest memory in bytes for counting one row of a batch, over all threads."""
ROWS_AT_ONCE = 1_000_000
"""Number of rows of a batch if memory allows."""
LEAST_ROWS = 10_000
"""Number of rows of the smallest batch that is worth its overhead."""


def count_pairs(
    data: object,
    hierarchy: Hierarchy | str | Path,
    *,
    instance: str | None = None,
    label: str | None = None,
    format: str | None = None,
    batch: int | None = None,
    memory: int = MEMORY,
    sort: bool = False,
    policy: Policy | None = None,
    rules: RowRules = EVERY,
    progress: Progress = silent,
) -> PairCount:
    """Count the pairs of a CSV, TSV, Parquet or JSON-lines file, or folder of them, unloaded.

    The data are read twice: once for its distinct labels, which are mapped as in
    `audit.load_labels`, and once to count.

    Args:
        data: A file, a folder of the parts of one table, or a frame as in `audit.load_labels`: one
            row per assertion or, where there are lists, one row per instance with a list of labels.
        hierarchy: A hierarchy, the name of a built-in one, or a hierarchy file.
        instance: Column, or key, of the id; None, also below: found as in `audit.load_labels`. The
            rows of an instance must be consecutive, over the parts of a folder by name, too.
        label, format: Column, or key, of the label or of the list; name of the format.
        batch: Number of rows counted at a time; None: as memory allows.
        memory: Bytes that may be used beside the program itself, the result and 8 bytes per
            instance. Pairs of rare nodes beyond it are kept on the disk.
        sort: Whether to bring the rows of each instance together first, through files on the disk.
        policy: Policy whose lists of residual nodes are used; None: the hierarchy's built-in one.
        rules: Which rows count, and of which version they are; not with ``sort``.

    Raises:
        InputError: If the file is damaged, there is no row, or memory is too small for a batch.
        SchemaError: If a column is missing, or the rows of an instance are not consecutive.
        OutputError: If the disk is full.
    """
    known = hierarchy if isinstance(hierarchy, Hierarchy) else load_hierarchy(hierarchy)
    source = source_of(data)
    settings = CountSettings(known, policy, memory)
    at_once = _rows_at_once(batch, memory)
    columns = Columns(instance, label, nodes=KnownNodes(known), rules=rules, codes=known.codes)
    chosen = chosen_of(source, columns, format)
    if not sort:
        return _count(_Reading(source, chosen, at_once), settings, progress)
    with TemporaryDirectory(prefix="audit-sorted-") as folder:
        together = regrouped(source, chosen, Path(folder), memory=memory // 4, at_once=at_once)
        lists = replace(chosen_of(together, Columns()), readings=chosen.readings)
        return _count(_Reading(together, lists, at_once), settings, progress)


@dataclass(frozen=True)
class _Reading:
    """A source of labels, read some rows at a time."""

    source: Source
    chosen: Chosen
    at_once: int

    def rows(self) -> Iterator[Rows]:
        return rows_of(self.source, self.chosen, at_once=self.at_once)


def _count(reading: _Reading, settings: CountSettings, progress: Progress) -> PairCount:
    counts, files = _count_labels(reading, progress), PassingFolder()
    plan = planned(settings, counts, files.path, reading.source)
    total = int(counts["rows"].sum())
    together = replace(reading, source=reading.source.by_instance())
    with ThreadPoolExecutor(cores()) as threads:
        counting = Counting(plan, threads)
        for rows in together.rows():
            counting.add(plan.labels.numbered(rows.labels))
            progress("counting pairs", rows.stop, max(total, rows.stop), "rows")
        counting.end()
        count = counting.result(files)
    give_back_freed_memory()
    read, persons = reading.chosen, reading.chosen.persons
    told = (*read.readings, *count.labels.readings)
    return replace(count, labels=replace(count.labels, readings=told, persons=persons))


def _count_labels(reading: _Reading, progress: Progress) -> pl.DataFrame:
    """Number of assertions of each label; raises InputError if the file has no rows."""
    counts, read = summed_counts([]), 0
    for rows in reading.rows():
        counts, read = summed_counts([counts, rows.counts]), rows.stop
        progress("reading labels", read, None, "rows")
    if not read:
        raise InputError("a dataset with rows is required", found="none", where=reading.source)
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
