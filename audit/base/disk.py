"""Files that are written whole or not at all, and folders that go with what they are for."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audit.base.errors import OutputError


class PassingFolder:
    """A temporary folder that goes with this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="audit-count-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Where to write a file that takes its place only once it is whole.

    Raises:
        OutputError: If the disk is full or the folder may not be written; what was begun is gone.
    """
    begun = path.with_name(f".{path.name}.begun")
    with on_disk(path.parent):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield begun
            begun.replace(path)
        finally:
            begun.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """A folder that no other process works in; on Windows it cannot be told.

    Raises:
        OutputError: If another works in it, or it cannot be made.
    """
    with on_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if os.name == "nt":
        yield
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise OutputError(
            "a folder that no other count works in is required",
            found="another that is under way",
            where=folder,
            hint="wait for it, or choose another place with --out",
        ) from None
    try:
        yield
    finally:
        os.close(held)


@contextmanager
def on_disk(folder: Path) -> Iterator[None]:
    """Tell of a disk that is full, or a folder that may not be written, by OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            "room on the disk is required" if _is_full(error) else "a writable folder is required",
            found=error.strerror or str(error),
            where=folder,
            hint="free some, or name another folder; what was counted before is kept",
        ) from None


def _is_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
