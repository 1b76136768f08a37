"""What long work tells of itself while it runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.base.progress import blocks, silent
from audit.engine.pairs import pair_counts as pairs
from audit.engine.scores import score_pairs

Told = tuple[str, int, int | None, str]


class Heard:
    """Keeps what it is told, in order."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    def __call__(self, step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
        self.told.append((step, done, total, unit))

    def of(self, step: str) -> list[Told]:
        return [told for told in self.told if told[0] == step]


@given(total=st.integers(0, 200), size=st.integers(1, 50))
def test_blocks_are_those_of_the_range_and_all_is_told_at_the_end(total: int, size: int) -> None:
    heard = Heard()
    starts = range(0, total, size)

    assert list(blocks(heard, "counting", starts, "rows")) == list(starts)
    done = [told[1] for told in heard.told]
    assert done == [*starts, total]
    assert {told[2] for told in heard.told} == {total}


def test_work_that_is_left_is_not_told_as_done() -> None:
    heard = Heard()
    for _ in blocks(heard, "counting", range(0, 10, 5), "rows"):
        break

    assert heard.told == [("counting", 0, 10, "rows")]


def scores(n: int = 60, nodes: int = 40) -> Any:
    return csr_array(np.random.default_rng(3).random((n, nodes)))


def test_counting_pairs_tells_each_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "ENTRIES_PER_BLOCK", 16 * 40**2)
    heard = Heard()
    counted = pairs.count_pairs(scores(), heard)

    assert [told[1:3] for told in heard.of("counting pairs")] == [
        (0, 60),
        (15, 60),
        (31, 60),
        (47, 60),
        (60, 60),
    ]
    np.testing.assert_array_equal(counted.joint, pairs.count_pairs(scores(), silent).joint)


@pytest.mark.parametrize(
    ("cost", "total", "unit"), [(math.inf, 60, "instances"), (0.0, 40, "nodes")]
)
def test_counting_pairs_of_scores_tells_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, cost: float, total: int, unit: str
) -> None:
    monkeypatch.setattr(score_pairs, "SPARSE_COST", cost)
    monkeypatch.setattr(score_pairs, "PAIRS_PER_BLOCK", 400)
    monkeypatch.setitem(score_pairs.SCORES_PER_BLOCK, "cpu", 400)
    heard = Heard()
    score_pairs.count_score_pairs(scores(), 1e-5, heard)
    done = [told[1] for told in heard.told]

    assert done == sorted(done)
    assert len(done) > 3
    assert heard.told[-1] == ("counting pairs of scores", total, total, unit)
