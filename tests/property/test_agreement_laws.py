"""Laws of agreement: closed forms, floors, duplicates, and what order may change."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.explanations.agreement import agreed, agreement_tables
from audit.analyses.explanations.top_tokens import agreement, expected_agreement, peaks
from fixtures.attributed import attributed
from fixtures.brute_force_agreement import agreement_of, released_peaks
from fixtures.examples import examples

sets = st.integers(1, 90).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.sets(st.integers(0, n - 1)), min_size=1, max_size=6)
    )
)


def measured(chosen: list[set[int]], n: int) -> float:
    marks = np.zeros((len(chosen), n), np.bool_)
    for row, tokens in zip(marks, chosen, strict=True):
        row[list(tokens)] = True
    return float(agreement(marks))


@given(sets)
def test_agreement_is_that_of_the_equations(case: tuple[int, list[set[int]]]) -> None:
    n, chosen = case

    assert measured(chosen, n) == pytest.approx(agreement_of(chosen, n), nan_ok=True)


@given(sets)
def test_agreement_of_two_is_half_of_one_and_jaccard(case: tuple[int, list[set[int]]]) -> None:
    n, chosen = case
    a, b = chosen[0], chosen[-1]
    union = a | b

    if union:
        assert measured([a, b], n) == pytest.approx((1 + len(a & b) / len(union)) / 2)


@given(sets)
def test_agreement_lies_between_one_over_m_and_one(case: tuple[int, list[set[int]]]) -> None:
    n, chosen = case
    value = measured(chosen, n)

    assert np.isnan(value) == (not set().union(*chosen))
    assert np.isnan(value) or 1 / len(chosen) - 1e-12 <= value <= 1 + 1e-12
    if chosen[0]:
        assert measured([chosen[0]] * 4, n) == 1


@given(st.integers(1, 200), st.lists(st.integers(0, 200), min_size=1, max_size=6))
def test_chance_lies_between_the_floor_and_one(n: int, k: list[int]) -> None:
    k = [min(one, n) for one in k]
    chance = expected_agreement(np.array([k]), np.array([n]))[0]

    assert np.isnan(chance) == (max(k) == 0)
    assert np.isnan(chance) or 1 / len(k) - 1e-9 <= chance <= 1 + 1e-9
    if min(k) == n:
        assert chance == pytest.approx(1)


whole = st.lists(st.integers(-3, 3), min_size=1, max_size=12)


@given(whole)
def test_released_peaks_on_anything(scores: list[int]) -> None:
    found = peaks(np.array([scores], float), "kamp")

    assert set(np.flatnonzero(found).tolist()) == released_peaks(scores)


@given(whole)
def test_peaks_never_touch_and_never_lie_below_the_mean(scores: list[int]) -> None:
    chosen = np.flatnonzero(peaks(np.array([scores], float)))

    assert len(chosen)
    assert (np.diff(chosen) > 1).all()
    assert all(scores[token] * len(scores) >= sum(scores) for token in chosen)


@given(whole, st.floats(0.1, 10), st.integers(-50, 50))
def test_scale_and_shift_change_no_peak(scores: list[int], scale: float, shift: int) -> None:
    ours = peaks(np.array([scores], float))
    power = 2.0 ** round(np.log2(scale))

    assert np.array_equal(ours, peaks(np.array([scores], float) * power + shift))


texts = st.integers(2, 9).flatmap(
    lambda n: st.tuples(
        st.lists(st.permutations(range(n)), min_size=2, max_size=4), st.permutations(range(n))
    )
)


def measured_in(order: list[int], scores: list[list[int]], rule: str) -> list[float]:
    made = {f"m{i}": [[float(one[place]) for place in order]] for i, one in enumerate(scores)}
    found = agreement_tables(agreed(attributed(made)))["agreement"]
    return found.filter(pl.col("k").is_null() | (pl.col("k") == 1), rule=rule)[
        "agreement"
    ].to_list()


@examples(30)
@given(texts)
def test_the_order_of_tokens_changes_no_agreement_at_k(
    case: tuple[list[list[int]], list[int]],
) -> None:
    scores, order = case

    assert measured_in(order, scores, "fixed") == pytest.approx(
        measured_in(sorted(order), scores, "fixed")
    )


def test_the_order_of_tokens_changes_the_peaks() -> None:
    scores = [[1, 2, 3, 4], [1, 2, 4, 3]]

    assert measured_in([0, 1, 2, 3], scores, "dynamic") == [0.5]
    assert measured_in([2, 0, 3, 1], scores, "dynamic") == [1.0]
