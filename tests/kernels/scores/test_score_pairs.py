"""Pairs of scores: their blocks, threads and devices give one number, which no run can show."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.errors import InputError
from audit.engine.pairs.pair_counts import PairCounts, count_pairs
from audit.engine.scores import score_pairs
from audit.engine.scores.score_pairs import count_score_pairs, require_device
from fixtures import brute_force_scores as brute

Table: TypeAlias = NDArray[np.float64]
THRESHOLD = 1e-5
COSTS = {"dense blocks": math.inf, "gathering": 0.0}
"""Costs of a gathered pair at which every count is made in one of the two ways."""
TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


def has_cuda() -> bool:
    if find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


CUDA = pytest.mark.skipif(not has_cuda(), reason="no CUDA device is here")
DEVICES = [None, pytest.param("cpu", marks=TORCH), pytest.param("cuda", marks=CUDA)]
SOME = np.random.default_rng(8).dirichlet(np.full(40, 0.3), 300)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Scores with zeros, scores at the threshold and just below it, and aggregates above one."""
    n, width = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    odd = st.sampled_from([0.0, 0.0, THRESHOLD, float(np.nextafter(THRESHOLD, 0)), 0.5, 1.0, 2.5])
    value = odd | st.floats(0, 1, allow_subnormal=False)
    row = st.lists(value, min_size=width, max_size=width)
    return np.array(draw(st.lists(row, min_size=n, max_size=n)), np.float64)


def by_pair(counts: PairCounts, column: str) -> dict[tuple[int, int], float]:
    pairs = zip(counts.a.tolist(), counts.b.tolist(), strict=True)
    return dict(zip(pairs, getattr(counts, column).tolist(), strict=True))


def same(found: PairCounts, expected: PairCounts, n: int) -> bool:
    sums, wanted = (by_pair(one, "confusion_sum") for one in (found, expected))
    joints = [by_pair(one, "joint") for one in (found, expected)]
    return joints[0] == joints[1] and all(abs(sums[p] - wanted[p]) <= 1e-12 * n for p in wanted)


@pytest.fixture(params=COSTS)
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every count made in one of the two ways."""
    monkeypatch.setattr(score_pairs, "SPARSE_COST", COSTS[request.param])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
@given(table=tables())
def test_each_way_of_counting_equals_plain_python(
    cost: float, device: str | None, table: Table
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_pairs, "SPARSE_COST", cost)
        found = count_score_pairs(csr_array(table), THRESHOLD, device=device)
    sums = by_pair(found, "confusion_sum")
    expected = brute.confusion_sums(table.tolist(), THRESHOLD)
    assert by_pair(found, "joint") == brute.joints(table.tolist(), THRESHOLD)
    assert sums.keys() == expected.keys()
    assert all(abs(sums[pair] - expected[pair]) <= 1e-12 * len(table) for pair in expected)


@given(tables())
def test_zeros_and_ones_are_counted_as_labels_are(table: Table) -> None:
    ones = (table >= THRESHOLD).astype(np.int64)
    found, labels = count_score_pairs(csr_array(ones * 1.0), 0.5), count_pairs(csr_array(ones))
    assert same(found, labels, len(table))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(0, 4), (3, 4), (0, 1), (3, 1)])
def test_without_scores_there_are_no_pairs(shape: tuple[int, int], device: str | None) -> None:
    found = count_score_pairs(csr_array(shape, dtype=np.float64), THRESHOLD, device=device)
    assert len(found.a) == len(found.confusion_sum) == 0
    assert found.joint.dtype == np.int64


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("exponent", range(1, 54, 4))
def test_confusion_of_nearly_equal_scores_never_exceeds_the_joint_count(exponent: int) -> None:
    scores = np.array([[value, value * (1 + 2.0**-exponent)] for value in (0.1, 0.3, 1e-5)])
    found = count_score_pairs(csr_array(scores), THRESHOLD)
    assert (found.confusion_sum <= found.joint).all()


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [1e-5, 1.0, 300.0])
def test_many_instances_of_one_size_neither_vanish_nor_overflow(
    size: float, device: str | None
) -> None:
    scores = csr_array(np.array([[size, 3 * size]] * 900))
    bits = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))
    found = count_score_pairs(scores, THRESHOLD, device=device)
    assert found.confusion_sum.tolist() == pytest.approx([900 * bits], rel=1e-12)


@pytest.mark.parametrize("at_once", [1, 3, 1_000])
def test_gathering_some_nodes_at_a_time_changes_no_bit(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_pairs, "SPARSE_COST", 0.0)
    whole = count_score_pairs(csr_array(SOME), 1e-3)
    monkeypatch.setattr(score_pairs, "PAIRS_PER_BLOCK", at_once)
    parts = count_score_pairs(csr_array(SOME), 1e-3)
    assert by_pair(parts, "joint") == by_pair(whole, "joint")
    assert parts.confusion_sum.tobytes() == whole.confusion_sum.tobytes()


@TORCH
@pytest.mark.parametrize("most", [1, 100, 10_000])
def test_the_size_of_a_block_of_tensors_does_not_matter(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(score_pairs.SCORES_PER_BLOCK, "cpu", most)
    scores = csr_array(SOME)
    found = count_score_pairs(scores, THRESHOLD, device="cpu")
    assert same(found, count_score_pairs(scores, THRESHOLD), len(SOME))


@pytest.mark.usefixtures("kernel")
def test_any_number_of_threads_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for threads in (1, 2, 5):
        monkeypatch.setattr(score_pairs, "cores", lambda n=threads: n)
        found.add(count_score_pairs(csr_array(SOME), THRESHOLD).confusion_sum.tobytes())
    assert len(found) == 1


def test_a_device_that_is_none_or_not_here_is_refused() -> None:
    with pytest.raises(InputError):
        require_device("gpu")
    for device in ("cpu", "cuda"):
        if find_spec("torch") is None or (device == "cuda" and not has_cuda()):
            with pytest.raises(InputError):
                require_device(device)


@TORCH
def test_sums_that_do_not_fit_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(score_pairs, "_add_entropies", full)
    with pytest.raises(InputError):
        count_score_pairs(csr_array(SOME), THRESHOLD, device="cpu")
