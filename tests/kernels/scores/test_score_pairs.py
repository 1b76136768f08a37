"""Pair counts and confusion of scores, worked by hand, one way of counting beside the other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.scores import score_pairs
from audit.engine.scores.score_pairs import count_score_pairs

COSTS = {"dense blocks": math.inf, "gathering": 0.0}
"""Costs of a gathered pair at which every count is made in one of the two ways."""


@pytest.fixture(params=COSTS)
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every count made in one of the two ways."""
    monkeypatch.setattr(score_pairs, "SPARSE_COST", COSTS[request.param])


def counted(*rows: list[float], threshold: float = 1e-5) -> PairCounts:
    return count_score_pairs(csr_array(np.array(rows, np.float64)), threshold)


def pairs(counts: PairCounts) -> list[tuple[int, int]]:
    return list(zip(counts.a.tolist(), counts.b.tolist(), strict=True))


def bits(p: float) -> float:
    return -(p * math.log2(p) + (1 - p) * math.log2(1 - p))


@pytest.mark.parametrize("shape", [(0, 4), (3, 4), (0, 1), (3, 1)])
def test_without_scores_there_are_no_pairs(shape: tuple[int, int]) -> None:
    found = count_score_pairs(csr_array(shape, dtype=np.float64), 1e-5)

    assert [len(found.a), len(found.b), len(found.joint), len(found.confusion_sum)] == [0] * 4
    assert found.joint.dtype == np.int64


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("exponent", range(1, 54, 4))
def test_confusion_of_nearly_equal_scores_never_exceeds_the_joint_count(exponent: int) -> None:
    found = counted(*([value, value * (1 + 2.0**-exponent)] for value in (0.1, 0.3, 1e-5)))

    assert (found.confusion_sum <= found.joint).all()


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("size", [1e-5, 1.0, 300.0])
def test_many_instances_of_one_size_neither_vanish_nor_overflow(size: float) -> None:
    found = counted(*[[size, 3 * size]] * 900)

    assert found.confusion_sum.tolist() == pytest.approx([900 * bits(0.25)], rel=1e-12)


@pytest.mark.parametrize("pairs_at_once", [1, 3, 1_000])
def test_gathering_some_nodes_at_a_time_changes_nothing(
    pairs_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_pairs, "SPARSE_COST", 0.0)
    scores = csr_array(np.random.default_rng(8).dirichlet(np.full(40, 0.3), 300))
    whole = count_score_pairs(scores, 1e-3)
    monkeypatch.setattr(score_pairs, "PAIRS_PER_BLOCK", pairs_at_once)
    parts = count_score_pairs(scores, 1e-3)

    assert pairs(parts) == pairs(whole)
    assert parts.confusion_sum.tobytes() == whole.confusion_sum.tobytes()


@pytest.mark.usefixtures("kernel")
def test_any_number_of_threads_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = csr_array(np.random.default_rng(8).dirichlet(np.full(40, 0.3), 300))
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(score_pairs, "cores", lambda n=threads: n)
        found.append(count_score_pairs(scores, 1e-5).confusion_sum.tobytes())

    assert len(set(found)) == 1
