"""Reading of safetensors: a JSON header, then the numbers of each tensor; no code is run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from audit.base.errors import InputError
from audit.base.files import once
from audit.data.label_formats.arrays import AnyArray
from audit.data.sources import Source

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
        arrays: The tensors by name, in the order of the header.
        metadata: Texts by name.
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


def read_tensors(source: Source) -> Tensors:
    """All tensors of a safetensors file whose type is read.

    Raises:
        InputError: If header and numbers do not match, or the file is truncated.
    """
    with source.open() as stream:
        content = stream.read()
    header, start = _header(content, source)
    metadata = _metadata(header.pop("__metadata__", {}), source)
    tensors = {name: _tensor(name, entry, source) for name, entry in header.items()}
    arrays = {
        name: _array(tensor, content, start, source)
        for name, tensor in tensors.items()
        if tensor.dtype in _TYPES
    }
    return Tensors(arrays, metadata, tuple(name for name in tensors if name not in arrays))


def _header(content: bytes, source: Source) -> tuple[dict[str, Any], int]:
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


def _metadata(entry: Any, source: Source) -> dict[str, str]:
    if isinstance(entry, dict) and all(isinstance(text, str) for text in entry.values()):
        return entry
    raise _broken("metadata that are not texts by name", source)


def _tensor(name: str, entry: Any, source: Source) -> _Tensor:
    match entry:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [int(begin), int(end)]}:
            if all(type(length) is int and length >= 0 for length in shape):
                return _Tensor(dtype, tuple(shape), begin, end)
    raise _broken(f"no type, shape and place of the tensor {name!r}", source)


def _array(tensor: _Tensor, content: bytes, start: int, source: Source) -> AnyArray:
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


def _broken(found: str, source: Source) -> InputError:
    return InputError("a whole safetensors file is required", found=found, where=source)
