"""Select instances by what they carry: a node, two nodes, a raw label, the nodes of a rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray, row
from audit.checks.check import TOP_PARTS
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below
from audit.results.findings import Part


def carrying(measured: Measurements, node: str) -> IntArray:
    """Instances that carry a node, ascending."""
    return row(measured.loaded.carriers, measured.hierarchy.index(node))


def carrying_both(measured: Measurements, a: str, b: str) -> IntArray:
    """Instances that carry both nodes, ascending."""
    return np.intersect1d(carrying(measured, a), carrying(measured, b), assume_unique=True)


def carrying_apart(measured: Measurements, a: str, b: str) -> IntArray:
    """Instances that carry both nodes without a label at or below both, ascending."""
    below, index = measured.hierarchy.below, measured.hierarchy.index
    shared = np.intersect1d(row(below, index(a)), row(below, index(b)), assume_unique=True)
    both = carrying_both(measured, a, b)
    return both[~labelled_with(measured, shared)[both]]


def labels_apart(hierarchy: Hierarchy, a: int, b: int) -> str:
    """What a sentence adds to "both A and B" where a node is at or below both."""
    apart = set(row(hierarchy.below, a).tolist()).isdisjoint(row(hierarchy.below, b).tolist())
    return "" if apart else " without a label below both"


def labelled_with(measured: Measurements, nodes: IntArray) -> BoolArray:
    """Whether each instance has one of the nodes as a direct label, shape (n_instances,)."""
    found = np.zeros(measured.n_instances, np.bool_)
    for node in nodes.tolist():
        found[row(measured.loaded.labelled_at, node)] = True
    return found


def written_with(measured: Measurements, lines: pl.DataFrame) -> IntArray:
    """Instances with one of the given raw labels, ascending."""
    written = measured.loaded.dataset.written
    return distinct(written.filter(pl.col("line").is_in(lines["line"].implode())))


def distinct(rows: pl.DataFrame) -> IntArray:
    """The distinct values of the column ``instance``, ascending."""
    return np.unique(rows["instance"].to_numpy()).astype(np.int64)


MOST_NAMED = 3
"""Largest number of nodes of a side of a rule that a sentence names in full."""


def carrying_any(measured: Measurements, nodes: Sequence[str]) -> IntArray:
    """Instances that carry at least one of the nodes, ascending."""
    each = (carrying(measured, node) for node in nodes)
    return np.unique(np.concatenate([np.empty(0, np.int64), *each]))


def named(hierarchy: Hierarchy, nodes: Sequence[str], title: str = "") -> str:
    """The nodes of a side of a rule; of many the first, and the number of others.

    Of more than two codes those behind the first, and all behind a title, stand without their own.
    """
    few = nodes if len(nodes) <= MOST_NAMED else nodes[: MOST_NAMED - 1]
    others = len(nodes) - len(few)
    full = 0 if title else 1 if hierarchy.integrity and len(nodes) > 2 else len(few)
    names = [*(hierarchy.describe(hierarchy.index(node)) for node in few[:full]), *few[full:]]
    *first, last = [*names, *([f"{others} others"] if others else [])]
    listed = f"{', '.join(first)} or {last}" if first else last
    return f"{title} ({listed})" if title else listed


def label_part(hierarchy: Hierarchy, nodes: tuple[int, ...], instances: int) -> Part:
    """A line of a breakdown for nodes, by index, that so many instances have."""
    return Part(tuple(hierarchy.nodes[node] for node in nodes), {"instances": instances})


def parts_of(measured: Measurements, nodes: Sequence[str], instances: IntArray) -> tuple[Part, ...]:
    """Breakdown of instances by their labels at or below the nodes, the most frequent first."""
    labels = np.flatnonzero(at_or_below(measured.hierarchy, nodes))
    labelled = np.asarray(
        measured.loaded.dataset.direct[instances][:, labels].sum(axis=0), np.int64
    )
    order = np.lexsort((labels, -labelled))[:TOP_PARTS]
    return tuple(
        label_part(measured.hierarchy, (int(labels[place]),), int(labelled[place]))
        for place in order.tolist()
        if labelled[place]
    )
