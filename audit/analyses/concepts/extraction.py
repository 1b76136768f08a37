"""Representations of a torch module's layers, from a data loader."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from audit.analyses.concepts.representations import LinearHead, Representations, representations_of
from audit.base.errors import InputError, SchemaError, first_cases, refuse_unknown
from audit.base.machine import require_package, torch_device
from audit.base.progress import Progress, silent

if TYPE_CHECKING:
    import torch

Pooling: TypeAlias = Literal["channels", "positions", "none"]
"""How more than one axis of a layer becomes one vector: the mean over the first of them, then
flattened (of a convolution its channels, as in "Unit Testing for Concepts in Neural Networks"; of
a transformer its tokens); the mean over all but the first (one number per channel); or flattened.
"""
Vectors: TypeAlias = NDArray[np.floating[Any]]
Forward: TypeAlias = Callable[["torch.nn.Module", Any], Any]


def extract_representations(
    module: torch.nn.Module,
    batches: Iterable[tuple[Any, Any]],
    layers: Sequence[str],
    *,
    classes: Sequence[str] = (),
    ids: Sequence[str] | None = None,
    pairs: Sequence[str | None] | None = None,
    pooling: Pooling = "channels",
    predictions: bool = True,
    head: str | None = None,
    forward: Forward | None = None,
    device: str | None = None,
    progress: Progress = silent,
) -> Representations:
    """Run a module over batches and keep what some of its layers give for each instance.

    A copy runs, in evaluation mode; the module's mode, device and parameters stay as they are.

    Args:
        module: The model.
        batches: Inputs and labels of each batch, as a data loader gives them. Inputs are a tensor,
            or a list, tuple or mapping with tensors. Labels are texts, or lists of texts; or
            numbers of ``classes``, shape (instances,); or flags, shape (instances, classes).
        layers: Names of the layers as ``named_modules()`` lists them, in the order in which the
            model computes them. Each must be called once in a pass.
        classes: The label of each output of the model.
        ids: Ids of the instances, in the order of the batches; numbers from 0 if None.
        pairs: The minimal pair of each instance.
        pooling: How a layer's axes become one vector.
        predictions: Whether the outputs are one number per class, the highest of which is
            predicted; there are no predictions without ``classes``.
        head: Name of the linear layer that gives these outputs from the last of ``layers``.
        forward: Calls a module that takes or gives anything else:
            ``lambda model, inputs: model(**inputs).scores``.
        device: As torch names it; a GPU where there is one if None.
        progress: Progress callback.

    Raises:
        InputError: If torch is not installed, a layer is not there, is not called once or gives no
            tensor, the head does not read the last of the layers, or the device is not there.
        SchemaError: If batches, labels or outputs have another form, or as
            `audit.analyses.concepts.representations.representations_of`.
    """
    require_package("torch", "to take representations from a model")
    _require_choice(pooling, classes)
    there = torch_device(device)
    own = copy.deepcopy(module).to(there).eval()
    linear = _linear(own, head, classes) if head is not None else None
    with _recording(own, layers, head, pooling) as kept:
        for inputs, labels in _inputs_and_labels(batches, progress):
            outputs = (forward or _outputs_of)(own, _moved(inputs, there))
            kept.end_batch(_texts(labels, classes))
            if predictions and classes:
                kept.predictions += _highest(outputs, len(kept.layers[layers[0]][-1]), classes)
    vectors = {name: np.concatenate(of_batches) for name, of_batches in kept.layers.items()}
    guessed = kept.predictions or None
    return representations_of(
        vectors, kept.labels, ids=ids, predictions=guessed, pairs=pairs, head=linear
    )


@dataclass(eq=False)
class _Kept:
    """What has been kept of the batches so far: vectors of each call, labels, predictions."""

    layers: dict[str, list[Vectors]]
    read: list[Vectors]
    labels: list[list[str]]
    predictions: list[str]
    batches: int = 0

    def end_batch(self, labels: list[list[str]]) -> None:
        """Count a batch and keep its labels."""
        self.batches += 1
        self.labels += labels
        for name, vectors in self.layers.items():
            calls = len(vectors) - self.batches + 1
            if calls != 1:
                raise InputError(
                    f"the layer {name!r} must be called once in a pass",
                    found=f"{calls:,} calls",
                    hint="name another layer",
                )
            if vectors[-1].shape[1] != vectors[0].shape[1]:
                raise InputError(
                    f"the layer {name!r} must give as many features for each instance",
                    found=f"{vectors[0].shape[1]:,} and {vectors[-1].shape[1]:,}",
                    hint="give inputs of one size, or another pooling",
                )

    def require_reading(self, head: str, last: str) -> None:
        """Refuse a head that reads anything else than the vectors of the last layer."""
        vectors = self.layers[last]
        fits = len(self.read) == len(vectors) and all(
            one.shape == other.shape and np.allclose(one, other, equal_nan=True)
            for one, other in zip(self.read, vectors, strict=True)
        )
        if not fits:
            read = self.read[-1].shape[1] if self.read else 0
            raise InputError(
                f"the head {head!r} must read the vectors of the last layer {last!r}",
                found=f"{len(self.read):,} calls with {read:,} features in {self.batches:,} passes,"
                f" and {vectors[-1].shape[1]:,} features of the layer",
                hint="name the layer that the head reads as the last one",
            )


@contextmanager
def _recording(
    module: torch.nn.Module, layers: Sequence[str], head: str | None, pooling: Pooling
) -> Iterator[_Kept]:
    """Keep what layers give, and what the head reads, within the block, and compute no gradients.

    Vectors are copied at once, since a later layer may work in place.
    """
    import torch

    kept = _Kept({name: [] for name in _known_layers(module, layers)}, [], [], [])

    def keep(name: str, output: Any) -> None:
        kept.layers[name].append(_vectors(_tensor(name, output), pooling))

    def recorder(name: str) -> Callable[..., None]:
        return lambda _, inputs, output: keep(name, output)

    handles = [
        module.get_submodule(name).register_forward_hook(recorder(name)) for name in kept.layers
    ]
    if head is not None:
        handles.append(
            module.get_submodule(head).register_forward_pre_hook(
                lambda _, inputs: kept.read.append(_vectors(_tensor(head, inputs), "none"))
            )
        )
    try:
        with torch.no_grad():
            yield kept
    finally:
        for handle in handles:
            handle.remove()
    if not kept.labels:
        raise InputError("at least one batch with an instance is required", found="none")
    if head is not None:
        kept.require_reading(head, layers[-1])


def _tensor(name: str, values: Any) -> torch.Tensor:
    """A tensor, or the first of several."""
    import torch

    while isinstance(values, (tuple, list)) and values:
        values = values[0]
    if not isinstance(values, torch.Tensor) or values.ndim < 2:
        shape = tuple(values.shape) if isinstance(values, torch.Tensor) else type(values).__name__
        raise InputError(
            f"the layer {name!r} must give and read tensors with a row per instance",
            found=str(shape),
            hint="name a layer inside it",
        )
    return values


def _vectors(values: torch.Tensor, pooling: Pooling) -> Vectors:
    """A copy with one vector per instance, in single or double precision."""
    import torch

    numbers = values if values.dtype == torch.float64 else values.float()
    if numbers.ndim > 2 and pooling == "channels":
        numbers = numbers.mean(dim=1)
    elif numbers.ndim > 2 and pooling == "positions":
        numbers = numbers.flatten(2).mean(dim=2)
    return np.array(numbers.flatten(1).numpy(force=True))


def _linear(module: torch.nn.Module, name: str, classes: Sequence[str]) -> LinearHead:
    import torch

    (known,) = _known_layers(module, [name])
    layer = module.get_submodule(known)
    if not isinstance(layer, torch.nn.Linear) or layer.out_features != len(classes):
        raise InputError(
            f"a linear layer with an output per class, {len(classes):,}, is required as the head",
            found=f"{name!r}: {layer}",
        )
    weight = layer.weight.detach().double().numpy(force=True)
    bias = np.zeros(len(weight))
    if layer.bias is not None:
        bias = layer.bias.detach().double().numpy(force=True)
    return LinearHead(tuple(classes), weight, bias)


def _known_layers(module: torch.nn.Module, names: Sequence[str]) -> list[str]:
    """The names, each once; InputError if a layer is not there."""
    known = [name for name, _ in module.named_modules() if name]
    wrong = [name for name in names if name not in known]
    if wrong or not names or len(set(names)) < len(names):
        raise InputError(
            "names of layers are required, each once",
            found=f"{first_cases(wrong or names) or 'none'}; layers: {first_cases(known)}",
            hint="named_modules() lists all layers",
        )
    return list(names)


def _require_choice(pooling: str, classes: Sequence[str]) -> None:
    refuse_unknown(pooling, get_args(Pooling), "a pooling", "poolings")
    if len(set(classes)) != len(classes):
        raise InputError("each output needs a label of its own", found=first_cases(classes))


def _inputs_and_labels(
    batches: Iterable[tuple[Any, Any]], progress: Progress
) -> Iterator[tuple[Any, Any]]:
    """Inputs and labels of each batch."""
    total = len(batches) if isinstance(batches, Sized) else None
    for number, batch in enumerate(batches):
        progress("encoding", number, total, "batches")
        yield _parts(batch)


def _parts(batch: Any) -> tuple[Any, Any]:
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise SchemaError(
            "each batch must be the inputs and the labels of its instances",
            found=type(batch).__name__,
            hint="wrap the loader: ((b['pixels'], b['label']) for b in loader)",
        )
    return batch[0], batch[1]


def _moved(inputs: Any, device: torch.device) -> Any:
    """Inputs whose tensors lie on the device."""
    if hasattr(inputs, "to"):
        return inputs.to(device)
    if isinstance(inputs, Mapping):
        return {name: _moved(one, device) for name, one in inputs.items()}
    if isinstance(inputs, (tuple, list)):
        return [_moved(one, device) for one in inputs]
    return inputs


def _outputs_of(module: torch.nn.Module, inputs: Any) -> Any:
    return module(inputs)


def _texts(labels: Any, classes: Sequence[str]) -> list[list[str]]:
    """The labels of each instance of a batch."""
    if not hasattr(labels, "ndim"):
        return [[one] if isinstance(one, str) else list(one) for one in labels]
    numbers = np.asarray(labels.cpu() if hasattr(labels, "cpu") else labels)
    k = len(classes)
    if numbers.ndim == 2 and numbers.shape[1] == k:
        return [[classes[place] for place in np.flatnonzero(flags).tolist()] for flags in numbers]
    if numbers.ndim == 1 and numbers.dtype.kind in "iu" and ((numbers >= 0) & (numbers < k)).all():
        return [[classes[number]] for number in numbers.tolist()]
    raise SchemaError(
        f"labels must be texts, numbers below {k:,} of the classes, or a flag for each of them",
        found=f"{numbers.dtype} of shape {numbers.shape}",
        hint="classes=[...] names the classes in the order of their numbers",
    )


def _highest(outputs: Any, instances: int, classes: Sequence[str]) -> list[str]:
    """The class of the highest output of each instance."""
    import torch

    numbers = getattr(outputs, "logits", outputs)
    if not isinstance(numbers, torch.Tensor) or tuple(numbers.shape) != (instances, len(classes)):
        found = (
            tuple(numbers.shape) if isinstance(numbers, torch.Tensor) else type(numbers).__name__
        )
        raise SchemaError(
            f"the model must give a tensor of {instances:,} instances x {len(classes):,} classes",
            found=str(found),
            hint="forward=lambda model, inputs: ... takes the outputs from what the model gives; "
            "predictions=False leaves them out",
        )
    return [classes[place] for place in numbers.argmax(dim=1).tolist()]
