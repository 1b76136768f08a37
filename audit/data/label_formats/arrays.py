"""Reading of NumPy files; files with pickled objects are refused and never unpickled."""

from __future__ import annotations

import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.limits import EXPANSION, UNPACKED
from audit.data.sources import Source

AnyArray: TypeAlias = NDArray[Any]

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"


def read_npy(source: Source) -> AnyArray:
    """The array of an ``.npy`` file, whatever its shape and type.

    Raises:
        InputError: If it is not an ``.npy`` file, is truncated, or holds pickled objects.
    """
    _require_magic(source, NPY_MAGIC, "a NumPy array file (.npy)")
    with _whole(source), source.open() as stream:
        array = _array(np.lib.format.read_array(stream, allow_pickle=False))
        if stream.read(1):
            raise ValueError("further bytes after the array")
        return array


def read_npz(source: Source) -> dict[str, AnyArray]:
    """The arrays of an ``.npz`` file by name, in file order.

    Raises:
        InputError: If it is not an ``.npz`` file, is truncated, or holds pickled objects.
    """
    _require_magic(source, ZIP_MAGIC, "an archive of NumPy arrays (.npz)")
    with _whole(source), source.open() as stream, np.load(stream, allow_pickle=False) as archive:
        size = sum(member.file_size for member in archive.zip.infolist())
        UNPACKED.refuse_beyond(size, source, allowed=EXPANSION * source.size)
        if len(set(archive.files)) < len(archive.files):
            raise ValueError("two members that are one array")
        return {name: _array(archive[name]) for name in archive.files}


def texts_of(array: AnyArray, what: str, source: Source) -> tuple[str, ...]:
    """The names or whole numbers of a one-dimensional array as text without surrounding blanks.

    Raises:
        SchemaError: If the array has another shape, or holds anything else.
    """
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        raise SchemaError(
            f"{what} must be a one-dimensional array of text or whole numbers",
            found=f"{array.dtype} of shape {array.shape}",
            where=source,
        )
    try:
        return tuple(text.strip() for text in array.astype(np.str_).tolist())
    except (ValueError, SystemError) as error:  # what NumPy raises beyond Unicode
        raise SchemaError(f"{what} must be Unicode", found=str(error), where=source) from None


def first_of(rows: NDArray[np.int64], values: AnyArray) -> str:
    """The first of some values, with their rows, for a message: ``'7 in row 0' and 2 more``."""
    cases = [f"{value} in row {row}" for row, value in zip(rows[:5], values[:5], strict=True)]
    return first_cases(cases, len(rows))


def _require_magic(source: Source, magic: bytes, kind: str) -> None:
    head = source.head
    if not head.startswith(magic):
        found = f"a file that begins with {head[:8]!r}" if head else "an empty file"
        raise InputError(f"{kind} is required", found=found, where=source)


def _array(read: object) -> AnyArray:
    if not isinstance(read, np.ndarray):
        raise ValueError("a member that is not an array")
    return read


_BROKEN = (
    ValueError,
    SyntaxError,
    TypeError,
    tokenize.TokenError,
    EOFError,
    OSError,
    MemoryError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    KeyError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def _whole(source: Source) -> Iterator[None]:
    """Turn what NumPy raises on a file that is not as it should be into one InputError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            yield
    except _BROKEN as error:
        reason = str(error).split("\n")[0]
        pickled = "allow_pickle" in str(error)
        raise InputError(
            "a whole NumPy file of numbers or text is required",
            found="pickled objects, which could run code when read" if pickled else reason,
            where=source,
            hint="write names as text: np.array(names, dtype=str)" if pickled else "",
        ) from None
