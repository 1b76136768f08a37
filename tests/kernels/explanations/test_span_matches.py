"""Micro and macro F1 of spans, against spans that are compared one by one."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.explanations.span_matches import COUNTED, matched_spans, span_scores, spans_of

Spans = set[tuple[int, int]]
TOKENS = 7
rows = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from("xyz"),
        *(st.lists(st.booleans(), min_size=TOKENS, max_size=TOKENS) for _ in range(2)),
    ),
    min_size=1,
    max_size=8,
)


def spans(mask: list[bool]) -> Spans:
    """First token and end of each run, one by one."""
    runs = [(marked, list(run)) for marked, run in groupby(range(TOKENS), mask.__getitem__)]
    return {(own[0], own[-1] + 1) for marked, own in runs if marked}


def f1(pairs: list[tuple[Spans, Spans]], match: str) -> float | None:
    def right(own: Spans, others: Spans) -> int:
        if match == "exact":
            return len(own & others)
        return sum(any(a < d and c < b for c, d in others) for a, b in own)

    sums = [sum(right(*pair) for pair in pairs), sum(right(t, c) for c, t in pairs)]
    chosen, there = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
    if not there:
        return None
    if not all(sums):
        return 0.0
    precision, recall = sums[0] / chosen, sums[1] / there
    return 2 * precision * recall / (precision + recall)


@given(rows)
def test_micro_and_macro_f1_are_those_of_spans_one_by_one(
    drawn: list[tuple[str, str, list[bool], list[bool]]],
) -> None:
    chosen, there = (np.array([row[side] for row in drawn]) for side in (2, 3))
    counts = dict.fromkeys(COUNTED, np.zeros(len(drawn), np.int64))
    counts |= dict(matched_spans("positive", chosen, there))
    counts["spans"] = spans_of(there)[0].sum(axis=1)
    judged = pl.DataFrame(
        {"id": [row[0] for row in drawn], "target": [row[1] for row in drawn]}
    ).with_columns(model=pl.lit("m"), method=pl.lit("s"))

    found = span_scores(judged.with_columns(**counts)).filter(pl.col("rule") == "positive")

    pairs = [(target, (spans(c), spans(t))) for _, target, c, t in drawn]
    for row in found.iter_rows(named=True):
        micro = f1([pair for _, pair in pairs], row["match"])
        by_label = [f1([pair for label, pair in pairs if label == one], row["match"])
                    for one in sorted({label for label, _ in pairs})]  # fmt: skip
        asked = [value for value in by_label if value is not None]
        assert (row["micro"], row["labels"]) == (pytest.approx(micro), len(asked))
        assert row["macro"] == (pytest.approx(np.mean(asked)) if asked else None)
        assert row["n"] == len({row[0] for row in drawn})
        if row["micro_low"] is not None:
            assert row["micro_low"] <= row["micro"] <= row["micro_high"]
