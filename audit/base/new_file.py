"""A file that a command writes: whole or not at all, and never over an earlier one unasked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audit.base.disk import written_whole
from audit.base.errors import OutputError


@contextmanager
def replacing(file: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield the path of a file to write, which takes its name when the block has ended.

    Raises:
        OutputError: If ``file`` exists and is not a file, or is one and ``overwrite`` is False; if
            it cannot be written.
    """
    if file.exists() and not (overwrite and file.is_file()):
        raise OutputError(
            "an earlier file is replaced only when asked",
            found="a file" if file.is_file() else "something that is not a file",
            where=file,
            hint="add --overwrite, or name another file" if file.is_file() else "name another",
        )
    with written_whole(file) as begun:
        yield begun
