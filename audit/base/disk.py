"""Atomic writing of files and folders, and locks so that no two commands write at once."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path

from audit.base.errors import InputError, OutputError


def dated() -> datetime:
    """The moment of ``SOURCE_DATE_EPOCH`` in UTC; the present if it is not set."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError(
            "SOURCE_DATE_EPOCH is the seconds since 1970 that a run is dated with",
            found=repr(epoch),
            hint="set it to a whole number, or unset it",
        ) from None


def judging_date() -> date:
    """Today in UTC, or the day of ``SOURCE_DATE_EPOCH`` if that is set."""
    return dated().date()


_EARLIER = "earlier"
"""Name of a folder that is being replaced, between the two renames."""


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Write a file atomically: yields a path to write to, which replaces ``path`` at the end.

    Raises:
        OutputError: If ``path`` is there and no regular file, such as ``/dev/null``, the disk is
            full, or the folder may not be written; nothing is left behind.
    """
    if path.exists() and not path.is_file():
        required, found = "a regular file is required", "a folder, a pipe or a device"
        raise OutputError(required, found=found, where=path, hint="name another file")
    begun = path.with_name(f".{path.name}.begun")
    with on_disk(path.parent):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield begun
            begun.replace(path)
        finally:
            begun.unlink(missing_ok=True)


@contextmanager
def working_beside(out: Path) -> Iterator[Path]:
    """A new folder beside ``out``, deleted at the end of the block; ``out`` is locked meanwhile.

    What a killed process left beside ``out`` is removed first, and an earlier ``out`` that it was
    replacing put back. Folders above ``out`` that were created for it go if they stay empty.
    Windows and some network disks know no locks.

    Raises:
        OutputError: If another process works on ``out``, or the folder cannot be created.
    """
    beside = out.with_name(f".{out.name}.work")
    made = [folder for folder in out.parents if not folder.exists()]
    try:
        with _alone_in(beside):
            with on_disk(out.parent):
                _clear(beside, out)
                folder = Path(tempfile.mkdtemp(dir=beside))
                folder.chmod(0o755)
            yield folder
    finally:
        with suppress(OSError, OutputError), _alone_in(beside):
            _clear(beside, out)
            beside.rmdir()
        with suppress(OSError):  # what others put there stays
            for above in made:
                above.rmdir()


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock a folder, so that no other process works in it."""
    with ExitStack() as opened:
        with on_disk(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if os.name != "nt":
                held = os.open(folder, os.O_RDONLY)
                opened.callback(os.close, held)
                _lock(held, folder)
        yield


def _lock(held: int, folder: Path) -> None:
    import fcntl

    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(
            "a place that no other audit writes to is required",
            found="another audit that is under way",
            where=folder,
            hint="wait for it, or choose another place with --out",
        ) from None
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise


def _clear(beside: Path, out: Path) -> None:
    """Remove what is left beside ``out``, once a folder that was being replaced is back."""
    earlier = beside / _EARLIER
    if earlier.exists() and not out.exists():
        earlier.rename(out)
    for left in beside.iterdir():
        shutil.rmtree(left)


def exchange(folder: Path, out: Path) -> None:
    """Swap two folders: atomically where the system can, so that both exist at all times.

    Elsewhere ``out`` is renamed twice, and `working_beside` restores it if the process was killed
    between the two.

    Raises:
        OSError: If they cannot be swapped; both are where they were.
    """
    if _exchanged_at_once(folder, out):
        return
    earlier = folder.with_name(_EARLIER)
    out.rename(earlier)
    try:
        folder.rename(out)
    except OSError:
        earlier.rename(out)
        raise
    earlier.rename(folder)


def _exchanged_at_once(folder: Path, out: Path) -> bool:
    """Swap two folders by one call of the system; False if it has none, OSError if it fails."""
    if os.name == "nt":
        return False
    here, there = os.fsencode(folder), os.fsencode(out)
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        at = -100  # AT_FDCWD
        status = library.renameat2(at, here, at, there, ctypes.c_uint(2))  # RENAME_EXCHANGE
    elif sys.platform == "darwin" and hasattr(library, "renamex_np"):
        status = library.renamex_np(here, there, ctypes.c_uint(2))  # RENAME_SWAP
    else:
        return False
    if status == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(out))


@contextmanager
def on_disk(folder: Path) -> Iterator[None]:
    """Within the block any OSError becomes OutputError: a full disk, or no right to write."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise OutputError(
            "room on the disk is required" if full else "a writable folder is required",
            found=error.strerror or str(error),
            where=folder,
            hint="free some, or name another folder; earlier files are kept",
        ) from None


@contextmanager
def replacing(file: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a path to write to, whose file takes the place of ``file`` at the end of the block;
    OutputError if there is such a file and ``overwrite`` is False, or it cannot be written."""
    if file.is_file() and not overwrite:
        required, hint = "an earlier file is replaced only when asked", "add --overwrite, or name"
        raise OutputError(required, found="a file", where=file, hint=f"{hint} another file")
    with written_whole(file) as begun:
        yield begun
