"""A torch model as a function of the vectors that its embedding layer gives."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.machine import require_package, torch_device

if TYPE_CHECKING:
    import torch

Link: TypeAlias = Literal["identity", "sigmoid", "softmax"]
Forward: TypeAlias = "Callable[[torch.nn.Module, torch.Tensor], Any]"

TOKENS_PER_PASS = 16_384
"""Number of tokens that go through the model at a time."""


@dataclass(frozen=True, eq=False)
class EmbeddedModel:
    """The function that is explained: from embedding vectors to one number per label.

    Made by `embedded_model`.

    Args:
        module: The model in evaluation mode, on its device.
        embedding: Its embedding layer of tokens.
        labels: The label of each output.
        forward: Calls the module with token numbers, shape (texts, tokens).
        link: What is done to the outputs: nothing, a sigmoid of each, or a softmax over all.
        tokens_per_pass: Number of tokens that go through the model at a time.
    """

    module: torch.nn.Module
    embedding: torch.nn.Embedding
    labels: tuple[str, ...]
    forward: Forward
    link: Link = "identity"
    tokens_per_pass: int = TOKENS_PER_PASS

    @property
    def device(self) -> torch.device:
        """The device of the embedding layer."""
        return self.embedding.weight.device

    def embedded(self, token_ids: torch.Tensor) -> torch.Tensor:
        """The vectors of tokens, one axis more than ``token_ids``."""
        vectors: torch.Tensor = self.embedding(token_ids).detach()
        return vectors

    def outputs(
        self, token_ids: torch.Tensor, vectors: torch.Tensor, columns: torch.Tensor
    ) -> torch.Tensor:
        """The output for one label per text when the embedding layer gives these vectors.

        Args:
            token_ids: Shape (texts, tokens); from these a model may make masks and positions.
            vectors: Shape (texts, tokens, dimensions), in place of what the layer gives.
            columns: The label of each text, shape (texts,).

        Returns:
            Shape (texts,).

        Raises:
            InputError: If the model does not call the layer just once with these tokens, or an
                output is not finite.
            SchemaError: If it does not give one number per text and label.
        """
        import torch

        calls: list[tuple[int, ...]] = []

        def put(_: torch.nn.Module, __: object, given: torch.Tensor) -> torch.Tensor:
            calls.append(tuple(given.shape))
            return vectors if given.shape == vectors.shape else given

        handle = self.embedding.register_forward_hook(put)
        try:
            result = self.forward(self.module, token_ids)
        finally:
            handle.remove()
        if calls != [tuple(vectors.shape)]:
            raise InputError(
                "the model must call its embedding layer once, with the tokens of each text",
                found=f"calls that gave {first_cases(calls)} for vectors {tuple(vectors.shape)}",
                hint="name the embedding layer of the tokens",
            )
        numbers = self._numbers(result, len(token_ids))
        chosen = numbers.gather(1, columns[:, None])[:, 0]
        if not torch.isfinite(chosen).all():
            raise InputError("the model must give finite outputs", found="NaN or infinite ones")
        return chosen

    def _numbers(self, result: Any, texts: int) -> torch.Tensor:
        """Outputs after the link, shape (texts, labels)."""
        import torch

        numbers = getattr(result, "logits", result)
        if isinstance(numbers, torch.Tensor) and numbers.ndim == 1 and len(self.labels) == 1:
            numbers = numbers[:, None]
        expected = (texts, len(self.labels))
        if not isinstance(numbers, torch.Tensor) or tuple(numbers.shape) != expected:
            shape = getattr(numbers, "shape", type(numbers).__name__)
            raise SchemaError(
                f"the model must give a tensor of {texts} texts x {len(self.labels)} labels",
                found=str(tuple(shape) if isinstance(numbers, torch.Tensor) else shape),
                hint="forward=lambda model, token_ids: ... takes the outputs from what it gives",
            )
        if self.link == "sigmoid":
            return numbers.sigmoid()
        return numbers.softmax(dim=1) if self.link == "softmax" else numbers

    def gradients(
        self, token_ids: torch.Tensor, vectors: torch.Tensor, columns: torch.Tensor
    ) -> torch.Tensor:
        """The gradient of each text's output by its vectors, of the vectors' shape."""
        import torch

        # cuDNN differentiates recurrent layers in training mode alone.
        recurrent = any(isinstance(part, torch.nn.RNNBase) for part in self.module.modules())
        plain = torch.backends.cudnn.flags(enabled=False) if recurrent else nullcontext()
        with torch.enable_grad(), plain:
            points = vectors.detach().requires_grad_(True)
            total = self.outputs(token_ids, points, columns).sum()
            gradient = None
            if total.requires_grad:
                (gradient,) = torch.autograd.grad(total, points, allow_unused=True)
        if gradient is None:
            raise InputError(
                "the output must be a differentiable function of the embedding",
                found="an output without a gradient",
                hint="methods that only take tokens away need none: occlusion, lime",
            )
        return gradient


def embedded_model(
    module: torch.nn.Module,
    labels: Sequence[str],
    *,
    embedding: str | None = None,
    forward: Forward | None = None,
    link: Link = "identity",
    device: str | None = None,
    dtype: Literal["float32", "float64"] | None = None,
    tokens_per_pass: int = TOKENS_PER_PASS,
) -> EmbeddedModel:
    """Take a torch module as a function of the vectors of its embedding layer.

    The module is copied, so that its mode, device and parameters stay as they are. The copy is in
    evaluation mode.

    Args:
        module: Takes token numbers, shape (texts, tokens), and gives a tensor (texts, labels), or
            an object that holds it as ``logits``.
        labels: The label of each output.
        embedding: Name of the embedding layer of tokens; not needed where there is only one.
        forward: Calls a module that takes or gives anything else:
            ``lambda model, token_ids: model(input_ids=token_ids).scores``.
        link: Explains the outputs as they are, their sigmoid or their softmax.
        device: As torch names it; a GPU where there is one if None.
        dtype: Float type of the computation; that of the module if None.
        tokens_per_pass: Number of tokens that go through the model at a time.

    Raises:
        InputError: If torch is not installed, a label occurs twice, the layer is not clear or the
            device is not there.
    """
    require_package("torch", "to explain a model")
    import torch

    if len(set(labels)) != len(labels):
        raise InputError("each output needs a label of its own", found=first_cases(labels))
    name = _layer(module, embedding)
    there = torch_device(device)
    own = copy.deepcopy(module).to(there, getattr(torch, dtype) if dtype else None).eval()
    for parameter in own.parameters():
        parameter.requires_grad_(False)
    layer = own.get_submodule(name)
    assert isinstance(layer, torch.nn.Embedding)
    return EmbeddedModel(
        own, layer, tuple(labels), forward or _called, link, max(tokens_per_pass, 1)
    )


def _called(module: torch.nn.Module, token_ids: torch.Tensor) -> Any:
    return module(token_ids)


def _layer(module: torch.nn.Module, name: str | None) -> str:
    """The name of the embedding layer."""
    import torch

    names: list[str] = [
        path for path, part in module.named_modules() if isinstance(part, torch.nn.Embedding)
    ]
    if name is None and len(names) == 1:
        return names[0]
    if name is None or name not in names:
        raise InputError(
            "the name of the embedding layer of tokens is required, or a model with only one",
            found=f"{name!r}; embedding layers: {first_cases(names) or 'none'}",
            hint="embedding=NAME, as named_modules() lists it",
        )
    return name
