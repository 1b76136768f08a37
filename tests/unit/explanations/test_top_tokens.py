"""Fixed k and peaks: published examples, scipy, and ties that a seed decides."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.signal import find_peaks

from audit.analyses.explanations.top_tokens import peaks, ranking, row_keys
from fixtures.brute_force_agreement import released_peaks

EXAMPLE = [0.1, 0.5, 0.8, 0.2, 0.3, 0.1, 0.5, 0.6, 0.6, 0.1]
"""The example in the released code; of its plateau of two the first is the middle."""


@pytest.mark.parametrize("compat", [None, "kamp"])
def test_the_example_of_the_released_code_has_its_peaks(compat: str | None) -> None:
    chosen = peaks(np.array([EXAMPLE]), compat)  # type: ignore[arg-type]

    assert np.flatnonzero(chosen).tolist() == [2, 7]


def scipys(scores: np.ndarray) -> list[int]:
    places = find_peaks(np.concatenate([[-np.inf], scores, [-np.inf]]))[0] - 1
    return [int(place) for place in places if scores[place] * len(scores) >= scores.sum()]


@pytest.mark.parametrize("ties", [False, True])
def test_peaks_are_those_of_scipy_on_the_padded_scores(ties: bool) -> None:
    draw = np.random.default_rng(0)
    for n in (1, 2, 3, 7, 21):
        shape = (400, n)
        scores = draw.integers(-2, 3, shape).astype(float) if ties else draw.normal(size=shape)
        found = peaks(scores)
        assert all(
            np.flatnonzero(a).tolist() == scipys(b) for a, b in zip(found, scores, strict=True)
        )


@pytest.mark.parametrize("ties", [False, True])
def test_released_peaks_are_those_of_their_rule(ties: bool) -> None:
    draw = np.random.default_rng(1)
    for n in (1, 2, 3, 5, 8):
        shape = (200, n)
        scores = draw.integers(-2, 3, shape).astype(float) if ties else draw.normal(size=shape)
        found = peaks(scores, "kamp")
        for ours, row in zip(found, scores.tolist(), strict=True):
            assert set(np.flatnonzero(ours).tolist()) == released_peaks(row)


def test_the_two_rules_differ_at_the_ends_and_in_a_single_token() -> None:
    rows = np.array([[2.0, 2.0, 0.0], [0.0, 2.0, 2.0], [1.0, 1.0, 1.0]])

    assert [np.flatnonzero(row).tolist() for row in peaks(rows)] == [[0], [1], [1]]
    assert not peaks(rows, "kamp").any()
    assert peaks(np.array([[5.0]])).all()
    assert not peaks(np.array([[5.0]]), "kamp").any()


def test_noise_has_as_many_peaks_as_the_paper_reports_for_a_method() -> None:
    noise = np.random.default_rng(2).normal(size=(40_000, 21))

    assert peaks(noise).sum(axis=1).mean() == pytest.approx(6.4, abs=0.04)


@pytest.mark.parametrize(
    ("drawn", "peaks_kept"),
    [("uniform", 6.4), ("exponential", 5.5), ("lognormal", 5.0), ("cauchy", 3.8)],
)
def test_the_number_of_peaks_of_noise_depends_on_its_distribution(
    drawn: str, peaks_kept: float
) -> None:
    draw = np.random.default_rng(3)
    make = {"cauchy": lambda size: np.abs(draw.standard_cauchy(size))}
    noise = make.get(drawn, lambda size: getattr(draw, drawn)(size=size))((40_000, 21))

    assert peaks(noise).sum(axis=1).mean() == pytest.approx(peaks_kept, abs=0.06)


def test_every_row_has_a_peak_even_if_its_mean_is_rounded_up() -> None:
    assert np.mean([0.1] * 3) > 0.1
    assert peaks(np.full((1, 3), 0.1)).sum() == 1


def test_scores_are_signed() -> None:
    scores = np.array([[-9.0, 1.0, 2.0]])

    assert ranking(scores, np.zeros(1, np.uint64)).order.tolist() == [[2, 1, 0]]
    assert peaks(scores).tolist() == [[False, False, True]]


def test_keys_decide_nothing_where_all_tokens_are_chosen() -> None:
    order = ranking(np.array([[1.0, 1.0]]), np.zeros(1, np.uint64))

    assert order.tied_at(1).tolist() == [True]
    assert order.tied_at(2).tolist() == order.tied_at(5).tolist() == [False]


def test_ties_are_counted_where_they_decide() -> None:
    scores = np.array([[3.0, 1.0, 1.0], [3.0, 2.0, 1.0], [3.0, 3.0, 1.0]])
    order = ranking(scores, np.zeros(3, np.uint64))

    assert order.tied_at(2).tolist() == [True, False, False]
    assert order.tied_at(1).tolist() == [False, False, True]


def test_keys_choose_evenly_among_equal_scores() -> None:
    keys = np.arange(20_000, dtype=np.uint64)
    order = ranking(np.zeros((len(keys), 5)), keys).order

    assert np.bincount(order[:, 0], minlength=5) / len(keys) == pytest.approx(0.2, abs=0.015)


def rows(ids: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"id": ids}).with_columns(
        target=pl.lit("t"), method=pl.lit("a"), model=pl.lit("m"), seed=pl.lit(None, pl.Int64)
    )


def test_keys_depend_on_names_and_seed_alone() -> None:
    keys = row_keys(rows(["a", "b", "c"]), 1)

    assert row_keys(rows(["c", "a"]), 1).tolist() == keys[[2, 0]].tolist()
    assert len({*keys.tolist(), *row_keys(rows(["a", "b", "c"]), 2).tolist()}) == 6


def test_names_in_other_columns_give_other_keys() -> None:
    both = rows(["x", "y"]).with_columns(target=pl.Series(["y", "x"]))

    assert len(set(row_keys(both, 1).tolist())) == 2


def test_a_score_equal_to_the_mean_reaches_it_in_spite_of_rounding() -> None:
    thirds = np.array([3, 0, 1, 3, 1, 0, 1, 0, 0, 2, 0]) / 3
    assert peaks((thirds * 3)[None]).tolist() == peaks(thirds[None]).tolist()
