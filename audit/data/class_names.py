"""Names of the columns of a matrix, given or in a file of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from audit.base.errors import SchemaError, first_cases
from audit.base.files import read_text

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


_HINT = (
    "name the columns in a text file, one name per line, in column order, with --classes; in "
    "Python: classes=[...]"
)


def read_classes(path: Classes) -> tuple[str, ...]:
    """The names, read from a file if it is one, without surrounding blanks.

    Raises:
        InputError: If the file cannot be read or is empty.
        SchemaError: If there is a blank line between others, or a name occurs twice.
    """
    if not isinstance(path, Path):
        return distinct([name.strip() for name in path], "class", "classes")
    names = [line.strip() for line in read_text(path).rstrip().split("\n")]
    if "" in names:
        raise SchemaError(
            "every line must hold the name of one column",
            found="a blank line",
            where=f"{path}:{names.index('') + 1}",
        )
    return distinct(names, "class", path)


def classes_for(columns: int, file: Classes | None, where: object) -> tuple[str, ...]:
    """Column names of a matrix, from the file that holds them.

    Args:
        columns: Number of columns of the matrix.
        file: The file of names.
        where: The matrix, for messages.

    Raises:
        SchemaError: If no file is given, or it does not hold one name per column.
    """
    if file is None:
        raise SchemaError(
            f"the names of the {columns:,} columns are required",
            found="none",
            where=where,
            hint=_HINT,
        )
    return as_many(read_classes(file), columns, where, f" in {file}")


def as_many(
    names: tuple[str, ...], columns: int, where: object, place: str = ""
) -> tuple[str, ...]:
    """Return the names if there is one per column; else raise SchemaError with both numbers."""
    if len(names) != columns:
        raise SchemaError(
            f"a name is required for each of the {columns:,} columns",
            found=f"{len(names):,} names{place}",
            where=where,
            hint=_HINT,
        )
    return names


def distinct(names: Sequence[str], what: str, where: object) -> tuple[str, ...]:
    """Return the names if they are distinct; else raise SchemaError with the first repeated."""
    if len(set(names)) != len(names):
        again = [name for name, times in Counter(names).items() if times > 1]
        raise SchemaError(
            f"each {what} may occur once",
            found=f"repeated: {first_cases(again)}",
            where=where,
        )
    return tuple(names)
