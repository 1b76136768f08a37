"""Representations of a torch module's layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import audit
from fixtures.doors import Pooling, extract_layers

torch = pytest.importorskip("torch")

IMAGES = torch.arange(4 * 2 * 5 * 5).reshape(4, 2, 5, 5).remainder(7).float()


@pytest.fixture
def model() -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        parts = torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Flatten()
        return torch.nn.Sequential(*parts, torch.nn.Dropout(), torch.nn.ReLU(inplace=True))


def by_hand(model: Any, upto: int) -> Any:
    """What the first layers give, in evaluation mode."""
    with torch.no_grad():
        return model.eval()[:upto](IMAGES)


@pytest.mark.parametrize(
    ("pooling", "pooled"),
    [
        ("channels", lambda maps: maps.mean(dim=1).reshape(4, 9)),
        ("positions", lambda maps: maps.mean(dim=(2, 3))),
        ("none", lambda maps: maps.reshape(4, 27)),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 4])
def test_layers_are_pooled_in_batches_of_any_size(
    model: Any, pooling: Pooling, pooled: Any, size: int
) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    batches = (IMAGES[start : start + size] for start in range(0, 4, size))
    read = extract_layers(model, batches, ["0", "3", "4"], pooling=pooling)

    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(part._forward_hooks for part in model.modules())
    assert list(read) == ["0", "3", "4"]
    assert np.allclose(read["0"], pooled(by_hand(model, 1)), atol=1e-6)
    assert np.allclose(read["3"], by_hand(model, 4), atol=1e-6), "before what is done in place"
    assert np.allclose(read["4"], np.maximum(read["3"], 0))


def test_a_layer_that_gives_several_tensors_gives_its_first() -> None:
    recurrent = torch.nn.Sequential(torch.nn.LSTM(5, 2, batch_first=True))
    batches = [{"x": IMAGES[:, 0]}]
    called = extract_layers(
        recurrent, batches, ["0"], pooling="positions", forward=lambda one, batch: one(batch["x"])
    )
    with torch.no_grad():
        assert np.allclose(called["0"], recurrent[0](IMAGES[:, 0])[0].mean(dim=2))


@pytest.mark.parametrize("layers", [["9"], ["1", "1"], [], ["0", "twice"]])
def test_layers_that_give_no_vector_an_instance_are_refused(model: Any, layers: list[str]) -> None:
    twice = torch.nn.Sequential(model[0], torch.nn.Identity())
    twice.append(twice[1])
    names = [{"twice": "1"}.get(name, name) for name in layers]
    with pytest.raises(audit.AuditError):
        extract_layers(twice if "twice" in layers else model, [IMAGES], names)
    with pytest.raises(audit.AuditError):
        extract_layers(model[:2], [IMAGES, IMAGES[..., :4]], ["1"])
