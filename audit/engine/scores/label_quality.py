"""Labels that a model's scores contradict: the suspects of cleanlab's confident learning.

A class is confident on an instance whose score reaches the mean score of the class where it is the
label (Northcutt, Jiang and Chuang 2021). A label is suspect where another class is confident and
has a higher score. Suspects are ordered by the normalised margin, half of one more than the score
of the label less the highest other one, the smallest first; where each class is answered by itself
the other one is its absence. Both are those of `cleanlab`'s ``find_label_issues(filter_by=
"confident_learning")`` and ``find_multilabel_issues_per_class``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, UIntArray
from audit.engine.pairs.rows import row_numbers
from audit.engine.statistics.label_noise import (
    fit_one_answer,
    fit_several_answers,
    fitted_rows,
)

CLOSE = 1e-6
"""Difference of scores up to which they count as equal."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """Labels that scores contradict, in no order.

    Args:
        rows: Instance of each, shape (n,).
        nodes: The label, or the one that lacks, shape (n,).
        instead: The class of the highest score where that is one answer, else -1, shape (n,).
        margin: Its normalised margin, shape (n,).
        probability: That ``instead`` is right, that a lacking label is, or that a given one is
            wrong, if some labels are wrong by chance, shape (n,).
        expected: How many there would be of each node if labels followed the scores, shape
            (n_nodes,).
    """

    rows: IntArray
    nodes: IntArray
    instead: IntArray
    margin: FloatArray
    probability: FloatArray
    expected: FloatArray


def of_one_answer(label: IntArray, scores: Sparse, keys: UIntArray) -> Suspects:
    """Suspects among instances with one label, of scores that sum to one.

    Args:
        label: Node of each instance, shape (n,); n is at least 1.
        scores: Each row sums to one, shape (n, n_nodes), canonical CSR without zeros.
        keys: Those of the least keys are fitted to where there are too many, shape (n,).

    Takes time and memory in proportion to the scores that are stored, whether they are dense.
    """
    n, n_nodes = scores.shape
    row, column, score, ends = row_numbers(scores), scores.indices, scores.data, scores.indptr
    mine = column == label[row]
    own = _sums(row, np.where(mine, score, 0), n)
    highest = np.maximum.reduceat(score, ends[:-1])
    other = np.maximum.reduceat(np.where(mine, 0, score), ends[:-1])
    answer = first_of(row, column, score == highest[row], n)
    confident = score >= _means(label, own, n_nodes)[column] - CLOSE
    several = np.bincount(row[confident], minlength=n) > 1
    guess = np.where(several, answer, first_of(row, column, confident, n))
    found = np.flatnonzero((guess >= 0) & (guess != label) & (own + CLOSE < other))

    chosen = fitted_rows(scores, keys)
    fit = fit_one_answer(scores[chosen], own[chosen])
    right = fit.probabilities(scores)
    beside = guess[row]
    would_be = (beside >= 0) & (column != beside) & (score + CLOSE < highest[row])
    of_label = _sums(row, np.where(mine, right, 0), n)[found]
    of_answer = np.maximum.reduceat(right, ends[:-1])[found]
    return Suspects(
        rows=found,
        nodes=label[found],
        instead=answer[found],
        margin=(own[found] - other[found] + 1) / 2,
        probability=fit.contradicts(of_label) * of_answer / np.maximum(1 - of_label, CLOSE),
        expected=_sums(column, np.where(would_be, right, 0), n_nodes),
    )


def _sums(place: NDArray[Any], values: FloatArray, n: int) -> FloatArray:
    return np.bincount(place, values, n).astype(np.float64, copy=False)


def first_of(row: IntArray, column: NDArray[Any], chosen: BoolArray | IntArray, n: int) -> IntArray:
    """The first column of each of n rows among those chosen, in their order; -1 without one."""
    rows, at = np.unique(row[chosen], return_index=True)
    first = np.full(n, -1, np.int64)
    first[rows] = column[chosen][at]
    return first


def _means(label: IntArray, own: FloatArray, n_nodes: int) -> FloatArray:
    """Mean score of each class where it is the label; beyond any score where it never is."""
    times = np.bincount(label, minlength=n_nodes)
    sums = _sums(label, own, n_nodes)
    return np.where(times > 0, np.maximum(sums / np.maximum(times, 1), 2 * CLOSE), 2.0)


def of_several_answers(gold: Sparse, scores: Sparse, above: Sparse) -> tuple[Suspects, Suspects]:
    """Given labels that are suspect, and labels that are suspected to lack.

    A label above one that is given follows from it: it does not lack, and is not judged. Classes
    that no instance or every instance has as label, or that none has a score of, are left out.

    Args:
        gold: Labels, 0/1, shape (n, n_nodes), canonical CSR.
        scores: Shape (n, n_nodes), canonical CSR without zeros.
        above: 1 where a is a strict ancestor of i, shape (n_nodes, n_nodes).
    """
    n, n_nodes = scores.shape
    times, listed = (np.bincount(one.indices, minlength=n_nodes) for one in (gold, scores))
    judged = (times > 0) & (times < n) & (listed > 0)
    cell, score = _cells(scores, judged)
    label, _ = _cells(gold, judged)
    own = _looked_up(label, cell, score) if len(cell) else np.zeros(len(label))
    present, absent = _limits(
        times, n, _sums(cell % n_nodes, score, n_nodes), _sums(label % n_nodes, own, n_nodes)
    )
    entailed, _ = _cells(gold @ above, judged)
    open_, free = (~np.isin(one, entailed) for one in (cell, label))
    cell, score, label, own = cell[open_], score[open_], label[free], own[free]
    if not len(cell):
        nothing = _of_cells(cell, score, score, np.zeros(n_nodes), n_nodes)
        return nothing, nothing
    node, held = cell % n_nodes, np.isin(cell, label, assume_unique=True)
    size = n - np.bincount(entailed % n_nodes, minlength=n_nodes)
    empty = np.where(judged, size - np.bincount(node, minlength=n_nodes), 0)
    unlisted = np.bincount(label[own == 0] % n_nodes, minlength=n_nodes)
    fit = fit_several_answers(score, node, held, np.stack([unlisted, empty - unlisted]))
    right = fit.probabilities(score, node)

    wrong = _is_absent(own, absent[label % n_nodes])
    false = fit.is_false(fit.probabilities(own[wrong], label[wrong] % n_nodes))
    by_chance = _sums(node, np.where(_is_absent(score, absent[node]), right, 0), n_nodes)
    by_chance += empty * fit.probabilities(np.zeros(n_nodes), np.arange(n_nodes))
    lacks = (score >= present[node] - CLOSE) & (1 - score + CLOSE < score)
    missing = np.flatnonzero(lacks & ~held)
    lost, lost_by_chance = fit.is_lost(right[missing]), np.where(lacks, 1 - right, 0)
    return (
        _of_cells(label[wrong], own[wrong], false, by_chance, n_nodes),
        _of_cells(
            cell[missing], 1 - score[missing], lost, _sums(node, lost_by_chance, n_nodes), n_nodes
        ),
    )


def _limits(
    times: IntArray, n: int, sums: FloatArray, own: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean score of each class where it is a label, and of its absence where it is none."""
    present = own / np.maximum(times, 1)
    absent = 1 - (sums - own) / np.maximum(n - times, 1)
    return np.maximum(present, 2 * CLOSE), np.maximum(absent, 2 * CLOSE)


def _cells(matrix: Sparse, judged: BoolArray) -> tuple[IntArray, FloatArray]:
    """Each stored cell of some columns, as row times columns plus column, and its value."""
    kept = judged[matrix.indices]
    cell = row_numbers(matrix).astype(np.int64) * matrix.shape[1] + matrix.indices
    return cell[kept], matrix.data[kept]


def _looked_up(wanted: IntArray, cell: IntArray, score: FloatArray) -> FloatArray:
    """Score of each wanted cell; 0 where none is stored."""
    at = np.searchsorted(cell, wanted).clip(max=len(cell) - 1)
    return np.where(cell[at] == wanted, score[at], 0.0)


def _is_absent(score: FloatArray, limit: FloatArray) -> BoolArray:
    return np.asarray((1 - score >= limit - CLOSE) & (score + CLOSE < 1 - score))


def _of_cells(
    cell: IntArray, margin: FloatArray, probability: FloatArray, expected: FloatArray, n_nodes: int
) -> Suspects:
    nobody = np.full(len(cell), -1, np.int64)
    rows, nodes = np.divmod(cell, n_nodes)
    return Suspects(rows, nodes, nobody, margin, probability, expected)
