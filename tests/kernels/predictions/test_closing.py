"""Answers and labels of which one side holds every ancestor are compared like with like."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import audit
from audit.data.joining import closed_side, closed_upwards, lowest
from fixtures.examples import examples

TREE: dict[str, Any] = {
    "R": {"A": {"A1": {"x": {}, "y": {}}, "A2": {"z": {}}}, "B": {"B1": {"u": {}, "v": {}}}}
}
HIERARCHY = audit.load_hierarchy(TREE)
LEAVES = ["x", "y", "z", "u", "v"]
ABOVE = {"x": ["A1", "A"], "y": ["A1", "A"], "z": ["A2", "A"], "u": ["B1", "B"], "v": ["B1", "B"]}
DRAWN = st.lists(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=3, unique=True), min_size=3)


def rows(leaves: list[list[str]], *, closed: bool, **score: float) -> pl.DataFrame:
    nodes = [{n for one in own for n in (one, *(ABOVE[one] if closed else ()))} for own in leaves]
    pairs = [(f"i{row}", node) for row, own in enumerate(nodes) for node in sorted(own)]
    frame = pl.DataFrame(pairs, {"id": pl.String, "label": pl.String}, orient="row")
    return frame.with_columns(**{name: pl.lit(value) for name, value in score.items()})


@pytest.mark.parametrize("score", [{}, {"score": 0.9}])
@pytest.mark.parametrize("answers", [False, True])
@pytest.mark.parametrize("labels", [False, True])
@given(leaves=DRAWN)
@examples(10)
def test_a_model_that_is_always_right_is(
    leaves: list[list[str]], labels: bool, answers: bool, score: dict[str, float]
) -> None:
    dataset = audit.load_labels(rows(leaves, closed=labels), HIERARCHY)
    told: Any = {"single_label": False} if score else {}
    frame = rows(leaves, closed=answers, **score)
    if not score:
        frame = frame.rename({"label": "prediction"})
    found = audit.load_predictions(frame, dataset, **told)
    assert found.closed == ("" if labels == answers else "answers" if answers else "labels")
    assert bool(found.closed) == any("ancestor" in one.decision for one in found.readings)
    gold, given = (found.gold(dataset) > 0).toarray(), (found.scores > 0.5).toarray()
    assert (gold == given).all()


def test_one_answer_each_is_compared_with_the_lowest_labels() -> None:
    leaves = [[one] for one in LEAVES]
    dataset = audit.load_labels(rows(leaves, closed=True), HIERARCHY)
    scores = np.full((5, 5), 0.05) + 0.75 * np.eye(5)
    wide = pl.DataFrame({"id": [f"i{n}" for n in range(5)]}).hstack(pl.DataFrame(scores, LEAVES))
    found = audit.load_predictions(wide, dataset)
    assert (found.single_label, found.closed) == (True, "labels")
    gold, answers = found.gold(dataset).toarray(), found.scores.toarray()
    assert gold.sum() == 5
    assert (gold.argmax(axis=1) == answers.argmax(axis=1)).all()


def test_sides_that_are_closed_in_part_are_left_as_they_are() -> None:
    half = rows([["x"], ["u"]], closed=True), rows([["x"], ["u"]], closed=False)
    mixed = pl.concat([half[0].filter(id="i0"), half[1].filter(id="i1")])
    dataset = audit.load_labels(rows([["x"], ["u"]], closed=False), HIERARCHY)
    found = audit.load_predictions(mixed.rename({"label": "prediction"}), dataset)
    assert found.closed == ""


matrices = st.lists(
    st.lists(st.integers(0, 4), min_size=len(HIERARCHY), max_size=len(HIERARCHY)),
    min_size=1,
    max_size=5,
)


@given(drawn=matrices)
@examples(50)
def test_closing_is_the_highest_value_below_and_lowest_has_none_below(drawn: Any) -> None:
    values = np.array(drawn) / 4
    above = HIERARCHY.closure.toarray() > 0
    expected = np.array(
        [[(row * above[:, node]).max() for node in range(len(row))] for row in values]
    )
    root = HIERARCHY.root
    expected[:, root] = values[:, root]
    sparse = csr_array(values)
    assert closed_upwards(HIERARCHY, sparse).toarray() == pytest.approx(expected)
    labels = values > 0
    strict = HIERARCHY.strict_closure.toarray() > 0
    bare = labels & ~((labels.astype(int) @ strict) > 0)
    assert (lowest(HIERARCHY, csr_array(labels.astype(np.int64))).toarray() == bare).all()
    assert closed_side(HIERARCHY, csr_array(labels), csr_array(labels)) == ""
