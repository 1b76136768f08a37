"""Verdicts of accuracies at their limits, and intervals of answers that are known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts.facets import FACETS, describe
from audit.analyses.concepts.tests_of_concepts import KEYS, points_of
from audit.analyses.concepts.verdicts import parts_of

WORLD = [*product("hvr", "rop", "cf")]
ROWS = [("".join(one), str(place), one[place], False) for one in WORLD for place in range(3)]
LABELS = pl.Series([["".join(one)] for one in WORLD for _ in range(2)])
DESCRIBED = describe(LABELS, pl.DataFrame(ROWS, FACETS, orient="row"))
LAYOUT = DESCRIBED.class_codes[:, 0]
REMOVED = {
    "above_limit": ("is_token_of_type", "0", "N-1 slices", None, "transfer", "0"),
    "at_or_below_chance": ("is_modular", "0", "N-1 slices", "inlp", "transfer", "0"),
    "at_chance": ("is_causal", "0", "N-1 slices", "inlp", "predict", "0"),
}


def part(required: str, right: Sequence[int], judged: int = 50, repeats: int = 1) -> dict[str, Any]:
    """The line of an accuracy whose answers are right so often in each class."""
    answers = [(*REMOVED[required], seed, [*right], [judged] * 18) for seed in range(repeats)]
    points = points_of(answers, DESCRIBED.classes["class"])
    return parts_of(DESCRIBED, points, np.full(18, judged)).row(0, named=True)


def test_a_constant_answer_is_at_chance_however_much_classes_differ() -> None:
    constant = [50 * int(one == 0) for one in LAYOUT]
    assert part("at_chance", constant)["accuracy"] == pytest.approx(1 / 3)
    assert part("at_chance", constant)["chance"] == pytest.approx(1 / 3)
    assert part("at_chance", constant)["interval_verdict"] == "pass"
    assert part("above_limit", constant)["interval_verdict"] == "fail"


def test_slices_and_classes_that_disagree_leave_it_undecided() -> None:
    right = np.zeros(18, np.int64)
    for together in DESCRIBED.parts(0, 0)[:2]:
        right[together] = 50
    found = part("at_chance", right.tolist())
    assert (found["verdict"], found["interval_verdict"]) == ("pass", "undecided")
    few = part("above_limit", [50] * 15 + [0] * 3)
    assert (few["verdict"], few["interval_verdict"]) == ("pass", "undecided")


@pytest.mark.parametrize(
    ("required", "share", "verdict"),
    [
        *(("above_limit", 0.75, "fail"), ("above_limit", 0.76, "pass")),
        *(("at_chance", 0.38, "pass"), ("at_chance", 0.39, "fail")),
        *(("at_chance", 0.29, "pass"), ("at_chance", 0.28, "fail")),
        *(("at_or_below_chance", 0.1, "pass"), ("at_or_below_chance", 0.39, "fail")),
    ],
)
def test_limits_are_those_of_the_paper(required: str, share: float, verdict: str) -> None:
    assert part(required, [round(100 * share)] * 18, 100)["verdict"] == verdict


@given(
    st.lists(st.integers(0, 50), min_size=18, max_size=18),
    st.sampled_from([*REMOVED]),
    st.integers(1, 13),
)
def test_intervals_hold_the_accuracy_and_repeated_answers_count_once(
    right: list[int], required: str, repeats: int
) -> None:
    found, once = part(required, right, repeats=repeats), part(required, right)

    assert (found["requirement"], found["seeds"]) == (required, repeats)
    assert found["low"] <= found["accuracy"] <= found["high"]
    assert found["low_90"] <= found["accuracy"] <= found["high_90"]
    assert found["interval_verdict"] in ("undecided", found["verdict"])
    for name in ("accuracy", "low", "high", "low_90", "high_90", "chance"):
        assert found[name] == pytest.approx(once[name]), name


def test_points_are_by_seed_and_class() -> None:
    key = REMOVED["above_limit"]
    answers = [(*key, 1, [2, 0, 1], [4, 0, 2]), (*key, 0, [1, 1, 0], [1, 1, 1]),
               (*key, 1, [1, 0, 0], [4, 0, 0])]  # fmt: skip
    found = points_of(answers, pl.Series([*"abc"]))
    assert found.select("seed", "class", "right", "judged").rows() == [
        (0, "a", 1, 1), (0, "b", 1, 1), (0, "c", 0, 1), (1, "a", 3, 8), (1, "c", 1, 2),
    ]  # fmt: skip
    assert found.select(KEYS).unique().rows() == [key]
