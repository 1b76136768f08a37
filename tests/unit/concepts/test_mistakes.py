"""Answers of a model: whose they are, and how often they take siblings for each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts.nodes_below import MISTAKES, with_mistakes
from audit.analyses.concepts.representations import (
    INSTANCES,
    LinearHead,
    Representations,
    model_answers,
)
from fixtures.represented_releases import twelve_labels

LABELS = [f"{branch}{place}" for branch in "abc" for place in range(4)]
SIBLINGS = [("a0", "a3"), ("b1", "b2"), ("a", "b"), ("c0", None)]
SETS = st.lists(st.sampled_from(LABELS), max_size=3, unique=True)
Answers = Sequence[Sequence[str] | None]


def represented(
    labels: Sequence[Sequence[str]], predictions: Sequence[str | None] | None = None
) -> Representations:
    columns = {
        "id": [str(row) for row in range(len(labels))],
        "labels": labels,
        "prediction": predictions,
        "pair": None,
    }
    return Representations({"last": np.eye(len(labels))}, pl.DataFrame(columns, schema=INSTANCES))


def listed(answers: Answers) -> pl.Series:
    return pl.Series(answers, dtype=pl.List(pl.String))


def mistakes(
    labels: Sequence[Sequence[str]], answers: Answers
) -> list[tuple[int | None, int | None]]:
    nodes = pl.DataFrame(SIBLINGS, {"node": pl.String, "sibling": pl.String}, orient="row")
    found = with_mistakes(nodes, represented(labels), twelve_labels(), listed(answers))
    return found.select(MISTAKES).rows()


def by_hand(labels: Sequence[Sequence[str]], answers: Answers, node: str, other: str) -> int:
    """Instances of the node alone that are answered as the other; nodes begin their labels."""

    def alone(those: Sequence[str], here: str, there: str) -> bool:
        return any(one.startswith(here) for one in those) and not any(
            one.startswith(there) for one in those
        )

    return sum(
        alone(own, node, other) and alone(answered or (), other, node)
        for own, answered in zip(labels, answers, strict=True)
    )


@given(st.lists(st.tuples(SETS.filter(bool), st.none() | SETS), min_size=1, max_size=30))
def test_instances_of_one_sibling_answered_as_the_other_are_counted(
    said: list[tuple[list[str], list[str] | None]],
) -> None:
    labels, answers = [own for own, _ in said], [answered for _, answered in said]
    found = mistakes(labels, answers)

    if not any(answers):
        assert found == [(None, None)] * len(SIBLINGS)
        return
    assert found == [
        (None, None)
        if other is None
        else (by_hand(labels, answers, node, other), by_hand(labels, answers, other, node))
        for node, other in SIBLINGS
    ]


def test_answers_that_come_with_the_representations_are_taken_before_others() -> None:
    own = represented([["a0"], ["a1"]], ["a2", None])
    known = model_answers(own, listed([["b0"], ["b1"]]))
    assert known is not None
    assert (known[0].to_list(), known[1]) == ([["a2"], None], "representations")


def test_without_predictions_the_head_answers() -> None:
    head = LinearHead(("b0", "b1"), -np.eye(2), np.zeros(2))
    headed = replace(represented([["a0"], ["a1"]]), head=head)
    known = model_answers(headed, None)
    assert known is not None
    assert (known[0].to_list(), known[1]) == ([["b1"], ["b0"]], "representations")


def test_without_either_answers_given_apart_are_taken() -> None:
    silent = represented([["a0"], ["a1"]])
    known = model_answers(silent, listed([["b0", "b1"], None]))
    assert known is not None
    assert (known[0].to_list(), known[1]) == ([["b0", "b1"], None], "predictions")
    assert model_answers(silent, listed([None, None])) is None
    assert model_answers(silent, None) is None
