"""Instances in two branches, broken down by nodes of the first or by pairs of labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, row
from audit.checks.check import TOP_PARTS
from audit.disclosure import count
from audit.measure.measure import Measurements
from audit.policy.statements import BranchRule
from audit.results.findings import Part


@dataclass(frozen=True)
class Meeting:
    """Two branches, the rule about them, and the number of instances with labels in both.

    Args:
        a: Index of the branch that the rule names first.
        b: Index of the other.
        rule: The policy's rule on the two.
        instances: Number of instances that carry both, without a label that is in both.
    """

    a: int
    b: int
    rule: BranchRule
    instances: int


def meeting_apart(measured: Measurements) -> pl.LazyFrame:
    """``a, b`` (indices) and ``instances``: how many carry both without a label below both."""
    apart = pl.col("joint") - pl.col("joint_entailed")
    return _by_number(measured).select("a", "b", instances=apart)


def lowest_pairs(measured: Measurements) -> pl.LazyFrame:
    """``a, b`` (indices) and ``joint`` of lowest labels, which instances carry only as labels."""
    labels = (measured.direct_support > 0).astype(np.int64)
    at_or_below = measured.hierarchy.below @ labels
    lowest = np.flatnonzero((labels == 1) & (at_or_below == 1)).tolist()
    both = pl.col("a").is_in(lowest) & pl.col("b").is_in(lowest)
    return _by_number(measured).select("a", "b", "joint").filter(both)


def _by_number(measured: Measurements) -> pl.LazyFrame:
    """The table of pairs, the nodes by index."""
    return measured.pairs.with_columns(pl.col("a", "b").to_physical().cast(pl.Int64))


def parts_of_instances(
    measured: Measurements, meeting: Meeting, instances: IntArray
) -> tuple[Part, ...]:
    """Break a meeting down by the labels of its instances, the largest part first."""
    if meeting.rule.break_down_depth is None:
        return _label_pairs(measured, meeting, instances)
    nodes = _at_depth(measured, meeting)
    carried = measured.loaded.aggregated[instances][:, nodes]
    return _by_node(measured, meeting, nodes, np.bincount(carried.indices, minlength=len(nodes)))


def parts_of_counts(
    measured: Measurements, lowest: pl.LazyFrame, meeting: Meeting
) -> tuple[Part, ...]:
    """Break a meeting down by counts of pairs, the largest part first.

    Args:
        measured: The measurements.
        lowest: From `lowest_pairs`; for other labels, counts do not say how many instances are
            labelled with both.
        meeting: The two branches.
    """
    if meeting.rule.break_down_depth is None:
        return _pairs_between(measured, lowest, meeting)
    nodes, met = _at_depth(measured, meeting), meeting_apart(measured)
    with_b = met.filter((pl.col("a") == meeting.b) | (pl.col("b") == meeting.b)).collect(
        engine="streaming"
    )
    others = with_b.select(pl.col("a") + pl.col("b") - meeting.b).to_series()
    counts = np.zeros(len(measured.hierarchy), np.int64)
    counts[others.to_numpy()] = with_b["instances"].to_numpy()
    return _by_node(measured, meeting, nodes, counts[nodes])


def ordered(measured: Measurements, parts: list[tuple[int, str]], touched: int) -> tuple[Part, ...]:
    """Breakdown lines for nodes and their numbers of instances, the largest first."""
    total, hierarchy = measured.n_instances, measured.hierarchy
    used = sorted(((n, node) for n, node in parts if n), key=lambda part: (-part[0], part[1]))
    return tuple(
        Part(
            (node,),
            {"instances": count(n, total, touched, int(measured.support[hierarchy.index(node)]))},
        )
        for n, node in used[:TOP_PARTS]
    )


def _at_depth(measured: Measurements, meeting: Meeting) -> IntArray:
    below = row(measured.hierarchy.below, meeting.a)
    at_depth: BoolArray = measured.hierarchy.depth[below] == meeting.rule.break_down_depth
    return below[at_depth]


def _by_node(
    measured: Measurements, meeting: Meeting, nodes: IntArray, counts: IntArray
) -> tuple[Part, ...]:
    names = measured.hierarchy.nodes
    parts = [(n, names[i]) for n, i in zip(counts.tolist(), nodes.tolist(), strict=True)]
    return ordered(measured, parts, meeting.instances)


def _label_pairs(measured: Measurements, meeting: Meeting, instances: IntArray) -> tuple[Part, ...]:
    left, right = (row(measured.hierarchy.below, i) for i in (meeting.a, meeting.b))
    direct = measured.loaded.dataset.direct[instances]
    together = csr_array(direct[:, left].T @ direct[:, right]).tocoo()
    nodes_a, nodes_b = left[together.row], right[together.col]
    nested = np.isin(nodes_a, right) & np.isin(nodes_b, left)
    different = (nodes_a != nodes_b) & ~(nested & (nodes_a > nodes_b))
    joint = together.data[different]
    return _largest(measured, meeting, nodes_a[different], nodes_b[different], joint)


def _pairs_between(
    measured: Measurements, lowest: pl.LazyFrame, meeting: Meeting
) -> tuple[Part, ...]:
    left, right = (row(measured.hierarchy.below, i).tolist() for i in (meeting.a, meeting.b))
    forward = pl.col("a").is_in(left) & pl.col("b").is_in(right)
    backward = pl.col("a").is_in(right) & pl.col("b").is_in(left)
    met = (
        lowest.filter(forward | backward).with_columns(forward=forward).collect(engine="streaming")
    )
    first, second, joint, ahead = (met[name].to_numpy() for name in ("a", "b", "joint", "forward"))
    nodes_a, nodes_b = np.where(ahead, (first, second), (second, first))
    return _largest(measured, meeting, nodes_a, nodes_b, joint)


def _largest(
    measured: Measurements, meeting: Meeting, nodes_a: IntArray, nodes_b: IntArray, joint: IntArray
) -> tuple[Part, ...]:
    """The pairs of labels with most instances."""
    names, labelled = measured.hierarchy.nodes, measured.direct_support.tolist()
    totals = (measured.n_instances, meeting.instances)
    top = np.lexsort((nodes_b, nodes_a, -joint))[:TOP_PARTS]
    return tuple(
        Part((names[a], names[b]), {"instances": count(n, *totals, labelled[a], labelled[b])})
        for a, b, n in zip(
            nodes_a[top].tolist(), nodes_b[top].tolist(), joint[top].tolist(), strict=True
        )
    )
