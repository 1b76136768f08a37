"""Representations as files that `read_representations` reads back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from audit.base.disk import writing_file
from audit.base.errors import InputError
from audit.concepts.reading.reading import HEAD, LAYER, LAYERS
from audit.concepts.representations import Representations
from audit.data.arrays import AnyArray


def write_representations(representations: Representations, path: Path | str) -> None:
    """Write representations; read again they are the same.

    Args:
        representations: What to write, with layers in single or double precision.
        path: The file, whose suffix names the format: ``.npz``, ``.safetensors`` or ``.parquet``.
            An existing file is replaced. The same representations give the same bytes.

    Raises:
        InputError: If the suffix is another, or a linear head is to be written as Parquet.
        OutputError: If the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() not in _WRITERS:
        raise InputError(
            f"representations are written as {', '.join(_WRITERS)}",
            found=f"the suffix {path.suffix!r}",
            where=path,
        )
    with writing_file(path):
        _WRITERS[path.suffix.lower()](representations, path)


def _write_npz(representations: Representations, path: Path) -> None:
    lists = _lists(representations)
    rows = lists.pop("labels")
    labels = np.full((len(rows), max(1, *map(len, rows))), "", dtype=object)
    for place, row in enumerate(rows):
        labels[place, : len(row)] = row
    texts = {name: np.array([one or "" for one in values], str) for name, values in lists.items()}
    arrays = _arrays(representations) | {"labels": labels.astype(str)} | texts
    with path.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def _write_safetensors(representations: Representations, path: Path) -> None:
    lists = _lists(representations) | {LAYERS: list(representations.layers)}
    metadata = {name: json.dumps(values, ensure_ascii=False) for name, values in lists.items()}
    header: dict[str, Any] = {"__metadata__": metadata}
    end, arrays = 0, _arrays(representations)
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        kind = f"F{8 * array.dtype.itemsize}"
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            stream.write(array.tobytes())


def _write_parquet(representations: Representations, path: Path) -> None:
    if representations.head is not None:
        raise InputError(
            "a linear head needs .npz or .safetensors",
            found="a head, and no place for it in Parquet",
            where=path,
            hint="write what it predicts as the column prediction",
        )
    layers = {
        LAYER + name: pl.Series(matrix).cast(pl.List(_PARQUET_TYPES[matrix.dtype.itemsize]))
        for name, matrix in representations.layers.items()
    }
    representations.instances.with_columns(**layers).write_parquet(path)


def _arrays(representations: Representations) -> dict[str, AnyArray]:
    """Layers and the numbers of the head, as they lie in memory of small-endian machines."""
    head = representations.head
    arrays: dict[str, AnyArray] = {
        LAYER + name: matrix for name, matrix in representations.layers.items()
    }
    if head is not None:
        arrays |= dict(zip(HEAD, (head.weight, head.bias), strict=False))
    return {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }


def _lists(representations: Representations) -> dict[str, list[Any]]:
    """The columns of instances that are not null throughout, and the classes of the head."""
    frame, head = representations.instances, representations.head
    given = [name for name in frame.columns if frame[name].null_count() < frame.height]
    classes = {} if head is None else {HEAD[-1]: list(head.classes)}
    return {name: frame[name].to_list() for name in given} | classes


_PARQUET_TYPES = {4: pl.Float32, 8: pl.Float64}
"""Types of numbers by their bytes."""
_WRITERS: Mapping[str, Callable[[Representations, Path], None]] = MappingProxyType(
    {".npz": _write_npz, ".safetensors": _write_safetensors, ".parquet": _write_parquet}
)
