"""Labels or answers that hold every ancestor, where the others hold none."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import Sparse
from audit.hierarchies.hierarchy import Hierarchy

NEARLY = 0.9
"""Share of instances that are nearly all."""
Closed: TypeAlias = Literal["answers", "labels", ""]


def closed_side(hierarchy: Hierarchy, labels: Sparse, answers: Sparse) -> Closed:
    """The side of which nearly all instances hold every ancestor of their nodes but the root, if
    nearly none of the other do.

    Instances without a node below the root's children say nothing; labels and answers are 0/1,
    shape (n_instances, n_nodes).
    """
    of_labels = _share_closed(hierarchy, labels)
    if of_labels is None or 1 - NEARLY < of_labels < NEARLY:
        return ""
    of_answers = _share_closed(hierarchy, answers)
    if of_answers is None:
        return ""
    if of_answers >= NEARLY and of_labels <= 1 - NEARLY:
        return "answers"
    return "labels" if of_labels >= NEARLY and of_answers <= 1 - NEARLY else ""


def _share_closed(hierarchy: Hierarchy, nodes: Sparse) -> float | None:
    """Share of instances that hold every ancestor, of those that have some; None of none."""
    above = _ancestors(hierarchy, nodes)
    needed, held = np.diff(above.indptr), np.diff(csr_array(above.multiply(nodes > 0)).indptr)
    some = needed > 0
    return float((held[some] == needed[some]).mean()) if some.any() else None


def _ancestors(hierarchy: Hierarchy, nodes: Sparse) -> Sparse:
    """The ancestors of each instance's nodes, the root left out; 0/1, canonical."""
    above = hierarchy.strict_closure.multiply(np.arange(len(hierarchy)) != hierarchy.root)
    found = csr_array((nodes > 0).astype(np.int64) @ csr_array(above))
    found.eliminate_zeros()
    found.data[:] = 1
    return found


def closed_upwards(hierarchy: Hierarchy, values: Sparse) -> Sparse:
    """Each node and its ancestors but the root with the highest value below, canonical."""
    held = csr_array(values).tocoo()
    row, column = held.coords
    above = hierarchy.closure[column].tocoo()
    cells = {"row": row[above.row], "node": above.col, "value": held.data[above.row]}
    kept = (above.col != hierarchy.root) | (column[above.row] == hierarchy.root)
    best = pl.DataFrame(cells).filter(kept).group_by("row", "node").agg(pl.max("value"))
    places = (best["row"].to_numpy(), best["node"].to_numpy())
    closed = csr_array((best["value"].to_numpy(), places), shape=values.shape)
    closed.sort_indices()
    return closed


def lowest(hierarchy: Hierarchy, labels: Sparse) -> Sparse:
    """Labels without those that another label is below; 0/1, canonical."""
    above = csr_array(labels @ hierarchy.strict_closure)
    kept = csr_array(labels - labels.multiply(above > 0))
    kept.eliminate_zeros()
    return kept
