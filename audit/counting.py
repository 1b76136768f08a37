"""A count under way: rows become instances, and instances, stratum by stratum, a tally."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Generic, TypeVar

import numpy as np
import polars as pl

from audit.checkpoint import packed, under, unpacked, within
from audit.contiguous import Contiguous
from audit.dag import IntArray, Sparse
from audit.engine.joint import cores
from audit.engine.record_counts import KINDS, RecordCounts, RecordRows, count_records
from audit.engine.strata import LEAST_LABELS, length_cuts
from audit.engine.sums import counts_only
from audit.engine.tally import Batch, count_batch
from audit.label_nodes import LabelNodes
from audit.pair_count import PairCount
from audit.plan import Plan
from audit.spill import Arrays
from audit.spool import Spool
from audit.strata_counts import NO_STRATUM, TallyByStratum

LABELS_AT_ONCE = 1_000_000
"""Labels of a batch whose pairs are counted."""

_Counted = TypeVar("_Counted")


class InOrder(Generic[_Counted]):
    """Batches counted by threads and taken up in the order that they came in.

    Args:
        threads: What counts.
        take: Takes up what was counted.
    """

    def __init__(self, threads: ThreadPoolExecutor, take: Callable[[_Counted], None]) -> None:
        self.threads, self.take = threads, take
        self._under_way: deque[Future[_Counted]] = deque()

    def add(self, count: Callable[[], _Counted]) -> None:
        """Have a batch counted; no more are under way than there are cores."""
        self._under_way.append(self.threads.submit(count))
        self.settle(cores() - 1)

    def settle(self, left: int = 0) -> None:
        """Take up what is counted until so many batches are under way."""
        while len(self._under_way) > left:
            self.take(self._under_way.popleft().result())


class Recording:
    """The first half: instances are counted one by one, and their labels put on the disk.

    Args:
        plan: What it is made by.
        threads: What counts.
        stored: What `state` gave, to go on there.
    """

    def __init__(self, plan: Plan, threads: ThreadPoolExecutor, stored: Arrays) -> None:
        self.plan, self.mapped = plan, plan.mapped
        self.position, self.ended = stored.get("position", np.zeros(2, np.int64)).tolist()
        self.counts = RecordCounts(
            {kind: counts_only(*stored[kind]) for kind in KINDS} if stored else {}
        )
        kept = dict(stored["spool"].tolist()) if stored else {}
        self.spool = Spool(plan.folder / "labels", len(plan.labels.hierarchy), kept)
        waiting = unpacked(stored["waiting"]) if stored else None
        seen = [stored[name] for name in sorted(stored) if name.startswith("seen.")]
        self.instances = Contiguous(plan.where, waiting, seen)
        self._in_order = InOrder(threads, self._take)

    def add(self, rows: pl.DataFrame, stop: int) -> None:
        """Count rows as `LabelNodes.numbered` gives them; ``stop`` is that after them."""
        self._count(self.instances.add(rows))
        self.position = stop

    def end(self) -> None:
        """Count the instance that waits: there are no more rows."""
        if self.ended:
            return
        self._count(self.instances.rest())
        self._in_order.settle()
        self.ended = 1

    def state(self) -> Arrays:
        """All that it takes to go on here to the same bytes."""
        self._in_order.settle()
        state: Arrays = {kind: np.array([sums.keys, sums.joint]) for kind, sums in self.counts}
        for number, hashes in enumerate(self.instances.seen.parts):
            state[f"seen.{number:04d}"] = hashes
        spooled = sorted(self.spool.instances.items())
        state["spool"] = np.array(spooled, np.int64).reshape(-1, 2)
        state["position"] = np.array([self.position, self.ended], np.int64)
        state["waiting"] = packed(self.instances.waiting)
        return state

    def _count(self, rows: RecordRows) -> None:
        self._in_order.add(partial(count_records, rows, self.mapped))

    def _take(self, counted: tuple[RecordCounts, Sparse]) -> None:
        counts, direct = counted
        self.counts.add(counts)
        self.spool.add(direct)


class Tallying:
    """The second half: the pairs of the instances on the disk, stratum by stratum.

    Args:
        plan: What it is made by.
        recorded: The first half, ended.
        threads: What counts.
        stored: What `state` gave, to go on there.
    """

    def __init__(
        self, plan: Plan, recorded: Recording, threads: ThreadPoolExecutor, stored: Arrays
    ) -> None:
        self.plan, self.recorded = plan, recorded
        self.lengths = recorded.counts.at("length", 0)
        self.cuts = length_cuts(self.lengths) if plan.cuts is None else plan.cuts
        self.stratum, self.batch = stored.get("place", np.array([NO_STRATUM, 0])).tolist()
        closure = plan.labels.hierarchy.closure
        first = _most_labelled(recorded.counts, plan.labels)
        self.tally = TallyByStratum(
            closure, first, plan.memory // 2, plan.folder, within(stored, "tally")
        )
        self._in_order = InOrder(threads, self._take)

    @property
    def instances(self) -> int:
        """Instances that have a label."""
        return int(self.lengths[1:].sum())

    def batches(self) -> Iterator[int]:
        """Count what is left, giving after every batch the instances counted since the start."""
        done = self.tally.instances
        while self.stratum < len(self.cuts):
            lengths = self._lengths_of(self.stratum)
            for direct in self.recorded.spool.batches(lengths, LABELS_AT_ONCE, self.batch):
                self._in_order.add(partial(self._counted, direct))
                self.batch += 1
                done += direct.shape[0]
                yield done
            self._in_order.settle()
            if self.stratum == NO_STRATUM:
                self.tally.under_way.add_empty(int(self.lengths[:1].sum()))
            self.tally.end(self.stratum)
            self.stratum, self.batch = self.stratum + 1, 0

    def state(self) -> Arrays:
        """All that it takes to go on here to the same bytes."""
        self._in_order.settle()
        place = np.array([self.stratum, self.batch], np.int64)
        return {"place": place, **under("tally", self.tally.state())}

    def result(self, holder: object) -> PairCount:
        """What was counted; ``holder`` is what its files go with."""
        return PairCount(
            labels=self.plan.labels,
            tally=self.tally.total,
            records=self.recorded.counts,
            residual=self.plan.residual,
            strata=self.tally.counts(self.cuts, holder),
        )

    def _counted(self, direct: Sparse) -> tuple[Batch, Sparse]:
        return count_batch(direct, self.tally.total.closure, self.tally.total.compiled)

    def _take(self, counted: tuple[Batch, Sparse]) -> None:
        self.tally.add(*counted)

    def _lengths_of(self, stratum: int) -> range:
        """The numbers of labels of its instances; `NO_STRATUM` is that of a single label."""
        if stratum == NO_STRATUM:
            return range(1, LEAST_LABELS)
        later = self.cuts[stratum + 1 :]
        return range(int(self.cuts[stratum]), int(later[0]) if len(later) else len(self.lengths))


def _most_labelled(records: RecordCounts, labels: LabelNodes) -> IntArray:
    """The nodes in use, about by support, the most frequent first."""
    carried = records.at("below", len(labels.hierarchy))
    mapped = labels.node_of >= 0
    written = records.at("label", len(labels.node_of))
    np.add.at(carried, labels.node_of[mapped], written[mapped])
    used = np.flatnonzero(carried)
    return used[np.argsort(-carried[used], kind="stable")]
