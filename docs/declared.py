"""Tables of the site that declarations make: a page holds ``<!-- made: NAME -->`` for each."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import networkx

from audit import metrics
from audit.base.declared import Column, Table
from audit.base.settings import Argument
from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.check import Check
from audit.checks.waivers import WaiverCheck
from audit.cli.app import COMMANDS
from audit.cli.declared import Declared, options_of
from audit.cli.run import run
from audit.data.layouts import LAYOUTS, Layout
from audit.policy.policy import Policy
from audit.policy.reading import policy_schema
from audit.policy.statements import Threshold
from audit.results.metric_list import METRICS
from audit.results.tables import TABLES
from audit.runs.analyses import ALL_CHECKS, ANALYSES

ROOT = Path(__file__).parents[1]
MARK = re.compile(r"<!-- made: ([\w ]+) -->")


def with_tables(page: str) -> str:
    """A page with what its marks name; KeyError for a name that nothing makes."""
    return MARK.sub(lambda found: _made(*found[1].split(" ", 1)), page)


def _made(what: str, name: str = "") -> str:
    return command(name) if what == "command" else MADE[what]()


def _table(heads: str, rows: Iterator[Sequence[str]]) -> str:
    lines = [f"| {heads} |", "|---" * (heads.count("|") + 1) + "|"]
    escaped = ([cell.replace("|", r"\|") for cell in row] for row in rows)
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in escaped)])


def _code(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def command(name: str) -> str:
    """A command: what it does, in its own words, two examples, and its options."""
    function, *examples = {first: rest for first, *rest in COMMANDS}[name]
    shown = "\n".join(f"audit {name} {example}".rstrip() for example in examples)
    said = inspect.getdoc(function)
    parts = [f"## audit {name}", str(said), f"```\n{shown}\n```", options(name)]
    return "\n\n".join(filter(None, parts))


def options(command: str) -> str:
    """The options of a command: their meaning, and names alone of those that `run` has alike."""
    function = {name: function for name, function, *_ in COMMANDS}[command]
    before = {} if function is run else {one.flags: _stated(one) for one in options_of(run)}
    every = [one for one in options_of(function) if not isinstance(one.option, Argument)]
    same = [one for one in every if before.get(one.flags) == _stated(one)]
    own = [one for one in every if one not in same]
    parts = [_table("option | meaning", ((_code(one.flags), _meaning(one)) for one in own))]
    if same:
        parts.append(f"As for `audit run`: {_code([flag for one in same for flag in one.flags])}.")
    return "\n\n".join(parts[not own :])


def _stated(one: Declared) -> str:
    return repr((one.option, one.default or None))


def _meaning(one: Declared) -> str:
    said = re.sub(r"(?<![\w-])--[a-z][\w-]*", r"`\g<0>`", one.option.help.removesuffix("."))
    literals = [kind for kind in (one.kind, *get_args(one.kind)) if get_origin(kind) is Literal]
    if literals and not one.option.sets:
        said += f" ({_code(get_args(literals[0]))})"
    if get_origin(one.option.typed or one.kind) in (tuple, list) and "repeated" not in said:
        said += "; may be repeated"
    if one.required:
        return f"{said}; required."
    plain = isinstance(one.default, int | float | str) and not isinstance(one.default, bool)
    return f"{said}; by default `{one.default}`." if plain and one.default != "" else f"{said}."


def layouts() -> str:
    """The published tables of labels: what they are, their columns, which rows count."""

    def rows() -> Iterator[Sequence[str]]:
        for _, group in groupby(LAYOUTS, key=lambda one: one.name):
            every = [*group]
            parts = [one.title.partition(": ") for one in every]
            yield (
                f"[{parts[0][0]}]({every[0].source}): {'; '.join(rest for _, _, rest in parts)}",
                "; ".join(dict.fromkeys(_code(one.id) for one in every)),
                "; ".join(dict.fromkeys(f"`{name}`" for one in every for name in one.labels)),
                "; ".join(dict.fromkeys(said for one in every for said in _beside(one))),
            )

    return _table("what | id | labels | beside, and what counts", rows())


def _beside(layout: Layout) -> Iterator[str]:
    if layout.group:
        yield f"`{layout.group}`"
    if layout.sep:
        yield f"joined by `{layout.sep}`"
    if layout.version:
        yield f"version `{layout.version}`"
    if layout.where:
        yield _code(layout.where)


def metric_list() -> str:
    """Every metric: what it is, arguments of its function, direction and source."""

    def rows() -> Iterator[Sequence[str]]:
        for metric in METRICS:
            function = getattr(metrics, metric.name, None)
            given = [] if function is None else inspect.signature(function).parameters
            own = _code([name for name in given if name not in ("hierarchy", "classes")])
            of = own or "only in the class"
            yield f"`{metric.name}`", metric.title, of, metric.better, metric.source

    return _table("metric | what it is | arguments | better | from", rows())


def policy_keys() -> str:
    """Every key of a policy: meaning, default and unit."""
    stated = (Policy.__doc__ or "").split("Args:")[1]
    found = re.findall(r"^ {8}(\w+): (.*(?:\n {9,}.*)*)", stated, re.M)
    meanings = {name: re.sub(r"\s+", " ", text).strip() for name, text in found}
    properties = policy_schema()["properties"]

    def rows() -> Iterator[Sequence[str]]:
        for name, field in Policy.model_fields.items():
            default: Any = field.get_default(call_default_factory=True)
            limit = isinstance(default, Threshold)
            value = f"{default.value:g}" if limit else f"`{default}`" if default else "none"
            yield (
                f"`{name}`",
                meanings[name],
                value,
                properties[name]["description"] if limit else "",
            )

    return _table("key | meaning | default | unit", rows())


def checks() -> str:
    """Every check: what it asks, what its function says of it, and how its numbers are told."""
    every: dict[str, Sequence[Check | WaiverCheck]] = {"The data and the model": CHECKS}
    every |= {kind.name.capitalize(): kind.checks for kind in ANALYSES if kind.checks}
    every |= {"Waivers": ON_WAIVERS}
    return "\n\n".join(
        part for group, of in every.items() for part in (f"## {group}", *map(_check, of))
    )


def _check(check: Check | WaiverCheck) -> str:
    others = "|".join(one.name for one in ALL_CHECKS if "_" in one.name and one is not check)
    said = inspect.getdoc(check.rule) or ""
    linked = re.sub(rf"`({others})`", r"[`\1`](#\1)", said)
    numbers = sorted((_told(one), one.name) for one in check.evidence.values())
    told = (
        f"{_code([name for _, name in of])} ({how})"
        for how, of in groupby(numbers, key=lambda item: item[0])
    )
    parts = [f"### {check.name}", f"*{check.title}*", linked, f"**Numbers.** {'; '.join(told)}."]
    if getattr(check, "needs", "") == "instances":
        parts[-1] += " It looks at instances, and does not apply where these are only counted."
    return "\n\n".join(parts)


HOW = {
    "text": "as it is",
    "whole": "as it is: it counts no persons",
    "setting": "as it is: it is stated",
    "count": "in bins",
    "sum": "in bins",
    "mean": "in steps",
    "factor": "in two digits",
    "share": "computed from told numbers",
    "ratio": "computed from told numbers",
    "difference": "computed from told numbers",
    "end": "computed from told numbers",
    "metric": "as its metric says",
    "chance": "in the window alone",
}
"""How the columns of a kind are told."""


def tables() -> str:
    """Every declared table, with its columns."""
    every = {"The data and the model": TABLES} | {
        kind.name.capitalize(): kind.tables for kind in ANALYSES
    }
    return "\n\n".join(
        part
        for group, of in every.items()
        for part in (f"## {group}", *(_declared(*item) for item in of.items()))
    )


def _declared(name: str, table: Table) -> str:
    title = f"**{table.title}.** " if table.title else ""
    row = f"A row is {table.row}." if table.row else ""
    rows = ((f"`{one.name}`", one.heading, _told(one)) for one in table.columns.values())
    return f"### `{name}`\n\n{title}{row}\n\n{_table('column | heading | told', rows)}"


def _told(column: Column) -> str:
    if column.reason:
        digits = "in two digits" if column.kind == "estimate" else "as it is"
        return f"{digits}: {column.reason}"
    return HOW[column.kind]


_WIDE, _HIGH, _GAP = 760, 30, 22
"""Width of the picture of rooms, height of a room, and what is between two floors."""


def rooms() -> str:
    """The rooms by their imports: each stands above all that it imports, as wide as it is long."""
    above, lines = networkx.DiGraph(), Counter[str]()
    for path in [*ROOT.glob("audit/*/**/*.py"), *ROOT.glob("reports/**/*.py")]:
        text, names = path.read_text("utf-8"), path.relative_to(ROOT).parts
        here = names[1] if names[0] == "audit" else names[0]
        lines[here] += text.count("\n")
        found = re.findall(r"^ *(?:from|import) (?:audit\.)?(\w+)", text, re.M)
        above.add_edges_from((here, one) for one in found if one != here)
    floors = [*networkx.topological_generations(above.subgraph(lines).reverse())]
    scale = (_WIDE - 60) / max(sum(lines[one] for one in floor) for floor in floors)
    middle, boxes = dict[str, tuple[float, int]](), list[str]()
    for number, floor in enumerate(floors):
        widths = {one: max(lines[one] * scale, 96) for one in sorted(floor)}
        left = (_WIDE - sum(widths.values()) - 12 * (len(widths) - 1)) / 2
        top = (len(floors) - 1 - number) * (_HIGH + _GAP)
        for one, width in widths.items():
            middle[one] = left + width / 2, top
            boxes.append(
                f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{_HIGH}" rx="4"/>'
                f'<text x="{middle[one][0]:.0f}" y="{top + 20}">{one} {lines[one]:,}</text>'
            )
            left += width + 12
    arrows = (
        f'<path d="M{middle[a][0]:.0f} {middle[a][1] + _HIGH}L{middle[b][0]:.0f} {middle[b][1]}"/>'
        for a, b in networkx.transitive_reduction(above.subgraph(lines)).edges
    )
    high = len(floors) * (_HIGH + _GAP)
    return (
        f'<svg viewBox="0 -2 {_WIDE} {high}" role="img" aria-label="Rooms above what they import">'
        "<style>path{stroke:#888}rect{fill:#e4ecf5;stroke:#4f6d8f}"
        "text{font:13px sans-serif;text-anchor:middle}</style>"
        f"{''.join(arrows)}{''.join(boxes)}</svg>\n\n"
        "A room stands above all that it imports, with its lines; what a longer way implies has "
        "no line."
    )


MADE: Mapping[str, Callable[[], str]] = {
    "layouts": layouts,
    "metrics": metric_list,
    "checks": checks,
    "policy": policy_keys,
    "rooms": rooms,
    "tables": tables,
}
"""What a mark may name, beside ``command NAME``."""
