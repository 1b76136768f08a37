"""Dawid and Skene's model of annotators who err, each at rates of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from audit.base.dag import BoolArray, FloatArray, IntArray

SMOOTHING = 1.0
"""Votes of each kind that every annotator is given beforehand, and items of each kind."""
CLOSE, STEPS = 1e-6, 200
"""Change of the surest posterior below which the algorithm ends, and the most steps it takes."""


@dataclass(frozen=True, eq=False)
class ErrorRates:
    """Annotators' error rates and items' true answers, as the model has them.

    Args:
        positive: Probability of each item that its true answer is yes, shape (n_items,).
        sensitivity: Share of an annotator's yes among their votes on items of which it is the true
            answer, shape (n_annotators,).
        specificity: Share of their no among those on items of which it is, shape (n_annotators,).
        prevalence: Share of items with the true answer yes.
        steps: Steps taken; `STEPS` if the algorithm did not settle.
    """

    positive: FloatArray
    sensitivity: FloatArray
    specificity: FloatArray
    prevalence: float
    steps: int


def error_rates(
    item: IntArray, annotator: IntArray, yes: BoolArray, items: int, annotators: int
) -> ErrorRates:
    """Fit the model by expectation and maximisation, from the share of yes among an item's votes.

    *Maximum likelihood estimation of observer error-rates using the EM algorithm* (Dawid and
    Skene), for two answers, with `SMOOTHING` added to each count: the posterior mode under a
    Beta(2, 2) distribution of each rate. With r the probability that the answer is yes,

        sensitivity = (sum of r over own yes + 1) / (sum of r over own votes + 2)
        logit r = logit prevalence + sum over yes of log(sensitivity / (1 - specificity))
                                   + sum over no of log((1 - sensitivity) / specificity)

    Args:
        item: Place of each vote's item, shape (n_votes,).
        annotator: Place of each vote's annotator, shape (n_votes,).
        yes: Whether it is a yes, shape (n_votes,).
        items: Number of items; one without votes has the prevalence as its probability.
        annotators: Number of annotators; one without votes has rates of a half.
    """
    votes = np.bincount(item, minlength=items)
    positive = np.bincount(item, yes, items) / np.maximum(votes, 1)
    positive[votes == 0] = 0.5
    steps, settled = 0, False
    while steps < STEPS and not settled:
        before = positive
        sensitivity = _rate(before[item], yes, annotator, annotators)
        specificity = _rate(1 - before[item], ~yes, annotator, annotators)
        prevalence = float((before.sum() + SMOOTHING) / (items + 2 * SMOOTHING))
        for_yes = np.log(sensitivity / (1 - specificity))
        for_no = np.log((1 - sensitivity) / specificity)
        evidence = np.where(yes, for_yes[annotator], for_no[annotator])
        positive = expit(logit(prevalence) + np.bincount(item, evidence, items))
        steps, settled = steps + 1, np.abs(positive - before).max(initial=0.0) < CLOSE
    return ErrorRates(positive, sensitivity, specificity, prevalence, steps)


def _rate(weight: FloatArray, right: BoolArray, annotator: IntArray, size: int) -> FloatArray:
    """Smoothed share of each annotator's votes, by weight, that are right."""
    of = np.bincount(annotator, weight, size)
    return np.asarray(
        (np.bincount(annotator, weight * right, size) + SMOOTHING) / (of + 2 * SMOOTHING)
    )
