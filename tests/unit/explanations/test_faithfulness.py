"""Faithfulness of attributions, held against a loop over texts in which tokens are replaced."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from audit.base.errors import InputError
from audit.explanations.attribution.embedded_model import embedded_model, randomised
from audit.explanations.attribution.explain import explain
from audit.explanations.attribution.faithfulness import (
    CURVE,
    SHARES,
    faithfulness,
    tokens_in_share,
)
from audit.explanations.attribution.rows import TokenisedTexts
from audit.explanations.attributions import Attributions
from audit.explanations.faithful_rows import randomised_means, rank_correlations
from audit.explanations.lists import Lists

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("one_thread")

PADDING, START, END = 0, 1, 2
LABELS = ("a", "b", "c")


class Reader(torch.nn.Module):
    """Answers from token numbers, so that it can be asked about replaced tokens directly."""

    def __init__(self, padding: int | None = None) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(4)
            self.embedding = torch.nn.Embedding(40, 6, padding_idx=padding)
            self.filters = torch.nn.Conv1d(6, 8, 3, padding=1)
            self.answer = torch.nn.Linear(8, len(LABELS))

    def forward(self, token_ids: Any) -> Any:
        read = torch.tanh(self.filters(self.embedding(token_ids).transpose(1, 2)))
        return self.answer(4 * read.mean(dim=2))


def texts(*lengths: int) -> TokenisedTexts:
    draw = np.random.default_rng(0)
    numbers = [[START, *draw.integers(3, 40, length).tolist(), END] for length in lengths]
    tokens = [[str(number) for number in one] for one in numbers]
    ids = [f"t{place}" for place in range(len(lengths))]
    return TokenisedTexts(ids, tokens, numbers, PADDING, frozenset({START, END}))


TEXTS = texts(1, 7, 23, 23, 30)
TARGETS = pl.DataFrame(
    {"id": ["t0", "t1", "t2", "t2", "t3", "t4"], "target": ["a", "b", "c", "a", "b", "c"]}
)
READER = Reader().double()
MODEL = embedded_model(READER, LABELS, link="sigmoid", device="cpu", dtype="float64")


def probability(text: str, target: str, away: Any) -> float:
    """The probability after the tokens at some places, special ones not counted, are replaced."""
    numbers = np.array(TEXTS.token_ids[TEXTS.place[text]])
    numbers[1 + np.asarray(away, dtype=int)] = PADDING
    with torch.no_grad():
        logits = READER(torch.tensor(numbers[None]))
    return float(logits.sigmoid()[0, LABELS.index(target)])


def test_equal_to_a_loop_over_replaced_tokens() -> None:
    attributions = explain(MODEL, TEXTS, TARGETS).attributions
    measured = faithfulness(MODEL, TEXTS, attributions)

    for row in measured.rows.iter_rows(named=True):
        scores = attributions.scores[row["row"]]
        order, text, target = np.argsort(-scores), row["id"], row["target"]

        def without(share: float, order: Any = order, text: str = text, y: str = target) -> float:
            return probability(text, y, order[: math.ceil(round(share * len(order), 9))])

        def only(share: float, order: Any = order, text: str = text, y: str = target) -> float:
            return probability(text, y, order[math.ceil(round(share * len(order), 9)) :])

        whole = without(0)
        expected = {
            "output": whole,
            "baseline": without(1),
            "comprehensiveness": np.mean([whole - without(share) for share in SHARES]),
            "sufficiency": np.mean([whole - only(share) for share in SHARES]),
            "deletion_area": np.trapezoid([without(share) for share in CURVE], CURVE),
        }
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12)
        curve = measured.curves.filter(pl.col("row") == row["row"])
        assert curve["share"].to_list() == list(CURVE)
        assert curve["output"].to_list() == pytest.approx([without(one) for one in CURVE])


def test_a_share_is_rounded_up_from_its_decimals() -> None:
    percent, tokens = torch.arange(101)[:, None], torch.arange(1, 400)[None, :]
    number = tokens_in_share(percent.double() / 100, tokens)
    assert torch.equal(number, -(-percent * tokens // 100))


def test_random_orders_are_those_of_shuffled_scores_on_average() -> None:
    attributions = explain(MODEL, TEXTS, TARGETS, ["gradient"]).attributions
    measured = faithfulness(MODEL, TEXTS, attributions, draws=100).rows.row(4, named=True)
    draw = np.random.default_rng(1)
    values = []
    for _ in range(100):
        order = draw.permutation(23)
        kept = [probability("t3", "b", order[: math.ceil(share * 23)]) for share in SHARES]
        values.append(measured["output"] - np.mean(kept))
    error = 4 * np.std(values) * math.sqrt(2 / 100)
    assert measured["random_comprehensiveness"] == pytest.approx(np.mean(values), abs=error)


def test_methods_are_held_against_the_same_orders_and_batches_do_not_matter() -> None:
    attributions = explain(MODEL, TEXTS, TARGETS, ["gradient", "occlusion"]).attributions
    whole = faithfulness(MODEL, TEXTS, attributions)
    split = faithfulness(replace(MODEL, tokens_per_pass=30), TEXTS, attributions)
    random = [name for name in whole.rows.columns if name.startswith("random_")]

    first, second = whole.rows.select(random)[:6], whole.rows.select(random)[6:]
    assert np.allclose(first.to_numpy(), second.to_numpy(), atol=1e-13)
    numbers = pl.selectors.float()
    difference = whole.rows.select(numbers).to_numpy() - split.rows.select(numbers).to_numpy()
    assert np.abs(difference).max() < 1e-13


def test_the_best_order_is_more_faithful_than_the_worst() -> None:
    attributions = explain(MODEL, TEXTS, TARGETS, ["occlusion"]).attributions
    scores = Lists(-attributions.scores.values, attributions.scores.starts)
    best = faithfulness(MODEL, TEXTS, attributions).rows
    worst = faithfulness(MODEL, TEXTS, replace(attributions, scores=scores)).rows
    long = pl.col("id") != "t0"  # a text of one token has one order

    def mean(frame: pl.DataFrame, name: str) -> float:
        return float(frame.filter(long)[name].to_numpy().mean())

    for higher, lower, name in (
        (best, worst, "comprehensiveness"),
        (worst, best, "sufficiency"),
        (worst, best, "deletion_area"),
    ):
        middle = mean(best, f"random_{name}")
        assert mean(higher, name) > middle > mean(lower, name)


def test_without_random_orders_their_columns_are_empty() -> None:
    attributions = explain(MODEL, TEXTS, TARGETS, ["gradient"]).attributions
    rows = faithfulness(MODEL, TEXTS, attributions, draws=0).rows
    assert rows["random_comprehensiveness"].is_nan().all()
    assert rows["comprehensiveness"].is_finite().all()


def test_rows_of_other_texts_are_refused() -> None:
    attributions = explain(MODEL, TEXTS, TARGETS, ["gradient"]).attributions
    with pytest.raises(InputError, match="a text that is there"):
        faithfulness(MODEL, texts(1, 7), attributions)
    with pytest.raises(InputError, match="one score for each token"):
        faithfulness(MODEL, texts(1, 7, 23, 24, 30), attributions)


def reversed_rows(attributions: Attributions) -> Any:
    return np.arange(len(attributions.rows))[::-1]


class TestRandomParameters:
    def test_values_are_shuffled_and_the_padding_stays(self) -> None:
        model = embedded_model(Reader(PADDING), LABELS, device="cpu")
        shuffled = randomised(model, 1)
        pairs = zip(model.module.parameters(), shuffled.module.parameters(), strict=True)
        for before, after in pairs:
            if before is model.embedding.weight:
                before, after = before[1:], after[1:]
                assert torch.equal(shuffled.embedding.weight[0], model.embedding.weight[0])
            else:
                ordered = after.flatten().sort().values
                assert torch.equal(before.flatten().sort().values, ordered)
            assert not torch.equal(before, after)
        again = randomised(model, 1).module.state_dict()
        assert all(
            torch.equal(one, again[name]) for name, one in shuffled.module.state_dict().items()
        )

    def test_correlations_are_those_of_scipy(self) -> None:
        trained = explain(MODEL, TEXTS, TARGETS).attributions
        random = explain(randomised(MODEL), TEXTS, TARGETS).attributions
        frame = rank_correlations(trained, random)

        assert frame["row"].to_list() == list(range(len(trained.rows)))
        for row in frame.filter(pl.col("id") != "t0").iter_rows(named=True):
            pair = trained.scores[row["row"]], random.scores[row["row"]]
            assert row["correlation"] == pytest.approx(spearmanr(*pair).statistic)
            absolute = spearmanr(np.abs(pair[0]), np.abs(pair[1])).statistic
            assert row["absolute_correlation"] == pytest.approx(absolute)
        assert frame.filter(pl.col("id") == "t0")["correlation"].null_count() == 5

    def test_equal_scores_have_no_correlation(self) -> None:
        trained = explain(MODEL, TEXTS, TARGETS, ["gradient"]).attributions
        scores = Lists(np.ones_like(trained.scores.values), trained.scores.starts)
        flat: Attributions = replace(trained, scores=scores)
        assert rank_correlations(trained, flat)["correlation"].null_count() == len(TARGETS)
        assert rank_correlations(trained, trained)["correlation"][1:].to_list() == pytest.approx(
            [1] * 5
        )

    def test_rows_are_matched_whatever_their_order(self) -> None:
        trained = explain(MODEL, TEXTS, TARGETS, ["gradient", "occlusion"]).attributions
        random = explain(randomised(MODEL), TEXTS, TARGETS, ["occlusion", "gradient"]).attributions
        few = replace(
            random, rows=random.rows.reverse(), scores=random.scores.take(reversed_rows(random))
        )
        own = few.rows["text"].to_list()
        assert own == random.rows["text"].to_list()[::-1]
        assert rank_correlations(trained, few).equals(rank_correlations(trained, random))

    def test_means_are_over_instances(self) -> None:
        trained = explain(MODEL, TEXTS, TARGETS, ["gradient", "occlusion"]).attributions
        random = explain(randomised(MODEL), TEXTS, TARGETS, ["gradient", "occlusion"]).attributions
        frame = rank_correlations(trained, random)
        for row in randomised_means(trained, random).iter_rows(named=True):
            own = frame.filter(pl.col("method") == row["method"]).drop_nulls("correlation")
            means = own.group_by("id").agg(pl.col("correlation").mean())["correlation"]
            assert row["correlation"] == pytest.approx(means.mean())
            assert (row["n"], row["rows"]) == (len(means), len(own))
            assert row["rows"] + row["undefined"] == len(TARGETS)

    def test_other_tokens_are_refused(self) -> None:
        trained = explain(MODEL, TEXTS, TARGETS, ["gradient"]).attributions
        shifted = trained.words.values.copy()
        shifted[-1] = (shifted[-1] + 1) % len(trained.vocabulary)
        other = replace(trained, words=Lists(shifted, trained.words.starts))
        with pytest.raises(InputError, match="the same tokens"):
            rank_correlations(trained, other)

    def test_other_rows_are_refused(self) -> None:
        some = explain(MODEL, TEXTS, TARGETS, ["gradient"]).attributions
        other = explain(MODEL, TEXTS, TARGETS, ["occlusion"]).attributions
        with pytest.raises(InputError, match="of the rows that are audited"):
            rank_correlations(some, other)
