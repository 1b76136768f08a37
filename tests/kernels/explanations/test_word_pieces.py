"""Word pieces are merged by a named rule; the sum over a text stays under the rule sum."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.explanations.words import merged_scores, merged_tokens, word_starts


def merged(tokens: list[str]) -> list[str]:
    column = pl.Series(tokens, dtype=pl.String)
    first = np.arange(len(tokens)) == 0
    starts = word_starts(column, np.zeros(len(tokens), dtype=np.int64), first)
    return merged_tokens(column, starts).to_list()


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["card", "##iac", "arrest", "."], ["cardiac", "arrest", "."]),
        (["▁card", "iac", "▁arrest", "."], ["▁cardiac", "▁arrest", "."]),
        (
            ["Card", "iac", "Ġarrest", ",", "Ġ38", ".", "5"],
            ["Cardiac", "Ġarrest", ",", "Ġ38", ".", "5"],
        ),
        (["card", "iac</w>", "arrest</w>", ".</w>"], ["cardiac</w>", "arrest</w>", ".</w>"]),
        (["cardiac", "arrest", "."], ["cardiac", "arrest", "."]),
        (["##iac", "##s"], ["##iacs"]),
        (["##", "a"], ["##", "a"]),
    ],
)
def test_each_way_to_divide_words(tokens: list[str], words: list[str]) -> None:
    assert merged(tokens) == words


@st.composite
def scored(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    scores = draw(st.lists(st.integers(-9, 9), min_size=1, max_size=12))
    starts = draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    return np.array(scores, float), np.array([True, *starts[1:]])


def groups(scores: np.ndarray, starts: np.ndarray) -> list[list[float]]:
    made: list[list[float]] = []
    for score, start in zip(scores, starts, strict=True):
        if start:
            made.append([])
        made[-1].append(float(score))
    return made


@given(scored())
def test_scores_by_each_rule(pair: tuple[np.ndarray, np.ndarray]) -> None:
    scores, starts = pair
    words = groups(scores, starts)
    assert merged_scores(scores, starts, "sum").tolist() == [sum(word) for word in words]
    means = [sum(word) / len(word) for word in words]
    assert merged_scores(scores, starts, "mean").tolist() == means
    largest = [max(word, key=lambda score: (abs(score), score)) for word in words]
    assert merged_scores(scores, starts, "max").tolist() == largest
    assert merged_scores(scores, starts, "sum").sum() == scores.sum()
