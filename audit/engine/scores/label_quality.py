"""Labels that a model's scores contradict, in the order of their normalised margins.

Scores are first multiplied by weights of the classes, so that a model that was trained with
balanced classes does not accuse the frequent ones. The margin is half of one more than the score
of the label less the highest other one (cleanlab's ``normalized_margin``); where each class is
answered by itself the other one is its absence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.rows import row_numbers, stored

CLOSE = 1e-9
"""Largest deviation of a class's mean from its share at which weighting ends."""
MOST_STEPS = 200
"""Number of steps after which it ends all the same."""
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Suspects:
    """Labels that scores contradict, in no order.

    Args:
        rows: Instance of each, shape (n,).
        nodes: The label, or the one that lacks, shape (n,).
        instead: The class of the highest other score where that is one answer, else -1, (n,).
        lacks: Whether it is not given, shape (n,).
        margin: Its normalised margin, below one half, shape (n,).
    """

    rows: IntArray
    nodes: IntArray
    instead: IntArray
    lacks: BoolArray
    margin: FloatArray


def balanced(scores: Sparse, label: IntArray) -> Sparse:
    """Scores times class weights, so that a class's mean is its share of labels; rows sum to one.

    Columns and rows are scaled in turn. A class that is never the label gets no score.

    Args:
        scores: Each row sums to one, shape (n, n_nodes), canonical CSR without zeros.
        label: Node of each instance, shape (n,); n is at least 1.
    """
    row, column, data = row_numbers(scores), scores.indices, scores.data
    n, n_nodes = scores.shape
    wanted = np.bincount(label, minlength=n_nodes)
    for _ in range(MOST_STEPS):
        sums = np.bincount(column, data, n_nodes)
        data = data * (wanted / np.maximum(sums, TINY))[column]
        data = data / np.maximum(np.bincount(row, data, n), TINY)[row]
        if np.abs(np.bincount(column, data, n_nodes) - wanted)[sums > 0].max() <= CLOSE * n:
            break
    return csr_array((data, column, scores.indptr), shape=scores.shape)


def balanced_apart(scores: Sparse, gold: Sparse) -> Sparse:
    """Scores whose odds are multiplied by a weight of each class, so that its mean is its share.

    Args:
        scores: Shape (n, n_nodes), canonical CSR without zeros; what is not stored stays 0.
        gold: Labels, 0/1, same shape.
    """
    column, n_nodes = scores.indices, scores.shape[1]
    wanted, score = np.bincount(gold.indices, minlength=n_nodes), np.minimum(scores.data, 1.0)
    low, high = np.full(n_nodes, -30.0), np.full(n_nodes, 30.0)
    for _ in range(50):
        middle = (low + high) / 2
        weighed = score * np.exp(middle)[column]
        data = weighed / np.maximum(weighed + 1 - score, TINY)
        more = np.bincount(column, data, n_nodes) > wanted
        low, high = np.where(more, low, middle), np.where(more, middle, high)
    return csr_array((data, column, scores.indptr), shape=scores.shape)


def of_one_answer(label: IntArray, scores: Sparse) -> Suspects:
    """Labels with a score below another class's: one label an instance, scores that sum to one.

    Args:
        label: Node of each instance, shape (n,).
        scores: Shape (n, n_nodes), canonical CSR without empty rows.
    """
    row, column, ends = row_numbers(scores), scores.indices, scores.indptr[:-1]
    mine = column == label[row]
    own = np.bincount(row, np.where(mine, scores.data, 0.0), len(label))
    others = np.where(mine, -1.0, scores.data)
    other = np.maximum.reduceat(others, ends)
    margin = (own - np.maximum(other, 0.0) + 1) / 2
    found = np.flatnonzero(margin < 0.5)
    _, first = np.unique(row[others == other[row]], return_index=True)
    instead = column[others == other[row]][first].astype(np.int64)[found]
    return Suspects(found, label[found], instead, np.zeros(len(found), np.bool_), margin[found])


def of_several_answers(gold: Sparse, scores: Sparse, above: Sparse) -> Suspects:
    """Given labels whose absence is likelier, and labels that are not given and likelier.

    A label above one that is given follows from it: it does not lack, and is not judged. A class
    without a score on any instance is left out.

    Args:
        gold: Labels, 0/1, shape (n, n_nodes), canonical CSR.
        scores: Same shape, canonical CSR without zeros.
        above: 1 where a is a strict ancestor of i, shape (n_nodes, n_nodes).
    """
    listed = np.bincount(scores.indices, minlength=scores.shape[1]) > 0
    entailed = csr_array(gold @ above)
    entailed.sort_indices()
    each = []
    for cells, lacks in ((gold, False), (scores, True)):
        row, node = row_numbers(cells), cells.indices.astype(np.int64)
        score = np.asarray(scores[row, node]).ravel() if len(row) else np.zeros(0)
        margin = 1 - score if lacks else score
        kept = (margin < 0.5) & listed[node] & ~stored(entailed, row, node)
        kept &= ~stored(gold, row, node) if lacks else True
        each.append((row[kept], node[kept], np.full(kept.sum(), lacks), margin[kept]))
    rows, nodes, lacks_, margins = (np.concatenate(one) for one in zip(*each, strict=True))
    return Suspects(rows, nodes, np.full(len(rows), -1), lacks_, margins)
