"""Representations of a torch module's layers, by hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.base.errors import InputError, first_cases
from audit.base.machine import require_package

if TYPE_CHECKING:
    import torch

Pooling: TypeAlias = Literal["channels", "positions", "none"]
"""How more than one axis of a layer becomes one vector: the mean over the first of them, then
flattened (of a convolution its channels, as in "Unit Testing for Concepts in Neural Networks"; of
a transformer its tokens); the mean over all but the first (one number per channel); or flattened.
"""


def extract_layers(
    module: torch.nn.Module,
    batches: Iterable[Any],
    layers: Sequence[str],
    *,
    pooling: Pooling = "channels",
    forward: Callable[[torch.nn.Module, Any], Any] | None = None,
) -> dict[str, NDArray[np.floating]]:
    """Run a module over batches and keep what some of its layers give, shape (instances, features).

    It runs where it lies, in evaluation mode and without gradients, and stays as it is.

    Args:
        batches: What the module is called with, batch after batch.
        layers: Names of the layers as ``named_modules()`` lists them, in the order in which the
            model computes them. Each must be called once in a pass.
        pooling: How a layer's axes become one vector.
        forward: Calls a module that takes anything else: ``lambda model, batch: model(**batch)``.

    Raises:
        InputError: If torch is not installed, a layer is not there, is not called once for each
            instance, gives no tensor, or vectors of different sizes.
    """
    require_package("torch", "to take representations from a model")
    import torch

    known = dict(module.named_modules())
    if not layers or len({*layers} & known.keys()) < len(layers):
        found = f"{first_cases(layers) or 'none'}; layers: {first_cases(filter(None, known))}"
        raise InputError("names of layers are required, each once", found=found)
    kept: dict[str, list[Any]] = {name: [] for name in layers}
    hooks = [
        known[name].register_forward_hook(partial(_keep, kept[name], pooling)) for name in kept
    ]
    training = module.training
    try:
        module.eval()
        with torch.no_grad():
            for batch in batches:
                forward(module, batch) if forward else module(batch)
    finally:
        module.train(training)
        for hook in hooks:
            hook.remove()
    sizes = {name: [one.shape for one in of] for name, of in kept.items()}
    calls = {tuple(rows for rows, _ in of) for of in sizes.values()}
    if len(calls) > 1 or calls == {()} or any(len({n for _, n in of}) > 1 for of in sizes.values()):
        raise InputError(
            "layers that give a vector of one size for each instance, once in a pass, are required",
            found=first_cases(f"{name}: {first_cases(of) or 'none'}" for name, of in sizes.items()),
            hint="name other layers, or give inputs of one size",
        )
    return {name: np.concatenate(of) for name, of in kept.items()}


def _keep(kept: list[Any], pooling: Pooling, layer: Any, _: Any, given: Any) -> None:
    """Keep a copy with one vector per instance; of several tensors that of the first."""
    import torch

    while isinstance(given, (tuple, list)) and given:
        given = given[0]
    if not isinstance(given, torch.Tensor) or given.ndim < 2:
        found = str(getattr(given, "shape", type(given).__name__))
        required = (
            f"a layer that gives a tensor with a row per instance is required, unlike {layer}"
        )
        raise InputError(required, found=found, hint="name a layer inside it")
    numbers = given if given.dtype == torch.float64 else given.float()
    if numbers.ndim > 2 and pooling != "none":
        numbers = numbers.mean(1) if pooling == "channels" else numbers.flatten(2).mean(2)
    kept.append(np.array(numbers.flatten(1).numpy(force=True)))
