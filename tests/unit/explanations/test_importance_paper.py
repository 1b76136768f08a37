"""What *Importance Alignment* prints, held against the identities that its formulas imply.

Where the paper misprints a number, the test says what would fit instead.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from fixtures.importance_paper import (
    ACCURACY_CORRELATIONS,
    ALL_WRONG,
    COEFFICIENTS,
    EXPERT_SUBSET,
    HANS_EXPERT_IN_TABLE_5,
    INFORMED_ACCURACY,
    MEAN_ACCURACY,
    TARGET_ACCURACY,
    TERMS,
    coefficients,
)


def correlation_p(r: float, n: int) -> float:
    """Two-sided p value of Pearson's correlation of n points, by Student's t."""
    return float(2 * t.sf(abs(r) * np.sqrt((n - 2) / (1 - r * r)), n - 2)) if r < 1 else 0.0


def fits(r: float, p: float, digits: int, n: int) -> bool:
    """Whether some r that is printed so has, at n points, some p that is printed so."""
    half = 0.5 * 10.0**-digits
    return correlation_p(abs(r) + 0.005, n) <= p + half and p - half <= correlation_p(
        abs(r) - 0.005, n
    )


@pytest.mark.parametrize(("name", "r", "p", "digits"), ACCURACY_CORRELATIONS)
def test_correlations_with_accuracy_have_one_point_per_model_and_seed(
    name: str, r: float, p: float, digits: int
) -> None:
    n = 35 if "without BOW" in name or "HANS" in name else 40

    assert fits(r, p, digits, n)
    assert not fits(r, p, digits, 120), "a point per model, seed and round, as the text has it"


def test_the_correlations_on_hans_cannot_have_all_models_and_seeds() -> None:
    by_name = {name: (r, p, digits) for name, r, p, digits in ACCURACY_CORRELATIONS}
    fitting = [
        n
        for n in range(5, 200)
        if fits(*by_name["HANS, soft"], n) and fits(*by_name["HANS, expert"], n)
    ]

    assert fitting == [35, 36, 37, 38, 39]


def test_the_text_and_table_5_differ_on_hans() -> None:
    in_text = {name: r for name, r, *_ in ACCURACY_CORRELATIONS}["HANS, expert"]

    assert in_text == 0.23
    assert HANS_EXPERT_IN_TABLE_5 == 0.22


TABLES = {
    ("all wrong", "hard"): ALL_WRONG["hard"],
    ("all wrong", "soft"): ALL_WRONG["soft"],
    ("expert subset", "hard"): EXPERT_SUBSET["hard"],
    ("expert subset", "soft"): EXPERT_SUBSET["soft"],
    ("expert subset", "expert"): EXPERT_SUBSET["expert"],
}
MISPRINTS = {
    (("all wrong", "hard"), "Large (vs. Base)"): -0.032,
    (("expert subset", "expert"), "BOW (vs. BERT-base)"): -0.372,
    (("expert subset", "expert"), "BInferSent (vs. BERT-base)"): -0.113,
}
"""Cells of table 4 that contradict tables 2 and 3, and what these give."""


@pytest.mark.parametrize("column", COEFFICIENTS)
def test_table_4_follows_from_tables_2_and_3(column: tuple[str, str]) -> None:
    within = 0.046 if column[1] == "expert" else 0.017
    implied = dict(zip(TERMS, coefficients(TABLES[column]), strict=True))
    printed = dict(zip(TERMS, COEFFICIENTS[column], strict=True))
    far = {name for name in TERMS if abs(implied[name] - printed[name]) > within}
    known = {name for (where, name) in MISPRINTS if where == column}

    assert far <= known
    for name in known:
        assert implied[name] == pytest.approx(MISPRINTS[column, name], abs=0.001)


def test_large_lacks_a_zero_in_table_4() -> None:
    implied, printed = coefficients(ALL_WRONG["hard"]), COEFFICIENTS["all wrong", "hard"]

    assert implied[0] == pytest.approx(printed[0] / 10, abs=0.001)
    assert implied[1:5] == pytest.approx(printed[1:5], abs=0.005)


def test_two_cells_of_the_expert_column_are_copies_of_the_hard_column() -> None:
    hard, expert = (COEFFICIENTS["expert subset", name] for name in ("hard", "expert"))

    assert expert[5:] == hard[5:] == (-0.184, -0.080)
    assert coefficients(EXPERT_SUBSET["hard"])[5:] == pytest.approx(hard[5:], abs=0.017)
    assert coefficients(EXPERT_SUBSET["expert"])[5:] == pytest.approx((-0.372, -0.113), abs=0.001)


def test_one_mean_of_table_2_is_not_the_mean_of_its_column() -> None:
    mean = {
        size: sum(TARGET_ACCURACY[f"{kind}-{size}"] for kind in ("BERT", "RoBERTa", "ELECTRA")) / 3
        for size in MEAN_ACCURACY
    }

    assert mean["Base"] == pytest.approx(MEAN_ACCURACY["Base"], abs=0.005)
    assert mean["Large"] == pytest.approx(54.22, abs=0.005)
    assert MEAN_ACCURACY["Large"] == 54.56


def test_five_informed_models_are_below_their_targets() -> None:
    below = {name for name, own in TARGET_ACCURACY.items() if INFORMED_ACCURACY[name] < own}

    assert below == {"BERT-Base", "ELECTRA-Base", "BERT-Large", "BInferSent", "BOW"}
