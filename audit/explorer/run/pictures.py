"""Pictures beside a table: what is none, or lies elsewhere, is refused."""

from __future__ import annotations

from pathlib import Path

from audit.base.errors import InputError
from audit.explorer.run.vocabulary import Picture

LARGEST = 50_000_000
"""Bytes of a picture at most."""
_BEGINNINGS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
}
"""What files of each type begin with; that of a WebP has its length within."""


def read_picture(folder: Path, name: str) -> Picture:
    """A picture of a folder, known by its first bytes whatever its name is.

    Args:
        folder: The folder.
        name: Path of the file from there.

    Raises:
        InputError: If there is no such file in the folder or below it, or it is no PNG, JPEG, GIF
            or WebP, or too large.
    """
    path = _within(folder, name)
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(
                f"a picture of at most {LARGEST:,} bytes is required",
                found=f"{path.stat().st_size:,} bytes",
                where=name,
            )
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            "a picture that can be read is required", found=error.strerror or "", where=name
        ) from None
    return Picture(content, _type_of(content, name))


def _within(folder: Path, name: str) -> Path:
    """The file, links followed, if it is in the folder or below it."""
    try:
        root = folder.resolve()
        path = (root / name).resolve()
        there = path.is_file()
    except (OSError, ValueError, RuntimeError):  # a name too long, of half characters, a ring
        raise InputError(
            "a picture is required", found="a path that does not name a file", where=name
        ) from None
    if not path.is_relative_to(root):
        raise InputError(
            "a picture must be in the folder of the file that names it, or below it",
            found="a path that leads elsewhere",
            where=name,
        )
    if not there:
        raise InputError("a picture is required", found="no file of that name", where=name)
    return path


def _type_of(content: bytes, name: str) -> str:
    for kind, beginnings in _BEGINNINGS.items():
        if content.startswith(beginnings):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    raise InputError(
        "a picture is a PNG, JPEG, GIF or WebP by its content", found="another file", where=name
    )
