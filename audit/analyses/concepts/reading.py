"""Representations by layer, with labels and predictions, as files hold them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.declared import schema
from audit.base.errors import FormatError, InputError, SchemaError, first_cases
from audit.base.files import first_bytes, once, open_bytes, refuse_pickle
from audit.base.stored_tables import arrays_in
from audit.data.class_lists import distinct

AnyArray: TypeAlias = NDArray[Any]
INSTANCES = schema(
    ("id", pl.String()), ("labels", pl.List(pl.String())), ("prediction pair", pl.String())
)
"""Columns of `Representations.instances`; the last two are null where nothing was given."""
LAYER = "layer:"
"""What the name of a layer begins with in a file."""
_KNOWN = ("id", "labels", "prediction", "pair", "layers")
_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2",
    "I64": "<i8", "I32": "<i4", "U8": "<u1", "BOOL": "|b1",
}  # fmt: skip
"""Types of tensors that are read; the 16 bits of ``BF16`` are the upper half of a float32."""


@dataclass(frozen=True, eq=False)
class Representations:
    """What each layer of a model makes of the same instances.

    Args:
        layers: Per layer, in the order in which a model computes them, an array of shape
            ``(instances, features)``, floats as they were read; rows are those of ``instances``.
        instances: Columns `INSTANCES`, a row per instance. Instances of one ``pair`` differ in
            their label alone (counterfactual minimal pairs).
    """

    layers: Mapping[str, NDArray[np.floating]]
    instances: pl.DataFrame

    @property
    def predicted(self) -> bool:
        """Whether some instance has a prediction."""
        return not self.instances["prediction"].is_null().all()


def _matrix(
    name: str, array: AnyArray, ids: Sequence[str], where: object
) -> NDArray[np.floating[Any]]:
    """The layer as floats; SchemaError says what is wrong with it."""
    required = found = ""
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    if array.ndim != 2 or array.dtype.kind not in "biuf" or len(array) != len(ids):
        required = f"a row of numbers for each of the {len(ids):,} instances, a column a feature"
        found = f"{array.dtype} of shape {array.shape}"
    elif not name.strip() or not name.isprintable():
        required, found = "a name without control characters", "blanks or others"
    else:
        with np.errstate(over="ignore"):  # what is beyond double precision is refused as infinite
            matrix: AnyArray = np.ascontiguousarray(array, np.float32 if single else np.float64)
            beyond = not np.isfinite(np.square(matrix, dtype=np.float64).sum())
        rows, columns = np.nonzero(~np.isfinite(matrix))
        if beyond:
            places = zip(rows[:5], columns[:5], strict=True)
            cases = [f"{matrix[row, one]} in feature {one} of {ids[row]}" for row, one in places]
            required = "finite numbers whose squares can be added"
            found = first_cases(cases, len(rows)) or f"{np.abs(matrix).max():.3g}"
        elif (matrix == matrix[:1]).all():
            required, found = "a feature that differs between instances", "constant features"
    if required:
        raise SchemaError(f"the layer {name!a} must have {required}", found=found, where=where)
    return matrix


def read_representations(path: Path | str) -> Representations:
    """Read representations by layer, with what docs/concepts.md lists beside layers.

    Every instance is kept, those without a label too; ids are numbers from 0 if there are none.

    Args:
        path: A NumPy archive (``.npz``), where text is in arrays of text or of whole numbers; or
            ``.safetensors``, where text is in the metadata, as lists in JSON.

    Raises:
        InputError: If it cannot be read whole, or holds pickled objects; FormatError if it has
            another suffix; SchemaError if there is no layer, layers are of different instances, an
            id is missing or repeated, no instance has a label, a number is not finite, or all
            instances of a layer are equal.
    """
    source, suffix = Path(path), Path(path).suffix.lower()
    if suffix not in (".npz", ".safetensors"):
        refuse_pickle(source, first_bytes(source), "representations")
        required = "representations are read from .npz, .safetensors"
        raise FormatError(required, found=f"the suffix {suffix!r}", where=source)
    held = arrays_in(source, str(source)) if suffix == ".npz" else _tensors(source)
    layers = {name.removeprefix(LAYER): held[name] for name in held if name.startswith(LAYER)}
    given = {name: _texts(name, held[name], source) for name in _KNOWN if name in held}
    order = [str(name).removeprefix(LAYER) for name in given.pop("layers", layers)]
    labels = given.get("labels", [])
    unknown = held.keys() - {*_KNOWN} - {LAYER + name for name in layers}
    if unknown or not any(labels) or not layers or sorted(order) != sorted(layers):
        raise SchemaError(
            f"a {LAYER}NAME for each layer, labels and, beside them, {', '.join(_KNOWN)} are"
            " required; layers names each layer once",
            found=first_cases(sorted(unknown) or held),
            where=source,
            hint=f"drop what has another name, or begin it with {LAYER}",
        )
    lists = [one if isinstance(one, list) else [one] if one else [] for one in labels]
    given |= {"labels": [list(dict.fromkeys(one)) for one in lists]}
    columns = {"id": [str(row) for row in range(len(labels))]} | given
    if len({*map(len, columns.values())}) > 1 or None in columns["id"]:
        required = "each instance must have one id, its labels, a prediction and a pair"
        found = ", ".join(f"{len(of):,} of {name}" for name, of in columns.items())
        raise SchemaError(required, found=f"{found}, or a blank id", where=source)
    instances = pl.DataFrame(columns, {name: INSTANCES[name] for name in columns})
    absent = {name: pl.lit(None, kind) for name, kind in INSTANCES.items() if name not in columns}
    known = distinct(columns["id"], "instance", source)
    return Representations(
        {name: _matrix(name, layers[name], known, source) for name in order},
        instances.with_columns(**absent).select(*INSTANCES),
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
            [*filter(None, map(text, one))] if several and isinstance(one, list) else text(one)
            for one in held
        ]
    except (ValueError, SystemError) as error:  # NumPy keeps numbers that are no character
        required = f"{name} must hold a text in Unicode or a whole number for each instance"
        raise SchemaError(required, found=str(error), where=source) from None


def _tensors(source: Path) -> dict[str, Any]:
    """The tensors of a safetensors file, and the lists among its metadata that have a meaning."""
    with open_bytes(source) as stream:
        content = stream.read()
    broken = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)
    required = "a whole safetensors file is required"
    try:
        start = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:start], object_pairs_hook=once)
        metadata = header.pop("__metadata__", {})
        if unread := [name for name, one in header.items() if one["dtype"] not in _TYPES]:
            required = f"tensors must be of a type that is read: {', '.join(_TYPES)}"
            raise SchemaError(required, found=first_cases(unread), where=source)
        tensors = {name: _tensor(one, content[start:]) for name, one in header.items()}
        texts = {name: metadata[name] for name in _KNOWN if name in metadata}
    except broken as error:
        raise InputError(required, found=str(error)[:200], where=source) from None
    try:
        lists = {name: json.loads(text) for name, text in texts.items()}
    except broken:
        lists = {"labels": None}
    if not all(isinstance(one, list) for one in lists.values()):
        required = f"{', '.join(texts)} among the metadata must be lists in JSON"
        raise SchemaError(required, found=f"{texts!r:.80}", where=source)
    return tensors | lists


def _tensor(entry: Mapping[str, Any], content: bytes) -> AnyArray:
    """One tensor as its entry in the header says; ValueError where its bytes are not there."""
    kind, shape = np.dtype(_TYPES[entry["dtype"]]), entry["shape"]
    begin, end = entry["data_offsets"]
    count = prod(shape) if all(type(one) is int and one >= 0 for one in shape) else -1
    if not 0 <= begin <= end <= len(content) or end - begin != count * kind.itemsize:
        raise ValueError(f"shape {shape} at bytes {begin} to {end} of {len(content)}")
    numbers = np.frombuffer(content, kind, count, begin).reshape(shape)
    upper = entry["dtype"] == "BF16"
    return (numbers.astype(np.uint32) << 16).view(np.float32) if upper else numbers
