"""The options of commands, made from how they are declared, and what files state of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache, partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from audit.base.errors import InputError
from audit.base.readings import AskedError, as_typed
from audit.base.settings import MODEL, Argument, Option
from audit.cli.output import quietly, user_mistakes


@dataclass(frozen=True, slots=True)
class Declared:
    """An option of a command."""

    group: str
    field: str
    kind: Any
    default: Any
    option: Option

    @property
    def name(self) -> str:
        """The name of its field; of a flag that sets its field to one value, that value."""
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


PYPROJECT, TOOL = "pyproject.toml", "hierarchy-audit"
_OF_THE_DATA = ("dataset", "predictions", "title", "today", "analyses")
"""Settings that an earlier run has of its own data and day, or that other commands make."""


def of_config(options: Sequence[Declared], file: Path, named: Collection[str]) -> dict[str, Any]:
    """Values that a TOML file states, by names of options, without those of fields in ``named``."""
    from audit.policy.reading import line_of

    content, text = _content(file)
    known = {_key(one): one for one in options if one.name != "config"}
    stated: dict[str, Any] = {}
    for key, value in content.items():
        at = line_of([key], text)
        where = f"{file}:{at}" if at else file
        one = known.get(key.replace("_", "-"))
        if one is None:
            near = get_close_matches(key, known, 1)
            raise InputError(
                "each key must be an option of the command, without its dashes",
                found=repr(key),
                where=where,
                hint=f"did you mean {near[0]}?" if near else "audit run --help lists them",
            )
        if one.field not in named:
            stated[one.name] = _value(one, value, where)
    return stated


def _content(file: Path) -> tuple[Mapping[str, Any], str]:
    """What a TOML file says, of pyproject.toml our table alone, and its whole text."""
    import tomllib

    from audit.base.files import read_text

    text = read_text(file)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("a TOML file is required", found=str(error), where=file) from None
    if file.name != PYPROJECT:
        return content, text
    table = content.get("tool", {}).get(TOOL)
    if not isinstance(table, dict):
        raise InputError(f"a table [tool.{TOOL}] is required", found="none", where=file)
    return table, text


def _key(one: Declared) -> str:
    """What a file calls an option: as it is typed, without dashes before it."""
    return one.shown.lower() if isinstance(one.option, Argument) else one.flags[0][2:]


def _value(one: Declared, value: Any, where: object) -> Any:
    """A value as one of the option's type; a single one is enough where several may be given."""
    from pydantic import Field, TypeAdapter, ValidationError

    kind: Any = bool if one.option.sets else one.option.typed or one.kind
    value = str(value).lower() if isinstance(value, bool) and "bool" not in str(kind) else value
    repeated = get_origin(kind) in (tuple, list)
    ends = Field(ge=one.option.least, le=one.option.most)
    limited = one.option.least is not None or one.option.most is not None
    try:
        return TypeAdapter(Annotated[kind, ends] if limited else kind).validate_python(
            [value] if repeated and not isinstance(value, list) else value
        )
    except ValidationError as error:
        raise InputError(
            f"{_key(one)}: {error.errors()[0]['msg']}", found=repr(value), where=where
        ) from None


def of_run(options: Sequence[Declared], run: Path, named: Collection[str]) -> dict[str, Any]:
    """The settings of an earlier run by field, without those ``named`` and those of its own data.

    Those of its model are left out, too, where the command names no predictions.
    """
    from audit.runs.sealed_run import SealedRun

    sealed = SealedRun(run)
    settings = None if sealed.manifest is None else sealed.manifest.settings
    if settings is None or settings.analyses:
        found = "a manifest that has changed since it was sealed"
        if sealed.manifest is not None:
            found = "a run of another command" if settings else "one made from Python"
        raise InputError(
            "a run of audit run, as it was sealed, is required", found=found, where=run
        )
    left = {*_OF_THE_DATA, *named}
    if "predictions" not in named:
        left |= {one.field for one in options if one.option.panel == MODEL}
    if settings.hierarchy == settings.dataset:
        left.add("hierarchy")
    return {name: value for name, value in vars(settings).items() if name not in left}


