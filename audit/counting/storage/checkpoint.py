"""Checkpoints of a running count: a file of named arrays and the input's identity, replaced
atomically."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.disk import flush, on_disk, written_whole
from audit.base.errors import InputError
from audit.counting.storage.spill import Arrays
from audit.data.sources import Source

ENDS = 2**20
"""Number of bytes at each end of a file that identify it, which include a Parquet file's schema."""
IDENTITY = "identity"


def files_beside(checkpoint: Path) -> Path:
    """The folder of the files that belong to a checkpoint."""
    return checkpoint.with_name(f"{checkpoint.name}.files")


def identity_of(source: Source, **counted: object) -> dict[str, Any]:
    """What must be unchanged to resume a count: size and ends of each file, and the settings.

    Data in no file are known by their digest.
    """
    digest = hashlib.sha256(bytes.fromhex(source.digest))
    for path in source.files:
        with path.open("rb") as stream:
            digest.update(stream.read(ENDS))
            stream.seek(max(path.stat().st_size - ENDS, 0))
            digest.update(stream.read())
    return {"size": source.size, "ends": digest.hexdigest(), "polars": pl.__version__, **counted}


def write_checkpoint(path: Path, identity: Mapping[str, Any], arrays: Arrays) -> None:
    """Replace a checkpoint atomically, so that the previous one stays until this one is complete.

    It survives a power failure, together with the files that belong to it.

    Raises:
        OutputError: If it cannot be written; the previous one is kept.
    """
    stated = np.frombuffer(json.dumps(identity, sort_keys=True).encode(), np.uint8)
    with on_disk(path.parent):
        for file in files_beside(path).glob("*"):
            flush(file)
        if files_beside(path).exists():
            flush(files_beside(path))
    with written_whole(path, lasting=True) as begun, begun.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **{IDENTITY: stated}, **arrays)


def read_checkpoint(path: Path, identity: Mapping[str, Any]) -> Arrays:
    """Read the arrays of a checkpoint.

    Raises:
        InputError: If it is damaged, or its identity differs: another input or other settings.
    """
    with _reading(path), path.open("rb") as stream, np.load(stream) as stored:
        arrays = {name: stored[name] for name in stored.files}
        found = json.loads(arrays.pop(IDENTITY).tobytes())
    other = sorted(name for name in {**found, **identity} if found.get(name) != identity.get(name))
    if other:
        raise InputError(
            "a checkpoint of the same input and settings is required",
            found=f"another {', '.join(other)}",
            where=path,
            hint="remove it to count anew",
        )
    return arrays


def within(arrays: Arrays, part: str) -> Arrays:
    """Inverse of `under`: the arrays of a part, without its prefix."""
    return {
        name.removeprefix(f"{part}."): arrays[name]
        for name in arrays
        if name.startswith(f"{part}.")
    }


def under(part: str, arrays: Arrays) -> Arrays:
    """The arrays with the name of a part as prefix of their names."""
    return {f"{part}.{name}": array for name, array in arrays.items()}


def packed(frame: pl.DataFrame) -> NDArray[np.uint8]:
    """Convert a frame to an array of bytes for a checkpoint."""
    return np.frombuffer(frame.write_ipc(None).getvalue(), np.uint8)


def unpacked(array: NDArray[np.uint8]) -> pl.DataFrame:
    """Inverse of `packed`."""
    return pl.read_ipc(io.BytesIO(array.tobytes()))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InputError(
            "a whole checkpoint is required",
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            where=path,
            hint="remove it to count anew",
        ) from None
