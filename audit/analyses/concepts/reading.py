"""Representations by layer, with labels and answers: of arrays, from files and to files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.declared import schema
from audit.base.disk import written_whole
from audit.base.errors import FormatError, InputError, SchemaError, first_cases
from audit.base.files import first_bytes, once, open_bytes, refuse_pickle
from audit.base.stored_tables import arrays_in
from audit.data.class_lists import distinct

AnyArray: TypeAlias = NDArray[Any]

INSTANCES = schema(
    ("id", pl.String()), ("labels", pl.List(pl.String())), ("prediction pair", pl.String())
)
"""Columns of `Representations.instances`; the last two are null where nothing was given."""


@dataclass(frozen=True, eq=False)
class LinearHead:
    """The last, linear layer of a model: the class of the highest ``weight @ z + bias``.

    Args:
        classes: Labels, one per row of the weights.
        weight: Shape ``(len(classes), features)`` of the last layer of representations.
        bias: Shape ``(len(classes),)``.
    """

    classes: tuple[str, ...]
    weight: NDArray[np.float64]
    bias: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Representations:
    """What each layer of a model makes of the same instances.

    Args:
        layers: Per layer, in the order in which a model computes them, an array of shape
            ``(instances, features)``, floats as they were read; rows are those of ``instances``.
        instances: Columns `INSTANCES`, a row per instance. Instances of one ``pair`` differ in
            their label alone (counterfactual minimal pairs).
        head: What predicts from the last layer; None if it was not given.
    """

    layers: Mapping[str, NDArray[np.floating]]
    instances: pl.DataFrame
    head: LinearHead | None = None

    @cached_property
    def predictions(self) -> pl.Series | None:
        """The label that a model gives each instance, as stated or by its head; None without both.

        Of stated predictions some may be null.
        """
        given = self.instances["prediction"]
        if given.null_count() < len(given):
            return given
        if self.head is None:
            return None
        last = list(self.layers.values())[-1].astype(np.float64)
        answers = (last @ self.head.weight.T + self.head.bias).argmax(axis=1)
        return pl.Series(self.head.classes, dtype=pl.String).gather(answers)


def representations_of(
    layers: Mapping[str, AnyArray],
    labels: Sequence[str | Sequence[str] | None],
    *,
    ids: Sequence[str | None] | None = None,
    predictions: Sequence[str | None] | None = None,
    pairs: Sequence[str | None] | None = None,
    head: LinearHead | None = None,
    where: object = "",
) -> Representations:
    """Representations of arrays in memory. Every instance is kept, those without a label too.

    Args:
        layers: In the order in which a model computes them, numbers of shape ``(instances,
            features)``. Single and double precision stay, half becomes single, all else double.
        labels: Per instance its label, a list of them, or None. A repeated label counts once.
        ids: Numbers from 0 if None.
        where: Where all this was read, for messages.

    Raises:
        SchemaError: If there is no layer or instance, layers are of different instances, an id is
            missing or repeated, no instance has a label, a number is not finite, all instances of
            a layer are equal, or the head does not fit the last layer.
    """
    lists = [[] if one is None else [one] if isinstance(one, str) else one for one in labels]
    nothing = [None] * len(lists)
    columns = {
        "id": [str(row) for row in range(len(lists))] if ids is None else ids,
        "labels": [
            list(dict.fromkeys(one)) if isinstance(one, Iterable) else [one] for one in lists
        ],
        "prediction": nothing if predictions is None else predictions,
        "pair": nothing if pairs is None else pairs,
    }
    try:
        instances = pl.DataFrame(columns, schema=INSTANCES)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise SchemaError(
            "each instance must have one id, its labels, a prediction and a pair, which are texts",
            found=str(error).split("\n")[0],
            where=where,
        ) from None
    if instances["id"].null_count() or not instances["labels"].list.len().sum():
        required = "every instance must have an id, and one of them a label"
        raise SchemaError(required, found="a blank, or no label", where=where)
    known = distinct(instances["id"].to_list(), "instance", where)
    if not layers:
        raise SchemaError("at least one layer is required", found="none", where=where)
    matrices = {name: _matrix(name, array, known, where) for name, array in layers.items()}
    if head is not None:
        _refuse_unfit(head, list(matrices.values())[-1].shape[1], where)
    return Representations(matrices, instances, head)


def _matrix(
    name: str, array: AnyArray, ids: Sequence[str], where: object
) -> NDArray[np.floating[Any]]:
    """The layer as floats; SchemaError says what is wrong with it."""

    def refuse(required: str, found: str, hint: str = "") -> NoReturn:
        required = f"the layer {name!a} must {required}"
        raise SchemaError(required, found=found, where=where, hint=hint)

    if not name.strip() or not name.isprintable():
        refuse("have a name without control characters", "blanks or others")
    if array.ndim != 2 or array.dtype.kind not in "biuf" or len(array) != len(ids):
        refuse(
            f"hold numbers, a row for each of the {len(ids):,} instances, a column a feature",
            f"{array.dtype} of shape {array.shape}",
            "flatten what a layer gives for an instance into one vector",
        )
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    with np.errstate(over="ignore"):  # what is beyond double precision is refused as infinite
        matrix: AnyArray = np.ascontiguousarray(array, np.float32 if single else np.float64)
        beyond = not np.isfinite(np.square(matrix, dtype=np.float64).sum())
    rows, columns = np.nonzero(~np.isfinite(matrix))
    if len(rows):
        places = zip(rows[:5], columns[:5], strict=True)
        values = [f"{matrix[row, one]} in feature {one} of {ids[row]}" for row, one in places]
        refuse("hold finite numbers", first_cases(values, len(rows)))
    if beyond:
        found = f"{np.abs(matrix).max():.3g}, of {matrix.dtype}"
        refuse("hold numbers so small that their squares can be added", found)
    if (matrix == matrix[:1]).all():
        refuse(
            "differ between instances in a feature",
            f"{matrix.shape[1]:,} constant features of {len(matrix):,} instances",
            "leave the layer out, or check that the model was in evaluation mode",
        )
    return matrix


def _refuse_unfit(head: LinearHead, features: int, where: object) -> None:
    """Refuse a head that cannot be applied to the last layer."""
    distinct(head.classes, "class of the head", where)
    shape = (len(head.classes), features)
    fits = head.weight.shape == shape and head.bias.shape == shape[:1]
    if not fits or not np.isfinite(np.column_stack([head.weight, head.bias])).all():
        raise SchemaError(
            f"the head must have finite weights, {shape[0]:,} classes x {shape[1]:,} features of"
            " the last layer, and a bias per class",
            found=f"weights of shape {head.weight.shape} and biases of shape {head.bias.shape}"
            + ", of which some are not finite" * fits,
            where=where,
        )


LAYER = "layer:"
"""What the name of a layer begins with in a file."""
_HEAD = ("head_weight", "head_bias", "head_classes")
_KNOWN = ("id", "labels", "prediction", "pair", "layers", *_HEAD)


def read_representations(path: Path | str) -> Representations:
    """Read representations by layer, with what docs/concepts.md lists beside layers.

    Args:
        path: A NumPy archive (``.npz``), where text is in arrays of text or of whole numbers; or
            ``.safetensors``, where text is in the metadata, as lists in JSON.

    Raises:
        InputError: If it cannot be read whole, or holds pickled objects; FormatError if it has
            another suffix; SchemaError if anything in it is not as `representations_of` requires.
    """
    source, lists = Path(path), dict[str, list[Any]]()
    match source.suffix.lower():
        case ".npz":
            arrays = arrays_in(source, str(source))
        case ".safetensors":
            arrays, lists = _tensors(source)
        case suffix:
            refuse_pickle(source, first_bytes(source), "representations")
            required = "representations are read from .npz, .safetensors"
            raise FormatError(required, found=f"the suffix {suffix!r}", where=source)
    given = {
        name: _texts(name, lists.get(name, arrays.get(name)), source)
        for name in _KNOWN
        if name in lists or (name in arrays and name not in _HEAD[:2])
    }
    layers = {name.removeprefix(LAYER): one for name, one in arrays.items() if name not in _KNOWN}
    unknown = [name for name in arrays if not name.startswith(LAYER) and name not in _KNOWN]
    order = [str(name).removeprefix(LAYER) for name in given.get("layers", layers)]
    if unknown or "labels" not in given or sorted(order) != sorted(layers):
        raise SchemaError(
            f"a {LAYER}NAME for each layer, labels and, beside them, {', '.join(_KNOWN)} are"
            " required; layers names each layer once",
            found=first_cases(unknown or [*arrays, *lists]),
            where=source,
            hint=f"drop what has another name, or begin it with {LAYER}",
        )
    return representations_of(
        {name: layers[name] for name in order},
        given["labels"],
        ids=given.get("id"),
        predictions=given.get("prediction"),
        pairs=given.get("pair"),
        head=_head(arrays, given.get("head_classes"), source),
        where=source,
    )


def _texts(name: str, held: Any, source: Path) -> list[Any]:
    """Names or whole numbers as text, None where blank; labels may be lists of them."""
    several = name == "labels"

    def text(value: Any) -> str | None:
        if value is not None and type(value) not in (str, int):
            raise ValueError(f"{value!r:.40}")
        stripped = "" if value is None else str(value).strip()
        stripped.encode()
        return stripped or None

    try:
        if isinstance(held, np.ndarray):
            if held.dtype.kind not in "USiu" or held.ndim not in (1, 1 + several):
                raise ValueError(f"{held.dtype} of shape {held.shape}")
            held = held.astype(np.str_).tolist()
        return [
            [found for label in one if (found := text(label))]
            if several and isinstance(one, list)
            else text(one)
            for one in held
        ]
    except (ValueError, SystemError) as error:  # NumPy keeps numbers that are no character
        raise SchemaError(
            f"{name} must hold a text in Unicode or a whole number for each instance",
            found=str(error),
            where=source,
        ) from None


def _head(
    arrays: Mapping[str, AnyArray], classes: list[Any] | None, source: Path
) -> LinearHead | None:
    """The linear head; None if nothing of it is there."""
    parts = [arrays[name] for name in _HEAD[:2] if name in arrays]
    if classes is None and not parts:
        return None
    if not classes or None in classes or [one.dtype.kind for one in parts] != ["f", "f"]:
        raise SchemaError(
            f"a head must have {', '.join(_HEAD)}, of floating-point numbers and of names",
            found="one that is missing, blank or of another type",
            where=source,
        )
    return LinearHead(tuple(classes), *(np.asarray(part, np.float64) for part in parts))


_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "U8": "<u1",
    "BOOL": "|b1",
}
"""Types of tensors that are read; the 16 bits of ``BF16`` are the upper half of a float32."""


def _tensors(source: Path) -> tuple[dict[str, AnyArray], dict[str, list[Any]]]:
    """The tensors of a safetensors file, and the lists among its metadata that have a meaning."""
    with open_bytes(source) as stream:
        content = stream.read()
    try:
        start = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:start], object_pairs_hook=once)
        metadata = header.pop("__metadata__", {})
        texts = {name: metadata[name] for name in _KNOWN if name in metadata}
        unread = [name for name, one in header.items() if one["dtype"] not in _TYPES]
        if unread:
            required = f"tensors must be of a type that is read: {', '.join(_TYPES)}"
            raise SchemaError(required, found=first_cases(unread), where=source)
        arrays = {name: _tensor(one, content[start:]) for name, one in header.items()}
    except (
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        AttributeError,
        RecursionError,
    ) as error:
        required = "a whole safetensors file is required"
        raise InputError(required, found=str(error)[:200], where=source) from None
    try:
        lists = {name: json.loads(text) for name, text in texts.items()}
    except (ValueError, TypeError, RecursionError):
        lists = {"labels": None}
    if not all(isinstance(one, list) for one in lists.values()):
        required = f"{', '.join(texts)} among the metadata must be lists in JSON"
        raise SchemaError(required, found=f"{texts!r:.80}", where=source)
    return arrays, lists


def _tensor(entry: Mapping[str, Any], content: bytes) -> AnyArray:
    """One tensor as its entry in the header says; ValueError where its bytes are not there."""
    kind, shape = np.dtype(_TYPES[entry["dtype"]]), entry["shape"]
    begin, end = entry["data_offsets"]
    count = prod(shape) if all(type(one) is int and one >= 0 for one in shape) else -1
    if not 0 <= begin <= end <= len(content) or end - begin != count * kind.itemsize:
        raise ValueError(f"shape {shape} at bytes {begin} to {end} of {len(content)}")
    numbers = np.frombuffer(content, kind, count, begin).reshape(shape)
    return (
        (numbers.astype(np.uint32) << 16).view(np.float32) if entry["dtype"] == "BF16" else numbers
    )


def write_representations(representations: Representations, path: Path | str) -> None:
    """Write representations as ``.npz``; read again they are the same, as are their bytes.

    Raises:
        InputError: If the suffix is another; OutputError if the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() != ".npz":
        required = "representations are written as .npz"
        raise InputError(required, found=f"the suffix {path.suffix!r}", where=path)
    frame, head = representations.instances, representations.head
    rows = frame["labels"].to_list()
    width = max(1, *map(len, rows))
    numbers = {LAYER + name: matrix for name, matrix in representations.layers.items()}
    texts: dict[str, list[Any]] = {"labels": [[*row, *[""] * (width - len(row))] for row in rows]}
    texts |= {
        name: frame[name].fill_null("").to_list()
        for name in ("id", "prediction", "pair")
        if frame[name].null_count() < frame.height
    }
    if head is not None:
        numbers |= dict(zip(_HEAD, (head.weight, head.bias), strict=False))
        texts[_HEAD[-1]] = [*head.classes]
    arrays = {name: np.ascontiguousarray(one) for name, one in numbers.items()}
    arrays |= {name: np.array(one, np.str_) for name, one in texts.items()}
    with written_whole(path) as begun, begun.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]
