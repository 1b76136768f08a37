"""From scores to decisions, worked by hand and against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.engine.scores.cuts import decide
from fixtures import brute_force_scores as brute

LEVELS = (0.0, 0.1, 0.4, 0.5, 0.6, 1.0)


def matrix(rows: list[list[float]], width: int) -> csr_array:
    return csr_array(np.array(rows, np.float64).reshape(len(rows), width))


def sets_of(decided: csr_array) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in decided.toarray()]


@st.composite
def scored(draw: st.DrawFn) -> tuple[list[list[float]], int]:
    width = draw(st.integers(1, 5))
    row = st.lists(st.sampled_from(LEVELS), min_size=width, max_size=width)
    return draw(st.lists(row, max_size=6)), width


@pytest.mark.parametrize("single_label", [True, False])
def test_deciding_leaves_the_scores_as_they_are(single_label: bool) -> None:
    scores = matrix([[0.2, 0.7, 0.0], [0.6, 0.1, 0.9]], 3)
    kept = [part.copy() for part in (scores.data, scores.indices, scores.indptr)]
    decide(scores, 0.5, single_label=single_label)

    after = (scores.data, scores.indices, scores.indptr)
    assert all(np.array_equal(a, b) for a, b in zip(after, kept, strict=True))


@pytest.mark.parametrize("single_label", [True, False])
def test_decisions_are_ones_of_int64(single_label: bool) -> None:
    found = decide(matrix([[0.2, 0.7], [0.6, 0.9]], 2), 0.5, single_label=single_label)

    assert found.dtype == np.int64
    assert set(found.data.tolist()) == {1}
    assert found.has_canonical_format


@pytest.mark.parametrize("single_label", [True, False])
def test_no_instances_give_no_decisions(single_label: bool) -> None:
    assert decide(csr_array((0, 3)), 0.5, single_label=single_label).shape == (0, 3)


@given(scored())
def test_one_answer_equals_plain_python(case: tuple[list[list[float]], int]) -> None:
    rows, width = case

    assert sets_of(decide(matrix(rows, width), 0.5, single_label=True)) == brute.answers(rows)


@given(scored(), st.sampled_from(LEVELS[1:]))
def test_several_answers_equal_plain_python(
    case: tuple[list[list[float]], int], threshold: float
) -> None:
    rows, width = case
    found = decide(matrix(rows, width), threshold, single_label=False)

    assert sets_of(found) == brute.at_threshold(rows, threshold)
