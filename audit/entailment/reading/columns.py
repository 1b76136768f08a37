"""Which column of a file holds which part of a tuple."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import name_among
from audit.entailment.dataset import ENTAILS, HYPERNYM

ELEMENTS = ("head", "relation", "tail", "instance", "concept")
"""The parts of a tuple, which are also the usual names of their columns."""
FURTHER = ("label", "split", "id", "votes_valid", "votes")
"""What may be there besides them, likewise."""


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
