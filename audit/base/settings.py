"""What settings are made of: options of the command line, and values that a manifest stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

INPUT, MODEL, POLICY, OUTPUT, LARGE_DATA = "Input", "Model", "Policy", "Output", "Large data"
LIMITED = "Limits"
"""Headings of ``--help`` that several commands have."""


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


class Argument(Option):
    """The same of an argument, which is stated by its place."""


class Stored:
    """Settings that a manifest stores; dataclasses, since Pydantic takes long to be imported."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}

    def stored(self) -> dict[str, Any]:
        """The settings as JSON, of which Pydantic makes the same settings again."""
        return {name: _stored(value) for name, value in vars(self).items()}


def _stored(value: Any) -> Any:
    """A value as JSON; a path becomes an absolute one."""
    if isinstance(value, Stored):
        return value.stored()
    if isinstance(value, Mapping):
        return {name: _stored(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_stored(one) for one in value]
    if isinstance(value, Path):
        return str(value.absolute())
    return value.isoformat() if isinstance(value, date) else value
