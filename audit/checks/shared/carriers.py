"""Select instances by what they carry: a node, two nodes, or a raw label."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray, row
from audit.measure.measure import Measurements


def carrying(measured: Measurements, node: str) -> IntArray:
    """Instances that carry a node, ascending."""
    return row(measured.loaded.carriers, measured.hierarchy.index(node))


def carrying_both(measured: Measurements, a: str, b: str) -> IntArray:
    """Instances that carry both nodes, ascending."""
    return np.intersect1d(carrying(measured, a), carrying(measured, b), assume_unique=True)


def labelled_below_both(measured: Measurements, a: str, b: str) -> BoolArray:
    """Whether each instance has a label at or below both nodes, shape (n_instances,)."""
    below, index = measured.hierarchy.below, measured.hierarchy.index
    shared = np.intersect1d(row(below, index(a)), row(below, index(b)), assume_unique=True)
    return labelled_with(measured, shared)


def labelled_with(measured: Measurements, nodes: IntArray) -> BoolArray:
    """Whether each instance has one of the nodes as a direct label, shape (n_instances,)."""
    found = np.zeros(measured.n_instances, np.bool_)
    for node in nodes.tolist():
        found[row(measured.loaded.labelled_at, node)] = True
    return found


def written_with(measured: Measurements, lines: pl.DataFrame) -> IntArray:
    """Instances with one of the given raw labels, ascending.

    Args:
        measured: The measurements.
        lines: Its column ``line`` numbers the labels as `LabelDataset.written` does.
    """
    written = measured.loaded.dataset.written
    return distinct(written.filter(pl.col("line").is_in(lines["line"].implode())))


def distinct(rows: pl.DataFrame) -> IntArray:
    """The distinct values of the column ``instance``, ascending."""
    return np.unique(rows["instance"].to_numpy()).astype(np.int64)
