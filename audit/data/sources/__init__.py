"""What data are read from: files, folders of parts, frames, tables of Spark."""

from __future__ import annotations

from pathlib import Path

from audit.data.sources.file import File
from audit.data.sources.folder import Folder
from audit.data.sources.frame import Frame, frame_of
from audit.data.sources.source import Source

__all__ = ["File", "Folder", "Frame", "Source", "source_of"]


def source_of(data: object) -> Source:
    """The source that a path, or a frame, is.

    Args:
        data: A path, anything that `frame_of` takes, or a source, which is returned as it is.

    Raises:
        InputError: If it is none of these.
        SchemaError: If a frame cannot become columns of one type each.
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, (str, Path)):
        path = Path(data)
        return Folder(path) if path.is_dir() else File(path)
    return Frame(frame_of(data))
