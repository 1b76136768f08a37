"""Dawid and Skene's model, against expectation and maximisation in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.engine.statistics.raters import CLOSE, SMOOTHING, STEPS, error_rates

VOTES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.booleans()), min_size=1, max_size=25
)


def by_hand(
    votes: list[tuple[int, int, bool]], items: int, annotators: int
) -> tuple[list[float], list[float], list[float], float]:
    of = [[one for one in votes if one[0] == item] for item in range(items)]
    positive = [sum(yes for *_, yes in own) / len(own) if own else 0.5 for own in of]
    for _ in range(STEPS):
        before = list(positive)
        rates = []
        for annotator in range(annotators):
            own = [one for one in votes if one[1] == annotator]
            on_yes = sum(positive[item] for item, _, _ in own)
            right_yes = sum(positive[item] for item, _, yes in own if yes)
            on_no = sum(1 - positive[item] for item, _, _ in own)
            right_no = sum(1 - positive[item] for item, _, yes in own if not yes)
            rates.append(
                (
                    (right_yes + SMOOTHING) / (on_yes + 2 * SMOOTHING),
                    (right_no + SMOOTHING) / (on_no + 2 * SMOOTHING),
                )
            )
        prevalence = (sum(positive) + SMOOTHING) / (items + 2 * SMOOTHING)
        for item, own in enumerate(of):
            yes_weight, no_weight = prevalence, 1 - prevalence
            for _, annotator, yes in own:
                sensitivity, specificity = rates[annotator]
                yes_weight *= sensitivity if yes else 1 - sensitivity
                no_weight *= 1 - specificity if yes else specificity
            positive[item] = yes_weight / (yes_weight + no_weight)
        if max(abs(a - b) for a, b in zip(positive, before, strict=True)) < CLOSE:
            break
    return positive, [a for a, _ in rates], [b for _, b in rates], prevalence


@given(VOTES)
def test_the_model_is_that_of_plain_expectation_and_maximisation(
    votes: list[tuple[int, int, bool]],
) -> None:
    item, annotator, yes = (np.array(column) for column in zip(*votes, strict=True))

    found = error_rates(item, annotator, yes, 5, 4)

    positive, sensitivity, specificity, prevalence = by_hand(votes, 5, 4)
    assert found.positive == pytest.approx(positive, abs=1e-6)
    assert found.sensitivity == pytest.approx(sensitivity, abs=1e-6)
    assert found.specificity == pytest.approx(specificity, abs=1e-6)
    assert found.prevalence == pytest.approx(prevalence, abs=1e-6)


def test_rates_that_votes_were_drawn_with_are_recovered() -> None:
    draw = np.random.default_rng(5)
    items, each = 4_000, 5
    sensitivity = np.array([0.95, 0.9, 0.85, 0.6, 0.5, 0.92, 0.8, 0.99])
    specificity = np.array([0.9, 0.95, 0.7, 0.65, 0.5, 0.85, 0.9, 0.97])
    truth = draw.random(items) < 0.6
    item = np.repeat(np.arange(items), each)
    annotator = np.concatenate([draw.permutation(8)[:each] for _ in range(items)])
    right = draw.random(len(item)) < np.where(
        truth[item], sensitivity[annotator], specificity[annotator]
    )
    found = error_rates(item, annotator, truth[item] == right, items, 8)

    assert found.sensitivity == pytest.approx(sensitivity, abs=0.04)
    assert found.specificity == pytest.approx(specificity, abs=0.04)
    assert found.prevalence == pytest.approx(truth.mean(), abs=0.02)
    by_model = ((found.positive > 0.5) == truth).mean()
    votes = np.bincount(item, truth[item] == right, items)
    by_majority = ((votes > each / 2) == truth).mean()
    assert by_model > by_majority
    assert found.steps < STEPS


def test_an_item_without_votes_has_the_prevalence() -> None:
    found = error_rates(np.array([0, 0]), np.array([0, 1]), np.array([True, True]), 2, 3)

    assert math.isclose(found.positive[1], found.prevalence, abs_tol=1e-4)
    assert (found.sensitivity[2], found.specificity[2]) == (0.5, 0.5)
