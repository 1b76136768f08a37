"""Pairs of scores counted by PyTorch: the same as by NumPy, on each device that is here."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from scipy.sparse import csr_array

from audit.base.errors import InputError
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.scores import score_pairs
from audit.engine.scores.score_pairs import count_score_pairs, require_device

WITH_TORCH = find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not WITH_TORCH, reason="torch is not installed")


def has_cuda() -> bool:
    if not WITH_TORCH:
        return False
    import torch

    return torch.cuda.is_available()


DEVICES = [
    pytest.param("cpu", marks=needs_torch),
    pytest.param("cuda", marks=pytest.mark.skipif(not has_cuda(), reason="no CUDA device is here")),
]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """Each device."""
    return str(request.param)


def some_scores(n: int = 70, n_nodes: int = 23, share: float = 0.6) -> csr_array:
    draw = np.random.default_rng(5)
    values = 10.0 ** draw.uniform(-6, 0, (n, n_nodes)) * (draw.random((n, n_nodes)) < share)
    values[:, 4] = 0
    return csr_array(values)


def pairs(counts: PairCounts) -> list[tuple[int, int]]:
    return list(zip(counts.a.tolist(), counts.b.tolist(), strict=True))


def same(found: PairCounts, expected: PairCounts, n: int) -> bool:
    return (
        pairs(found) == pairs(expected)
        and found.joint.tolist() == expected.joint.tolist()
        and bool((abs(found.confusion_sum - expected.confusion_sum) <= 1e-12 * n).all())
    )


@pytest.mark.parametrize("most", [1, 100, 1_000, 10_000])
def test_the_size_of_a_block_does_not_matter(
    device: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(score_pairs.SCORES_PER_BLOCK, device, most)
    scores = some_scores()
    scores.data[::7], scores.data[1::7] = 1e-5, np.nextafter(1e-5, 0)

    assert same(count_score_pairs(scores, 1e-5, device=device), count_score_pairs(scores, 1e-5), 70)


@pytest.mark.parametrize("size", [1e-5, 1.0, 300.0])
def test_many_instances_of_one_size_neither_vanish_nor_overflow(device: str, size: float) -> None:
    scores = csr_array(np.array([[size, 3 * size]] * 900))

    assert same(
        count_score_pairs(scores, 1e-5, device=device), count_score_pairs(scores, 1e-5), 900
    )


@pytest.mark.parametrize("shape", [(0, 4), (3, 4), (0, 1), (3, 1)])
def test_without_scores_there_are_no_pairs(device: str, shape: tuple[int, int]) -> None:
    found = count_score_pairs(csr_array(shape, dtype=np.float64), 1e-5, device=device)

    assert [len(found.a), len(found.b), len(found.joint), len(found.confusion_sum)] == [0] * 4


def test_a_device_of_another_name_is_none() -> None:
    with pytest.raises(InputError, match="one of cpu, cuda") as caught:
        require_device("gpu")

    assert caught.value.found == "gpu"


@pytest.mark.skipif(WITH_TORCH, reason="torch is installed")
def test_without_pytorch_the_extra_is_named() -> None:
    with pytest.raises(InputError, match=r"hierarchy-audit\[model\]"):
        require_device("cpu")


@needs_torch
@pytest.mark.skipif(has_cuda(), reason="a CUDA device is here")
def test_a_device_that_is_not_here_is_told() -> None:
    with pytest.raises(InputError, match="a CUDA device") as caught:
        count_score_pairs(some_scores(), 1e-5, device="cuda")

    assert "--device cpu" in caught.value.hint


@needs_torch
def test_sums_that_do_not_fit_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(score_pairs, "_add_entropies", full)
    with pytest.raises(InputError, match="22 nodes"):
        count_score_pairs(some_scores(), 1e-5, device="cpu")
