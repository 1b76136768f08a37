"""The soft oracle: rows of explanation-informed models, cut to the tokens of the judged text."""

from __future__ import annotations

from math import atanh

import numpy as np
import polars as pl
from scipy import stats

from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.importance import aligned_rows
from audit.analyses.explanations.oracles import Informed, soft_pairs, with_examples
from fixtures.importance import Corpus

TEXT = ["a", "b", "c", "d", "e"]
SCORES = [5.0, -4.0, 3.0, 1.0, 2.0]
INFORMED = {"bert": ["informed"]}


def aligned(attributions: Attributions) -> pl.DataFrame:
    rows = with_examples(attributions.rows)
    return aligned_rows(attributions, rows, INFORMED, draws=10, seed=0)


def pairs_of(attributions: Attributions, informed: Informed) -> list[tuple[int, int]]:
    pairs = soft_pairs(attributions, with_examples(attributions.rows), informed)
    return pairs.select("row", "informed").rows()


def z(right: list[float]) -> float:
    return atanh(stats.pearsonr(np.abs(SCORES), right).statistic)


def test_texts_that_do_not_begin_alike_are_not_correlated() -> None:
    made = Corpus()
    made.row("x", made.text(TEXT), SCORES, None)
    made.row("x", made.text([*TEXT[:4], "ee", "f"]), [1, 2, 3, 4, 5, 6], None, model="informed")
    made.row("y", made.text(["p", *TEXT]), [1, *SCORES], None)
    made.row("y", made.text(["p", *TEXT[:3]]), [1, 2, 3, 4], None, model="informed")
    made.row("z", made.text(["q", *TEXT]), [1, *SCORES], None)

    assert pairs_of(made.attributions(), INFORMED) == []
    assert aligned(made.attributions())["c"].to_list() == [None, None, None]


def test_each_model_has_its_own_informed_models() -> None:
    made = Corpus()
    text = made.text(TEXT)
    for model in ("bert", "bow", "informed", "informed bow"):
        made.row("x", text, SCORES, None, model=model)
    informed = {"bert": ["informed"], "bow": ["informed bow", "informed"]}

    assert pairs_of(made.attributions(), informed) == [(0, 2), (1, 2), (1, 3)]
