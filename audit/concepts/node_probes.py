"""How well a layer separates the instances below a node from others, and from its siblings'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, UIntArray
from audit.concepts.nodes_below import Below, dense
from audit.concepts.splits import scaling_of

BLOCK = 512
"""Nodes whose scores are computed at a time."""


@dataclass(frozen=True, eq=False)
class NodeAccuracies:
    """How often a layer separates nodes, means over splits.

    Args:
        own: Share of the instances below each tested node that are distinguished from all others.
        rest: Share of all others that are distinguished from those below it.
        pairs: Per parent, the share of the instances of its i-th child, and not of its j-th, whose
            score of the i-th is the higher, shape (children, children).
        best: Per parent, the child of the highest score, shape (instances below it, splits).
    """

    own: FloatArray
    rest: FloatArray
    pairs: Mapping[int, FloatArray]
    best: Mapping[int, IntArray]


def fit_node_probes(layer: FloatArray, below: Below, keys: Sequence[UIntArray]) -> NodeAccuracies:
    """Fit discriminants on one half of the instances, judge the other, and the other way round.

    Against all others: the least-squares direction. Between siblings: linear discriminant
    analysis, with the covariance of what the tested nodes leave unexplained of the features.

    Args:
        layer: Representations, shape (instances, features).
        below: The nodes.
        keys: Per split a number for each instance, which decides its half.
    """
    z = scaling_of(layer)(layer)
    rows_of = {parent: below.rows_below(parent) for parent in below.families}
    right = np.zeros((2, len(below.tested)))
    wins = {parent: np.zeros((len(c), len(c))) for parent, c in below.families.items()}
    best = {parent: np.zeros((len(rows), len(keys)), np.int64) for parent, rows in rows_of.items()}
    for split, key in enumerate(keys):
        half = np.argsort(np.argsort(key)) % 2 == 0
        for fitted in (half, ~half):
            right += _right_of_rest(z, below, fitted)
            factor = _solver(_unexplained(z[fitted], below.member[fitted][:, below.tested]))
            for parent, rows in rows_of.items():
                judged = rows[~fitted[rows]]
                score = _scores(z, below, factor, rows[fitted[rows]], judged, parent)
                best[parent][~fitted[rows], split] = score.argmax(axis=1)
                wins[parent] += _wins(score, dense(below.member, judged, below.families[parent]))
    support = np.asarray(below.member[:, below.tested].sum(axis=0)).reshape(-1)
    pairs = {
        parent: counts / np.maximum(instances_of_one(below, rows_of[parent], parent) * len(keys), 1)
        for parent, counts in wins.items()
    }
    shares = right / (np.array([support, len(z) - support]) * len(keys))
    return NodeAccuracies(shares[0], shares[1], pairs, best)


def instances_of_one(below: Below, rows: IntArray, parent: int) -> IntArray:
    """Instances of each child that are not of each other one, shape (children, children)."""
    own = dense(below.member, rows, below.families[parent]).astype(np.int64)
    return np.asarray(own.T @ (1 - own))


def _wins(score: FloatArray, member: BoolArray) -> FloatArray:
    """Instances of each child, and not of each other one, whose score of it is the higher."""
    wins = np.zeros((score.shape[1], score.shape[1]))
    for child in range(score.shape[1]):
        own = member[:, child]
        above = score[own, child][:, None] > score[own]
        wins[child] = (above & ~member[own]).sum(axis=0)
    return wins


def _solver(centred: FloatArray) -> Any:
    """The factor of a covariance, drawn toward a sphere by features / (features + rows)."""
    rows, features = centred.shape
    covariance = centred.T @ centred / max(rows, 1)
    toward = features / (features + rows)
    size = float(np.trace(covariance)) / features or 1.0
    return cho_factor((1 - toward) * covariance + toward * size * np.eye(features))


def _right_of_rest(z: FloatArray, below: Below, fitted: BoolArray) -> FloatArray:
    """Right answers outside of ``fitted``, for instances below each tested node, and all others."""
    member = below.member[:, below.tested].astype(np.float64)
    own, judged = member[fitted], member[~fitted]
    there = np.asarray(own.sum(axis=0)).reshape(-1)
    total, sums = z[fitted].sum(axis=0), np.asarray(own.T @ z[fitted])
    mean = sums / np.maximum(there, 1)[:, None]
    rest = (total - sums) / np.maximum(own.shape[0] - there, 1)[:, None]
    factor = _solver(z[fitted] - z[fitted].mean(axis=0))
    right = np.zeros((2, len(there)))
    for start in range(0, len(there), BLOCK):
        part = slice(start, start + BLOCK)
        direction = cho_solve(factor, (mean - rest)[part].T)
        middle = ((mean + rest)[part] / 2 * direction.T).sum(axis=1)
        above = z[~fitted] @ direction > middle
        here = judged[:, part].toarray() > 0
        right[0, part] = (above & here).sum(axis=0)
        right[1, part] = (~above & ~here).sum(axis=0)
    return right


def _scores(
    z: FloatArray, below: Below, factor: Any, fitted: IntArray, judged: IntArray, parent: int
) -> FloatArray:
    """Scores of the children of a parent, shape (judged, children)."""
    own = dense(below.member, fitted, below.families[parent]).astype(np.float64)
    mean = (own.T @ z[fitted]) / np.maximum(own.sum(axis=0), 1)[:, None]
    direction = cho_solve(factor, mean.T)
    return np.asarray(z[judged] @ direction - (mean.T * direction).sum(axis=0) / 2)


def _unexplained(z: FloatArray, member: Sparse) -> FloatArray:
    """What nodes leave of centred features: residuals of a regression on them."""
    centred, marks = z - z.mean(axis=0), member.astype(np.float64)
    gram = (marks.T @ marks).toarray() + 1e-6 * len(z) * np.eye(marks.shape[1])
    return np.asarray(centred - marks @ np.linalg.solve(gram, marks.T @ centred))
