"""Counting the pairs of data larger than memory, in batches, with checkpoints to resume from."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

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
from audit.counting.storage import (
    Arrays,
    files_beside,
    identity_of,
    packed,
    read_checkpoint,
    under,
    unpacked,
    within,
    write_checkpoint,
)
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
SECONDS_BETWEEN = 60.0
"""Seconds between two checkpoints."""


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
    checkpoint: str | Path | None = None,
    resume: bool = False,
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
        checkpoint: File that stores the count, others beside it, so that it can be resumed; Ctrl-C
            takes effect after the current batch, once it is written.
        resume: Whether to resume from the checkpoint, if there is one, to the same bytes.
        rules: Which rows count, and of which version they are; not with ``sort``.

    Raises:
        InputError: If the file or the checkpoint is damaged or of another input, there is no row,
            or memory is too small for a batch.
        SchemaError: If a column is missing, or the rows of an instance are not consecutive.
        OutputError: If the disk is full; a checkpoint stays as it was.
    """
    known = hierarchy if isinstance(hierarchy, Hierarchy) else load_hierarchy(hierarchy)
    source = source_of(data)
    settings = CountSettings(known, policy, memory)
    at_once = _rows_at_once(batch, memory)
    kept = _Kept(Path(checkpoint), resume) if checkpoint else None
    columns = Columns(instance, label, nodes=KnownNodes(known), rules=rules, codes=known.codes)
    chosen = chosen_of(source, columns, format)
    if not sort:
        return _count(_Reading(source, chosen, at_once), settings, kept, progress)
    with TemporaryDirectory(prefix="audit-sorted-") as folder:
        together = regrouped(source, chosen, Path(folder), memory=memory // 4, at_once=at_once)
        lists = replace(chosen_of(together, Columns()), readings=chosen.readings)
        return _count(_Reading(together, lists, at_once), settings, kept, progress)


@dataclass(frozen=True)
class _Reading:
    """A source of labels, read some rows at a time."""

    source: Source
    chosen: Chosen
    at_once: int

    def rows(self, start: int = 0) -> Iterator[Rows]:
        return rows_of(self.source, self.chosen, at_once=self.at_once, start=start)


@dataclass
class _Kept:
    """Where a count is stored, when it was stored last, and whether it must stop."""

    path: Path
    resume: bool
    written: float = field(default_factory=time.monotonic)

    def stored(self, identity: dict[str, object]) -> Arrays:
        """The arrays of an earlier checkpoint; empty if there is none."""
        if self.path.exists() and not self.resume:
            raise InputError(
                "a checkpoint that does not exist yet is required",
                found="one that an earlier count left",
                where=self.path,
                hint="continue it with resume=True (--resume), or remove it",
            )
        return read_checkpoint(self.path, identity) if self.path.exists() else {}


class _Keep(Protocol):
    """Keeps a count now and then, and stops it where that was asked for."""

    def __call__(self, state: Callable[[], Arrays], /) -> None: ...


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a count under way has its files, what they go with, and what was kept of it."""

    folder: Path
    holder: object
    stored: Arrays
    keep: _Keep


def _count(
    reading: _Reading, settings: CountSettings, kept: _Kept | None, progress: Progress
) -> PairCount:
    if kept is None:
        counts, holder = _count_labels(reading, progress), PassingFolder()
        place = _Place(holder.path, holder, {}, _never)
        return _counted(reading, settings, counts, place, progress)
    identity = _identity(reading, settings)
    stored = kept.stored(identity)
    labels = stored.get("labels")
    counts = _count_labels(reading, progress) if labels is None else unpacked(labels)
    with _interrupts() as stopped:

        def keep(state: Callable[[], Arrays], /) -> None:
            if stopped.is_set() or time.monotonic() - kept.written >= SECONDS_BETWEEN:
                write_checkpoint(kept.path, identity, state())
                kept.written = time.monotonic()
            if stopped.is_set():
                raise KeyboardInterrupt

        place = _Place(files_beside(kept.path), None, stored, keep)
        return _counted(reading, settings, counts, place, progress)


def _never(state: Callable[[], Arrays], /) -> None:
    """Keep nothing."""


def _counted(
    reading: _Reading,
    settings: CountSettings,
    counts: pl.DataFrame,
    place: _Place,
    progress: Progress,
) -> PairCount:
    plan = planned(settings, counts, place.folder, reading.source)
    with ThreadPoolExecutor(cores()) as threads:
        counting = Counting(plan, threads, within(place.stored, "count"))

        def so_far() -> Arrays:
            return {"labels": packed(counts), **under("count", counting.state())}

        total = int(counts["rows"].sum())
        together = replace(reading, source=reading.source.by_instance())
        for rows in () if counting.ended else together.rows(counting.position):
            counting.add(plan.labels.numbered(rows.labels), rows.stop)
            progress("counting pairs", rows.stop, max(total, rows.stop), "rows")
            place.keep(so_far)
        counting.end()
        count = counting.result(place.holder)
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


def _identity(reading: _Reading, settings: CountSettings) -> dict[str, Any]:
    """What must be unchanged to resume a count."""
    return identity_of(
        reading.source,
        rows_at_once=reading.at_once,
        memory=settings.memory,
        hierarchy=settings.hierarchy.sha256,
        columns=[reading.chosen.id, *reading.chosen.labels, reading.chosen.sign],
        rules=str(reading.chosen.rules),
        codes=dict(settings.hierarchy.codes),
        policy=settings.policy and settings.policy.sha256,
    )


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


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Set by Ctrl-C instead of an exception, so that a batch is counted whole; in the main thread.

    A second Ctrl-C ends the program at once.
    """
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(*_: object) -> None:
        stopped.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
