"""How well a layer orders the instances below nodes against others, and against their siblings'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from audit.analyses.concepts.halves import OUT, Area, Half, Units, area, place
from audit.analyses.concepts.nodes_below import Below, dense
from audit.base.dag import BoolArray, FloatArray, IntArray

BLOCK = 128
"""Nodes whose scores are computed at a time."""
CLOSEST = 10
"""Siblings that the hardest one is sought among: those whose scores lie closest."""

Pair = tuple[int, int]


def node_areas(
    z: FloatArray, below: Below, halves: Sequence[Half], units: Units
) -> list[Area | None]:
    """Areas of the tested nodes against all others, by the covariance of the features."""
    areas: list[Area | None] = []
    for start in range(0, len(below.tested), BLOCK):
        nodes = below.tested[start : start + BLOCK]
        side = dense(below.member, slice(None), nodes).astype(np.int64)

        def scores(place: int, side: IntArray = side) -> FloatArray:
            half = halves[place]
            return np.asarray(z[half.judged] @ half.solve(half.apart(z, side)).T)

        placed = place([half.judged for half in halves], scores, side)
        areas += [area(placed[:, one], side[:, one], units.of_row) for one in range(len(nodes))]
    return areas


@dataclass(frozen=True, eq=False)
class Siblings:
    """Discriminants between siblings, by the covariance of what nodes leave unexplained.

    Args:
        directions: Per half the direction of each tested node, shape (nodes, features).
        best: Per parent, the child of the highest score, shape (instances below it, splits).
        closest: Per tested child of a parent, and parent, the siblings whose scores lie closest.
    """

    halves: Sequence[Half]
    directions: Sequence[FloatArray]
    best: Mapping[int, IntArray]
    closest: Mapping[Pair, IntArray]


def fit_siblings(z: FloatArray, below: Below, units: Units, halves: int | None = None) -> Siblings:
    """Fit the discriminants on every half, or on the first ones.

    Args:
        z: Representations, shape (n, features).
        halves: How many halves; all if None.
    """
    member = dense(below.member, slice(None), below.tested)
    rows_of = {parent: below.rows_below(parent) for parent in below.families}
    fitted_on = units.fitted[:halves]
    best = {parent: np.zeros((len(rows), len(fitted_on) // 2), np.int64)
            for parent, rows in rows_of.items()}  # fmt: skip
    apart = {parent: np.zeros((len(c), len(c))) for parent, c in below.families.items()}
    fits, directions = [], []
    for number, fitted in enumerate(fitted_on):
        fits.append(Half.of(z, fitted, unexplained(z, member, fitted)))
        directions.append(fits[-1].solve(np.nan_to_num(fits[-1].apart(z, member))))
        for parent, rows in rows_of.items():
            at = np.searchsorted(below.tested, below.families[parent])
            judged = rows[~fitted[rows]]
            scores = _class_scores(z, member[:, at], fits[-1], rows[fitted[rows]], judged)
            best[parent][~fitted[rows], number // 2] = scores.argmax(axis=1)
            apart[parent] += _separations(z[judged] @ directions[-1][at].T, member[judged][:, at])
    closest = {
        (int(node), parent): children[np.argsort(apart[parent][place], kind="stable")[:CLOSEST]]
        for parent, children in below.families.items()
        for place, node in enumerate(children)
    }
    return Siblings(fits, directions, best, closest)


def _class_scores(
    z: FloatArray, member: BoolArray, half: Half, fitted: IntArray, judged: IntArray
) -> FloatArray:
    """Scores of linear discriminant analysis between the children, shape (judged, children)."""
    own = member[fitted].astype(np.float64)
    mean = (own.T @ z[fitted]) / np.maximum(own.sum(axis=0), 1)[:, None]
    direction = half.solve(mean)
    return np.asarray(z[judged] @ direction.T - (mean * direction).sum(axis=1) / 2)


def _separations(scores: FloatArray, member: BoolArray) -> FloatArray:
    """How far apart two children's instances are by the difference of their scores.

    In standard deviations, shape (children, children); infinite for a child and itself, 0 where
    there is nothing to tell it from.
    """
    own = member.astype(np.float64)
    n = np.maximum(own.sum(axis=0), 1)[:, None]
    mean, squares = own.T @ scores / n, own.T @ scores**2 / n
    cross = (own * scores).T @ scores / n
    gap = np.diag(mean)[:, None] - mean
    spread = np.diag(squares)[:, None] - 2 * cross + squares - gap**2
    spread = np.maximum(spread, 0)
    apart = (gap + gap.T) / np.sqrt(np.maximum(spread + spread.T, 1e-300))
    there = own.any(axis=0)
    apart = np.where(np.logical_and.outer(there, there), np.clip(apart, -1e6, 1e6), 0.0)
    np.fill_diagonal(apart, np.inf)
    return apart


def pair_areas(
    z: FloatArray, below: Below, fit: Siblings, units: Units, pairs: Sequence[Pair], parent: int
) -> dict[Pair, Area]:
    """Areas of children against siblings, of the instances of just one of the two.

    Args:
        pairs: Pairs of a child and a sibling; those without two units on each side are left out.
    """
    rows = below.rows_below(parent)
    nodes = sorted({node for pair in pairs for node in pair})
    member, at = dense(below.member, rows, nodes), np.searchsorted(below.tested, nodes)
    ends = np.searchsorted(nodes, np.array(pairs, np.int64).reshape(-1, 2))
    place_of = np.full(below.member.shape[0], -1)
    place_of[rows] = np.arange(len(rows))
    judged = [place_of[np.intersect1d(half.judged, rows)] for half in fit.halves]
    found: dict[Pair, Area] = {}
    for start in range(0, len(pairs), BLOCK):
        i, j = ends[start : start + BLOCK].T
        side = sides_of(member[:, i], member[:, j])

        def scores(half: int, i: IntArray = i, j: IntArray = j) -> FloatArray:
            of_nodes = z[rows[judged[half]]] @ fit.directions[half][at].T
            return np.asarray(of_nodes[:, i] - of_nodes[:, j])

        placed = place(judged, scores, side)
        for column, pair in enumerate(pairs[start : start + BLOCK]):
            one = area(placed[:, column], side[:, column], units.of_row[rows])
            if one is not None:
                found[pair] = one
    return found


def sides_of(own: BoolArray, other: BoolArray) -> IntArray:
    """1 for instances of the first alone, 0 of the second alone, `OUT` for all others."""
    return np.where(own == other, OUT, own.astype(np.int64))


def unexplained(z: FloatArray, member: BoolArray, fitted: BoolArray | None = None) -> FloatArray:
    """What nodes leave of the features of all instances: residuals of a regression on them.

    Args:
        member: Whether an instance is below each node, shape (n, nodes).
        fitted: The instances that the regression is fitted on; all if None.
    """
    rows = slice(None) if fitted is None else fitted
    marks, own = member.astype(np.float64), z[rows]
    mean, of_fit = own.mean(axis=0), marks[rows]
    gram = of_fit.T @ of_fit + 1e-6 * len(own) * np.eye(marks.shape[1])
    return np.asarray(z - mean - marks @ np.linalg.solve(gram, of_fit.T @ (own - mean)))
