"""Average pairwise difference of runs: the numbers of the definition, and what is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from audit.explanations.agreement.run_difference import measure_run_difference
from fixtures.attributed import attributed

SCALARS = {("a", "m", run): [[score]] for run, score in enumerate([0.0, 1.0, 3.0])}


def test_scalar_runs_have_the_differences_of_the_specification() -> None:
    made = attributed(SCALARS)
    found = measure_run_difference(made)
    with_self = measure_run_difference(made, compat="kamp")

    assert found.runs["difference"].to_list() == pytest.approx([2, 1.5, 2.5])
    assert with_self.runs["difference"].to_list() == pytest.approx([4 / 3, 1, 5 / 3])
    assert found.runs["median"].to_list() == with_self.runs["median"].to_list()
    assert found.runs.filter("median")["seed"].to_list() == [1]
    assert found.pairs.rows() == [("m", 0, 1, 1.0), ("m", 0, 2, 3.0), ("m", 1, 2, 2.0)]


def test_published_values_are_nine_tenths_of_the_definition() -> None:
    runs = {("a", "m", run): [[float(score)]] for run, score in enumerate(range(10))}
    without, with_self = (
        measure_run_difference(attributed(runs), compat=compat).runs["difference"]
        for compat in (None, "kamp")
    )

    assert (with_self / without).to_list() == pytest.approx([0.9] * 10)


def by_matrices(runs: list[list[list[float]]]) -> list[float]:
    """The definition: matrices filled up with zeros to the longest text."""
    longest = max(len(row) for row in runs[0])
    stacked = [np.array([row + [0.0] * (longest - len(row)) for row in run]) for run in runs]
    return [
        float(np.mean([np.abs(one - other).mean() for other in stacked if other is not one]))
        for one in stacked
    ]


def test_rows_are_filled_up_with_zeros_to_the_longest_text() -> None:
    draw = np.random.default_rng(0)
    lengths = draw.integers(1, 9, 5)
    runs = [[[draw.normal(size=n).tolist() for n in lengths] for _ in range(2)] for _ in range(4)]
    scores = {
        (method, "m", seed): runs[seed][place]
        for seed in range(4)
        for place, method in enumerate(("a", "b"))
    }
    found = measure_run_difference(attributed(scores)).runs
    stacked = by_matrices([[row for texts in run for row in texts] for run in runs])

    assert found["difference"].to_list() == pytest.approx(stacked)
    padding = 5 * max(lengths) / sum(lengths)
    assert found["per_token"].to_list() == pytest.approx([one * padding for one in stacked])
    assert found.filter("median")["difference"].item() == found["difference"].min()
    assert (found["low"] < found["difference"]).all()
    assert (found["difference"] < found["high"]).all()


def test_the_interval_is_students_over_instances() -> None:
    draw = np.random.default_rng(1)
    runs = draw.normal(size=(2, 12, 4))
    scores = {("a", "m", seed): runs[seed].tolist() for seed in (0, 1)}
    apart = np.abs(runs[0] - runs[1]).mean(axis=1)
    wanted = t.interval(0.95, 11, apart.mean(), apart.std(ddof=1) / 12**0.5)
    once = measure_run_difference(attributed(scores)).runs
    doubled = {(m, "m", seed): runs[seed].tolist() for seed in (0, 1) for m in ("a", "b")}
    twice = measure_run_difference(attributed(doubled)).runs

    assert once.select("low", "high").row(0) == pytest.approx(wanted)
    assert twice.select("low", "high").row(0) == pytest.approx(wanted)


def test_rows_that_a_run_lacks_and_models_of_one_run_are_counted() -> None:
    made = attributed({**SCALARS, ("b", "m", 0): [[9.0]], ("a", "other", 0): [[1.0]]})
    borrowed = made.rows.with_columns(borrowed=pl.col("model") == "other")
    found = measure_run_difference(made)

    assert found.runs["difference"].to_list() == pytest.approx([2, 1.5, 2.5])
    assert found.runs["rows"].to_list() == [1, 1, 1]
    assert found.ledger == {"rows": 5, "borrowed": 0, "repeated": 0, "one_run": 1, "unmatched": 1}
    assert measure_run_difference(replace(made, rows=borrowed)).ledger["borrowed"] == 1


def test_runs_without_a_row_in_common_have_no_difference() -> None:
    made = attributed({("a", "m", 0): [[1.0]], ("b", "m", 1): [[1.0]]})
    found = measure_run_difference(made)

    assert found.runs["difference"].to_list() == [None, None]
    assert not found.runs["median"].any()
    assert found.ledger["unmatched"] == 2


def test_one_instance_has_no_interval_and_one_run_no_table() -> None:
    assert measure_run_difference(attributed(SCALARS)).runs["low"].to_list() == [None] * 3
    assert len(measure_run_difference(attributed({"a": [[1.0]]})).runs) == 0
