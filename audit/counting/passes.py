"""A running count: groups rows into instances and counts the instances, batch by batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.dag import IntArray, Sparse
from audit.base.errors import SchemaError
from audit.base.limits import MANY, refuse_many_pairs
from audit.base.machine import cores
from audit.counting.counts import PairCount
from audit.counting.label_nodes import LabelNodes, label_nodes
from audit.counting.residual_nodes import residual_kinds, residual_nodes
from audit.counting.storage import SpilledTail
from audit.data.columns import Columns
from audit.engine.pairs.margins import counted_branches
from audit.engine.pairs.record_counts import Mapped, RecordCounts, RecordRows, count_records
from audit.engine.pairs.tally import Batch, PairTally, count_batch
from audit.hierarchies.applied_policy import policy_for
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy, refuse_unknown_nodes

MEMORY = 2 * 2**30
"""Default number of bytes that a count may use beside the program itself."""


@dataclass(frozen=True, eq=False)
class CountSettings:
    """The settings of a count."""

    hierarchy: Hierarchy
    policy: Policy | None
    memory: int
    columns: Columns | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """The plan of a count whose labels are known.

    Args:
        residual: For each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,).
        folder: Folder for instances and counts on the disk.
    """

    labels: LabelNodes
    residual: IntArray
    memory: int
    folder: Path
    where: object

    @property
    def mapped(self) -> Mapped:
        """The properties of labels and nodes that counting instances needs."""
        labels, hierarchy = self.labels, self.labels.hierarchy
        branches = counted_branches(hierarchy.first_branch, hierarchy.leaf)
        return Mapped(
            node_of=labels.node_of,
            reason_of=labels.reason_of,
            residual=self.residual,
            closure=hierarchy.closure,
            branch_of=branches,
            uninformative=hierarchy.uninformative,
        )

    @cached_property
    def first(self) -> IntArray:
        """Nodes in use, the most frequent first by approximate support, shape (n_used,)."""
        carried = carried_about(self.labels)
        used = np.flatnonzero(carried)
        return used[np.argsort(-carried[used], kind="stable")]


def planned(settings: CountSettings, counts: pl.DataFrame, folder: Path, where: object) -> Plan:
    """Plan a count from its settings and the counts of its labels."""
    labels = label_nodes(counts, settings.hierarchy, settings.columns, where)
    policy = policy_for(labels.hierarchy, settings.policy)
    refuse_unknown_nodes(policy, set(labels.hierarchy.nodes), labels.hierarchy.name)
    hierarchy = labels.hierarchy
    residual = residual_kinds(residual_nodes(hierarchy, policy), len(hierarchy))
    return Plan(labels, residual, settings.memory, folder, where)


def carried_about(labels: LabelNodes) -> IntArray:
    """Number of rows with a label at or below each node, an estimate of support, (n_nodes,)."""
    rows = labels.written.filter(~pl.col("homeless")).sort("number")["rows"].to_numpy()
    mapped, n_nodes = labels.node_of >= 0, len(labels.hierarchy)
    direct = np.bincount(labels.node_of[mapped], rows[mapped], minlength=n_nodes)
    return np.asarray(direct.astype(np.int64) @ labels.hierarchy.closure)


Hashes = NDArray[np.uint64]
ROWS = {"instance": pl.String, "label": pl.Int64, "row": pl.Int64}
"""Columns of a batch; ``label`` is the label's number, null if the row has none to count."""


class Seen:
    """The instances that are complete, as 64-bit hashes: eight bytes each.

    Among ten million instances two ids share a hash with a probability of three in a million; the
    file is then refused, never miscounted.
    """

    def __init__(self) -> None:
        self.parts: list[Hashes] = []

    def first_again(self, hashes: Hashes) -> int | None:
        """Position of the first hash that was seen before; if None, all of them are remembered."""
        again = np.zeros(len(hashes), np.bool_)
        for part in self.parts:
            place = np.minimum(np.searchsorted(part, hashes), len(part) - 1)
            again |= part[place] == hashes
        unique, first = np.unique(hashes, return_index=True)
        repeated = np.ones(len(hashes), np.bool_)
        repeated[first] = False
        found = np.flatnonzero(again | repeated)
        if len(found):
            return int(found[0])
        self._remember(unique)
        return None

    def _remember(self, hashes: Hashes) -> None:
        if len(hashes):
            self.parts.append(hashes)
        while len(self.parts) > 1 and len(self.parts[-2]) <= 2 * len(self.parts[-1]):
            both = np.concatenate([self.parts.pop(-2), self.parts.pop()])
            both.sort(kind="stable")
            self.parts.append(both)


