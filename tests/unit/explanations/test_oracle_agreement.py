"""Correlations between oracles, over all tokens and within each example, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from audit.explanations.importance.delta_a import AGREEMENT, oracle_agreement
from fixtures.importance import Corpus


def two_oracles(n: int, rng: np.random.Generator) -> tuple[Corpus, Corpus]:
    """Texts with explanations, and marks of three annotators beside them."""
    hard = Corpus("text")
    for place in range(n):
        words = [f"w{word}" for word in rng.integers(20, size=int(rng.integers(5, 9)))]
        text = hard.text(words)
        item = hard.explained(text, [words[0], words[-1]])
        for model in ("a", "b"):
            hard.row(f"x{place:02}", text, rng.normal(size=len(words)).tolist(), item, model=model)
    expert = Corpus("marks", words=hard.words, texts=hard.texts)
    for text, words in enumerate(hard.texts):
        expert.marked(text, (rng.integers(4, size=len(words)) / 3).tolist())
    return hard, expert


def test_hard_and_expert_against_scipy() -> None:
    hard, expert = two_oracles(30, np.random.default_rng(0))
    (line,) = oracle_agreement(hard.attributions(), evidence=[expert.evidence()]).to_dicts()
    left, right = np.concatenate(hard.marks), np.concatenate(expert.marks)
    own = [
        stats.spearmanr(one, other).statistic
        for one, other in zip(hard.marks, expert.marks, strict=True)
        if len(set(one)) > 1 and len(set(other)) > 1
    ]
    low, high = stats.ttest_1samp(own, 0).confidence_interval()

    assert (line["oracle"], line["other"], line["method"]) == ("hard", "expert", None)
    assert (line["texts"], line["tokens"]) == (30, len(left))
    assert line["spearman"] == pytest.approx(stats.spearmanr(left, right).statistic)
    assert line["pearson"] == pytest.approx(stats.pearsonr(left, right).statistic)
    assert line["examples"] == len(own)
    assert line["mean_spearman"] == pytest.approx(np.mean(own))
    assert [line["low"], line["high"]] == pytest.approx([low, high])


def test_the_soft_oracle_is_compared_method_by_method() -> None:
    rng = np.random.default_rng(1)
    hard, _ = two_oracles(10, rng)
    attributions = hard.attributions()
    wanted: dict[str, list[float]] = {"ig": [], "lime": []}
    for place, words in enumerate(hard.texts.copy()):
        text = hard.text([*(list(hard.words)[word] for word in words), "because"])
        for method, values in wanted.items():
            scores = rng.normal(size=len(words) + 1)
            values.extend(np.abs(scores[:-1]))
            of = {"model": "m'", "method": method}
            hard.row(f"x{place:02}", text, scores.tolist(), None, **of)
            hard.row(f"x{place:02}", text, scores.tolist(), None, **of, borrowed=True)
            hard.row(f"x{place:02}", place, scores[:-1].tolist(), place, method=method)
    attributions = hard.attributions()
    lines = oracle_agreement(attributions, informed={"a": ["m'"], "bert": ["m'"]}).to_dicts()
    marks = np.concatenate([hard.marks[place] for place in range(10)])

    assert [(line["method"], line["oracle"], line["other"]) for line in lines] == [
        ("ig", "hard", "soft"),
        ("lime", "hard", "soft"),
    ]
    for line in lines:
        assert line["tokens"] == len(marks)
        assert line["spearman"] == pytest.approx(
            stats.spearmanr(marks, wanted[line["method"]]).statistic
        )


def test_texts_of_fewer_than_four_tokens_count_in_the_pool_alone() -> None:
    hard, expert = two_oracles(5, np.random.default_rng(4))
    text = hard.text(["p", "q", "r"])
    hard.row("short", text, [1, 2, 3], hard.explained(text, ["p"]))
    expert.marked(text, [1, 0.5, 0])
    (line,) = oracle_agreement(hard.attributions(), evidence=[expert.evidence()]).to_dicts()

    assert line["texts"] == 6
    assert line["tokens"] == sum(map(len, hard.texts))
    assert line["examples"] == 5


def test_one_oracle_agrees_with_none() -> None:
    hard, _ = two_oracles(3, np.random.default_rng(2))
    found = oracle_agreement(hard.attributions())

    assert len(found) == 0
    assert dict(found.schema) == AGREEMENT


def test_an_oracle_that_marks_nothing_has_no_correlation() -> None:
    hard, _ = two_oracles(3, np.random.default_rng(3))
    nothing = Corpus("marks", words=hard.words, texts=hard.texts)
    for text, words in enumerate(hard.texts):
        nothing.marked(text, [0.0] * len(words))
    (line,) = oracle_agreement(hard.attributions(), evidence=[nothing.evidence()]).to_dicts()

    assert line["texts"] == 3
    assert line["examples"] == 0
    assert line["spearman"] is line["mean_spearman"] is line["low"] is None
