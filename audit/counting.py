"""A count under way: rows become instances, instances batches, batches a tally."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from audit.checkpoint import Arrays, packed, unpacked
from audit.contiguous import ROWS, Contiguous
from audit.dag import Sparse
from audit.engine.joint import cores
from audit.engine.tally import Batch, PairTally, Sums, count_batch
from audit.errors import InputError
from audit.label_nodes import LabelNodes, label_counts, summed_counts, with_nodes
from audit.loaders.batches import Rows, rows_of
from audit.pair_count import PairCount, counted
from audit.progress import Progress
from audit.spill import SpilledTail, run_file

_PART = ("keys", "joint", "confusion")


@dataclass(frozen=True)
class Source:
    """A file of labels, read some rows at a time.

    Args:
        path: The file.
        instance: Column, or key, of the instance's id.
        label: Column, or key, of the label or of the list.
        at_once: Rows read at a time.
    """

    path: Path
    instance: str
    label: str
    at_once: int

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """The rows from one on."""
        return rows_of(self.path, self.instance, self.label, at_once=self.at_once, start=start)


def count_labels(source: Source, progress: Progress) -> pl.DataFrame:
    """How often each label is asserted; a file without a row raises InputError."""
    counts, read = summed_counts([]), 0
    for rows in source.rows():
        counts, read = summed_counts([counts, label_counts(rows.labels)]), rows.stop
        progress("reading labels", read, None, "rows")
    if not read:
        raise InputError("a dataset with rows is required", found="none", where=source.path)
    return counts


class Counting:
    """A count under way.

    Args:
        source: What is counted.
        label_counts: From `count_labels`.
        labels: The same, mapped.
        memory: Bytes that may be taken.
        folder: Where pairs of rare nodes go beyond it; None: a temporary folder.
        stored: What `state` gave, to go on there.
    """

    def __init__(
        self,
        source: Source,
        label_counts: pl.DataFrame,
        labels: LabelNodes,
        memory: int,
        folder: Path | None = None,
        stored: Arrays | None = None,
    ) -> None:
        stored = stored or {}
        self.source, self.label_counts, self.labels = source, label_counts, labels
        self.position, self.ended, runs = stored.get("progress", np.zeros(3, np.int64)).tolist()
        self.tail = SpilledTail(folder, memory // 16, _runs(folder, runs), _parts(stored))
        closure = labels.hierarchy.closure
        self.tally = PairTally(closure, square=memory // 4, tail=self.tail)
        waiting = unpacked(stored["waiting"]) if stored else None
        seen = [stored[name] for name in _numbered(stored, "seen")]
        self.instances = Contiguous(len(labels.hierarchy), source.path, waiting, seen)
        if stored:
            self.tally.restore(
                {name[6:]: stored[name] for name in stored if name.startswith("tally.")}
            )
        self._under_way: deque[Future[tuple[Batch, Sparse]]] = deque()

    def batches(self, progress: Progress) -> Iterator[None]:
        """Count what is left, pausing after every batch."""
        if self.ended:
            return
        with ThreadPoolExecutor(cores()) as threads:
            for rows in self.source.rows(self.position):
                placed = with_nodes(rows.labels, self.labels.nodes).select(
                    "instance", "node", "row"
                )
                self._count(threads, self.instances.add(placed.select(*ROWS)))
                self.position = rows.stop
                progress("counting pairs", rows.stop, None, "rows")
                yield
            self._count(threads, self.instances.rest())
            self._settle(0)
            self.ended = 1

    def result(self) -> PairCount:
        """What was counted."""
        return counted(self.labels, self.tally)

    def state(self) -> Arrays:
        """All that it takes to go on here to the same bytes."""
        self._settle(0)
        state = {f"tally.{name}": array for name, array in self.tally.state().items()}
        for number, part in enumerate(self.tail.held.parts):
            state |= {f"tail.{number:04d}.{name}": getattr(part, name) for name in _PART}
        for number, hashes in enumerate(self.instances.seen.parts):
            state[f"seen.{number:04d}"] = hashes
        state["progress"] = np.array([self.position, self.ended, len(self.tail.runs)], np.int64)
        state["labels"] = packed(self.label_counts)
        state["waiting"] = packed(self.instances.waiting)
        return state

    def _count(self, threads: ThreadPoolExecutor, direct: Sparse) -> None:
        self._under_way.append(
            threads.submit(count_batch, direct, self.tally.closure, self.tally.compiled)
        )
        self._settle(cores() - 1)

    def _settle(self, left: int) -> None:
        """Add what the threads count, in order, until so many are left."""
        while len(self._under_way) > left:
            self.tally.add(*self._under_way.popleft().result())


def _numbered(stored: Arrays, kind: str) -> list[str]:
    return sorted(name for name in stored if name.startswith(f"{kind}."))


def _parts(stored: Arrays) -> list[Sums]:
    numbers = sorted({name.split(".")[1] for name in _numbered(stored, "tail")})
    return [Sums(*(stored[f"tail.{number}.{name}"] for name in _PART)) for number in numbers]


def _runs(folder: Path | None, count: int) -> list[Path]:
    """The runs that a checkpoint counts on; one that is gone raises InputError."""
    if folder is None:
        return []
    runs = [run_file(folder, number) for number in range(count)]
    gone = [run for run in runs if not run.exists()]
    if gone:
        raise InputError(
            "the pairs beside a checkpoint are required",
            found="nothing there",
            where=gone[0],
            hint="count without resume",
        )
    return runs
