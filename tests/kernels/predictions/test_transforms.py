"""From the numbers of a file to scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.errors import SchemaError
from audit.base.settings import Transform
from audit.data.raw_predictions import RawPredictions, as_scores, stored, sum_to_one

LOGITS = arrays(np.float64, (3, 4), elements=st.floats(-1e6, 1e6)).filter(
    lambda logits: logits.max() > 1 and (-logits).max() > 1 and (logits + 64).max() > 1
)


def raw(
    scores: NDArray[np.float64], *, listed: bool = False, set_valued: bool = False
) -> RawPredictions:
    """Predictions of instances a, b ... for classes 0, 1 ...; listed ones without the zeros."""
    return RawPredictions(
        instances=tuple("abcdef"[: len(scores)]),
        classes=tuple(str(column) for column in range(scores.shape[1])),
        scores=csr_array(scores) if listed else stored(scores),
        set_valued=set_valued,
        sources=(Path("scores.npy"),),
        name="scores.npy",
    )


def dense(predictions: RawPredictions) -> NDArray[np.float64]:
    return csr_array(predictions.scores).toarray()


@given(logits=LOGITS)
def test_softmax_sums_to_one_and_keeps_the_order(logits: NDArray[np.float64]) -> None:
    scores = dense(as_scores(raw(logits), "softmax"))
    assert np.allclose(scores.sum(axis=1), 1)
    assert (np.diff(scores[0][np.argsort(logits[0])]) >= 0).all()


@given(logits=LOGITS)
def test_softmax_does_not_see_a_shift(logits: NDArray[np.float64]) -> None:
    shifted = as_scores(raw(logits + 64.0), "softmax")
    assert np.allclose(dense(shifted), dense(as_scores(raw(logits), "softmax")), atol=1e-9)


@given(logits=LOGITS)
def test_sigmoid_of_the_opposite_is_the_rest(logits: NDArray[np.float64]) -> None:
    scores = dense(as_scores(raw(logits), "sigmoid"))
    assert np.allclose(scores + dense(as_scores(raw(-logits), "sigmoid")), 1)
    assert ((scores >= 0) & (scores <= 1)).all()


def test_large_outputs_do_not_overflow() -> None:
    large = np.array([[1e4, 0.0], [-1e4, 1e4]])
    assert dense(as_scores(raw(large), "softmax")).tolist() == [[1, 0], [0, 1]]
    assert dense(as_scores(raw(large), "sigmoid")).tolist() == [[1, 0.5], [0, 1]]


def test_sigmoid_leaves_what_is_not_listed_at_zero() -> None:
    listed = raw(np.array([[3.0, 0.0]]), listed=True)
    assert dense(as_scores(listed, "sigmoid"))[0, 1] == 0


@pytest.mark.parametrize("listed", [False, True])
def test_softmax_of_a_whole_list_is_that_of_the_matrix(listed: bool) -> None:
    scores = dense(as_scores(raw(np.log([[1.5, 4.5], [3, 3]]), listed=listed), "softmax"))
    assert np.allclose(scores, [[1 / 4, 3 / 4], [1 / 2, 1 / 2]])


def test_softmax_of_a_list_with_gaps_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"all 2 classes(.|\n)*'1 of b'"):
        as_scores(raw(np.array([[1.0, 2.0], [0.0, 3.0]]), listed=True), "softmax")


@pytest.mark.parametrize("listed", [False, True])
def test_raw_outputs_are_told_with_the_options(listed: bool) -> None:
    outside = raw(np.array([[0.5, 0.25], [-3.0, 7.5]]), listed=listed)
    with pytest.raises(SchemaError, match=r"--softmax makes .*--sigmoid") as caught:
        as_scores(outside, None)
    assert caught.value.found == "'-3 for 0 of b', '7.5 for 1 of b'"
    assert caught.value.where == "scores.npy"


@pytest.mark.parametrize("several", [1, 58])
def test_no_softmax_is_offered_beside_instances_of_several_labels(several: int) -> None:
    with pytest.raises(SchemaError) as caught:
        as_scores(raw(np.array([[1.2, -0.5]])), None, several)
    assert "--sigmoid" in caught.value.hint
    assert f"{several} instance" in caught.value.hint
    assert "--softmax" not in caught.value.hint


@pytest.mark.parametrize("transform", [None, "softmax", "sigmoid"])
def test_nan_is_refused_before_any_transform(transform: Transform | None) -> None:
    with pytest.raises(SchemaError, match="a finite number") as caught:
        as_scores(raw(np.array([[0.5, np.nan, np.inf], [-np.inf, 0, 1]])), transform)
    assert caught.value.found == "'nan for 1 of a', 'inf for 2 of a', '-inf for 0 of b'"


@pytest.mark.parametrize(("first", "one"), [(0.33, True), (0.325, True), (0.31, False)])
def test_scores_sum_to_one_as_far_as_their_rounding_explains(first: float, one: bool) -> None:
    assert sum_to_one(csr_array([[first, 0.33, 0.33], [0.5, 0.25, 0.25]])) is one


def test_rounding_is_no_fault() -> None:
    scores = dense(as_scores(raw(np.array([[1 + 1e-7, -1e-9]])), None))
    assert scores.tolist() == [[1, 0]]


@pytest.mark.parametrize("transform", ["softmax", "sigmoid"])
def test_sets_are_not_transformed(transform: Transform) -> None:
    with pytest.raises(SchemaError, match="predicted sets"):
        as_scores(raw(np.array([[1.0, 0.0]]), set_valued=True), transform)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(("written", "score"), [(1 + 1e-7, 1.0), (-1e-7, 0.0)])
def test_a_number_beyond_one_bound_by_rounding_is_clipped(
    listed: bool, written: float, score: float
) -> None:
    scores = dense(as_scores(raw(np.array([[written, 0.5]]), listed=listed), None))
    assert scores.tolist() == [[score, 0.5]]


def test_scores_are_not_copied() -> None:
    scores = raw(np.array([[0.0, 1.0], [0.25, 0.5]]))
    assert as_scores(scores, None).scores is scores.scores
