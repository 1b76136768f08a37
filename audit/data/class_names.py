"""Names of the columns of a matrix that has none: a file of them, or the names themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

Classes: TypeAlias = Path | tuple[str, ...]
"""A text file of names, a name a line, in column order; or the names."""


def classes_of(classes: str | Path | Sequence[str] | None) -> Classes | None:
    """What a caller gives as classes; a text is the path of a file."""
    if classes is None:
        return None
    return Path(classes) if isinstance(classes, (str, Path)) else tuple(map(str, classes))


def file_of(classes: Classes | None) -> tuple[Path, ...]:
    """The file of names, if it is one."""
    return (classes,) if isinstance(classes, Path) else ()
