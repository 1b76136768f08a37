"""Class lists: the names of numbers of classes and of the columns of a matrix."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, parsed_json, read_text
from audit.base.readings import AskedError

IsNode: TypeAlias = Callable[[str], bool]


@dataclass(frozen=True)
class Shared:
    """A class list that labels or predictions need, so that either of them may have names."""

    file: Path


GivenClasses: TypeAlias = str | Path | Sequence[str] | Shared | None
"""A class list: a file, or the names in the order of their numbers from 0."""


def file_of(given: GivenClasses) -> tuple[Path, ...]:
    """The file of a class list, if it is one."""
    file = given.file if isinstance(given, Shared) else given
    return (Path(file),) if isinstance(file, (str, Path)) else ()


def class_names(given: GivenClasses, is_node: IsNode = bool) -> tuple[str, ...]:
    """The names of classes by their numbers from 0, empty for a number without a name.

    A file holds a name a line, which may begin with its number; or CSV with a column of numbers; a
    list as JSON; an object of JSON from number to name, from name to number, or from number to a
    list that has the name in it; or YAML with ``names``.

    Args:
        given: The file, or the names; without either there are none.
        is_node: Whether a name is a node of the hierarchy that is meant.

    Raises:
        InputError: If the file is none of these, or most names are no nodes; AskedError if the
            first line alone is none and may be a heading; SchemaError if a name occurs twice.
    """
    files, names = file_of(given), dict[int, str]()
    if files:
        names = _in_file(files[0], is_node)
    elif given:
        names = {number: str(name).strip() for number, name in enumerate(given)}  # type: ignore[arg-type]
    where = str(files[0]) if files else "classes"
    filled = distinct([name for name in names.values() if name], "class", where)
    strangers = [name for name in filled if not is_node(name)]
    if 2 * len(strangers) > len(filled):
        raise InputError(
            "names of classes that are nodes of the hierarchy are required",
            found=f"{first_cases(strangers)} of {len(filled):,} names",
            where=where,
            hint="a list holds a name a line, in the order of the numbers of classes",
        )
    return tuple(names.get(number, "") for number in range(max(names, default=-1) + 1))


def columns_named(names: Sequence[str], columns: int, where: object) -> tuple[str, ...]:
    """The names of the columns of a matrix, in the order of their numbers; one for each."""
    own = tuple(filter(None, names))
    if len(own) != columns:
        raise SchemaError(
            f"a name is required for each of the {columns:,} columns",
            found=f"{len(own):,} names" if own else "none",
            where=where,
            hint="--classes FILE names them, a name a line, in order; in Python: classes=[...]",
        )
    return own


_NUMBER = re.compile(r"(?:label|class)?[_ ]?(\d{1,9})(?:\.0)?", re.IGNORECASE)


def class_number(text: str) -> int | None:
    """The number of a class, alone or as libraries name a class without a name; None of others.

    >>> [class_number(text) for text in ("3", "LABEL_12", "3.0", "cat")]
    [3, 12, 3, None]
    """
    found = _NUMBER.fullmatch(text)
    return int(found[1]) if found else None


def named_numbers(numbers: Iterable[str], names: Sequence[str], where: object) -> dict[str, str]:
    """The name of each text that is a number of a class; InputError for one without a name."""
    known = {number: name for number, name in enumerate(names) if name}
    found = {text: known.get(-1 if (n := class_number(text)) is None else n) for text in numbers}
    if lacking := [text for text, name in found.items() if name is None]:
        raise InputError(
            f"numbers of classes must be from {min(known)} to {max(known)}, as in the class list",
            found=first_cases(lacking),
            where=where,
            hint="where classes count from 1, write its number before each name: 1 NAME; "
            "--sep SIGN parts those that are joined in a cell",
        )
    return {text: name for text, name in found.items() if name}


def refuse_unused(given: GivenClasses, found: Iterable[str], where: object) -> None:
    """Refuse a class list that a caller gives where data have names of their own, ``found``."""
    if given is not None and not isinstance(given, Shared):
        raise InputError(
            "numbers of classes, from 0 on, or columns without names, are required where --classes "
            "is given",
            found=first_cases(found),
            where=where,
            hint="leave out --classes where these are names, and rows without an answer, as -1; "
            "write 3 for tensor(3), [0.1, 0.9] for [0.1 0.9]",
        )


def distinct(names: Sequence[str], what: str, where: object) -> tuple[str, ...]:
    """The names; SchemaError names those that occur twice."""
    if len({*names}) != len(names):
        again = first_cases(name for name, times in Counter(names).items() if times > 1)
        raise SchemaError(f"each {what} may occur once", found=f"repeated: {again}", where=where)
    return tuple(names)


def _in_file(path: Path, is_node: IsNode) -> dict[int, str]:
    text, suffix = read_text(path).rstrip(), bare_suffix(path)
    if suffix == ".json" or text.lstrip().startswith(("[", "{")):
        return _in_json(text, path, is_node)
    lines = _in_yaml(text, path) if suffix in (".yaml", ".yml") else text.split("\n")
    rows = [[line] for line in lines]
    apart = [re.split(r"[\s:,;]+", line.strip(), maxsplit=1) for line in lines]
    if suffix in (".csv", ".tsv"):
        separator = max("\t,;", key=lines[0].count)
        rows = [*filter(None, csv.reader(lines, delimiter=separator))]
    elif {*map(len, apart)} == {2} and _runs([number for number, _ in apart]):
        rows = apart
    columns = [[cell.strip() for cell in column] for column in zip(*rows, strict=False)]
    index = next((one for one in columns[1:] and columns if _runs(one) or _runs(one[1:])), None)
    others = [one for one in columns if one is not index]
    names = max(others, key=lambda one: (sum(map(is_node, one)), len({*one})))
    first = int(index is not None and not _runs(index))
    if "" in names[first:]:
        where = f"{path}:{names.index('', first) + 1}"
        raise SchemaError("every line must hold a name", found="a blank line", where=where)
    if index is not None:
        return dict(zip(map(int, index[first:]), names[first:], strict=True))
    if len(names) > 1 and not is_node(names[0]) and all(map(is_node, names[1:])):
        raise AskedError(
            "whether the first line is the name of a class is not certain",
            found=f"{names[0]!r}, which alone is no node",
            where=path,
            hint="delete the line if it is a heading; if it is a class, number the lines: "
            f"0 {names[0]}, 1 {names[1]}",
        )
    return dict(enumerate(names))


def _runs(numbers: Sequence[str]) -> bool:
    """Whether numbers run up from 0 or from 1, one by one."""
    return any([*numbers] == [*map(str, range(n, n + len(numbers)))] for n in (0, 1) if numbers)


def _in_yaml(text: str, path: Path) -> list[str]:
    """Items of the list or object under the key ``names``."""
    found = re.search(r"(?m)^names:[ \t]*(\[[^\]]*\]|\{[^}]*\}|(?:\n[ \t]*(?:-|\d+:).*)+)", text)
    if not found:
        raise InputError("YAML with the key names is required", found="none", where=path)
    items = re.split(r"[\[\]{},\n]", found[1])
    return [re.sub(r"^-\s+|['\"]", "", item.strip()) for item in items if item.strip()]


_GAPS = 1_000
"""Number of numbers without a name that a class list may have."""


def _in_json(text: str, path: Path, is_node: IsNode) -> dict[int, str]:
    held = parsed_json(text, path)
    held = dict(enumerate(held)) if isinstance(held, list) else held
    pairs = [*held.items()] if isinstance(held, dict) else []
    if not all(str(key).isdecimal() for key, _ in pairs):
        pairs = [(number, name) for name, number in pairs]
    named = dict[int, str]()
    for number, names in pairs:
        texts = [str(one).strip() for one in (names if isinstance(names, list) else [names])]
        if texts and str(number).isdecimal():
            named[int(number)] = next(filter(is_node, texts), texts[0])
    if not named or max(named) >= len(named) + _GAPS or len(named) < len(pairs):
        raise InputError(
            "a list of names, or an object from number to name or name to number, is required",
            found=repr(text[:60]),
            where=path,
        )
    return named
