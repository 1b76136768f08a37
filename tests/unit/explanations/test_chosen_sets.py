"""Agreement of sets and its expectation: published numbers, and all choices of small sets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hypergeom

from audit.explanations.agreement.top_tokens import (
    agreement,
    expected_agreement,
    packed,
    sizes,
    union_sizes,
)
from fixtures.brute_force_agreement import expected_agreement_of


def agreement_of(sets: list[list[int]], n: int) -> float:
    chosen = np.zeros((len(sets), n), np.bool_)
    for row, tokens in zip(chosen, sets, strict=True):
        row[tokens] = True
    bits = packed(chosen)
    union = union_sizes(bits, range(len(sets)))
    return float(agreement(sizes(bits), union))


def test_three_sets_of_the_specification() -> None:
    assert agreement_of([[0, 1], [1, 2], [1, 3]], 5) == pytest.approx(0.5)


def test_words_hold_any_number_of_tokens() -> None:
    for n in (1, 8, 63, 64, 65, 200):
        assert agreement_of([[0, n - 1], [n - 1]], n) == (1.0 if n == 1 else 0.75)


def test_nothing_chosen_is_undefined() -> None:
    assert np.isnan(agreement_of([[], []], 4))
    assert np.isnan(expected_agreement(np.array([[0, 0]]), np.array([4]))).all()


@pytest.mark.parametrize(
    ("k", "n", "value"),
    [
        ((2, 2), 5, 0.65),
        ((2, 2, 2), 5, 0.527),
        ((4, 4, 4), 21, 0.41058),
        ((4,) * 6, 21, 0.26744),
        ((4, 7), 21, 0.57379),
        ((1, 1), 21, 0.5238),
        ((2, 2), 21, 0.5325),
        ((4, 4), 21, 0.5587),
        ((8, 8), 21, 0.6223),
        ((16, 16), 21, 0.8092),
    ],
)
def test_chance_is_that_of_the_specification(k: tuple[int, ...], n: int, value: float) -> None:
    assert expected_agreement(np.array([k]), np.array([n]))[0] == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize(
    ("k", "n"), [((1,), 3), ((2, 1), 4), ((3, 2), 5), ((0, 2), 4), ((1, 2, 2), 4), ((4, 4), 4)]
)
def test_chance_is_the_mean_over_all_choices(k: tuple[int, ...], n: int) -> None:
    expected = expected_agreement(np.array([k]), np.array([n]))[0]

    assert expected == pytest.approx(expected_agreement_of(k, n), abs=1e-12)


@pytest.mark.parametrize(("a", "b", "n"), [(4, 7, 21), (30, 50, 113), (300, 20, 2000)])
def test_chance_of_two_is_that_of_the_hypergeometric_distribution(a: int, b: int, n: int) -> None:
    common = np.arange(min(a, b) + 1)
    mean = ((a + b) / 2 / (a + b - common) * hypergeom(n, a, b).pmf(common)).sum()

    assert expected_agreement(np.array([[a, b]]), np.array([n]))[0] == pytest.approx(mean, rel=1e-9)


def test_chance_of_many_rows_is_that_of_each() -> None:
    draw = np.random.default_rng(0)
    n = draw.integers(1, 2_000, 300)
    k = np.minimum(draw.integers(0, 40, (300, 7)), n[:, None])
    together = expected_agreement(k, n)
    alone = [expected_agreement(k[i : i + 1], n[i : i + 1])[0] for i in range(300)]

    assert together == pytest.approx(np.array(alone), rel=1e-9, nan_ok=True)
