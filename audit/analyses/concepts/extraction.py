"""Representations of a torch module's layers, from a data loader."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from audit.analyses.concepts.reading import (
    AnyArray,
    LinearHead,
    Representations,
    representations_of,
)
from audit.base.errors import InputError, SchemaError, first_cases, refuse_unknown
from audit.base.machine import require_package, torch_device
from audit.base.progress import Progress, silent
from audit.data.class_lists import distinct

if TYPE_CHECKING:
    import torch

Pooling: TypeAlias = Literal["channels", "positions", "none"]
"""How more than one axis of a layer becomes one vector: the mean over the first of them, then
flattened (of a convolution its channels, as in "Unit Testing for Concepts in Neural Networks"; of
a transformer its tokens); the mean over all but the first (one number per channel); or flattened.
"""


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
    forward: Callable[[torch.nn.Module, Any], Any] | None = None,
    device: str | None = None,
    progress: Progress = silent,
) -> Representations:
    """Run a module over batches and keep what some of its layers give for each instance.

    A copy runs, in evaluation mode; the module's mode, device and parameters stay as they are.

    Args:
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

    Raises:
        InputError: If torch is not installed, a layer is not there, is not called once or gives no
            tensor, the head does not read the last of the layers, or the device is not there;
            SchemaError if batches, labels or outputs have another form.
    """
    require_package("torch", "to take representations from a model")
    import torch

    refuse_unknown(pooling, get_args(Pooling), "a pooling", "poolings")
    distinct(classes, "output", "classes")
    there = torch_device(device)
    own = copy.deepcopy(module).to(there).eval()
    kept, labels, guessed = _recording(own, layers, head, pooling), [], []
    total = len(batches) if isinstance(batches, Sized) else None
    with torch.no_grad():
        for number, batch in enumerate(batches):
            progress("encoding", number, total, "batches")
            if not isinstance(batch, (tuple, list)) or len(batch) != 2:
                raise SchemaError(
                    "each batch must be the inputs and the labels of its instances",
                    found=type(batch).__name__,
                    hint="wrap the loader: ((b['pixels'], b['label']) for b in loader)",
                )
            inputs = _moved(batch[0], there)
            outputs = forward(own, inputs) if forward else own(inputs)
            _refuse_calls({name: kept[name] for name in layers}, number + 1)
            labels += _texts(batch[1], classes)
            if predictions and classes:
                guessed += _highest(outputs, len(kept[layers[0]][-1]), classes)
    if not labels:
        raise InputError("at least one batch with an instance is required", found="none")
    linear = None if head is None else _linear(head, own, classes, kept[head], kept[layers[-1]])
    vectors = {name: np.concatenate(kept[name]) for name in layers}
    return representations_of(
        vectors, labels, ids=ids, predictions=guessed or None, pairs=pairs, head=linear
    )


def _recording(
    module: torch.nn.Module, layers: Sequence[str], head: str | None, pooling: Pooling
) -> Mapping[str, list[AnyArray]]:
    """What layers give in each pass, and what the head reads, as it is filled by hooks."""
    known, wanted = [name for name, _ in module.named_modules() if name], [*layers]
    wanted += [head] if head is not None else []
    if not layers or len({*wanted} & {*known}) < len(wanted):
        raise InputError(
            "names of layers are required, each once",
            found=f"{first_cases(wanted) or 'none'}; layers: {first_cases(known)}",
            hint="named_modules() lists all layers",
        )
    kept = defaultdict[str, list[AnyArray]](list)

    def keep(name: str, pool: Pooling, *called: Any) -> None:
        """Keep what a layer gives, or the head reads: the last of what a hook is called with."""
        kept[name].append(_vectors(name, called[-1], pool))

    for name in layers:
        module.get_submodule(name).register_forward_hook(partial(keep, name, pooling))
    if head is not None:
        module.get_submodule(head).register_forward_pre_hook(partial(keep, head, "none"))
    return kept


def _vectors(name: str, values: Any, pooling: Pooling) -> AnyArray:
    """A copy with one vector per instance, of a tensor or the first of several."""
    import torch

    while isinstance(values, (tuple, list)) and values:
        values = values[0]
    if not isinstance(values, torch.Tensor) or values.ndim < 2:
        raise InputError(
            f"the layer {name!r} must give and read tensors with a row per instance",
            found=str(getattr(values, "shape", type(values).__name__)),
            hint="name a layer inside it",
        )
    numbers = values if values.dtype == torch.float64 else values.float()
    if numbers.ndim > 2 and pooling == "channels":
        numbers = numbers.mean(dim=1)
    elif numbers.ndim > 2 and pooling == "positions":
        numbers = numbers.flatten(2).mean(dim=2)
    return np.array(numbers.flatten(1).numpy(force=True))


def _refuse_calls(kept: Mapping[str, Sequence[AnyArray]], passes: int) -> None:
    for name, vectors in kept.items():
        calls, sizes = len(vectors) - passes + 1, {one.shape[1] for one in vectors}
        if calls != 1 or len(sizes) > 1:
            raise InputError(
                f"the layer {name!r} must be called once in a pass, and give as many features"
                " for each instance",
                found=f"{calls:,} calls, and {first_cases(sorted(sizes)) or 'no'} features",
                hint="name another layer, or give inputs of one size",
            )


def _linear(
    name: str,
    module: torch.nn.Module,
    classes: Sequence[str],
    read: Sequence[AnyArray],
    last: Sequence[AnyArray],
) -> LinearHead:
    """The layer that answers, which must read the vectors of the last of the others."""
    import torch

    layer = module.get_submodule(name)
    if not isinstance(layer, torch.nn.Linear) or layer.out_features != len(classes):
        raise InputError(
            f"a linear layer with an output per class, {len(classes):,}, is required as the head",
            found=f"{name!r}: {layer}",
        )
    shapes = [[one.shape for one in of] for of in (read, last)]
    if shapes[0] != shapes[1] or not all(map(np.allclose, read, last)):
        raise InputError(
            f"the head {name!r} must read the vectors of the last layer",
            found=f"{first_cases(shapes[0])}, and {first_cases(shapes[1])} of the layer",
            hint="name the layer that the head reads as the last one",
        )
    weight, bias = (
        np.zeros(len(classes)) if one is None else one.detach().double().numpy(force=True)
        for one in (layer.weight, layer.bias)
    )
    return LinearHead(tuple(classes), weight, bias)


def _moved(inputs: Any, device: torch.device) -> Any:
    """Inputs whose tensors lie on the device."""
    if hasattr(inputs, "to"):
        return inputs.to(device)
    if isinstance(inputs, Mapping):
        return {name: _moved(one, device) for name, one in inputs.items()}
    if isinstance(inputs, (tuple, list)):
        return [_moved(one, device) for one in inputs]
    return inputs


def _texts(labels: Any, classes: Sequence[str]) -> list[list[str]]:
    """The labels of each instance of a batch."""
    if not hasattr(labels, "ndim"):
        return [[one] if isinstance(one, str) else list(one) for one in labels]
    numbers, k = np.asarray(labels.cpu() if hasattr(labels, "cpu") else labels), len(classes)
    if numbers.ndim == 1 and numbers.dtype.kind in "iu" and ((numbers >= 0) & (numbers < k)).all():
        numbers = numbers[:, None] == np.arange(k)
    if numbers.ndim != 2 or numbers.shape[1] != k:
        raise SchemaError(
            f"labels must be texts, numbers below {k:,} of the classes, or a flag for each of them",
            found=f"{numbers.dtype} of shape {numbers.shape}",
            hint="classes=[...] names the classes in the order of their numbers",
        )
    return [[classes[place] for place in np.flatnonzero(flags).tolist()] for flags in numbers]


def _highest(outputs: Any, instances: int, classes: Sequence[str]) -> list[str]:
    """The class of the highest output of each instance."""
    numbers = getattr(outputs, "logits", outputs)
    shape = tuple(getattr(numbers, "shape", ()))
    if shape != (instances, len(classes)):
        raise SchemaError(
            f"the model must give a tensor of {instances:,} instances x {len(classes):,} classes",
            found=f"{type(numbers).__name__} of shape {shape}",
            hint="forward=lambda model, inputs: ... takes the outputs from what the model gives; "
            "predictions=False leaves them out",
        )
    return [classes[place] for place in numbers.argmax(dim=1).tolist()]
