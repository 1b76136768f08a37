"""Importance alignment: numbers by hand, a slow oracle, counts of what drops, simulations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atanh, tanh

import numpy as np
import polars as pl
import pytest
from scipy import stats

from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.importance import BY, aligned_rows, delta_a, with_q
from audit.analyses.explanations.lists import LEAST_TOKENS
from audit.analyses.explanations.oracles import Informed, clustered_means, with_examples
from audit.analyses.explanations.other_explanations import random_donors
from audit.base.errors import InputError
from audit.engine.statistics.resampling import poisson_weights, unit_keys
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


def line(result: Aligned, **of: str) -> dict[str, object]:
    return result.summary.row(
        by_predicate=pl.all_horizontal(
            *(pl.col(name) == value for name, value in ({"subset": "all"} | of).items())
        ),
        named=True,
    )


def two_examples() -> Corpus:
    """The explanation of B marks the second and the fourth token of A."""
    corpus = Corpus()
    a = corpus.text(["a", "b", "c", "d"])
    corpus.row("A", a, [4, -3, 2, 1], corpus.marked(a, [1, 1, 0, 0]), gold=True, predicted=False)
    b = corpus.text(["b", "d", "e", "f"])
    corpus.row("B", b, [1, 2, 2, 1], corpus.marked(b, [1, 1, 0, 0]), gold=True, predicted=True)
    return corpus


def test_one_example_by_hand() -> None:
    result = importance_alignment(two_examples().attributions())
    row = result.rows.row(0, named=True)
    wrong = line(result, subset="wrong")

    assert row["c"] == pytest.approx(1.44364, abs=5e-6)
    assert row["c_random"] == pytest.approx(-0.48121, abs=5e-6)
    assert wrong["delta_a"] == pytest.approx(0.95831, abs=5e-6)
    assert wrong["examples"] == 1
    assert wrong["low"] is None
    assert wrong["p_t"] is None


def test_delta_a_is_no_difference_of_correlations() -> None:
    row = importance_alignment(two_examples().attributions()).rows.row(0, named=True)
    difference = tanh(row["c"]) - tanh(row["c_random"])

    assert difference == pytest.approx(1.34164, abs=5e-6)
    assert tanh(row["c"] - row["c_random"]) < 1 < difference


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


def test_the_t_test_is_scipys_and_seeds_count_once() -> None:
    attributions = random_corpus(60, np.random.default_rng(2), effect=0.3, seeds=3)
    result = importance_alignment(attributions)
    used = (
        result.rows.drop_nulls("difference")
        .group_by("example")
        .agg(pl.col("difference", "c", "c_random").mean())
    )
    wanted = stats.ttest_1samp(used["difference"], 0)
    low, high = wanted.confidence_interval(0.95)
    found = line(result)

    assert stats.ttest_rel(used["c"], used["c_random"]).pvalue == pytest.approx(wanted.pvalue)
    assert found["examples"] == 60
    assert found["p_t"] == pytest.approx(wanted.pvalue)
    assert found["delta_a"] == pytest.approx(tanh(used["difference"].mean()))
    assert [found["low"], found["high"]] == pytest.approx([tanh(low), tanh(high)])


def test_an_example_is_averaged_over_the_seeds_in_which_it_is_in_the_subset() -> None:
    attributions = random_corpus(40, np.random.default_rng(3), seeds=3)
    result = importance_alignment(attributions)
    wrong = result.rows.filter("wrong").drop_nulls("difference")
    mean = wrong.group_by("example").agg(pl.col("difference").mean())["difference"].mean()

    assert line(result, subset="wrong")["delta_a"] == pytest.approx(tanh(mean))
    assert line(result, subset="wrong")["examples"] == wrong["example"].n_unique() > 20


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


def test_two_tokens_would_always_correlate_perfectly() -> None:
    r = [stats.pearsonr(pair, [1, 0]).statistic for pair in ([2, 1], [0.1, 7])]

    assert np.abs(r) == pytest.approx([1, 1])
    assert LEAST_TOKENS == 4


def test_undefined_draws_are_left_out_or_zero() -> None:
    corpus = Corpus()
    for name, words in (("A", "abcd"), ("B", "bdef"), ("C", "wxyz")):
        text = corpus.text(list(words))
        corpus.row(name, text, [4, 3, 2, 1], corpus.marked(text, [1, 1, 0, 0]))
    result = importance_alignment(corpus.attributions(), draws=200)
    a = result.rows.row(0, named=True)
    defined = a["draws"] - a["undefined"]

    assert 0 < a["undefined"] < a["draws"] == 200
    assert a["c_random"] == pytest.approx(-0.481212, abs=1e-6)
    assert a["c"] - a["difference_zeros"] == pytest.approx(a["c_random"] * defined / 200)
    assert line(result)["undefined_share"] == pytest.approx(
        result.rows["undefined"].sum() / result.rows["draws"].sum()
    )


def test_seeds_and_the_order_of_rows_decide_nothing_else() -> None:
    attributions = random_corpus(30, np.random.default_rng(4), models=("a", "b"), seeds=2)
    order = np.random.default_rng(5).permutation(len(attributions.rows))
    shuffled = attributions.of_rows(order)
    one, again, other, moved = (
        importance_alignment(of, seed=seed)
        for of, seed in ((attributions, 1), (attributions, 1), (attributions, 2), (shuffled, 1))
    )

    assert one.summary.equals(again.summary)
    assert one.rows.equals(again.rows)
    assert not one.rows.equals(other.rows)
    assert moved.rows["c_random"].to_numpy() == pytest.approx(
        one.rows["c_random"].to_numpy()[order], nan_ok=True
    )


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    attributions = random_corpus(30, np.random.default_rng(6), models=("a", "b"), seeds=2)
    whole = importance_alignment(attributions)
    monkeypatch.setattr("audit.analyses.explanations.lists.batches.__defaults__", (50,))
    cut = importance_alignment(attributions)

    assert cut.rows.equals(whole.rows)
    numbers = whole.summary.select(pl.selectors.numeric()).to_numpy()
    assert cut.summary.select(pl.selectors.numeric()).to_numpy() == pytest.approx(
        numbers, nan_ok=True
    )


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


def test_no_example_meets_its_group_or_another_target_of_its_instance() -> None:
    corpus = Corpus()
    for place in range(8):
        text = corpus.text([f"{place}a", f"{place}b", "c", "d"])
        for target in "tu":
            item = corpus.marked(text, [1, 0, 0, 1], target)
            group = "g" if place < 3 else None
            corpus.row(f"x{place}", text, [3, 2, 1, 0], item, target=target, group=group)
    rows = with_examples(corpus.attributions().rows).sort("example")
    cluster = rows["cluster"].to_numpy()
    donors = random_donors(np.arange(16), cluster, 50, 0)

    assert len(set(cluster)) == 6
    assert (cluster[donors] != cluster).all()


def test_the_standard_error_over_groups_is_that_of_a_bootstrap_of_groups() -> None:
    rng = np.random.default_rng(8)
    cluster = np.repeat(np.arange(80), rng.integers(1, 6, 80))
    value = rng.normal(size=80)[cluster] + rng.normal(size=len(cluster))
    rows = pl.DataFrame({"cell": 0, "example": range(len(value)), "cluster": cluster, "v": value})
    mean = clustered_means(rows, ["cell"], "v")
    weights = poisson_weights(unit_keys([f"{one}" for one in range(80)], 0), 4000)[cluster]
    bootstrap = (weights * value[:, None]).sum(axis=0) / weights.sum(axis=0)
    alone = clustered_means(rows.with_columns(cluster="example"), ["cell"], "v")

    assert mean["error"][0] == pytest.approx(bootstrap.std(), rel=0.06)
    assert alone["error"][0] == pytest.approx(stats.sem(value))
    assert mean["error"][0] > 1.2 * alone["error"][0]


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


def test_q_is_benjamini_hochbergs_over_the_lines_of_a_subset() -> None:
    attributions = random_corpus(40, np.random.default_rng(10), models=("a", "b", "c"), effect=0.4)
    summary = importance_alignment(attributions).summary
    every = summary.filter(pl.col("subset") == "all")

    assert every["family"].to_list() == [3, 3, 3]
    assert every["q"].to_list() == pytest.approx(
        stats.false_discovery_control(every["p_t"]).tolist()
    )


def shuffled_explanations(attributions: Attributions, rng: np.random.Generator) -> Attributions:
    """The same texts and scores with the explanations dealt out anew, own ones included."""
    evidence = attributions.evidence
    words = evidence.words.take(rng.permutation(len(evidence.words)))
    held = [
        np.isin(attributions.words[text], words[item])
        for item, text in enumerate(evidence.items["text"])
    ]
    marks = replace(evidence.marks, values=np.concatenate(held).astype(float))
    return replace(attributions, evidence=replace(evidence, words=words, marks=marks))


@pytest.mark.slow
def test_shuffled_explanations_align_at_the_rate_of_the_interval() -> None:
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(500):
        attributions = shuffled_explanations(random_corpus(24, rng, effect=0.5, tokens=10), rng)
        found = line(importance_alignment(attributions, draws=5))
        covered += found["low"] <= 0 <= found["high"]

    assert 0.925 <= covered / 500 <= 0.985


def test_evidence_is_aligned_and_a_shortcut_is_not() -> None:
    attributions = random_corpus(80, np.random.default_rng(12), effect=2.0)
    found = line(importance_alignment(attributions))

    assert found["low"] > 0.1
    assert found["q"] < 1e-6


def test_words_that_are_everywhere_raise_the_baseline_too() -> None:
    corpus = Corpus("text")
    rng = np.random.default_rng(13)
    for place in range(60):
        text = corpus.text(["heart", *(f"w{word}" for word in rng.integers(500, size=11))])
        item = corpus.explained(text, ["heart", f"elsewhere{place}"])
        scores = rng.gamma(2, size=12) + 9 * (np.arange(12) == 0)
        corpus.row(f"x{place:02}", text, scores.tolist(), item)
    found = line(importance_alignment(corpus.attributions()))

    assert found["correlation"] > 0.8
    assert found["delta_a"] == pytest.approx(0, abs=1e-9)


def test_one_group_leaves_no_baseline() -> None:
    attributions = random_corpus(10, np.random.default_rng(14), group=10)
    found = line(importance_alignment(attributions))

    assert found["delta_a"] is None
    assert found["correlation"] is not None
    assert found["absent"] == "no example has both a correlation and a baseline"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"informed": {"bert": ["m'"]}}, 'no rows of "m\'"'),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        importance_alignment(two_examples().attributions(), **arguments)
