"""Delta-A with accuracy: against scipy, and refused where it would mean nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from audit.analyses.explanations.importance import (
    BY,
    accuracies,
    aligned_rows,
    correlate_with_accuracy,
    delta_a,
    read_accuracies,
)
from audit.analyses.explanations.oracles import with_examples
from audit.base.errors import InputError
from fixtures.importance import random_corpus

KEY = {"method": "ig", "oracle": "hard", "subset": "all"}


def deltas(values: list[float | None], models: list[str], seeds: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"model": models, "seed": seeds, "delta_a": values}).with_columns(
        **{name: pl.lit(value) for name, value in KEY.items()}
    )


def test_a_point_per_model_and_seed_against_scipy() -> None:
    attributions = random_corpus(40, np.random.default_rng(0), models=("a", "b", "c"), seeds=3)
    every = with_examples(attributions.rows)
    rows = aligned_rows(attributions, every, {}, draws=10, seed=0)
    accuracy, by_seed = accuracies(rows), delta_a(rows, [*BY, "seed"])
    found = correlate_with_accuracy(by_seed, accuracy).filter(pl.col("subset") == "all")
    own = by_seed.filter(pl.col("subset") == "all").sort("model", "seed")
    wanted = stats.pearsonr(own["delta_a"], accuracy["accuracy"])
    low, high = wanted.confidence_interval()
    line = found.row(0, named=True)

    assert (line["n"], line["models"]) == (9, 3)
    assert line["r"] == pytest.approx(wanted.statistic)
    assert line["p"] == pytest.approx(wanted.pvalue)
    assert [line["low"], line["high"]] == pytest.approx([low, high])


def told(tmp_path: Path, *lines: str) -> pl.DataFrame:
    """What a file of accuracies says of two models with two seeds each."""
    file = tmp_path / "hans.csv"
    file.write_text("\n".join(["model,accuracy,seed", *lines]))
    corpus = random_corpus(4, np.random.default_rng(0), models=("a", "b"), seeds=2)
    return read_accuracies(file, corpus)


def test_accuracies_on_other_data_are_read_by_model_and_seed(tmp_path: Path) -> None:
    accuracy = told(tmp_path, "a,.5,0", "a,.6,1", "b,.7,0", "b,0.9,1")
    found = correlate_with_accuracy(deltas([0.1, 0.3, 0.2, 0.5], [*"aabb"], [0, 1] * 2), accuracy)

    assert accuracy["data"].unique().to_list() == ["hans.csv"]
    wanted = stats.pearsonr([0.1, 0.3, 0.2, 0.5], [0.5, 0.6, 0.7, 0.9])
    assert found["r"].to_list() == pytest.approx([wanted.statistic])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("a,50,0", "b,.5,0"), "from 0 to 1.*\n.*a 0 50"),
        (("a,high,0",), "from 0 to 1"),
        (("a,,0",), "from 0 to 1"),
        (("a,.5,0", "a,.6,0"), "each model has one accuracy"),
        (("c,.5,0",), "accuracies of the models .* are required"),
    ],
)
def test_accuracies_that_say_nothing_are_refused(
    tmp_path: Path, lines: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        told(tmp_path, *lines)


def test_accuracy_is_the_share_of_known_examples_that_are_right() -> None:
    attributions = random_corpus(20, np.random.default_rng(1), models=("a",))
    rows = attributions.rows
    unknown = rows.with_columns(
        predicted=pl.when(pl.col("id") == "x000000").then(None).otherwise("predicted")
    )
    twice = pl.concat([unknown, unknown.with_columns(method=pl.lit("lime"))])
    (line,) = accuracies(with_examples(twice)).to_dicts()

    assert line["accuracy"] == pytest.approx(unknown["predicted"].drop_nulls().mean())


@pytest.mark.parametrize(
    ("values", "accuracy", "absent"),
    [
        ([0.1, 0.2], [0.5, 0.6], "2 points, and 3 are needed"),
        ([0.1, None, 0.3], [0.5, 0.6, 0.7], "2 points, and 3 are needed"),
        ([0.1, 0.1, 0.1], [0.5, 0.6, 0.7], "Delta-A is the same at all 3 points"),
        ([0.1, 0.2, 0.3], [0.5, 0.5, 0.5], "the accuracy is the same at all 3 points"),
    ],
)
def test_what_cannot_be_correlated_says_why(
    values: list[float | None], accuracy: list[float], absent: str
) -> None:
    models = [f"m{place}" for place in range(len(values))]
    points = deltas(values, models, [0] * len(values))
    found = correlate_with_accuracy(points, pl.DataFrame({"model": models, "accuracy": accuracy}))

    assert found["absent"].to_list() == [absent]
    assert found["r"].to_list() == [None]


def test_accuracy_of_models_serves_all_their_seeds() -> None:
    points = deltas([0.1, 0.2, 0.3, 0.5], ["a", "a", "b", "b"], [0, 1, 0, 1])
    accuracy = pl.DataFrame({"model": ["a", "b"], "accuracy": [0.5, 0.9]})
    line = correlate_with_accuracy(points, accuracy).row(0, named=True)

    assert (line["n"], line["models"]) == (4, 2)
    assert line["r"] == pytest.approx(np.corrcoef([0.1, 0.2, 0.3, 0.5], [0.5, 0.5, 0.9, 0.9])[0, 1])


def test_three_points_leave_the_interval_open() -> None:
    points = deltas([0.1, 0.2, 0.4], ["a", "b", "c"], [0, 0, 0])
    accuracy = pl.DataFrame({"model": ["a", "b", "c"], "accuracy": [0.5, 0.6, 0.9]})
    line = correlate_with_accuracy(points, accuracy).row(0, named=True)

    assert (line["low"], line["high"]) == (-1, 1)
