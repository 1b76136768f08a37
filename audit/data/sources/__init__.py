"""What data are read from: files, workbooks, folders, frames, tables of Spark."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from audit.data.sources.file import File
from audit.data.sources.folder import Folder
from audit.data.sources.in_memory import Array, Frame, frame_of
from audit.data.sources.source import Source
from audit.data.sources.stored_frames import SUFFIXES, SavedDataset, Sheet, is_saved_dataset

__all__ = ["File", "Folder", "Frame", "Source", "source_of"]


def source_of(data: object) -> Source:
    """The source that a path, or a frame, is.

    Args:
        data: A path, anything that `frame_of` takes, an array of NumPy, a list or series of
            labels, or of lists of labels, or a source, which is returned as it is.

    Raises:
        InputError: If it is none of these.
        SchemaError: If a frame cannot become columns of one type each.
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, (str, Path)):
        return _at(Path(data))
    if isinstance(data, np.ndarray):
        if data.dtype.hasobject:
            with suppress(ValueError):  # lists of different lengths
                data = np.array(data.tolist())
        if data.dtype.kind != "U" and not data.dtype.hasobject:
            return Array(data)
        data = data.tolist()
    rows = _rows_of(data)
    if rows is not None:
        ids = [*map(str, range(len(rows)))]
        return Frame(frame_of({"id": ids, "labels": rows}), numbered=True)
    return Frame(frame_of(data))


def _rows_of(data: object) -> list[Any] | None:
    """The labels of each instance in a list or series of them; None of anything else.

    An entry is a list of labels, or one label; None is an instance without labels.
    """
    if hasattr(data, "to_list") and not hasattr(data, "columns"):
        data = data.to_list()
    if not isinstance(data, (list, tuple)):
        return None
    rows = [[row] if isinstance(row, str) else row for row in data]
    return rows if all(row is None or isinstance(row, (list, tuple)) for row in rows) else None


def _at(path: Path) -> Source:
    if path.is_dir():
        return SavedDataset(path) if is_saved_dataset(path) else Folder(path)
    return Sheet(path) if path.suffix.lower() in SUFFIXES and path.is_file() else File(path)
