"""Atomic writing of files and folders, and locks so that no two commands write at once."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
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
_UNKNOWN_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""Error numbers of file systems that do not support locks."""


class PassingFolder:
    """A temporary folder that is deleted together with this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="audit-count-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Write a file atomically: yields a path to write to, which replaces ``path`` at the end.

    Raises:
        OutputError: If the disk is full or the folder may not be written; nothing is left behind.
    """
    begun = path.with_name(f".{path.name}.begun")
    with on_disk(path.parent):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield begun
            begun.replace(path)
        finally:
            begun.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk, so that a power failure loses nothing.

    Systems that cannot flush a folder keep its entries safe themselves.
    """
    if os.name == "nt" and path.is_dir():
        return
    held = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(held)
    finally:
        os.close(held)


@contextmanager
def alone_in(folder: Path) -> Iterator[bool]:
    """Lock a folder, so that no other process works in it.

    Yields:
        Whether the lock holds: False on Windows and on network disks without such locks.

    Raises:
        OutputError: If another process works in it, or it cannot be created.
    """
    with ExitStack() as opened:
        with on_disk(folder):
            locked = _locks(folder, opened)
        yield locked


def _locks(folder: Path, opened: ExitStack) -> bool:
    """Whether the folder, made where it is not there, is locked while ``opened`` stays open."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        if os.name == "nt":
            return False
        with suppress(FileNotFoundError):
            held = os.open(folder, os.O_RDONLY)
            opened.callback(os.close, held)
            if not _takes_lock(held, folder):
                return False
            if os.path.samestat(os.fstat(held), folder.stat()):
                return True
        opened.close()  # the process that held the lock has just removed the folder


def _takes_lock(held: int, folder: Path) -> bool:
    """Whether the disk knows locks; an OutputError where another process has this one."""
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
        if error.errno in _UNKNOWN_LOCKS:
            return False
        raise
    return True


@contextmanager
def working_beside(out: Path) -> Iterator[Path]:
    """A new folder beside ``out``, deleted at the end of the block; ``out`` is locked meanwhile.

    What a killed process left beside ``out`` is removed first. If the block fails, folders above
    ``out`` that were created for it are removed again.

    Raises:
        OutputError: If another process works on ``out``, or the folder cannot be created.
    """
    beside = out.with_name(f".{out.name}.work")
    made = [folder for folder in out.parents if not folder.exists()]
    try:
        with alone_in(beside) as alone, ExitStack() as left:
            left.callback(_if_possible, beside.rmdir)  # others work there where there are no locks
            with on_disk(out.parent):
                if alone:
                    _clear(beside, out)
                own = Path(tempfile.mkdtemp(dir=beside))
                left.callback(_if_possible, lambda: _remove(own, out))
                folder = own / "new"
                folder.mkdir()
                folder.chmod(0o755)
            yield folder
    except BaseException:
        _if_possible(lambda: _sweep(beside, out))
        for above in made:  # what others put there stays
            _if_possible(above.rmdir)
        raise


def _if_possible(done: Callable[[], object]) -> None:
    with suppress(OSError, OutputError):
        done()


def _sweep(beside: Path, out: Path) -> None:
    """Remove what an interrupt left that came between two steps; what others work in stays."""
    if beside.exists():
        with alone_in(beside) as alone:
            if alone:
                _clear(beside, out)
                beside.rmdir()


def _clear(beside: Path, out: Path) -> None:
    """Remove what killed processes left."""
    for left in beside.iterdir():
        _remove(left, out)


def _remove(own: Path, out: Path) -> None:
    """Remove what a process worked on, once a folder that it was replacing is back."""
    if (own / _EARLIER).exists() and not out.exists():
        (own / _EARLIER).rename(out)
    shutil.rmtree(own)


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
    """Whether both have changed places by one call of the system; False where it has none."""
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
    """Raise OutputError where the disk is full or the folder may not be written."""
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
def writing_file(path: Path) -> Iterator[None]:
    """Raise OutputError where a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            "a file that can be written is required",
            found=error.strerror or str(error),
            where=path,
        ) from None


@contextmanager
def replacing(file: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield the path of a file to write, which takes its name when the block has ended."""
    if file.exists() and not (overwrite and file.is_file()):
        raise OutputError(
            "an earlier file is replaced only when asked",
            found="a file" if file.is_file() else "something that is not a file",
            where=file,
            hint="add --overwrite, or name another file" if file.is_file() else "name another",
        )
    with written_whole(file) as begun:
        yield begun
