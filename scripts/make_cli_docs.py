"""Write the tables of options in ``docs/cli.md`` again, from how the options are declared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from audit.base.settings import Argument
from audit.cli.app import COMMANDS
from audit.cli.declared import Declared, options_of
from audit.cli.run import run

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
TABLE = re.compile(r"(<!-- audit ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
BY_NAME: dict[str, Callable[..., None]] = {name: command for name, command, *_ in COMMANDS}
FAMILY = {flag for one in options_of(run) for flag in one.flags if flag.startswith("--hierarchy-")}


def page_with_tables(page: str) -> str:
    """The page with its tables of options written anew."""
    return TABLE.sub(lambda found: f"{found[1]}{table(BY_NAME[found[2]])}\n{found[3]}", page)


def table(command: Callable[..., None]) -> str:
    """The options of a command in Markdown: their meaning, and names of those told before."""
    lines, same = [], list[str]()
    before = {_stated(one) for one in options_of(run)}
    for one in options_of(command):
        if isinstance(one.option, Argument):
            continue
        if command is not run and _stated(one) in before:
            same += one.flags
        else:
            names = ", ".join(f"`{flag}`" for flag in one.flags)
            lines.append(f"| {names} | {_meaning(one)}{_default(one)} |")
    parts = ["\n".join(["| option | meaning |", "|---|---|", *lines])] if lines else []
    if same:
        parts.append(f"As above: `{' '.join(_in_families(same))}`.")
    return "\n\n".join(parts)


def _in_families(flags: list[str]) -> Iterator[str]:
    """Names of options; all of how a hierarchy is shaped as one."""
    whole = FAMILY.issubset(flags)
    if whole:
        yield "--hierarchy-*"
    yield from (flag for flag in flags if not (whole and flag in FAMILY))


def _stated(one: Declared) -> str:
    return repr((one.flags, one.option, one.default or None))


def _meaning(one: Declared) -> str:
    """The sentence of an option as a cell, after what may be stated."""
    text = one.option.help.removesuffix(".")
    first = text.split()[0]
    if first[1:].islower() or len(first) == 1:
        text = text[0].lower() + text[1:]
    repeatable = get_origin(one.option.typed or one.kind) in (tuple, list)
    if repeatable and "repeated" not in text:
        text += "; may be repeated"
    return _choice(one) + text.replace("|", r"\|")


def _choice(one: Declared) -> str:
    literals = [kind for kind in (one.kind, *get_args(one.kind)) if get_origin(kind) is Literal]
    if literals and not one.option.sets:
        *names, last = (f"`{name}`" for name in get_args(literals[0]))
        return f"{', '.join(names)} or {last}: " if names else f"{last}: "
    return f"`{one.option.metavar}`: " if "=" in (one.option.metavar or "") else ""


def _default(one: Declared) -> str:
    value: Any = one.default
    if one.required:
        return "; required"
    if isinstance(value, bool) or one.option.sets:
        return "; on unless negated" if value else ""
    if isinstance(value, int | float):
        return f" (default {value:,})"
    return f" (default `{value}`)" if value else ""


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text("utf-8")), "utf-8")
