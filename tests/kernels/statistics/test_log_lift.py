"""log_lift: labels that stand beside a code more often than by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import gamma

from audit.engine.statistics.association import log_lift

N_LABELS = 6
CODES = [{0}, {1, 2}, set[int]()]
"""Which labels are each code; the last is none's."""

records = st.lists(st.sets(st.integers(0, N_LABELS - 1)), max_size=40)


def found(sets: Sequence[set[int]]) -> NDArray[np.float64]:
    labels = np.array([[x in own for x in range(N_LABELS)] for own in sets], np.int64)
    code_of = np.array([[x in code for code in CODES] for x in range(N_LABELS)], np.int64)
    given = csr_array(labels.reshape(len(sets), N_LABELS))
    return log_lift(given, csr_array(code_of)).toarray()


def by_hand(sets: Sequence[set[int]]) -> list[list[float]]:
    """The same from sets, with the quantile of the gamma distribution by its own name."""
    total = sum(len(own) for own in sets)
    said = [[0.0] * len(CODES) for _ in range(N_LABELS)]
    for c, code in enumerate(CODES):
        joint = [sum(x in own and bool(own & code - {x}) for own in sets) for x in range(N_LABELS)]
        for x in range(N_LABELS):
            if joint[x]:
                expected = sum(joint) * sum(x in own for own in sets) / total
                low = gamma.ppf(0.025, joint[x] + 0.5, scale=1 / (expected + 0.5))
                said[x][c] = max(math.log(low), 0.0)
    return said


@given(records)
def test_it_is_what_sets_tell(sets: list[set[int]]) -> None:
    assert found(sets) == pytest.approx(np.array(by_hand(sets)), abs=1e-9)


@given(records, st.randoms())
def test_the_order_of_records_changes_no_bit(sets: list[set[int]], random: object) -> None:
    shuffled = list(sets)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert (found(shuffled) == found(sets)).all()


def test_a_typical_companion_says_much_and_one_that_is_everywhere_nothing() -> None:
    sets = [{0, 3, 4}] * 20 + [{1, 4}] * 60 + [{4, 5}] * 20
    said = found(sets)

    assert said[3, 0] > math.log(2)
    assert said[4, 0] == said[5, 0] == 0
    assert said[3, 1:].tolist() == [0, 0]


def test_records_of_many_labels_speak_for_no_code() -> None:
    assert not found([{0, 3, 4, 5}] * 30 + [{1, 3, 4, 5}] * 30 + [{3}, {4}, {5}] * 20).any()


def test_without_records_nothing_is_said() -> None:
    assert not found([]).any()
