"""An option of a command, as Typer takes it and as messages and files call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass
from functools import partial
from inspect import Parameter
from typing import Any, get_args, get_origin

import typer

from audit.base.settings import Argument, Option


@dataclass(frozen=True, slots=True)
class Declared:
    """An option of a command.

    Args:
        group: Parameter whose fields it is one of; empty for a parameter of its own.
        field: The field or parameter that it states.
        kind: Type of that.
        default: What that is if the option is not given; MISSING if it must be.
        option: How it is stated.
    """

    group: str
    field: str
    kind: Any
    default: Any
    option: Option

    @property
    def name(self) -> str:
        """Name among the options of the command."""
        return self.option.sets or self.field

    @property
    def shown(self) -> str:
        """What messages call it: the option as typed, or an argument's name."""
        if isinstance(self.option, Argument):
            return (self.option.metavar or self.name.upper()).removesuffix("...")
        return self.flags[0]

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is MISSING

    @property
    def flags(self) -> tuple[str, ...]:
        """The option as typed, and the one that negates it."""
        if self.option.flag:
            return tuple(self.option.flag.split("/"))
        dashed = self.name.replace("_", "-")
        negated = (f"--no-{dashed}",) if self.default is True else ()
        return (f"--{dashed}", *negated)

    def parameter(self, *, in_files: bool = False) -> Parameter:
        """The parameter of a Typer command; none is required where files may state it."""
        stated = self.option
        kind = stated.typed or self.kind
        default = self.default
        if self.required:
            kind, default = (kind | None, None) if in_files else (kind, ...)
        if stated.sets:
            kind, default = bool, False
        elif get_origin(kind) is tuple:
            kind = list[get_args(kind)[0]]  # type: ignore[misc]
        if not self.required and (stated.typed or get_origin(kind) is list):
            kind, default = kind | None, None
        either = kind in (bool, bool | None)
        names = ("/".join(self.flags),) if either else self.flags
        make: Callable[..., Any] = partial(typer.Option, default, *names)
        if isinstance(stated, Argument):
            make = partial(typer.Argument, default)
        info = make(
            help=stated.help,
            metavar=stated.metavar,
            rich_help_panel=stated.panel,
            min=stated.least,
            max=stated.most,
        )
        return Parameter(self.name, Parameter.KEYWORD_ONLY, annotation=kind, default=info)

    def value(self, given: Any) -> Any:
        """What a given option makes of its field; None if it was not given."""
        if given is None or given == []:
            return None
        if self.option.sets:
            return self.option.sets if given else None
        if self.option.parse:
            return self.option.parse(given)
        return tuple(given) if isinstance(given, list) else given
