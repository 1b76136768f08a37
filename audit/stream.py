"""Counts of pairs of a file larger than memory, read in batches, interrupted and gone on with."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from audit.checkpoint import identity_of, read_checkpoint, unpacked, write_checkpoint
from audit.counting import Counting, Source, count_labels
from audit.engine.joint import can_compile
from audit.errors import InputError
from audit.hierarchies import load_hierarchy
from audit.hierarchy import Hierarchy
from audit.label_nodes import label_nodes
from audit.pair_count import PairCount
from audit.progress import Progress, silent
from audit.regrouped import regrouped

MEMORY = 2 * 2**30
"""Bytes that a count may take beside the program itself, unless told otherwise."""
BYTES_PER_ROW = 1_000
"""Memory that counting one row of a batch takes at most, all threads together."""
ROWS_AT_ONCE = 1_000_000
"""Rows of a batch where memory allows."""
LEAST_ROWS = 10_000
"""Rows of the smallest batch that is worth its overhead."""
SECONDS_BETWEEN = 60.0
"""Seconds between two checkpoints."""


def count_pairs(
    path: str | Path,
    hierarchy: Hierarchy | str | Path,
    *,
    instance: str = "instance",
    label: str = "label",
    batch: int | None = None,
    memory: int = MEMORY,
    sort: bool = False,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress = silent,
) -> PairCount:
    """Count the pairs of a CSV, TSV, Parquet or JSON-lines file without loading it.

    The file is read twice: once for its different labels, which are mapped as
    `audit.load_labels` maps them, once to count.

    Args:
        path: The file: a row an assertion, or, in Parquet and JSON lines, a row an instance with
            a list of labels.
        hierarchy: A hierarchy, the name of a built-in one, or a hierarchy file.
        instance: Column, or key, of the instance's id. The rows of an instance follow each other.
        label: Column, or key, of the label or of the list.
        batch: Rows counted at a time; None: as memory allows.
        memory: Bytes that may be taken beside the program itself, the result and 8 bytes an
            instance. Pairs of rare nodes beyond it are kept on the disk.
        sort: Bring the rows of each instance together first, through files on the disk.
        checkpoint: File that keeps the count, so that it can go on after an interruption; pairs on
            the disk lie beside it. Ctrl-C is answered after the batch, once it is written.
        resume: Go on from the checkpoint, if there is one; the result has the same bytes as an
            uninterrupted one's.
        progress: What is told how far the count is.

    Raises:
        InputError: If the file or the checkpoint is damaged, the checkpoint is of another input,
            there is no row, or memory is too small for one batch.
        SchemaError: If a column is missing, or an instance comes back after it ended.
        OutputError: If the disk takes no more; a checkpoint stays as it was.
    """
    known = hierarchy if isinstance(hierarchy, Hierarchy) else load_hierarchy(hierarchy)
    at_once = _rows_at_once(batch, memory)
    if not sort:
        source = Source(Path(path), instance, label, at_once)
        return _count(source, known, memory, checkpoint, resume, progress)
    with TemporaryDirectory(prefix="audit-sorted-") as folder:
        together = regrouped(
            Path(path), instance, label, Path(folder), memory=memory // 4, at_once=at_once
        )
        source = Source(together, "instance", "labels", at_once)
        return _count(source, known, memory, checkpoint, resume, progress)


def _count(
    source: Source,
    hierarchy: Hierarchy,
    memory: int,
    checkpoint: str | Path | None,
    resume: bool,
    progress: Progress,
) -> PairCount:
    if checkpoint is None:
        labels = count_labels(source, progress)
        counting = Counting(source, labels, label_nodes(labels, hierarchy), memory)
        for _ in counting.batches(progress):
            pass
        return counting.result()
    kept = Path(checkpoint)
    settings = {
        "hierarchy": hierarchy.sha256,
        "columns": [source.instance, source.label],
        "compiled": can_compile(),
    }
    identity = identity_of(source.path, rows_at_once=source.at_once, memory=memory, **settings)
    stored = read_checkpoint(kept, identity) if _goes_on(kept, resume) else {}
    labels = unpacked(stored["labels"]) if stored else count_labels(source, progress)
    beside = kept.with_name(f"{kept.name}.pairs")
    placed = label_nodes(labels, hierarchy)
    counting = Counting(source, labels, placed, memory, beside, stored)
    written = time.monotonic()
    with _interrupts() as stopped:
        for _ in counting.batches(progress):
            if stopped.is_set() or time.monotonic() - written >= SECONDS_BETWEEN:
                write_checkpoint(kept, identity, counting.state())
                written = time.monotonic()
            if stopped.is_set():
                raise KeyboardInterrupt
    write_checkpoint(kept, identity, counting.state())
    return counting.result()


def _goes_on(checkpoint: Path, resume: bool) -> bool:
    if checkpoint.exists() and not resume:
        raise InputError(
            "a checkpoint that does not exist yet is required",
            found="one that an earlier count left",
            where=checkpoint,
            hint="go on with it by resume=True, or remove it",
        )
    return checkpoint.exists()


def _rows_at_once(batch: int | None, memory: int) -> int:
    room = memory // 2 // BYTES_PER_ROW
    rows = min(room, ROWS_AT_ONCE) if batch is None else batch
    if room < LEAST_ROWS or rows > room or rows < 1:
        needed = 2 * BYTES_PER_ROW * max(rows, LEAST_ROWS)
        raise InputError(
            f"memory of at least {needed / 2**20:,.0f} MiB is required"
            if rows > 0
            else "a batch of at least one row is required",
            found=f"{memory / 2**20:,.0f} MiB for batches of {rows:,} rows",
            hint="give more memory, or count fewer rows at a time",
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
