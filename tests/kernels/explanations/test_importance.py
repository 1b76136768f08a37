"""Importance alignment: numbers by hand, a slow oracle, counts of what drops, simulations."""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh

import numpy as np
import polars as pl
import pytest
from scipy import stats

from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.importance import BY, aligned_rows, delta_a, with_q
from audit.analyses.explanations.oracles import Informed, with_examples
from audit.analyses.explanations.other_explanations import random_donors
from fixtures.importance import Corpus, random_corpus


@dataclass
class Aligned:
    rows: pl.DataFrame
    summary: pl.DataFrame


def importance_alignment(
    attributions: Attributions, informed: Informed | None = None, draws: int = 10, seed: int = 0
) -> Aligned:
    every = with_examples(attributions.rows)
    rows = aligned_rows(attributions, every, informed or {}, draws=draws, seed=seed)
    other = rows.with_columns(c_random=pl.col("c") - pl.col("difference"))
    return Aligned(other, with_q(delta_a(rows, BY)))


@pytest.mark.parametrize("kind", ["text", "marks"])
def test_every_row_against_scipy(kind: str) -> None:
    attributions = random_corpus(
        25, np.random.default_rng(1), kind=kind, models=("a", "b"), seeds=2, group=3
    )
    draws = 4
    rows = importance_alignment(attributions, draws=draws, seed=7).rows
    known = with_examples(attributions.rows).unique("example").sort("example")
    donors = random_donors(np.arange(len(known)), known["cluster"].to_numpy(), draws, 7)
    item_of = dict(known.select("example", "item").iter_rows())
    for row in rows.iter_rows(named=True):
        place, example = row["row"], row["example"]
        size = np.abs(attributions.scores[place])
        marks = attributions.evidence.marks[item_of[example]]
        words = attributions.words[attributions.rows["text"][place]]
        c = [
            correlation(size, np.isin(words, attributions.evidence.words[item_of[int(donor)]]))
            for donor in donors[:, example]
        ]
        known = [one for one in c if one is not None]

        assert row["c"] == pytest.approx(correlation(size, marks))
        assert row["undefined"] == c.count(None)
        assert row["draws"] == draws
        assert row["c_random"] == pytest.approx(np.mean(known) if known else None)
        assert row["difference_zeros"] == pytest.approx(row["c"] - sum(known) / draws)


def correlation(left: np.ndarray, right: np.ndarray) -> float | None:
    """Fisher's transform of Pearson's correlation; None where it is undefined."""
    if len(set(left.tolist())) == 1 or len(set(right.tolist())) == 1:
        return None
    return atanh(stats.pearsonr(left, right.astype(float)).statistic)


def test_subsets() -> None:
    corpus = Corpus()
    told = {"x0": "ww", "x1": "wr", "x2": "rr", "x3": "w?"}
    for name, outcomes in told.items():
        text = corpus.text([f"{name}a", "b", "c", "d"])
        item = corpus.marked(text, [1, 0, 0, 0])
        for model, outcome in zip(("bert", "roberta"), outcomes, strict=True):
            predicted = {"w": False, "r": True, "?": None}[outcome]
            corpus.row(name, text, [3, 1, 2, 0], item, model=model, gold=True, predicted=predicted)
    rows = importance_alignment(corpus.attributions()).rows

    def chosen(subset: str) -> list[str]:
        kept = rows.filter(subset)
        return [f"x{e}{m[0]}" for e, m in kept.select("example", "model").iter_rows()]

    assert chosen("wrong") == ["x0b", "x0r", "x1b", "x3b"]
    assert chosen("right") == ["x1r", "x2b", "x2r"]
    assert chosen("common") == ["x0b", "x0r"]


def test_an_example_that_one_seed_gets_right_is_not_common() -> None:
    corpus = Corpus()
    for name, right in (("x0", 1), ("x1", 2)):
        text = corpus.text([f"{name}a", "b", "c", "d"])
        item = corpus.marked(text, [1, 0, 0, 0])
        for seed in (0, 1):
            corpus.row(
                name, text, [3, 1, 2, 0], item, seed=seed, gold=True, predicted=seed == right
            )
    rows = importance_alignment(corpus.attributions()).rows

    assert rows.filter("common")["example"].to_list() == [1, 1]


def test_an_explanation_known_only_in_other_tokens_is_met_in_these() -> None:
    corpus = Corpus()
    a, b = corpus.text(["a", "b", "c", "d"]), corpus.text(["b", "d", "e", "f"])
    merged = corpus.text(["a", "b", "c", "d", "x"])
    corpus.row("A", a, [4, 3, 2, 1], corpus.marked(a, [1, 1, 0, 0]))
    corpus.row("B", b, [4, 3, 2, 1], corpus.marked(b, [1, 1, 0, 0]))
    item = corpus.marked(merged, [1, 1, 0, 0, 0])
    corpus.row("A", merged, [4, 3, 2, 1, 1], item, method="lime")
    row = importance_alignment(corpus.attributions()).rows.row(2, named=True)

    assert row["c_random"] == pytest.approx(
        correlation(np.array([4, 3, 2, 1, 1]), np.array([0, 1, 0, 1, 0]))
    )


def test_what_has_no_correlation_or_no_baseline_has_no_difference() -> None:
    corpus = Corpus()
    text = corpus.text(["a", "b", "c", "d", "e"])
    short = corpus.text(["a", "b", "c"])
    alone = corpus.text(["v", "w", "x", "y", "z"])
    marked = corpus.marked(text, [1, 1, 0, 0, 0])
    corpus.row("used", text, [5, 4, 3, 2, 2], marked)
    corpus.row("none", text, [5, 4, 3, 2, 1], None)
    corpus.row("short", short, [5, 4, 3], corpus.marked(short, [1, 0, 0]))
    corpus.row("flat", text, [1, -1, 1, -1, 1], marked)
    corpus.row("empty", text, [5, 4, 3, 2, 1], corpus.marked(text, [0] * 5))
    corpus.row("whole", text, [5, 4, 3, 2, 1], corpus.marked(text, [1] * 5))
    corpus.row("perfect", text, [2, 2, 1, 1, 1], marked)
    corpus.row("alone", alone, [5, 4, 3, 2, 1], corpus.marked(alone, [1, 1, 0, 0, 0]))
    rows = importance_alignment(corpus.attributions()).rows

    assert rows.drop_nulls("difference")["id"].to_list() == ["used"]
    assert rows.drop_nulls("c")["id"].to_list() == ["used", "alone"]
