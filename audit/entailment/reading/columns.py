"""Files of tuples as tables, and which of their columns holds which part of a tuple."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import files_in, name_among, read_table
from audit.data.records import is_json, table_of
from audit.data.sources import File
from audit.entailment.dataset import ENTAILS, HYPERNYM

ELEMENTS = ("head", "relation", "tail", "instance", "concept")
"""The parts of a tuple, which are also the usual names of their columns."""
FURTHER = ("label", "split", "id", "votes_valid", "votes")
"""What may be there besides them, likewise."""


SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet")
"""Suffixes of the files that are read of a folder."""


@dataclass(frozen=True)
class Kind:
    """A form of file.

    Args:
        relation: The relation of all its rows; empty if a column has it.
        columns: Names of the required columns by what they are in the record of tuples.
        order: Their order where a file has no header; empty if it must have one.
        unlabelled: Whether rows are valid where no column has labels.
    """

    relation: str
    columns: Mapping[str, str]
    order: tuple[str, ...] = ()
    unlabelled: bool = False


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "tuples": Kind("", {name: name for name in ELEMENTS}),
        "premises": Kind(
            ENTAILS,
            {"instance": "premise", "concept": "hypothesis"},
            ("hypothesis", "premise", "label"),
        ),
        "hypernyms": Kind(
            HYPERNYM,
            {"instance": "hyponym", "concept": "hypernym"},
            ("hyponym", "hypernym", "label"),
            unlabelled=True,
        ),
    }
)
"""Forms of files by name. Rows without a header are ``hypothesis, premise, label`` in the files of
Levy and Holt: the premise, which entails the other, comes second."""


@dataclass(frozen=True)
class Roles:
    """Columns of one file.

    Args:
        named: The column of each role that the file has.
        annotators: Columns that hold the votes of one annotator each.
    """

    named: Mapping[str, str]
    annotators: tuple[str, ...]


def kind_named(name: str) -> Kind:
    """The form of that name; raises InputError if there is none."""
    if name not in KINDS:
        raise InputError(f"a kind of file is one of {', '.join(KINDS)}", found=repr(name))
    return KINDS[name]


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files, in place of each folder those in it that have one of `SUFFIXES`, by name.

    Raises:
        InputError: If there is none.
    """
    files = []
    for path in paths:
        within = files_in(path) if path.is_dir() else [path]
        files += [one for one in within if one is path or File(one).suffix in SUFFIXES]
    if not files:
        raise InputError(
            f"a file or a folder with files is required, of {', '.join(SUFFIXES)}",
            found="none",
            where=", ".join(map(str, paths)),
        )
    return files


def records_in(source: File, kind: Kind, columns: Mapping[str, str]) -> pl.DataFrame:
    """All records of a file under the names of its columns, as `table_of` gives them.

    A file of two columns has a header if its first row has one of their names, or of those that
    the user named.

    Raises:
        InputError: As `table_of`.
        SchemaError: As `table_of`, or if rows without a header have too many fields.
    """
    if is_json(source) or has_header(source, kind, columns):
        return table_of(source)
    source.refuse_pickle()
    table = read_table(source.path, separator=source.separator, header=False)
    if not 2 <= table.width <= len(kind.order):
        raise SchemaError(
            f"rows without a header must be {', '.join(kind.order)}",
            found=f"{table.width} columns, and no header with their names",
            where=source,
            hint="write names above the columns; --column NAME=COLUMN states one that differs",
        )
    return table.rename(dict(zip(table.columns, kind.order, strict=False)))


def has_header(source: File, kind: Kind, columns: Mapping[str, str]) -> bool:
    """Whether the first row names columns; a file of tuples, or of types, always does so."""
    if not kind.order or not source.is_text:
        return True
    first = {cell.strip().lower() for row in source.head_rows[:1] for cell in row}
    return bool(first & {*kind.columns.values(), *map(str.lower, columns.values())})


def roles_among(
    names: Sequence[str], kind: Kind, columns: Mapping[str, str], where: object
) -> Roles:
    """Find the columns of a file; case is ignored.

    Args:
        names: All columns.
        kind: The form of the file.
        columns: Columns that the user named by role. ``votes`` may name the columns of annotators:
            names or patterns such as ``worker_*``, joined by commas.
        where: The file, for messages.

    Raises:
        InputError: If there is no role of a name.
        SchemaError: If a required or named column is missing, no column fits a pattern, or there
            is only one of ``votes`` and ``votes_valid``.
    """
    _refuse_unknown(kind, columns)
    wanted = {role: columns.get(name, name) for role, name in kind.columns.items()}
    required = wanted if kind.unlabelled else {**wanted, "label": columns.get("label", "label")}
    found = {role: _column(names, role, name, where) for role, name in required.items()}
    annotators = tuple(_annotators(names, columns.get("votes", ""), where))
    for role in FURTHER:
        if role in found or (role == "votes" and annotators):
            continue
        if role in columns:
            found[role] = _column(names, role, columns[role], where)
        elif role in {name.strip().lower() for name in names}:
            found[role] = _column(names, role, role, where)
    if annotators:
        found.pop("votes_valid", None)
    if ("votes" in found) != ("votes_valid" in found):
        raise SchemaError(
            "counts of votes must be in two columns, votes and votes_valid",
            found=f"only {first_cases(found[n] for n in ('votes', 'votes_valid') if n in found)}",
            where=where,
            hint="name the columns of annotators, for example votes=worker_*",
        )
    return Roles(found, annotators)


def _refuse_unknown(kind: Kind, columns: Mapping[str, str]) -> None:
    known = (*kind.columns.values(), *FURTHER)
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise InputError(f"columns are named for {', '.join(known)}", found=first_cases(unknown))


def _column(names: Sequence[str], role: str, wanted: str, where: object) -> str:
    return name_among(names, wanted, where, f"name another with {role}=COLUMN")


def _annotators(names: Sequence[str], given: str, where: object) -> Iterator[str]:
    """Columns of annotators among all; none if ``given`` is the name of one column of counts."""
    patterns = [part.strip() for part in given.split(",") if part.strip()]
    if len(patterns) == 1 and not any(sign in given for sign in "*?["):
        return
    for pattern in patterns:
        fitting = [name for name in names if fnmatchcase(name.lower(), pattern.lower())]
        if not fitting:
            raise SchemaError(
                f"a column of votes named {pattern!r} is required",
                found=f"the columns {first_cases(names)}",
                where=where,
            )
        yield from fitting
