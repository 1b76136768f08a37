"""A running count: groups rows into instances and counts the instances, batch by batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import polars as pl

from audit.base.cores import cores
from audit.base.dag import Sparse
from audit.counting.counts import PairCount
from audit.counting.instances import Contiguous
from audit.counting.plan import Plan
from audit.counting.storage.checkpoint import packed, under, unpacked, within
from audit.counting.storage.spill import Arrays, SpilledTail
from audit.engine.pairs.record_counts import KINDS, RecordCounts, RecordRows, count_records
from audit.engine.pairs.sums import counts_only
from audit.engine.pairs.tally import Batch, PairTally, count_batch

_Counted = TypeVar("_Counted")
_BatchCounts: TypeAlias = tuple[RecordCounts, Batch, Sparse]


class InOrder(Generic[_Counted]):
    """Counts batches in threads and consumes the results in the order of the batches.

    Args:
        threads: The pool of threads that count.
        take: Function that consumes the result of a batch.
    """

    def __init__(self, threads: ThreadPoolExecutor, take: Callable[[_Counted], None]) -> None:
        self.threads, self.take = threads, take
        self._under_way: deque[Future[_Counted]] = deque()

    def add(self, count: Callable[[], _Counted]) -> None:
        """Submit a batch; no more batches are in progress than there are cores."""
        self._under_way.append(self.threads.submit(count))
        self.settle(cores() - 1)

    def settle(self, left: int = 0) -> None:
        """Consume results until at most ``left`` batches are in progress."""
        while len(self._under_way) > left:
            self.take(self._under_way.popleft().result())


class Counting:
    """A running count.

    Args:
        plan: The plan of the count.
        threads: The pool of threads that count.
        stored: An earlier `state` to resume from.
    """

    def __init__(self, plan: Plan, threads: ThreadPoolExecutor, stored: Arrays) -> None:
        self.plan, self.mapped = plan, plan.mapped
        self.position, self.ended = stored.get("position", np.zeros(2, np.int64)).tolist()
        self.records = RecordCounts(
            {kind: counts_only(*stored[kind]) for kind in KINDS} if stored else {}
        )
        self.tally = _tally(plan, within(stored, "tally"))
        waiting = unpacked(stored["waiting"]) if stored else None
        seen = [stored[name] for name in sorted(stored) if name.startswith("seen.")]
        self.instances = Contiguous(plan.where, plan.labels.node_of, waiting, seen)
        self._in_order = InOrder(threads, self._take)

    def add(self, rows: pl.DataFrame, stop: int) -> None:
        """Count rows from `LabelNodes.numbered`; ``stop`` is the row number after the last."""
        self._count(self.instances.add(rows))
        self.position = stop

    def end(self) -> None:
        """Count the instance that was held back, as there are no more rows."""
        if not self.ended:
            self._count(self.instances.rest())
            self._in_order.settle()
            self.ended = 1

    def state(self) -> Arrays:
        """The state from which the count can be resumed, byte for byte."""
        self._in_order.settle()
        state: Arrays = {kind: np.array([sums.keys, sums.joint]) for kind, sums in self.records}
        for number, hashes in enumerate(self.instances.seen.parts):
            state[f"seen.{number:04d}"] = hashes
        state["position"] = np.array([self.position, self.ended], np.int64)
        state["waiting"] = packed(self.instances.waiting)
        tail = self.tally.tail
        assert isinstance(tail, SpilledTail)
        return state | under("tally", self.tally.state() | under("tail", tail.state()))

    def result(self, holder: object) -> PairCount:
        """The finished counts; ``holder`` is the object that keeps their files alive."""
        return PairCount(self.plan.labels, self.tally, self.records, self.plan.residual, holder)

    def _count(self, rows: RecordRows) -> None:
        self._in_order.add(partial(self._counted, rows))

    def _counted(self, rows: RecordRows) -> _BatchCounts:
        counts, direct, aggregated = count_records(rows, self.mapped)
        return counts, count_batch(direct, aggregated, self.tally.closure), aggregated

    def _take(self, counted: _BatchCounts) -> None:
        counts, batch, aggregated = counted
        self.records.add(counts)
        self.tally.add(batch, aggregated)


def _tally(plan: Plan, stored: Arrays) -> PairTally:
    tail = SpilledTail.restored(plan.folder, plan.memory // 8, "pairs", within(stored, "tail"))
    tally = PairTally(
        plan.labels.hierarchy.closure, square=plan.memory // 4, tail=tail, first=plan.first
    )
    if stored:
        tally.restore(stored)
    return tally
