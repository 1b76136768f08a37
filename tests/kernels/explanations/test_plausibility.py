"""Scores against human evidence: loops from the definitions, scipy and scikit-learn."""

from __future__ import annotations

from math import isnan

import numpy as np
import polars as pl
import pytest

from audit.analyses.explanations.agreement import MAIN_K
from audit.analyses.explanations.plausibility import WITH_CHANCE, judged_rows, plausibility
from audit.analyses.explanations.top_tokens import peaks
from fixtures.attributed import attributed
from fixtures.brute_force_agreement import average_precision_of, kendall_of, span_f1_of, top_k

THIRDS = (0, 0, 1 / 3, 2 / 3, 1)


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


def test_mass_inside_the_evidence() -> None:
    found = columns([[1.0, -3.0, 2.0], [-1.0, -1.0, 0.0]], [[1, 1, 0.0], [1, 0, 0.0]])

    assert found["mass_absolute"].to_list() == pytest.approx([4 / 6, 1 / 2])
    assert found["mass_positive"].to_list() == [pytest.approx(1 / 3), None]
    assert found["chance_mass_absolute"].to_list() == pytest.approx([2 / 3, 1 / 3])


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
