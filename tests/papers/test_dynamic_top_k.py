"""*Dynamic Top-k Estimation* against its definitions: figures 2, 3 and 6, tables 1 and 2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from math import comb, isnan
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from fixtures.brute_force_agreement import agreement_of, average_precision_of, released_peaks, top_k
from fixtures.paper_inputs import METHODS, attributions, write_records
from fixtures.paper_runs import made, table

Unit = tuple[str, int]
"""A text and a run."""


def explanations(folder: Path, rows: Iterable[Mapping[str, Any]], *more: str) -> Path:
    path = write_records(folder / "rows.jsonl", rows)
    return made(folder / "run", "explanations", path, *more)


def tables(run: Path, name: str, **where: object) -> list[dict[str, Any]]:
    return table(run, f"explanations_{name}", **where)


def compared(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The methods of a line; people are one."""
    return tuple(METHODS) if row["together"] else (row["first"], row["second"])


def scores_of(rows: Iterable[Mapping[str, Any]]) -> dict[Unit, dict[str, list[float]]]:
    found: dict[Unit, dict[str, list[float]]] = {}
    for row in rows:
        found.setdefault((row["id"], row["seed"]), {"human": row["marks"]})[row["method"]] = row[
            "scores"
        ]
    return found


ROWS = attributions()
UNITS = scores_of(ROWS)


def chosen(scores: list[float], k: int | None) -> set[int]:
    """The k highest, or the peaks where there is no k."""
    return released_peaks(scores) if k is None else top_k(scores, k)


def over_texts(values: Mapping[Unit, float]) -> float:
    """The mean over texts of the mean over runs."""
    texts: dict[str, list[float]] = {}
    for (text, _), value in values.items():
        if not isnan(value):
            texts.setdefault(text, []).append(value)
    return mean(mean(own) for own in texts.values())


def agreement(methods: Sequence[str], k: int | None, units: Mapping[Unit, Any] = UNITS) -> float:
    """Equation 3."""
    return over_texts(
        {
            unit: agreement_of([chosen(scores[m], k) for m in methods], len(scores["human"]))
            for unit, scores in units.items()
        }
    )


def expected_agreement(sizes: Sequence[int], n: int) -> float:
    """Agreement of random sets of these sizes: of s tokens, a token is in any with this chance."""
    union = [1.0]
    for size in sizes:
        grown = [0.0] * (n + 1)
        for old, weight in enumerate(union):
            for both in range(min(old, size) + 1):
                new = old + size - both
                if weight and new <= n:
                    ways = comb(old, both) * comb(n - old, size - both) / comb(n, size)
                    grown[new] += weight * ways
        union = grown
    return mean(sizes) * sum(weight / s for s, weight in enumerate(union) if s)


