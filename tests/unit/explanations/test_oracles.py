"""The soft oracle: rows of explanation-informed models, cut to the tokens of the judged text."""

from __future__ import annotations

from math import atanh

import numpy as np
import polars as pl
import pytest
from scipy import stats

from audit.base.errors import InputError
from audit.explanations.importance.importance import importance_alignment
from audit.explanations.importance.oracles import human_oracle, judged_rows, soft_oracle
from fixtures.importance import Corpus

TEXT = ["a", "b", "c", "d", "e"]
SCORES = [5.0, -4.0, 3.0, 1.0, 2.0]
INFORMED = {"bert": ["informed"]}


def corpus(*, borrowed: bool = True) -> Corpus:
    """A row of BERT, and rows of an informed model that reads more text after its tokens."""
    made = Corpus()
    text = made.text(TEXT)
    made.row("x", text, SCORES, None)
    longer = made.text([*TEXT, "because", "b"])
    made.row("x", longer, [4, 3, -2, 1, 2, 9, 9], None, model="informed", seed=0)
    made.row("x", longer, [1, 2, 3, 4, 5, 9, 9], None, model="informed", seed=1)
    if borrowed:
        other = made.text([*TEXT, "since"])
        made.row("x", other, [1, 1, 2, 2, 1, 9], None, model="informed", borrowed=True)
        made.row("x", other, [1, 1, 1, 1, 1, 9], None, model="informed", borrowed=True, seed=1)
    return made


def z(right: list[float]) -> float:
    return atanh(stats.pearsonr(np.abs(SCORES), right).statistic)


def test_the_soft_oracle_is_cut_to_the_tokens_and_averaged_over_seeds() -> None:
    result = importance_alignment(corpus().attributions(), informed=INFORMED)
    row = result.rows.row(0, named=True)

    assert len(result.rows) == 1
    assert row["oracle"] == "soft"
    assert row["c"] == pytest.approx((z([4, 3, 2, 1, 2]) + z([1, 2, 3, 4, 5])) / 2)
    assert row["c_random"] == pytest.approx(z([1, 1, 2, 2, 1]))
    assert row["difference_zeros"] == pytest.approx(row["c"] - row["c_random"] / 2)
    assert (row["draws"], row["undefined"]) == (2, 1)


def test_without_borrowed_rows_there_is_c_and_no_difference() -> None:
    result = importance_alignment(corpus(borrowed=False).attributions(), informed=INFORMED)
    row, found = result.rows.row(0, named=True), result.summary.row(0, named=True)

    assert row["c"] is not None
    assert row["difference"] is None
    assert row["dropped"] == "no_baseline"
    assert found["delta_a"] is None
    assert found["correlation"] is not None
    assert "borrowed" in found["absent"]


def test_an_informed_seed_without_a_correlation_leaves_the_others() -> None:
    made = Corpus()
    text = made.text(TEXT)
    made.row("x", text, SCORES, None)
    made.row("x", text, [4, 3, -2, 1, 2], None, model="informed", seed=0)
    made.row("x", text, [1, 1, 1, 1, 1], None, model="informed", seed=1)
    made.row("x", text, [1, 1, 2, 2, 1], None, model="informed", borrowed=True)
    row = importance_alignment(made.attributions(), informed=INFORMED).rows.row(0, named=True)

    assert row["c"] == pytest.approx(z([4, 3, 2, 1, 2]))
    assert row["dropped"] is None


def test_texts_that_do_not_begin_alike_are_not_correlated() -> None:
    made = Corpus()
    made.row("x", made.text(TEXT), SCORES, None)
    made.row("x", made.text([*TEXT[:4], "ee", "f"]), [1, 2, 3, 4, 5, 6], None, model="informed")
    made.row("y", made.text(["p", *TEXT]), [1, *SCORES], None)
    made.row("y", made.text(["p", *TEXT[:3]]), [1, 2, 3, 4], None, model="informed")
    made.row("z", made.text(["q", *TEXT]), [1, *SCORES], None)
    rows = importance_alignment(made.attributions(), informed=INFORMED).rows

    assert rows["dropped"].to_list() == ["other_tokens", "other_tokens", "no_evidence"]


def test_informed_and_borrowed_rows_are_not_judged() -> None:
    assert judged_rows(corpus().attributions(), INFORMED).tolist() == [0]
    assert judged_rows(corpus().attributions(), {}).tolist() == [0, 1, 2]


def test_another_method_or_target_is_no_oracle() -> None:
    made = Corpus()
    text = made.text(TEXT)
    made.row("x", text, SCORES, None)
    made.row("x", text, SCORES, None, model="informed", method="lime")
    made.row("x", text, SCORES, None, model="informed", target="u")
    pairs = soft_oracle(made.attributions(), INFORMED)

    assert len(pairs.row) == len(pairs.other_tokens) == 0


def test_each_model_has_its_own_informed_models() -> None:
    made = Corpus()
    text = made.text(TEXT)
    for model in ("bert", "bow", "informed", "informed bow"):
        made.row("x", text, SCORES, None, model=model)
    pairs = soft_oracle(
        made.attributions(), {"bert": ["informed"], "bow": ["informed bow", "informed"]}
    )

    assert list(zip(pairs.row.tolist(), pairs.informed.tolist(), strict=True)) == [
        (0, 2),
        (1, 2),
        (1, 3),
    ]


def test_evidence_beside_that_of_the_attributions_is_found_by_text_and_target() -> None:
    made = Corpus("text")
    texts = [made.text([*TEXT, str(place)]) for place in range(3)]
    for place, text in enumerate(texts):
        made.row(f"x{place}", text, [*SCORES, 0], made.explained(text, ["a", "b"]))
    expert = Corpus("marks", words=made.words, texts=made.texts)
    for place in (2, 0):
        expert.marked(texts[place], [1, 0, 0, 0, 0, 0.5])
    attributions = made.attributions()
    result = importance_alignment(attributions, evidence=[expert.evidence()])

    assert human_oracle(attributions, expert.evidence()).item.tolist() == [1, -1, 0]
    assert result.summary.filter(pl.col("subset") == "all")["oracle"].to_list() == [
        "expert",
        "hard",
    ]
    assert result.summary.filter(pl.col("subset") == "all")["dropped_no_evidence"].to_list() == [
        1,
        0,
    ]


def test_no_evidence_is_an_error() -> None:
    with pytest.raises(InputError, match="needs human evidence"):
        human_oracle(corpus().attributions())
