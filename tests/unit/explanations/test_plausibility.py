"""Scores against human evidence: loops from the definitions, scipy and scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau, spearmanr

from audit.analyses.explanations.agreement import MAIN_K
from audit.analyses.explanations.plausibility import METRICS, WITH_CHANCE, judged_rows, plausibility
from audit.analyses.explanations.top_tokens import peaks
from fixtures.attributed import attributed
from fixtures.brute_force_agreement import (
    average_precision_of,
    kendall_of,
    span_f1_of,
    top_k,
)

THIRDS = (0, 0, 1 / 3, 2 / 3, 1)
CONSTANT = "ignore::scipy.stats.ConstantInputWarning"


def drawn(ties: bool, texts: int = 60) -> tuple[list[list[float]], list[list[float]]]:
    draw = np.random.default_rng(7 + ties)
    lengths = draw.integers(1, 25, texts)
    make = (lambda n: draw.integers(-2, 3, n)) if ties else (lambda n: draw.normal(size=n))
    scores = [np.asarray(make(n), float).tolist() for n in lengths]
    return scores, [draw.choice(THIRDS, n).tolist() for n in lengths]


def columns(scores: list[list[float]], marks: list[list[float]]) -> pl.DataFrame:
    return judged_rows(attributed({"a": scores}, marks))


def nan(column: pl.Series) -> list[float]:
    return [float("nan") if value is None else value for value in column.to_list()]


@pytest.mark.parametrize("ties", [False, True])
def test_measures_of_rankings_are_those_of_the_definitions(ties: bool) -> None:
    scores, marks = drawn(ties)
    found = columns(scores, marks)
    both = [
        average_precision_of(row, [mark >= 0.5 for mark in own])
        for row, own in zip(scores, marks, strict=True)
    ]
    tau = [kendall_of(row, own) for row, own in zip(scores, marks, strict=True)]

    assert nan(found["average_precision"]) == pytest.approx([a for a, _ in both], nan_ok=True)
    assert nan(found["auprc"]) == pytest.approx([area for _, area in both], nan_ok=True)
    assert nan(found["kendall"]) == pytest.approx(tau, nan_ok=True)
    assert any(map(isnan, tau))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    ("name", "by_scipy"),
    [
        pytest.param("spearman", spearmanr, marks=pytest.mark.filterwarnings(CONSTANT)),
        ("kendall", kendalltau),
    ],
)
def test_ranks_agree_as_scipy_says(name: str, by_scipy: Callable[..., Any], ties: bool) -> None:
    scores, marks = drawn(ties)
    wanted = [
        by_scipy(row, own).statistic if len(row) > 1 else float("nan")
        for row, own in zip(scores, marks, strict=True)
    ]

    assert nan(columns(scores, marks)[name]) == pytest.approx(wanted, nan_ok=True)


@pytest.mark.filterwarnings("ignore")
def test_precision_and_areas_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    scores, marks = drawn(ties=True)
    found = columns(scores, marks)

    for place, (row, own) in enumerate(zip(scores, marks, strict=True)):
        evidence = [mark >= 0.5 for mark in own]
        if any(evidence):
            precision, recall, _ = metrics.precision_recall_curve(evidence, row)
            average = metrics.average_precision_score(evidence, row)
            assert found["average_precision"][place] == pytest.approx(average)
            assert found["auprc"][place] == pytest.approx(metrics.auc(recall, precision))


def test_average_precision_of_the_first_four() -> None:
    found = columns([[9.0, 8, 7, 6, 5]], [[1, 0, 1, 0, 1.0]])

    assert found["average_precision_at_k"].item() == pytest.approx((1 + 2 / 3) / 3)


def test_sets_and_spans_are_judged_as_the_definitions_say() -> None:
    scores, marks = drawn(ties=False, texts=120)
    found = columns(scores, marks)

    for place, (row, own) in enumerate(zip(scores, marks, strict=True)):
        evidence = {token for token, mark in enumerate(own) if mark >= 0.5}
        sets = {
            "fixed": top_k(row, MAIN_K),
            "dynamic": set(np.flatnonzero(peaks(np.array(row))).tolist()),
            "evidence": top_k(row, len(evidence)),
        }
        for rule, chosen in sets.items():
            got = [
                nan(found[f"{name}_{rule}"])[place] for name in ("jaccard", "token_f1", "span_f1")
            ]
            both = len(chosen & evidence)
            wanted = [
                both / len(chosen | evidence) if evidence else float("nan"),
                2 * both / (len(chosen) + len(evidence)) if evidence else float("nan"),
                span_f1_of(chosen, evidence),
            ]
            assert got == pytest.approx(wanted, nan_ok=True)


def test_a_span_counts_from_half_of_the_union_on() -> None:
    scores = [[9.0, 8, 7, 6, *[0] * 4], [9.0, 8, 7, 6, *[0] * 4], [9.0, 8, *[0] * 4, 7, 6]]
    marks = [[1.0] * 8, [0, 0, 0, *[1.0] * 5], [1, 1, 1, 0, 0, 0, 0, 1.0]]
    found = columns(scores, marks)["span_f1_fixed"].to_list()

    assert found == [1.0, 0.0, 1.0]


def test_mass_inside_the_evidence() -> None:
    found = columns([[1.0, -3.0, 2.0], [-1.0, -1.0, 0.0]], [[1, 1, 0.0], [1, 0, 0.0]])

    assert found["mass_absolute"].to_list() == pytest.approx([4 / 6, 1 / 2])
    assert found["mass_positive"].to_list() == [pytest.approx(1 / 3), None]
    assert found["chance_mass_absolute"].to_list() == pytest.approx([2 / 3, 1 / 3])


def test_a_token_is_evidence_from_half_of_the_annotators_on() -> None:
    made = attributed({"a": [[3.0, 2.0, 1.0]]}, [[1 / 3, 1 / 2, 1]])

    assert judged_rows(made)["evidence"].item() == 2


def test_chance_is_the_mean_over_random_scores() -> None:
    draw = np.random.default_rng(0)
    n, texts = 9, 6_000
    marks = [[1, 1, 0, 0, 1, 0, 0, 0, 0.0]] * texts
    scores = draw.normal(size=(texts, n)).tolist()
    found = plausibility(judged_rows(attributed({"a": scores}, marks)))

    judged = found.filter(
        pl.col("metric").is_in(WITH_CHANCE) & ~pl.col("metric").str.contains("mass")
    )
    assert len(judged) == len(WITH_CHANCE) - 2
    for value, chance, metric in judged.select("value", "chance", "metric").rows():
        limit = 0.02 if "dynamic" in metric else 0.012
        assert value == pytest.approx(chance, abs=limit), metric


def test_rows_without_evidence_are_counted_and_empty_evidence_is_undefined() -> None:
    made = attributed({"a": [[1.0, 2.0]] * 3}, [None, [0, 0], [1, 0]])
    found = judged_rows(made)

    assert found["row"].to_list() == [1, 2]
    plain = plausibility(found).filter(metric="token_f1_fixed")
    assert plain["n"].item() == 1
    assert plain["low"].item() is None


def test_means_are_over_instances_by_model_and_method() -> None:
    scores = {("a", "m", 0): [[2.0, 1.0]] * 3, ("a", "w", 0): [[1.0, 2.0]] * 3}
    made = attributed(scores, [[1, 0], [0, 1], [0, 1]], ids=["x", "x", "y"])
    found = plausibility(judged_rows(made)).filter(metric="average_precision")

    assert found["model"].to_list() == ["m", "w"]
    assert found["value"].to_list() == [0.625, 0.875]
    assert found["n"].to_list() == [2, 2]


def test_every_measure_is_in_both_tables() -> None:
    found = judged_rows(attributed({"a": [[1.0, 2.0]]}, [[1, 0]]))

    assert set(METRICS) <= set(found.columns)
    assert plausibility(found)["metric"].to_list() == list(METRICS)


def test_no_evidence_at_all_gives_empty_tables() -> None:
    found = judged_rows(attributed({"a": [[1.0, 2.0]]}))

    assert (len(found), len(plausibility(found))) == (0, 0)
