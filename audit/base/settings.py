"""What settings are made of: options, what they choose between, and what a manifest stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from audit.base.errors import InputError, without_secrets
from audit.base.remote import address_of

FIRST, INPUT, HIERARCHY, MODEL = "First", "Input", "Hierarchy", "Model"
POLICY, OUTPUT, LARGE_DATA = "Policy", "Output", "Large data"
"""Headings of ``--help`` that several commands have; the first holds what most audits need."""

WITH_POLICY = ("icd9cm", "icd10cm")
"""Built-in hierarchies with a policy of their own."""


@dataclass(frozen=True)
class Option:
    """How a field is stated on the command line, written beside its type: it is the option then.

    Args:
        help: The one sentence about it.
        panel: Heading of ``--help`` that it stands under; None for that of the rest.
        flag: The option where it is not the name of the field: ``--json``, ``--text/--no-text``.
        metavar: What stands for its value in ``--help``; None for the type.
        least: Least value.
        most: Greatest value.
        typed: Type on the command line, where it is not that of the field.
        parse: Function that makes the field of what was typed; it may raise InputError.
        sets: The value that a flag gives the field, which has a flag for each of its values.
        after: The option that it follows in ``--help``, where it is declared elsewhere.
        writes: Whether it names a file or folder that the command writes.
    """

    help: str
    panel: str | None = None
    flag: str = ""
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    typed: Any = None
    parse: Callable[[Any], Any] | None = None
    sets: str = ""
    after: str = ""
    writes: bool = False


class Argument(Option):
    """How a field is stated on the command line by its place, without the name of an option."""


def located(text: str) -> str:
    """A path in its plainest form, or an address as it is.

    >>> located("./rows.csv"), located("sqlite:///rows.db")
    ('rows.csv', 'sqlite:///rows.db')
    """
    return text if "://" in text else str(Path(text))


def pairs_named(given: Sequence[str], form: str) -> list[tuple[str, str]]:
    """The parts of options such as NAME=VALUE; InputError, which says the form, where one lacks."""
    pairs = [(name, value) for name, _, value in (one.partition("=") for one in given)]
    if wrong := [one for one, pair in zip(given, pairs, strict=True) if not all(pair)]:
        raise InputError(f"{form} is required", found=wrong[0])
    return pairs


def apart(text: str) -> tuple[str, ...]:
    """The names between commas.

    >>> apart("eid, ins_index")
    ('eid', 'ins_index')
    """
    return tuple(name.strip() for name in text.split(",") if name.strip())


def told_address(text: str) -> str:
    """An address of a database without user, host, port and options; another address, with its
    host, without user, password and query; any other text as it is.

    >>> told_address("postgresql://me@db.example:5432/mimic?sslmode=require")
    'postgresql:///mimic'
    >>> told_address("rows.csv")
    'rows.csv'
    """
    scheme, sign, rest = text.partition("://")
    if sign and scheme in ("postgresql", "postgres"):
        return f"postgresql:///{rest.partition('?')[0].partition('/')[2]}"
    files = scheme in ("sqlite", "duckdb") and rest.startswith("/")
    return f"{scheme}:///{Path(rest[1:]).absolute()}" if files else without_secrets(text)


def told_place(text: str) -> str:
    """The absolute path of what is there; else the text, an address without user and secrets."""
    return str(Path(text).absolute()) if Path(text).exists() else told_address(text)


class Stored:
    """Settings that a manifest stores; dataclasses, since Pydantic takes long to be imported."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}

    def stored(self) -> dict[str, Any]:
        """The settings as JSON, of which Pydantic makes the same settings again."""
        return {name: _stored(value) for name, value in vars(self).items()}

    def arguments(self, of: Callable[..., Any]) -> dict[str, Any]:
        """The settings that are parameters of a function or a record, by their names."""
        return {
            name: getattr(self, name) for name in signature(of).parameters if name in vars(self)
        }


def _stored(value: Any) -> Any:
    """A value as JSON; a path becomes an absolute one."""
    if isinstance(value, Stored):
        return value.stored()
    if isinstance(value, Mapping):
        return {name: _stored(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_stored(one) for one in value]
    if isinstance(value, Path):
        return without_secrets(address_of(value)) or str(value.absolute())
    return value.isoformat() if isinstance(value, date) else value


Engine: TypeAlias = Literal["local", "spark"]
"""Where instances are counted: by this process, or on Apache Spark."""
Unlisted: TypeAlias = Literal["refuse", "hang"]
"""Treatment of labels that a hierarchy lacks: refuse them, or add them where their digits say."""
Transform: TypeAlias = Literal["softmax", "sigmoid"]
"""Function that turns a model's outputs into scores: over all columns of a row, or elementwise."""
Levels: TypeAlias = Literal["depth", "paper"]
"""Cuts that metrics move between: depths from the root, or the paper's levels from the leaves."""
Aggregation: TypeAlias = Literal["descendants", "paths", "mimic"]
"""``descendants``: a node's value and that of each node below it, once (the sentence under
Algorithm 1 of *Abstraction Alignment*). ``paths``: Algorithm 1 as printed, where a value counts
once for every path that leads up from its node. ``mimic``: the released code for MIMIC-III, where
a node with a value of its own keeps it, and any other has the sum of its children's.

On a tree whose inner nodes have no value of their own, all three are equal."""


_Shape = partial(Option, panel=HIERARCHY, after="hierarchy")
_Column = partial(_Shape, metavar="COL")


@dataclass(frozen=True, kw_only=True)
class HierarchyShape(Stored):
    """What is said of a hierarchy file; each field is an option of commands that read one."""

    hierarchy_format: Annotated[
        str | None, _Shape("Format of the hierarchy; recognised if not given.")
    ] = None
    hierarchy_child: Annotated[
        str | None,
        _Column("Column or key of a node's id; its number where there is no header."),
    ] = None
    hierarchy_parent: Annotated[str | None, _Column("Column or key of its parent.")] = None
    hierarchy_title: Annotated[str | None, _Column("Column or key of its title.")] = None
    hierarchy_levels: Annotated[
        tuple[str, ...],
        _Column(
            "Columns of levels, from the top down: A,B,C.",
            metavar="COL,COL",
            parse=apart,
            typed=str,
        ),
    ] = ()
    hierarchy_sep: Annotated[
        str | None, _Shape("What joins the names of a path.", metavar="TEXT")
    ] = None
    hierarchy_children: Annotated[
        str | None, _Shape("Key of JSON that holds the nodes below.", metavar="KEY")
    ] = None
    vocabulary: Annotated[
        str | None,
        _Shape("Vocabulary in OMOP, code system in FHIR.", flag="--vocabulary/--system"),
    ] = None
    plugins: Annotated[
        tuple[str, ...],
        _Shape("Installed package that adds formats or checks.", flag="--plugin", metavar="NAME"),
    ] = ()
    allow_network: Annotated[
        bool, _Shape("Read files at addresses, https:// and s3://, over the network.")
    ] = False

    def shape(self) -> dict[str, Any]:
        """Its fields as keyword arguments of `audit.hierarchies.reading.load_hierarchy`."""
        own = {field.name: getattr(self, field.name) for field in fields(HierarchyShape)}
        return {name.removeprefix("hierarchy_"): value for name, value in own.items()}
