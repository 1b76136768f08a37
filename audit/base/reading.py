"""Reading of files: one error for what the system raises, and inputs that stay as they are."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audit.base.errors import AuditError, InputError

_SEEN: dict[Path, tuple[int, ...]] = {}
"""What files were when they were first seen, before anything of them was read."""
_COMMANDS: list[bool] = []
"""One entry for each command that is running; elsewhere, reading a path begins anew."""


@contextmanager
def inputs_of_a_command() -> Iterator[None]:
    """Keep what each file was when it was first read, as long as the block runs.

    Raises:
        InputError: In place of another error that is none of a user's, if a file that was read has
            changed.
    """
    _SEEN.clear()
    _COMMANDS.append(True)
    try:
        yield
    except Exception as error:
        if not isinstance(error, (AuditError, RuntimeError)):  # as the end of a command is
            refuse_changed(*_SEEN)
        raise
    finally:
        _COMMANDS.pop()


def see(*paths: Path, opened: bool = False) -> None:
    """Note what files are, before they are read: their device, inode, size and times.

    Files that are just being ``opened`` are noted by a command alone.
    """
    if opened and not _COMMANDS:
        return
    new = [path.absolute() for path in paths]
    new = [path for path in new if path not in _SEEN] if _COMMANDS else new
    _SEEN.update((path, _identity(path)) for path in new)


def _identity(path: Path) -> tuple[int, ...]:
    try:
        now = path.stat()
    except OSError:
        return (0,)
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def refuse_changed(*paths: Path) -> None:
    """Refuse files, or files in folders, that have changed since they were first read."""
    for given in map(Path.absolute, paths):
        known = [given] if given in _SEEN else [path for path in _SEEN if given in path.parents]
        if changed := next((path for path in known if _identity(path) != _SEEN[path]), None):
            raise InputError(
                "files that stay as they are while they are read are required",
                found="a file that was replaced or written to meanwhile",
                where=changed,
                hint="run it again once nothing writes to it",
            )


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the operating system and gzip raise into one InputError."""
    if not path.is_file():
        found, hint = "nothing there", ""
        if path.is_dir():
            found = "a folder"
        elif path.exists():
            found = "a pipe or a device, which cannot be read twice"
            hint = "write its output to a file first"
        elif path.is_symlink() and "annex" in path.readlink().parts:
            found = "a link of git-annex to content that is not here"
            hint = f"git annex get {path} fetches it"
        raise InputError("a file is required", found=found, where=path, hint=hint)
    see(path, opened=True)
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        required = "a whole gzip file is required"
        raise InputError(required, found=str(error), where=path) from None
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError("a readable file is required", found=found, where=path) from None
