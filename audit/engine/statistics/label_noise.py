"""How far scores are to be trusted, and how many labels are wrong: fitted to labels and scores.

A model may be too sure of itself, or not sure enough: its scores are taken to a power that is
fitted. Labels that even these scores contradict are wrong by chance, and their share is fitted
beside it: an error of the model is one that its own doubt lets expect, one of a label is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, UIntArray
from audit.engine.pairs.rows import row_numbers

MOST_CELLS = 2_000_000
"""Number of scores to which one answer an instance is fitted."""
WIDTH = 0.05
"""Width of the bins of logits to which several answers an instance are fitted."""
SPREAD = 1.0, 0.4
"""How far the shift of a node is from that of all, and the logarithm of its slope, as a rule."""
SURE = 14.0
"""Greatest logit: of a score of a millionth less than one."""


@dataclass(frozen=True)
class OneAnswer:
    """Labels follow scores to a power, but for a share that is drawn from all classes.

    Args:
        power: Of the scores; below 1 where the model is too sure of itself.
        wrong: Share of labels that are drawn from all classes.
        classes: Number of classes.
    """

    power: float
    wrong: float
    classes: int

    def probabilities(self, scores: Sparse) -> FloatArray:
        """The scores to the power, each row summing to one: shape (n_stored,)."""
        return _to_power(scores, _relative(scores), self.power)

    def contradicts(self, right: FloatArray) -> FloatArray:
        """Probability that a label is wrong, from that of its class."""
        drawn = self.wrong / self.classes
        return drawn / np.maximum((1 - self.wrong) * right + drawn, np.finfo(float).tiny)


def fit_one_answer(scores: Sparse, own: FloatArray) -> OneAnswer:
    """The power and the share of wrong labels that are likeliest, on two grids, the second finer.

    Args:
        scores: Each row sums to one, shape (n, n_nodes).
        own: Score of each row's label, shape (n,).

    Takes some 60 passes over the scores.
    """
    classes = len(np.unique(scores.indices))
    wrong = np.concatenate([[0.0], np.geomspace(1e-4, 0.5, 48)])
    relative, tops = _relative(scores), np.maximum.reduceat(scores.data, scores.indptr[:-1])
    with np.errstate(divide="ignore"):
        mine = np.log(own / tops)
    best, step = 1.0, 16.0

    def likelihoods(power: float) -> FloatArray:
        totals = np.add.reduceat(np.exp(power * relative), scores.indptr[:-1])
        right = np.exp(power * mine) / totals
        mixed = (1 - wrong) * right[:, np.newaxis] + wrong / classes
        return np.asarray(np.log(np.maximum(mixed, 1e-12)).sum(axis=0))

    for points in (29, 29):
        powers = best * np.geomspace(1 / step, step, points)
        table = np.stack([likelihoods(power) for power in powers.tolist()])
        at, share = np.unravel_index(np.argmax(table), table.shape)
        best, step = float(powers[at]), step ** (2 / (points - 1))
    return OneAnswer(best, float(wrong[share]), classes)


def _relative(scores: Sparse) -> FloatArray:
    """Logarithm of each score over the highest of its row."""
    tops = np.maximum.reduceat(scores.data, scores.indptr[:-1])
    return np.asarray(np.log(scores.data / tops[row_numbers(scores)]))


def _to_power(scores: Sparse, relative: FloatArray, power: float) -> FloatArray:
    raised = np.exp(power * relative)
    totals = np.add.reduceat(raised, scores.indptr[:-1])
    return np.asarray(raised / totals[row_numbers(scores)])


@dataclass(frozen=True, eq=False)
class SeveralAnswers:
    """Labels follow scores, whose logits are moved and stretched, but some are lost or false.

    Args:
        shift, slope: Of the logits of each node, shape (n_nodes,).
        lost: Share of the labels that are right and not given.
        false: Share of the labels that are wrong and given.
        floor: Logit of a class without a score.
    """

    shift: FloatArray
    slope: FloatArray
    lost: float
    false: float
    floor: float

    def probabilities(self, scores: FloatArray, nodes: NDArray[Any]) -> FloatArray:
        """Of labels, shape as given; a score of 0 is one that is not written down."""
        return np.asarray(
            expit(self.shift[nodes] + self.slope[nodes] * _logits(scores, self.floor))
        )

    def is_lost(self, right: FloatArray) -> FloatArray:
        """Probability that a label that is not given is right."""
        lost = self.lost * right
        return np.asarray(lost / (lost + (1 - self.false) * (1 - right)))

    def is_false(self, right: FloatArray) -> FloatArray:
        """Probability that a label that is given is wrong."""
        false = self.false * (1 - right)
        return np.asarray(false / (false + (1 - self.lost) * right))


@dataclass(frozen=True, eq=False)
class Binned:
    """Labels of each node by the logit of their score.

    Args:
        node, logit: Of each bin, shape (n_bins,).
        given, lacking: How many labels it holds, and how many are not given, same shape.
    """

    node: IntArray
    logit: FloatArray
    given: FloatArray
    lacking: FloatArray
    n_nodes: int

    def likelihood(self, right: FloatArray, lost: float, false: float) -> FloatArray:
        """Logarithm, of each bin."""
        shown = np.clip((1 - lost) * right + false * (1 - right), 1e-12, 1 - 1e-12)
        return self.given * np.log(shown) + self.lacking * np.log1p(-shown)


def fit_several_answers(
    scores: FloatArray, nodes: NDArray[Any], given: BoolArray, unscored: IntArray
) -> SeveralAnswers:
    """What is likeliest: first with one shift and slope, then with those of each node.

    Those of a node are drawn to those of all, so that a rare one has no calibration of its own.

    Args:
        scores: Above 0, shape (n,).
        nodes: Node of each, same shape.
        given: Whether the label is given, same shape.
        unscored: Given labels of each node, and others, with a score of 0, shape (2, n_nodes).
    """
    from scipy.optimize import minimize  # only where scores are fitted: it takes long to load

    floor = float(_logits(np.array([scores.min() / 2]), 0.0)[0])
    bins = _binned(scores, nodes, given, unscored, floor)

    def with_shares(at: FloatArray) -> float:
        right = expit(at[0] + np.exp(np.clip(at[1], -3, 3)) * bins.logit)
        return -float(bins.likelihood(right, *_shares(at[2:])).sum())

    starts = [[0.0, 0.0, lost, -8.0] for lost in (-5.0, -2.0)]
    fits = [minimize(with_shares, one, method="Nelder-Mead", tol=1e-3) for one in starts]
    common = min(fits, key=lambda fit: float(fit.fun)).x
    common_slope = float(np.exp(np.clip(common[1], -3, 3)))
    lost, false = _shares(common[2:])
    for _ in range(2):
        shift, slope = _of_each_node(bins, common[0], common_slope, lost, false)
        right = expit(shift[bins.node] + slope[bins.node] * bins.logit)

        def of_shares(at: FloatArray, right: FloatArray = right) -> float:
            return -float(bins.likelihood(right, *_shares(at)).sum())

        shares = minimize(of_shares, logit([lost, false]), method="Nelder-Mead", tol=1e-3).x
        lost, false = _shares(shares)
    return SeveralAnswers(shift, slope, lost, false, floor)


def _shares(at: FloatArray) -> tuple[float, float]:
    """Shares of lost and of false labels, each at most one half, from any numbers."""
    lost, false = np.clip(expit(at), 1e-9, 0.5).tolist()
    return lost, false


def _binned(
    scores: FloatArray, nodes: NDArray[Any], given: BoolArray, unscored: IntArray, floor: float
) -> Binned:
    steps = np.rint(_logits(scores, floor) / WIDTH).astype(np.int64)
    first, n_nodes = int(steps.min()), unscored.shape[1]
    size = int(steps.max()) - first + 1
    key, place = np.unique(nodes * np.int64(size) + steps - first, return_inverse=True)
    held = np.bincount(place, given)
    empty = np.flatnonzero(unscored.sum(axis=0))
    return Binned(
        node=np.concatenate([key // size, empty]),
        logit=np.append((key % size + first) * WIDTH, np.full(len(empty), floor)),
        given=np.append(held, unscored[0, empty]),
        lacking=np.append(np.bincount(place) - held, unscored[1, empty]),
        n_nodes=n_nodes,
    )


def _of_each_node(
    bins: Binned, shift: float, slope: float, lost: float, false: float
) -> tuple[FloatArray, FloatArray]:
    """Shift and slope of each node, on grids about those of all, each finer than the last."""
    moved, turned = np.zeros((2, bins.n_nodes))
    for step in (0.6, 0.2, 0.07):
        best = np.full(bins.n_nodes, -np.inf)
        about = moved, turned
        for move, turn in product(np.arange(-3, 4) * step, np.arange(-3, 4) * step / 2):
            tried = about[0] + move, about[1] + turn
            at = shift + tried[0][bins.node] + slope * np.exp(tried[1][bins.node]) * bins.logit
            own = np.bincount(bins.node, bins.likelihood(expit(at), lost, false), bins.n_nodes)
            own -= (tried[0] / SPREAD[0]) ** 2 / 2 + (tried[1] / SPREAD[1]) ** 2 / 2
            better = own > best
            best = np.where(better, own, best)
            moved, turned = (
                np.where(better, new, old) for new, old in zip(tried, (moved, turned), strict=True)
            )
    return shift + moved, slope * np.exp(turned)


def _logits(scores: FloatArray, floor: float) -> FloatArray:
    with np.errstate(divide="ignore"):
        logits = np.log(scores) - np.log1p(-scores)
    return np.where(scores > 0, np.clip(logits, -2 * SURE, SURE), floor)


def fitted_rows(scores: Sparse, keys: UIntArray) -> IntArray:
    """Rows to fit one answer an instance to: all, or those of the least keys, ascending."""
    most = max(1, int(MOST_CELLS / max(scores.nnz / max(scores.shape[0], 1), 1)))
    return np.sort(np.argsort(keys, kind="stable")[:most])
