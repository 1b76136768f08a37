"""Columns of one kind with a number at the end of their names: DX1, DX2 ... DX20."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from audit.base.errors import SchemaError, first_cases

_NUMBERED = re.compile(r"(.*?)(\d+)\s*")


def families(names: Iterable[str]) -> dict[str, list[str]]:
    """Names that differ in a number at their end alone, by pattern, in the order of the names.

    The numbers of a family run from 0 or 1 on without a gap, so that ``icd9`` and ``icd10`` are
    none.

    >>> families(["id", "DX1", "DX2", "icd9", "icd10"])
    {'DX*': ['DX1', 'DX2']}
    """
    numbers: dict[str, dict[int, str]] = {}
    for name in names:
        if match := _NUMBERED.fullmatch(name):
            numbers.setdefault(match[1], {})[int(match[2])] = name
    return {
        f"{stem}*": list(members.values())
        for stem, members in numbers.items()
        if stem.strip() and len(members) > 1 and max(members) - min(members) == len(members) - 1
        if min(members) in (0, 1)
    }


def refuse_one_of_several(column: str, names: Sequence[str], source: object) -> None:
    """Refuse one of numbered columns, whose siblings would be left out in silence.

    Raises:
        SchemaError: If the column is of a family.
    """
    for pattern, members in families(names).items():
        if column in members:
            alone = f"{column[:-1]}[{column[-1]}]"
            raise SchemaError(
                "the columns of all labels must be named",
                found=f"{column!r} alone, of the {len(members)} columns {first_cases(members)}",
                where=source,
                hint=f"--label {pattern!r} names them all, --label {alone!r} this one alone",
            )


def is_pattern(name: str | None) -> bool:
    """Whether a name is a pattern of names: with ``*``, ``?`` or ``[...]``.

    >>> is_pattern("DX*"), is_pattern("label"), is_pattern("DX[1]")
    (True, False, True)
    """
    return name is not None and bool(re.search(r"[*?]|\[.+\]", name))


def fitting(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that fit a pattern, case ignored, in their order."""
    return [name for name in names if fnmatchcase(name.strip().lower(), pattern.strip().lower())]
