"""Options that a file or an earlier run states instead of the command line."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_origin

from audit.base.errors import InputError
from audit.base.settings import MODEL, Argument
from audit.cli.option import Declared

PYPROJECT, TOOL = "pyproject.toml", "hierarchy-audit"
_OF_THE_DATA = ("dataset", "predictions", "add_to", "protected_with", "title", "today", "analyses")
"""Settings that an earlier run has of its own data and day, or that other commands make."""


def of_config(options: Sequence[Declared], file: Path, named: Collection[str]) -> dict[str, Any]:
    """What a TOML file states of options, by their names, but for fields named already.

    Args:
        options: The options of the command.
        file: A file of options, or a ``pyproject.toml`` with a table ``[tool.hierarchy-audit]``.
        named: Fields that the command line states.

    Raises:
        InputError: If the file cannot be read, or a key or value is not one of the options.
    """
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
    """A value of the option's type; one of a list that may be repeated may stand alone."""
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
    """The settings of an earlier run, by field, but for those named and those of its data.

    Those of its model are left out, too, where the command names no predictions.

    Raises:
        InputError: If it is no run, has changed, or is none of ``audit run``.
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
