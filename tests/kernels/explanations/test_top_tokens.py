"""Fixed k and peaks: published examples, scipy, and ties that a seed decides."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.signal import find_peaks

from audit.analyses.explanations.top_tokens import peaks, ranking, row_keys


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


def test_scores_are_signed() -> None:
    scores = np.array([[-9.0, 1.0, 2.0]])

    assert ranking(scores, np.zeros(1, np.uint64)).order.tolist() == [[2, 1, 0]]
    assert peaks(scores).tolist() == [[False, False, True]]


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


def test_a_score_equal_to_the_mean_reaches_it_in_spite_of_rounding() -> None:
    thirds = np.array([3, 0, 1, 3, 1, 0, 1, 0, 0, 2, 0]) / 3
    assert peaks((thirds * 3)[None]).tolist() == peaks(thirds[None]).tolist()
