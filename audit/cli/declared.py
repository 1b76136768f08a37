"""The options of commands, made from how parameters and fields of settings are declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from audit.base.errors import InputError
from audit.base.settings import Option
from audit.cli.option import Declared
from audit.cli.output import quietly, user_mistakes
from audit.cli.stated import of_config, of_run


def options_of(command: Callable[..., None]) -> tuple[Declared, ...]:
    """The options of a command, in the order of ``--help``."""
    parameters = signature(command).parameters
    groups = _groups(command)
    own = {n: MISSING if p.default is p.empty else p.default for n, p in parameters.items()}
    alone = _declared("", command, own)
    found: list[Declared] = []
    for name in parameters:
        if name in groups:
            found += _declared(name, groups[name], _defaults(groups[name], own[name]))
        else:
            found += [one for one in alone if one.field == name]
    for one in [one for one in reversed(found) if one.option.after]:
        names = [other.name for other in found if other is not one]
        if one.option.after in names:
            found.remove(one)
            found.insert(names.index(one.option.after) + 1, one)
    return tuple(found)


def _defaults(group: Any, stated: Any) -> dict[str, Any]:
    """Values of the fields of a group where they are not given, as its default says, if any."""
    if stated is not MISSING:
        return {field.name: getattr(stated, field.name) for field in fields(group)}
    return {
        field.name: field.default if field.default_factory is MISSING else None
        for field in fields(group)
    }


def _declared(group: str, owner: Any, defaults: Mapping[str, Any]) -> list[Declared]:
    hints = _hints(owner)
    return [
        Declared(group, name, get_args(hints[name])[0], default, stated)
        for name, default in defaults.items()
        for stated in getattr(hints[name], "__metadata__", ())
        if isinstance(stated, Option)
    ]


@cache
def _hints(owner: Any) -> Mapping[str, Any]:
    """Types of parameters or fields with what is written beside them; evaluated once."""
    return get_type_hints(owner, include_extras=True)


def _groups(command: Callable[..., None]) -> dict[str, Any]:
    return {name: kind for name, kind in _hints(command).items() if is_dataclass(kind)}


def declared(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer takes it, with the options that its parameters declare.

    Args:
        command: Function whose parameters are annotated with an `Option`, or are dataclasses with
            such fields. User errors that it raises become messages.
    """
    options = options_of(command)
    in_files = "config" in signature(command).parameters

    def run(context: typer.Context, **given: Any) -> None:
        quiet, as_json = (bool(given.get(name)) for name in ("quiet", "as_json"))
        with user_mistakes(), quietly(quiet, as_json):
            before = _from_files(context, options, given) if in_files else {}
            _refuse_unwritable(options, given)
            _refuse_what_is_read(options, given)
            command(**_arguments(command, options, given, before))

    own = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    stated = [one.parameter(in_files=in_files) for one in options]
    run.__dict__["__signature__"] = Signature([own, *stated])
    run.__doc__ = command.__doc__
    return run


def _from_files(
    context: typer.Context, options: tuple[Declared, ...], given: dict[str, Any]
) -> dict[str, Any]:
    """Settings of the run of ``--like``; what the file of ``--config`` states is given, too.

    The command line overrides the file, and both the run.
    """

    def stated(one: Declared) -> bool:
        source = context.get_parameter_source(one.name)
        return source is not None and source.name != "DEFAULT"

    named = {one.field for one in options if stated(one)}
    if given["config"] is not None:
        found = of_config(options, given["config"], named)
        given |= found
        named |= {one.field for one in options if one.name in found}
    before = {} if given["like"] is None else of_run(options, given["like"], named)
    for one in options:
        if one.required and given[one.name] is None:
            raise InputError(
                f"{one.shown} is required", found="none",
                hint=f"{context.command_path} {one.shown} names it, or the file of --config",
            )  # fmt: skip
    return before


def _arguments(
    command: Callable[..., None],
    options: tuple[Declared, ...],
    given: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    groups = _groups(command)
    values: dict[str, dict[str, Any]] = {name: {} for name in ("", *groups)}
    for one in options:
        value = one.value(given[one.name])
        if value is None:
            continue
        if one.field in values[one.group]:
            flags = [other.flags[0] for other in options if other.field == one.field]
            raise InputError(f"{' or '.join(flags)} may be given", found="both")
        values[one.group][one.field] = value
    if settings:
        values["settings"] |= settings
    return values[""] | {name: group(**values[name]) for name, group in groups.items()}


def _refuse_what_is_read(options: tuple[Declared, ...], given: Mapping[str, Any]) -> None:
    """Raise InputError where a place to write to is one that is read, is around it, or in a run.

    A run is sealed with all that lies in it; a file may be written into another folder of inputs.
    """
    read: list[tuple[str, Path]] = []
    written: list[tuple[str, Path]] = []
    for one in options:
        named = [(one.shown, path) for path in _paths(given[one.name])]
        (written if one.option.writes else read).extend(named)
    if not written:
        return
    from audit.runs.manifest import MANIFEST

    known = [(name, path, (path / MANIFEST).is_file()) for name, path in read if path.exists()]
    for option, out in written:
        for name, path, whole in known:
            if out == path or path.is_relative_to(out) or (whole and out.is_relative_to(path)):
                raise InputError(
                    f"{option} must be outside of {name}: nothing that is read is replaced",
                    found=f"{out}, beside {path}",
                    hint="name another file or folder",
                )
        known.append((option, out, True))


def _refuse_unwritable(options: tuple[Declared, ...], given: Mapping[str, Any]) -> None:
    """Raise InputError on texts that are no UTF-8, and on numbers that no table holds."""
    for one in options:
        value = given[one.name]
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, int) and abs(each) >= 2**63:
                raise InputError(f"{one.shown} takes a number below 2 ** 63", found=str(each))
            text = str(each.absolute() if isinstance(each, Path) else each)
            if text.encode("utf-8", "ignore").decode() != text:
                raise InputError(f"{one.shown} takes text in UTF-8", found=ascii(text))


def _paths(given: Any) -> Iterator[Path]:
    """The paths that the value of an option may name, links followed."""
    if isinstance(given, list | tuple):
        for one in given:
            yield from _paths(one)
    elif given and isinstance(given, str | Path):
        with suppress(OSError, ValueError):
            yield Path(given).resolve()
