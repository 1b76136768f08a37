"""Names of classes: of the columns of a matrix, and of class numbers as data themselves say."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import read_text

Classes: TypeAlias = Path | tuple[str, ...]
"""A text file of names, a name a line, in column order; or the names."""


@dataclass(frozen=True)
class Shared:
    """A file of names that labels or predictions need, so that either of them may have names."""

    file: Path


GivenClasses: TypeAlias = str | Path | Sequence[str] | Shared | None
"""What a caller gives as classes; a text is the path of a file."""


def classes_of(classes: GivenClasses) -> Classes | None:
    """What a caller gives as classes."""
    if isinstance(classes, (str, Path, Shared)):
        return classes.file if isinstance(classes, Shared) else Path(classes)
    return None if classes is None else tuple(map(str, classes))


def refuse_unused(classes: GivenClasses, found: Sequence[str] | None, where: object) -> None:
    """Refuse classes that a caller gives where data have names of their own, ``found``."""
    if not (classes is None or found is None or isinstance(classes, Shared)):
        raise InputError(
            "numbers of classes, or columns without names, are required where these are given",
            found=first_cases(found),
            where=where,
            hint="leave out classes, or --classes",
        )


def file_of(classes: Classes | None) -> tuple[Path, ...]:
    """The file of names, if it is one."""
    return (classes,) if isinstance(classes, Path) else ()


_HINT = (
    "name the columns in a text file, one name per line, in column order, with --classes; in "
    "Python: classes=[...]"
)


def read_classes(path: Classes) -> tuple[str, ...]:
    """The names, read from a file if it is one, without surrounding blanks and their numbers."""
    if not isinstance(path, Path):
        return distinct([name.strip() for name in path], "class", "classes")
    names = [line.strip() for line in read_text(path).rstrip().split("\n")]
    if _first_number(names) is not None:
        names = [name.split(None, 1)[1] for name in names]
    if "" in names:
        raise SchemaError(
            "every line must hold the name of one column",
            found="a blank line",
            where=f"{path}:{names.index('') + 1}",
        )
    return distinct(names, "class", path)


def names_by_number(classes: Classes) -> dict[str, str]:
    """The name of each number of a class; they count from 0 unless lines are numbered from 1."""
    names = read_classes(classes)
    lines = read_text(classes).rstrip().split("\n") if isinstance(classes, Path) else []
    first = _first_number([line.strip() for line in lines]) or 0
    return {str(number): name for number, name in enumerate(names, first)}


def _first_number(lines: Sequence[str]) -> int | None:
    """The number of the first line, 0 or 1, where each begins with its own; None if none does."""
    found = [re.fullmatch(r"(\d+)\s+\S.*", line) for line in lines]
    numbers = [int(one[1]) for one in found if one]
    first = numbers[0] if len(numbers) == len(lines) > 1 else None
    counted = first in (0, 1) and numbers == [*range(first, first + len(lines))]
    return first if counted else None


def classes_for(columns: int, file: Classes | None, where: object) -> tuple[str, ...]:
    """Names of the columns of a matrix, from the file that holds them."""
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


def beyond_names(names: Mapping[str, str], found: str, where: object) -> SchemaError:
    """What to say of numbers of classes that have no name."""
    first, *_, last = [*names, *names]
    required = f"class numbers must be from {first} to {last}, as {len(names)} names are given"
    from_one = "if classes count from 1, write its number before each name: 1 NAME"
    return SchemaError(required, found=found, where=where, hint=from_one * (first == "0"))


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


ClassNames = Mapping[str, tuple[str, ...]]
"""The names of classes, in the order of their numbers, by column."""


def class_names_of(features: Any, where: object) -> ClassNames:
    """The names that features of a dataset give to the numbers of its columns."""
    if not isinstance(features or {}, Mapping):
        raise SchemaError("features by column are required", found=repr(features), where=where)
    inner = {name: _inner(one) for name, one in (features or {}).items()}
    labels = {name: one for name, one in inner.items() if one.get("_type") == "ClassLabel"}
    for name, label in labels.items():
        names = label.get("names")
        if not (isinstance(names, list) and names and all(isinstance(n, str) for n in names)):
            found = f"none of {name!r}" if not names else f"{names!r} of {name!r}"
            raise SchemaError(
                "a ClassLabel with texts as 'names' is required", found=found, where=where
            )
    return {
        name: distinct(label["names"], f"name of a class of {name!r}", where)
        for name, label in labels.items()
    }


def _inner(feature: Any) -> Mapping[str, Any]:
    """The feature of plain values, which one of lists holds."""
    while isinstance(feature, list) or (isinstance(feature, Mapping) and "feature" in feature):
        feature = feature["feature"] if isinstance(feature, Mapping) else [*feature, None][0]
    return feature if isinstance(feature, Mapping) else {}


def class_names_in(path: Path) -> ClassNames:
    """The names in the metadata of a Parquet file, as it is on the Hub; none of another file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(OSError, ValueError, AttributeError, LookupError, TypeError, pa.ArrowException):
        metadata = pq.read_schema(path).metadata or {}
        return class_names_of(json.loads(metadata[b"huggingface"])["info"]["features"], path)
    return {}


def with_class_names(frame: pl.DataFrame, names: ClassNames) -> pl.DataFrame:
    """The frame with class numbers replaced by their names; -1, which is no class, by null.

    A number without a name stays what it is, as text.
    """
    return frame.with_columns(
        _named(pl.col(column), frame.schema[column], names[column])
        for column in names
        if column in frame.columns
    )


def _named(values: pl.Expr, dtype: Any, names: tuple[str, ...]) -> pl.Expr:
    if isinstance(dtype, (pl.List, pl.Array)):
        element = _named(pl.element(), dtype.inner, names)
        return values.cast(pl.List(dtype.inner)).list.eval(element)
    if not dtype.is_integer():
        return values
    numbers = {-1: None, **dict(enumerate(names))}
    return values.replace_strict(numbers, default=values.cast(pl.String), return_dtype=pl.String)