def chance(methods: Sequence[str], k: int | None, units: Mapping[Unit, Any] = UNITS) -> float:
    """Mean agreement of random sets that are as large as the ones chosen."""
    return over_texts(
        {
            unit: expected_agreement([len(chosen(scores[m], k)) for m in methods], n)
            for unit, scores in units.items()
            for n in [len(scores["human"])]
        }
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return explanations(tmp_path_factory.mktemp("agreement"), ROWS)


def test_figure_2_has_agreement_at_every_k_beside_the_peaks(run: Path) -> None:
    rows = tables(run, "agreement")
    for row in rows:
        assert row["agreement"] == pytest.approx(agreement(compared(row), row["k"])), row
        assert row["chance_sizes"] == pytest.approx(chance(compared(row), row["k"])), row
    pairs = [*combinations(METHODS, 2), *((method, "human") for method in METHODS)]
    seen = {(compared(row), row["rule"], row["k"]) for row in rows}
    for methods in (*pairs, tuple(METHODS)):
        assert {(methods, "dynamic", None), (methods, "fixed", 1), (methods, "fixed", 4)} <= seen


def test_figure_3_has_peaks_against_the_four_highest(run: Path) -> None:
    rows = tables(run, "differences")
    for row in rows:
        methods = row["first"], row["second"]
        dynamic, fixed = agreement(methods, None), agreement(methods, 4)
        found = [row[key] for key in ("dynamic", "fixed", "difference")]
        assert found == pytest.approx([dynamic, fixed, dynamic - fixed])
    assert len(rows) == 6


def test_table_1_sums_the_gains_of_a_method_over_its_pairs(run: Path) -> None:
    rows = tables(run, "gains")
    for row in rows:
        others = [other for other in METHODS if other != row["method"]]
        gains = [
            agreement((row["method"], other), None) - agreement((row["method"], other), row["k"])
            for other in others
        ]
        assert row["gain"] == pytest.approx(sum(gains))
    assert {(row["method"], row["k"]) for row in rows} == {
        (method, k) for method in METHODS for k in range(1, 6)
    }


def test_figure_6_groups_texts_by_length(run: Path) -> None:
    rows = tables(run, "lengths")
    for row in rows:
        group = {
            unit: scores
            for unit, scores in UNITS.items()
            if row["tokens_from"] <= len(scores["human"]) <= row["tokens_to"]
        }
        assert row["agreement"] == pytest.approx(agreement(compared(row), row["k"], group))
    groups = sorted({(row["tokens_from"], row["tokens_to"]) for row in rows})
    lengths = sorted(len(scores["human"]) for scores in UNITS.values())
    assert len(groups) == 4
    assert (groups[0][0], groups[-1][1]) == (lengths[0], lengths[-1])
    assert all(low[1] < high[0] for low, high in pairwise(groups))


def test_a_method_keeps_as_many_tokens_as_it_has_peaks(run: Path) -> None:
    for row in tables(run, "chosen"):
        peaks = {unit: len(released_peaks(of[row["method"]])) for unit, of in UNITS.items()}
        tokens = {unit: len(of["human"]) for unit, of in UNITS.items()}
        assert row["peaks"] == pytest.approx(over_texts(peaks))
        assert row["tokens"] == pytest.approx(over_texts(tokens))


def test_table_2_is_the_mean_difference_of_a_run_from_the_others(run: Path, tmp_path: Path) -> None:
    longest = max(len(row["scores"]) for row in ROWS)
    stacked = np.zeros((3, len(ROWS) // 3, longest))
    for at, row in enumerate(sorted(ROWS, key=lambda row: (row["seed"], row["id"], row["method"]))):
        stacked[divmod(at, len(ROWS) // 3)][: len(row["scores"])] = row["scores"]
    apart = np.abs(stacked[:, None] - stacked[None]).mean((2, 3))
    rows = tables(run, "runs")
    assert [row["difference"] for row in rows] == pytest.approx(list(apart.sum(1) / 2))
    assert [row["median"] for row in rows] == list(apart.sum(1) == apart.sum(1).min())
    released = tables(explanations(tmp_path, ROWS, "--compat", "kamp"), "runs")
    assert [row["difference"] for row in released] == pytest.approx(list(apart.sum(1) / 3))


def test_plausibility_holds_scores_against_people(run: Path) -> None:
    def value(metric: str, scores: list[float], marks: list[float]) -> float:
        if metric == "average_precision":
            return average_precision_of(scores, [mark >= 0.5 for mark in marks])
        return float(spearmanr(scores, marks)[0])

    for metric in ("average_precision", "spearman"):
        for row in tables(run, "plausibility", metric=metric):
            values = {u: value(metric, of[row["method"]], of["human"]) for u, of in UNITS.items()}
            assert row["value"] == pytest.approx(over_texts(values)), row


@pytest.mark.parametrize(
    ("n", "methods", "k", "stated"),
    [
        *((21, 2, k, value) for k, value in {1: 0.5238, 2: 0.5325, 4: 0.5587, 8: 0.6223}.items()),
        (21, 3, 4, 0.41058), (5, 2, 2, 0.65), (5, 3, 2, 0.527),
    ],
)  # fmt: skip
def test_chance_has_these_values(n: int, methods: int, k: int, stated: float) -> None:
    assert expected_agreement([k] * methods, n) == pytest.approx(
        stated, abs=6e-5 if n > 5 else 5e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 21])
def test_chance_is_that_of_the_length_of_texts(n: int, tmp_path: Path) -> None:
    rows = attributions(sizes=[n] * 40)
    units = scores_of(rows)
    run = explanations(tmp_path, rows)
    for row in tables(run, "agreement", rule="fixed"):
        k = min(row["k"], n)
        assert row["chance_sizes"] == pytest.approx(expected_agreement([k] * row["methods"], n))
    for row in tables(run, "agreement", rule="dynamic"):
        assert row["chance_sizes"] == pytest.approx(chance(compared(row), None, units))


PLATEAUS = {
    (0.1, 0.5, 0.8, 0.2, 0.3, 0.1, 0.5, 0.6, 0.6, 0.1): (2, 2),
    (0.9, 0.9, 0.1, 0.1, 0.8, 0.2): (2, 1),
    (0.1, 0.3, 0.3, 0.3, 0.1, 0.2): (1, 1),
}
"""Scores with equal neighbours, and how many peaks they have: as defined, by the released code."""


@pytest.mark.parametrize("released", [False, True])
def test_equal_neighbours_are_one_peak(released: bool, tmp_path: Path) -> None:
    rows = [
        attributions(sizes=[len(scores)])[0] | {"scores": scores, "model": f"m{place}"}
        for place, scores in enumerate(PLATEAUS)
    ]
    run = explanations(tmp_path, rows, *(["--compat", "kamp"] if released else []))
    found = tables(run, "chosen", method=rows[0]["method"])
    assert [row["peaks"] for row in found] == [peaks[released] for peaks in PLATEAUS.values()]
    assert [len(released_peaks(scores)) for scores in PLATEAUS] == [b for _, b in PLATEAUS.values()]
