"""Scores and evidence by node, beside loops over pairs of tokens and a plain regression."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from statistics import mean

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from audit.analyses.explanations.agreement import agreed
from audit.analyses.explanations.by_node import (
    APART,
    WITHIN,
    compared,
    concordance,
    evidence_examples,
    examples_of,
    node_results,
)
from audit.analyses.explanations.plausibility import judged_rows
from fixtures.attributed import attributed
from fixtures.examples import examples
from fixtures.explained_releases import explained_release
from fixtures.labelled import tree

SCORES = st.sampled_from([0.0, 0.5, 1.0, 2.0])
GRADES = st.sampled_from([0.0, 0.02, 0.4, 1.0])
BODY = tree("a b < left", "c d < right", "left right < top")


def by_pairs(scores: list[float], marks: list[float]) -> float:
    won = weight = 0.0
    for (s, m), (t, n) in product(zip(scores, marks, strict=True), repeat=2):
        weight += max(m - n, 0)
        won += max(m - n, 0) * ((s > t) + (s == t) / 2)
    return won / weight if weight else float("nan")


@examples(60)
@given(st.lists(st.tuples(SCORES, GRADES), min_size=1, max_size=9))
def test_concordance_is_the_share_of_pairs_in_order_by_how_far_their_marks_differ(
    tokens: list[tuple[float, float]],
) -> None:
    scores, marks = zip(*tokens, strict=True)
    found = concordance(np.array([scores]), np.array([marks]))[0]
    assert found == pytest.approx(by_pairs(list(scores), list(marks)), nan_ok=True, abs=1e-12)


def test_within_bins_it_is_a_regression_on_bins_and_node_with_errors_by_instance() -> None:
    rng, n = np.random.default_rng(0), 120
    tokens, marked = rng.integers(8, 40, n), rng.integers(1, 5, n)
    value, ids = rng.random(n) + marked / 9, [f"i{number // 2}" for number in range(n)]
    frame = pl.DataFrame({"id": ids, "concordance": value, "tokens": tokens, "marked": marked})
    given_, inside = examples_of(frame.with_columns(graded=0)), rng.random(n) < 0.4
    found = compared(given_, inside)
    assert found is not None
    assert found["compared"] == WITHIN
    own = {b for b in set(given_.bins) if set(inside[given_.bins == b]) == {True, False}}
    rows = [row for row, b in enumerate(given_.bins) if b in own]
    design = np.array([[b == given_.bins[row] for b in own] + [inside[row]] for row in rows], float)
    inverse = np.linalg.inv(design.T @ design)
    people, beta = given_.cluster[rows], inverse @ design.T @ value[rows]
    left = value[rows] - design @ beta
    sums = [left[people == one] @ design[people == one] for one in set(people)]
    scale = len(set(people)) / (len(set(people)) - 1)
    error = ((inverse @ sum(np.outer(s, s) for s in sums) @ inverse)[-1, -1] * scale) ** 0.5
    t = stats.t(min(len(set(people[inside[rows] == side])) for side in (True, False)) - 1)
    names = ("concordance_difference", "concordance_high", "p_value")
    wanted = [beta[-1], beta[-1] + t.ppf(0.975) * error, t.cdf(beta[-1] / error)]
    assert [found[name] for name in names] == pytest.approx(wanted)
    assert found["concordance"] == pytest.approx(value[rows][inside[rows]].mean())


@pytest.mark.parametrize(
    ("n", "tokens", "graded", "how"),
    [
        (60, 20, 0, WITHIN),
        (60, 29, 0, APART),
        (60, 20, 1, APART),
        (22, 20, 0, WITHIN),
        (20, 20, 0, ""),
    ],
)
def test_other_lengths_and_few_instances_are_not_compared(
    n: int, tokens: float, graded: float, how: str
) -> None:
    inside = np.arange(n) < n / 2
    value = np.random.default_rng(0).random(n) - 0.9 * inside
    frame = pl.DataFrame({"id": [f"i{k:02}" for k in range(n)], "concordance": value})
    sizes = {"tokens": np.where(inside, tokens, 20.0), "graded": np.where(inside, graded, 0.0)}
    found = compared(examples_of(frame.with_columns(**sizes, marked=3.0)), inside)
    if not how:
        assert found is None
        return
    assert found is not None
    assert (found["compared"], found["low"]) == (how, how == WITHIN)
    assert (found["p_value"] is None) == (how == APART)


def test_examples_are_means_over_seeds_then_methods_and_constant_rows_are_left_out() -> None:
    marks = [[1.0, 0, 0, 0], [0, 0, 0, 0], [0.5, 0, 0, 1]]
    scores = {
        ("a", "m", 0): [[-9.0, 1, 2, 3], [1, 2, 3, 4], [1, 1, 1, 1]],
        ("a", "m", 1): [[0.0, 1, 2, 3], [1, 2, 3, 4], [0, 0, 0, 1]],
        ("b", "m", 0): [[2.5, 1, 2, 3], [1, 2, 3, 4], [0, 0, 0, 1]],
    }
    given_ = attributed(scores, marks)
    table = evidence_examples(given_, given_.own_rows().with_columns(node=pl.col("target")))
    pooled = table.filter(pl.col("method").is_null())
    assert pooled["id"].to_list() == ["i0", "i2"]
    assert pooled["concordance"][0] == pytest.approx(((1 + 0) / 2 + 2 / 3) / 2)
    assert pooled["graded"].to_list() == [0, 1]
    assert pooled["marked"].to_list() == [1, 1.5]
    assert len(table) == 2 * 3


def test_means_below_nodes_are_those_of_a_loop() -> None:
    attributions, _ = explained_release(3, hierarchy=BODY, instances=9)
    node = pl.when(pl.col("target") != "d").then("target")
    rows, judged = attributions.own_rows().with_columns(node=node), judged_rows(attributions)
    measures = {"kendall": judged.select("row", value="kendall")}
    table = node_results(rows, BODY, measures, agreed(attributions)).filter(measure="kendall")
    values: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one, value in zip(rows.to_dicts(), judged["kendall"], strict=True):
        if one["node"] is not None:
            for above in (one["node"], *BODY.ancestors(one["node"])):
                values[above, one["method"]][one["id"]].append(value)
    found = {(row["node"], row["method"]): row for row in table.to_dicts()}
    assert found.keys() == values.keys()
    for key, own in values.items():
        means = [mean(of) for of in own.values()]
        assert found[key]["value"] == pytest.approx(mean(means))
        counts = (len(own), sum(map(len, own.values())))
        assert (found[key]["instances"], found[key]["values"]) == counts
        if len(means) > 1:
            ends = stats.ttest_1samp(means, 0).confidence_interval(0.95)
            assert [found[key]["low"], found[key]["high"]] == pytest.approx([*ends])