class Contiguous:
    """Takes batches of rows and returns the rows of whole instances.

    The rows of an instance must be consecutive. The last instance of a batch is held back, because
    the next batch may continue it.

    Args:
        node_of: Node of each label by its number; negative: it was refused.
    """

    def __init__(self, where: object, node_of: IntArray) -> None:
        self.where, self.node_of = where, node_of
        self.waiting, self.seen = pl.DataFrame(schema=ROWS), Seen()
        self.pairs = 0

    def add(self, rows: pl.DataFrame) -> RecordRows:
        """Add a batch of `ROWS`; returns the instances that it completes."""
        rows = pl.concat([self.waiting, rows.drop_nulls("instance")])
        instance = rows["instance"].rle_id()
        whole = int(instance.search_sorted(instance[-1])) if len(rows) else 0
        self.waiting = rows[whole:]
        return self._ended(rows[:whole], instance[:whole])

    def rest(self) -> RecordRows:
        """The instance held back, once there are no more rows."""
        rows, self.waiting = self.waiting, pl.DataFrame(schema=ROWS)
        return self._ended(rows, rows["instance"].rle_id())

    def _ended(self, rows: pl.DataFrame, instance: pl.Series) -> RecordRows:
        number = instance.to_numpy().astype(np.int64)
        if len(number) and np.bincount(number).max() >= MANY:
            self._refuse_many_labels(rows)
        starts = np.flatnonzero(np.diff(number, prepend=-1))
        self._refuse_return(rows[starts])
        return RecordRows(number, rows["label"].fill_null(-1).to_numpy(), len(starts))

    def _refuse_many_labels(self, rows: pl.DataFrame) -> None:
        known = rows.drop_nulls("label")
        kept = known.with_columns(node=self.node_of[known["label"].to_numpy()]).filter(
            pl.col("node") >= 0
        )
        labels = kept.group_by("instance").agg(pl.col("node").n_unique())
        nodes = int(self.node_of.max(initial=-1)) + 1
        self.pairs = refuse_many_pairs(labels["node"], nodes, self.where, self.pairs)

    def _refuse_return(self, firsts: pl.DataFrame) -> None:
        place = self.seen.first_again(firsts["instance"].hash().to_numpy())
        if place is not None:
            instance, row = firsts["instance"][place], firsts["row"][place]
            raise SchemaError(
                "the rows of an instance must follow each other",
                found=f"the instance {instance!r} again after others, in row {row + 1:,}",
                where=self.where,
                hint="sort the rows by instance",
            )


_BatchCounts: TypeAlias = tuple[RecordCounts, Batch, Sparse]


class InOrder:
    """Counts batches in threads and consumes the results in the order of the batches."""

    def __init__(self, threads: ThreadPoolExecutor, take: Callable[[_BatchCounts], None]) -> None:
        self.threads, self.take = threads, take
        self._under_way: deque[Future[_BatchCounts]] = deque()

    def add(self, count: Callable[[], _BatchCounts]) -> None:
        """Submit a batch; no more batches are in progress than there are cores."""
        self._under_way.append(self.threads.submit(count))
        self.settle(cores() - 1)

    def settle(self, left: int = 0) -> None:
        """Consume results until at most ``left`` batches are in progress."""
        while len(self._under_way) > left:
            self.take(self._under_way.popleft().result())


class Counting:
    """A running count."""

    def __init__(self, plan: Plan, threads: ThreadPoolExecutor) -> None:
        self.plan, self.mapped = plan, plan.mapped
        self.records = RecordCounts()
        self.tally = PairTally(
            plan.labels.hierarchy.closure,
            square=plan.memory // 4,
            tail=SpilledTail(plan.folder, plan.memory // 8),
            first=plan.first,
        )
        self.instances = Contiguous(plan.where, plan.labels.node_of)
        self._in_order = InOrder(threads, self._take)

    def add(self, rows: pl.DataFrame) -> None:
        """Count rows from `LabelNodes.numbered`."""
        self._count(self.instances.add(rows))

    def end(self) -> None:
        """Count the instance that was held back, as there are no more rows."""
        self._count(self.instances.rest())
        self._in_order.settle()

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