def options_of(command: Callable[..., None]) -> tuple[Declared, ...]:
    """The options of a command, in the order of ``--help``."""
    parameters = signature(command).parameters
    groups = _groups(command)
    own = {n: MISSING if p.default is p.empty else p.default for n, p in parameters.items()}
    alone = _declared("", command, own)
    found: list[Declared] = []
    for name in parameters:
        if name in groups:
            found += _declared(name, groups[name], _defaults_of_fields(groups[name], own[name]))
        else:
            found += [one for one in alone if one.field == name]
    for one in [one for one in reversed(found) if one.option.after]:
        names = [other.name for other in found if other is not one]
        if one.option.after in names:
            found.remove(one)
            found.insert(names.index(one.option.after) + 1, one)
    return tuple(found)


def _defaults_of_fields(group: Any, stated: Any) -> dict[str, Any]:
    """Default of each field of an option group: its value in ``stated``, if any, else its own."""
    if stated is not MISSING:
        return {field.name: getattr(stated, field.name) for field in fields(group)}
    return {
        field.name: field.default if field.default_factory is MISSING else None
        for field in fields(group)
    }


def _declared(group: str, owner: Any, defaults: Mapping[str, Any]) -> list[Declared]:
    """Those parameters of a command, or fields of a group, that are options."""
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
    """The dataclasses of options that a command takes, by the names of its parameters."""
    return {name: kind for name, kind in _hints(command).items() if is_dataclass(kind)}


def declared(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer takes it, with the options that its parameters declare."""
    options = options_of(command)
    in_files = "config" in signature(command).parameters

    def run(context: typer.Context, **given: Any) -> None:
        quiet, as_json = (bool(given.get(name)) for name in ("quiet", "as_json"))
        with user_mistakes(), quietly(quiet, as_json):
            before = _from_files(context, options, given) if in_files else {}
            _refuse_unwritable(options, given)
            _refuse_what_is_read(options, given)
            try:
                command(**_arguments(command, options, given, before))
            except AskedError as error:
                others = [one for one in options if one.field not in error.options]
                error.command = _typed(context, others, given)
                lacking = error.options.keys() - {one.field for one in options}
                if lacking:
                    told = as_typed({name: error.options[name] for name in lacking})
                    error.hint = f"there is no {told} here: write a table of `id` and `label`"
                    error.options = {}
                raise

    own = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    stated = [one.parameter(in_files=in_files) for one in options]
    run.__dict__["__signature__"] = Signature([own, *stated])
    run.__doc__ = command.__doc__
    return run


def _typed(context: typer.Context, options: Sequence[Declared], values: Mapping[str, Any]) -> str:
    """The command line, shell-quoted, with those of ``options`` that were typed, no defaults."""
    arguments, named = list[str](), list[str]()
    for one in options:
        source, value = context.get_parameter_source(one.name), values[one.name]
        if source is None or source.name != "COMMANDLINE":
            continue
        texts = [*map(str, value)] if isinstance(value, list | tuple) else [str(value)]
        if isinstance(one.option, Argument):
            arguments += texts
        elif isinstance(value, bool):
            named.append(one.flags[0] if value else one.flags[-1])
        else:
            flag = one.flags[0]
            named += [
                part
                for each in texts
                for part in ([f"{flag}={each}"] if each[:1] == "-" else [flag, each])
            ]
    return " ".join([context.command_path, *map(quote, (*arguments, *named))])


def _from_files(
    context: typer.Context, options: tuple[Declared, ...], given: dict[str, Any]
) -> dict[str, Any]:
    """Settings of the run of ``--like``, if any; what ``--config`` states is put into ``given``.

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
    """What a command is called with: groups made of the options given, and earlier settings."""
    groups = _groups(command)
    values: dict[str, dict[str, Any]] = {name: {} for name in ("", *groups)}
    for one in options:
        value = one.value(given[one.name])
        if value is None:
            continue
        if one.field in values[one.group]:
            flags = [other.flags[0] for other in options if other.field == one.field]
            raise InputError(f"only one of {' and '.join(flags)} may be given", found="both")
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
