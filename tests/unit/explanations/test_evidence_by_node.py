"""Scores and evidence by node, beside plain loops over pairs of tokens and a plain regression."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from audit.analyses.explanations.evidence_by_node import (
    APART,
    BOTH,
    EXAMPLES,
    WITHIN,
    Examples,
    compare_evidence,
    compared,
    concordance,
    evidence_examples,
    peak,
)
from fixtures.attributed import attributed
from fixtures.examples import examples
from fixtures.labelled import tree

SCORES = st.sampled_from([0.0, 0.5, 1.0, 2.0])
GRADES = st.sampled_from([0.0, 0.02, 0.4, 1.0])
TOKENS = st.lists(st.tuples(SCORES, GRADES), min_size=1, max_size=9)


def by_pairs(scores: list[float], marks: list[float]) -> float:
    won = weight = 0.0
    for (s, m), (t, n) in product(zip(scores, marks, strict=True), repeat=2):
        weight += max(m - n, 0)
        won += max(m - n, 0) * ((s > t) + (s == t) / 2)
    return won / weight if weight else float("nan")


@examples(60)
@given(TOKENS)
def test_concordance_is_the_share_of_pairs_in_order_by_how_far_their_marks_differ(
    tokens: list[tuple[float, float]],
) -> None:
    scores, marks = zip(*tokens, strict=True)
    found = concordance(np.array([scores]), np.array([marks]))[0]
    assert found == pytest.approx(by_pairs(list(scores), list(marks)), nan_ok=True, abs=1e-12)


@examples(30)
@given(st.lists(st.tuples(SCORES, st.booleans()), min_size=2, max_size=12))
def test_for_marks_of_0_and_1_it_is_the_area_under_the_curve(
    tokens: list[tuple[float, bool]],
) -> None:
    scores, marks = np.array([s for s, _ in tokens]), np.array([m for _, m in tokens])
    if 0 < marks.sum() < len(marks):
        area = stats.mannwhitneyu(scores[marks], scores[~marks]).statistic
        found = concordance(scores[None], marks[None].astype(float))[0]
        assert found == pytest.approx(area / (marks.sum() * (~marks).sum()))


def test_the_peak_is_1_on_the_best_mark_0_by_chance_and_undefined_where_marks_are_alike() -> None:
    marks = np.array([[0, 0.2, 1, 0.4]] * 4 + [[0.3] * 4])
    scores = np.array([[0, 1, 5, 2], [9, 1, 5, 2], [1, 1, 1, 1], [0, 0, 5, 5], [1, 2, 3, 4]])
    expected = [1, (0 - 0.4) / 0.6, 0, (0.7 - 0.4) / 0.6, np.nan]
    assert peak(scores.astype(float), marks) == pytest.approx(expected, nan_ok=True)


def drawn(seed: int, n: int = 120) -> tuple[Examples, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = np.column_stack([rng.integers(8, 40, n), rng.integers(1, 5, n), np.zeros(n)])
    frame = pl.DataFrame(
        {
            "id": [f"i{number // 2}" for number in range(n)],
            "concordance": rng.random(n) + sizes[:, 1] / 9,
            "peak": rng.random(n),
            **dict(zip(("tokens", "marked", "graded"), sizes.T, strict=True)),
        }
    )
    return Examples.of(frame), rng.random(n) < 0.4


def test_within_bins_it_is_a_regression_on_bins_and_node_with_errors_by_instance() -> None:
    given_, inside = drawn(0)
    found = compared(given_, inside)
    assert found is not None
    assert found.how == WITHIN
    own = {b for b in set(given_.bins) if set(inside[given_.bins == b]) == {True, False}}
    rows = [row for row, b in enumerate(given_.bins) if b in own]
    design = np.array([[b == given_.bins[row] for b in own] + [inside[row]] for row in rows], float)
    inverse = np.linalg.inv(design.T @ design)
    people = given_.cluster[rows]
    for place in (0, 1):
        values = given_.values[rows, place]
        beta = inverse @ design.T @ values
        left = values - design @ beta
        sums = [left[people == one] @ design[people == one] for one in set(people)]
        scale = len(set(people)) / (len(set(people)) - 1)
        variance = (inverse @ sum(np.outer(s, s) for s in sums) @ inverse)[-1, -1] * scale
        assert found.difference[place] == pytest.approx(beta[-1])
        sides = [len(set(people[inside[rows] == side])) for side in (True, False)]
        t = stats.t(min(sides) - 1)
        assert found.p[place] == pytest.approx(t.cdf(beta[-1] / variance**0.5))
        assert found.high[place] == pytest.approx(beta[-1] + t.ppf(0.975) * variance**0.5)


@pytest.mark.parametrize(
    ("tokens", "graded", "how"),
    [(20, 0, WITHIN), (39, 0, BOTH), (41, 0, APART), (20, 1, APART)],
)
def test_other_lengths_ask_for_both_measures_and_what_cannot_be_compared_is_not(
    tokens: float, graded: float, how: str
) -> None:
    inside = np.arange(60) < 30
    sizes = np.where(inside[:, None], [tokens, 3, graded], [20, 3, 0])
    values = np.random.default_rng(0).random((60, 2)) - 0.6 * inside[:, None] * [1, 0]
    found = compared(_examples(values, sizes), inside)
    assert found is not None
    assert found.how == how
    assert found.is_low == (how == WITHIN)
    assert np.isnan(found.p_value) == (how == APART)
    both_low = compared(_examples(values - 0.5 * inside[:, None] * [0, 1], sizes), inside)
    assert both_low is not None
    assert both_low.is_low == (how != APART)
    assert how != BOTH or found.p_value == found.p.max()


def _examples(values: np.ndarray, sizes: np.ndarray) -> Examples:
    columns = np.column_stack([values, sizes]).T
    named = zip(("concordance", "peak", "tokens", "marked", "graded"), columns, strict=True)
    return Examples.of(pl.DataFrame({"id": [f"i{n}" for n in range(len(values))], **dict(named)}))


def test_longer_evidence_alone_is_no_difference() -> None:
    rng = np.random.default_rng(1)
    inside = np.arange(400) < 200
    marked = np.where(inside, rng.choice([1, 8], 400, p=[0.4, 0.6]), rng.choice([1, 8], 400))
    values = np.column_stack([0.9 - 0.04 * marked, 0.9 - 0.1 * marked]) + rng.normal(
        0, 0.05, (400, 2)
    )
    sizes = np.column_stack([np.full(400, 20), marked, np.zeros(400)])
    found = compared(_examples(values, sizes), inside)
    assert found is not None
    assert found.p_value > 0.01
    assert values[inside].mean() < values[~inside].mean() - 0.02


def test_nodes_above_all_examples_and_nodes_of_few_have_no_line() -> None:
    hierarchy = tree("x y < top")
    rows = [(f"i{n}", "x" if n < 10 else "y", "m", None, 0.9, 0.5, 20, 3, 0) for n in range(40)]
    given_ = pl.DataFrame(rows, schema=EXAMPLES, orient="row")
    assert compare_evidence(given_, hierarchy).is_empty()
    target = pl.when(pl.int_range(40) < 11).then(pl.lit("x")).otherwise("target")
    told = compare_evidence(given_.with_columns(target=target), hierarchy)
    assert told["node"].to_list() == ["x", "y"]
    assert not told["low"].any()


def test_examples_are_means_over_seeds_then_methods_and_constant_rows_are_left_out() -> None:
    marks = [[1.0, 0, 0, 0], [0, 0, 0, 0], [0.5, 0, 0, 1]]
    scores = {
        ("a", "m", 0): [[-9.0, 1, 2, 3], [1, 2, 3, 4], [1, 1, 1, 1]],
        ("a", "m", 1): [[0.0, 1, 2, 3], [1, 2, 3, 4], [0, 0, 0, 1]],
        ("b", "m", 0): [[2.5, 1, 2, 3], [1, 2, 3, 4], [0, 0, 0, 1]],
    }
    given_ = attributed(scores, marks)
    kept = given_.rows.with_row_index("row")
    table = evidence_examples(given_, kept, {"t": "t"})
    pooled = table.filter(pl.col("method").is_null())
    assert pooled["id"].to_list() == ["i0", "i2"]
    assert pooled["concordance"][0] == pytest.approx(((1 + 0) / 2 + 2 / 3) / 2)
    assert pooled["graded"].to_list() == [0, 1]
    assert pooled["marked"].to_list() == [1, 1.5]
    assert len(table) == 2 * 3
