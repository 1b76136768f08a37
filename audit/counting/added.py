"""Adding the counts of new instances to the counts that an earlier run kept."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.errors import InputError, first_cases
from audit.counting.counts import PairCount
from audit.data.mapping import LabelNodes
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.record_counts import KINDS, Kind, RecordCounts
from audit.engine.pairs.sums import Sums
from audit.engine.pairs.tally import Batch


def refuse_other_nodes(before: PairCount, labels: LabelNodes, residual: IntArray) -> None:
    """Raise InputError if the nodes of an earlier count have changed since.

    Args:
        before: The earlier count.
        labels: The mapped labels of both counts.
        residual: As in `PairCount`, for the nodes of ``labels``.
    """
    refuse_other_codes(before.labels.written, labels)
    old, new = before.hierarchy, labels.hierarchy
    at = _places(before, labels)
    hint = "audit all data together"
    turned = (old.height == 0) & (new.height[at] > 0)
    if turned.any():
        raise InputError(
            "labels that do not hang below a leaf of the earlier count are required",
            found=f"labels below {first_cases(np.array(old.nodes)[turned].tolist())}",
            hint=hint,
        )
    otherwise = residual[at] != before.residual
    if otherwise.any():
        raise InputError(
            "the same residual nodes as in the earlier count are required",
            found=f"a policy that treats {first_cases(np.array(old.nodes)[otherwise].tolist())} "
            "otherwise",
            hint=hint,
        )


def refuse_other_codes(before: pl.DataFrame, labels: LabelNodes) -> None:
    """Raise InputError if labels are read as other codes than when they were counted.

    Args:
        before: ``label, homeless, node`` of the earlier count.
        labels: The labels now, those of the earlier count among them.
    """
    own = pl.struct("label", "homeless", "node")
    known = labels.written.select(own).to_series().implode()
    other = before.filter(~own.is_in(known, nulls_equal=True))
    if not other.is_empty():
        raise InputError(
            "labels that are read as the codes that were counted earlier are required",
            found=first_cases(other["label"]),
            hint="audit all data together",
        )


def with_added(count: PairCount, before: PairCount) -> PairCount:
    """Add two counts, as if all instances had been counted at once; ``count`` is modified.

    Args:
        count: The count of the later instances, its labels mapped together with the earlier ones.
        before: The count of the earlier instances.
    """
    at, n = _places(before, count.labels), len(count.hierarchy)
    tally = before.tally
    counted = Batch(
        lengths=tally.lengths,
        direct=_moved(tally.direct_support, at, n),
        support=_moved(tally.support, at, n),
        entailed=_rekeyed(tally.entailed, at, tally.n_nodes, n),
    )
    count.tally.add_counted(counted, (_moved_pairs(pairs, at) for pairs in tally.blocks()))
    count.records.add(_moved_records(before, count, at))
    return PairCount(count.labels, count.tally, count.records, count.residual, count.holder)


def _places(before: PairCount, labels: LabelNodes) -> IntArray:
    """Index that each node of the earlier count has now, ascending."""
    index = labels.hierarchy.index
    return np.array([index(node) for node in before.hierarchy.nodes], np.int64)


def _moved(counts: IntArray, at: IntArray, size: int) -> IntArray:
    """Counts by node, shape (..., n_nodes), where the nodes are now."""
    found = np.zeros((*counts.shape[:-1], size), np.int64)
    found[..., at] = counts
    return found


def _moved_pairs(pairs: PairCounts, at: IntArray) -> PairCounts:
    return PairCounts(at[pairs.a], at[pairs.b], pairs.joint, pairs.confusion_sum)


def _rekeyed(sums: Sums, at: IntArray, n_before: int, n: int) -> Sums:
    """Sums by ``first * n_before + node``, with ``n`` nodes; they stay in order."""
    first, node = np.divmod(sums.keys, n_before)
    return Sums(at[first] * n + at[node], sums.joint, sums.confusion)


def _within_parts(sums: Sums, at: IntArray, n_before: int, n: int) -> Sums:
    """Sums by ``part * n_before + node``, with ``n`` nodes; they stay in order."""
    part, node = np.divmod(sums.keys, n_before)
    return Sums(part * n + at[node], sums.joint, sums.confusion)


def _moved_records(before: PairCount, count: PairCount, at: IntArray) -> RecordCounts:
    n_before, n = before.tally.n_nodes, count.tally.n_nodes
    by_node: tuple[Kind, ...] = ("repeated", "below", "alone")
    by_part: tuple[Kind, ...] = ("only_residual", "carried", "labelled")
    moved: dict[Kind, Sums] = {}
    for kind in KINDS:
        sums = before.records.of(kind)
        if kind in by_node:
            sums = Sums(at[sums.keys], sums.joint, sums.confusion)
        elif kind == "nested":
            sums = _rekeyed(sums, at, n_before, n)
        elif kind in by_part:
            sums = _within_parts(sums, at, n_before, n)
        elif kind == "between":
            part, node = np.divmod(sums.keys, n_before)
            inner = _within_parts(Sums(part, sums.joint, sums.confusion), at, n_before, n)
            sums = Sums(inner.keys * n + at[node], sums.joint, sums.confusion)
        elif kind == "label":
            numbers = _numbers(before.labels, count.labels)
            order = np.argsort(numbers[sums.keys], kind="stable")
            sums = Sums(numbers[sums.keys], sums.joint, sums.confusion)[order]
        moved[kind] = sums
    return RecordCounts(moved)


def _numbers(before: LabelNodes, labels: LabelNodes) -> IntArray:
    """Number that each label of the earlier count has now."""
    old, new = (
        found.written.filter(~pl.col("homeless")).select("label", "number")
        for found in (before, labels)
    )
    joined = old.join(new, on="label", nulls_equal=True, how="left", maintain_order="left")
    return joined["number_right"].to_numpy()
