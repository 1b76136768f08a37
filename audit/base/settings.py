"""What settings are made of: options of the command line, and values that a manifest stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

INPUT, MODEL, POLICY, OUTPUT, LARGE_DATA = "Input", "Model", "Policy", "Output", "Large data"
LIMITED = "Limits"
"""Headings of ``--help`` that several commands have."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Argument(Option):
    """The same of an argument, which is stated by its place."""


@dataclass(frozen=True, slots=True)
class StoredAs:
    """How a value is stored, written beside the type of a field.

    Args:
        write: Function that makes the stored text of the value.
    """

    write: Callable[[Any], str]

    def __get_pydantic_core_schema__(self, kind: Any, schema_of: Callable[[Any], Any]) -> Any:
        from pydantic_core.core_schema import plain_serializer_function_ser_schema as written_by

        return {**schema_of(kind), "serialization": written_by(self.write)}


StoredPath: TypeAlias = Annotated[Path, StoredAs(lambda path: str(path.absolute()))]
"""A path as typed; stored as an absolute path."""


class Stored:
    """Settings that a manifest stores; a dataclass, since Pydantic takes long to be imported."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}

    def stored(self) -> dict[str, Any]:
        """The settings as JSON, of which Pydantic makes the same settings again."""
        from pydantic import TypeAdapter

        stored: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return stored
