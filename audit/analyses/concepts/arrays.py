"""Arrays of safetensors files, and arrays of text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import once, open_bytes

AnyArray: TypeAlias = NDArray[Any]


def texts_of(array: AnyArray, what: str, source: Path) -> tuple[str, ...]:
    """The names or whole numbers of a one-dimensional array as text without surrounding blanks."""
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        raise SchemaError(
            f"{what} must be a one-dimensional array of text or whole numbers",
            found=f"{array.dtype} of shape {array.shape}",
            where=source,
        )
    try:
        texts = tuple(text.strip() for text in array.astype(np.str_).tolist())
        _ = [text.encode("utf-8").decode("utf-8") for text in texts]
    except (ValueError, SystemError) as error:  # NumPy keeps numbers that are no character
        raise SchemaError(f"{what} must be Unicode", found=str(error), where=source) from None
    return texts


def first_of(rows: NDArray[np.int64], values: AnyArray) -> str:
    """The first of some values, with their rows, for a message: ``'7 in row 0' and 2 more``."""
    cases = [f"{value} in row {row}" for row, value in zip(rows[:5], values[:5], strict=True)]
    return first_cases(cases, len(rows))


_LENGTH_BYTES = 8
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
"""Types that are read; the 16 bits of ``BF16`` are the upper half of a float32."""


@dataclass(frozen=True, eq=False)
class Tensors:
    """What a safetensors file holds.

    Args:
        unread: Names of the tensors of a type that is not read.
    """

    arrays: dict[str, AnyArray]
    metadata: dict[str, str]
    unread: tuple[str, ...]


@dataclass(frozen=True)
class _Tensor:
    """Where one tensor lies behind the header, from ``begin`` to ``end``, in bytes."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_tensors(source: Path) -> Tensors:
    """All tensors of a safetensors file whose type is read."""
    with open_bytes(source) as stream:
        content = stream.read()
    header, start = _header(content, source)
    metadata = _metadata(header.pop("__metadata__", {}), source)
    tensors = {name: _tensor(name, entry, source) for name, entry in header.items()}
    arrays = {
        name: _tensor_array(tensor, content, start, source)
        for name, tensor in tensors.items()
        if tensor.dtype in _TYPES
    }
    return Tensors(arrays, metadata, tuple(name for name in tensors if name not in arrays))


def _header(content: bytes, source: Path) -> tuple[dict[str, Any], int]:
    """Entries of the tensors, and where their numbers begin."""
    start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    if len(content) < _LENGTH_BYTES or start > len(content):
        raise _broken(f"a header of {start - _LENGTH_BYTES:,} bytes in {len(content):,}", source)
    try:
        header = json.loads(content[_LENGTH_BYTES:start], object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise _broken(f"a header that is not JSON: {error}", source) from None
    if not isinstance(header, dict):
        raise _broken("a header that is not a JSON object", source)
    return header, start


def _metadata(entry: Any, source: Path) -> dict[str, str]:
    if isinstance(entry, dict) and all(isinstance(text, str) for text in entry.values()):
        return entry
    raise _broken("metadata that are not texts by name", source)


def _tensor(name: str, entry: Any, source: Path) -> _Tensor:
    match entry:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [int(begin), int(end)]}:
            if all(type(length) is int and length >= 0 for length in shape):
                return _Tensor(dtype, tuple(shape), begin, end)
    raise _broken(f"no type, shape and place of the tensor {name!r}", source)


def _tensor_array(tensor: _Tensor, content: bytes, start: int, source: Path) -> AnyArray:
    dtype, count = np.dtype(_TYPES[tensor.dtype]), prod(tensor.shape)
    size, room = tensor.end - tensor.begin, len(content) - start
    if not 0 <= tensor.begin <= tensor.end <= room or size != count * dtype.itemsize:
        raise _broken(
            f"shape {tensor.shape} of {tensor.dtype} at bytes {tensor.begin} to {tensor.end}"
            f" of {room}",
            source,
        )
    try:
        numbers = np.frombuffer(content, dtype, count, start + tensor.begin).reshape(tensor.shape)
    except ValueError as error:  # shapes without numbers that NumPy has no array for
        raise _broken(f"the shape {tensor.shape}: {error}", source) from None
    if tensor.dtype == "BF16":
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    return numbers


def _broken(found: str, source: Path) -> InputError:
    return InputError("a whole safetensors file is required", found=found, where=source)
