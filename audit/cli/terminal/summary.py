"""The summary of a run, and of its analyses, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from audit.base.plurals import counted
from audit.base.readings import read_as
from audit.cli.terminal.tables import LONGEST, STYLE, Ending, chapter, one_line, status_word, table
from audit.results.findings import NEEDS_INSTANCES, promise
from audit.results.printed import (
    NOT_TOLD,
    Rounded,
    cell,
    looked_at,
    mapped_of,
    none_refused,
    said_at_head,
)
from reports.analysis import READ, analyses
from reports.core import model_lines
from reports.findings import Found, number_of_findings, ten, verdict

TOP = 5
"""Number of findings to be fixed that are shown."""
_QUIET = {"pass": "pass", "not_applicable": "not applicable"}


def summary(shared: Mapping[str, Any], run: Path) -> Group:
    """Summary of an audit, from the verdict to the rows that could not be read."""
    parts: list[RenderableType] = [*read_as_lines(shared["readings"], shared["rounding"])]
    if rounded := said_at_head(shared["rounding"]):
        parts.append(Text(rounded, "dim"))
    said = verdict(shared)
    parts.append(_verdict(shared["status"], said.head, " ".join(said.sentences)))
    parts += map(Text, map(one_line, model_lines(shared)))
    if findings := ten(shared):
        parts += ["", _findings(findings, shared, run)]
    if loud := [check for check in shared["checks"] if check["status"] not in _QUIET]:
        parts += ["", _checks(loud, shared["rounding"])]
    parts += ["", *_quiet(shared["checks"]), *_analysed(shared)]
    parts += _to_fix(shared["checks"])
    return Group(*parts, *_not_told(shared["checks"]), "", _reading(shared))


def machine_summary(
    shared: Mapping[str, Any], out: Path, not_written: Sequence[Exception]
) -> dict[str, Any]:
    """The output of ``audit run --json``."""
    return {
        "run": str(out),
        "status": shared["status"],
        "rounding": shared["rounding"],
        "ledger": shared["ledger"],
        "readings": shared["readings"],
        "checks": [
            {key: check[key] for key in ("name", "status", "denominator", "total", "folded")}
            for check in shared["checks"]
        ],
        "not_written": [str(error) for error in not_written],
    }


def read_as_lines(
    readings: Sequence[Mapping[str, Any]], rounding: Rounded = None
) -> Iterator[RenderableType]:
    """What the data were taken to mean, a line each; nothing where they say it themselves."""
    if readings:
        yield Text("Read as", "bold")
        few = rounding["bin"] if rounding else 0
        yield from (Padding(Text(one_line(read_as(one, few))), (0, 0, 0, 2)) for one in readings)
        yield ""


def _not_told(checks: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Which checks have findings that are not told."""
    if names := ", ".join(check["name"] for check in checks if check["not_told"]):
        yield ""
        yield Text(f"{NOT_TOLD} They are of {names}.", "dim")


def _verdict(status: str, word: str, sentence: str) -> Text:
    """``word`` in the colour of ``status``, then ``sentence``."""
    return Text.assemble((word, f"{STYLE.get(status, '')} bold".strip()), f". {one_line(sentence)}")


def _checks(checks: Sequence[Mapping[str, Any]], rounding: Rounded) -> Table:
    """A line a check: what it looked at, how many findings are there, shown and folded."""
    numbers = ["findings"]
    numbers += ["shown"] if any(check["not_shown"] for check in checks) else []
    numbers += ["folded"] if any(check["folded"] for check in checks) else []
    lines = table("status", "check", "looked at", *numbers, right=len(numbers))
    lines.columns[1].no_wrap = True
    for check in checks:
        shown, folded = len(check["findings"]), check["folded"]
        counts = {"findings": shown + check["not_shown"], "shown": shown, "folded": folded}
        lines.add_row(
            status_word(check["status"]),
            check["name"],
            Text(one_line(looked_at(check, rounding))),
            *(f"{counts[one]:,}" for one in numbers),
        )
    return lines


def _quiet(checks: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """Up to three lines of names: checks that found nothing, did not apply, or need instances."""
    counted_only = [check for check in checks if check.get("reason") == NEEDS_INSTANCES]
    for status, word in _QUIET.items():
        own = (check for check in checks if check["status"] == status)
        yield from _named([check for check in own if check not in counted_only], word, status)
    word = "not run, since the data were only counted, without single instances"
    yield from _named(counted_only, word, "not_applicable")


def _named(checks: Sequence[Mapping[str, Any]], word: str, status: str) -> Iterator[Text]:
    """A line coloured as ``status``: how many checks, ``word``, and names; none for no checks."""
    if checks:
        heading = (f"{len(checks)} {word}", STYLE.get(status, "dim"))
        yield Text.assemble(heading, (f": {', '.join(one['name'] for one in checks)}", "dim"))


def _findings(findings: Sequence[Found], shared: Mapping[str, Any], run: Path) -> Group:
    """The findings to act on first, of all that the verdict counts, and how to see the records."""
    of = counted(number_of_findings(shared), "findings")
    lines: list[RenderableType] = [Text(f"To act on first: {len(findings)} of {of}", "bold")]
    for place, one in enumerate(findings, 1):
        state = f", {one.state}" if one.state else ""
        severity = (f"{one.severity.capitalize()}{state}", STYLE[one.severity])
        lines.append(Ending(Text.assemble(f"{place:>2}  ", severity), one.id))
        lines.append(Padding(Text(_shortened(one_line(one.sentence))), (0, 0, 0, 4)))
        if one.to_do:
            lines.append(Padding(Text(f"To do: {one_line(one.to_do)}", "dim"), (0, 0, 0, 4)))
    lines.append(Ending(Text("Their records:", "dim"), f"audit cases {run} {findings[0].id}"))
    return Group(*lines)


def _to_fix(checks: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Who is to fix which findings, until when and why."""
    promised = [
        Ending(Text(one_line(sentence)), finding["id"])
        for check in checks
        for finding in check["findings"]
        for sentence in promise(finding)
    ]
    if promised:
        yield ""
        yield Text(f"{counted(len(promised), 'findings')} to be fixed", "dim")
        yield from promised[:TOP]
    if len(promised) > TOP:
        yield Text(f"and {len(promised) - TOP:,} more, which the report lists", "dim")


def _shortened(text: str) -> str:
    """A text, cut after a whole word where it is too long."""
    if len(text) <= LONGEST:
        return text
    start = text[: LONGEST - 3]
    return f"{start[: start.rfind(' ')]}..."


def _analysed(shared: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The first table of each analysis, and what it read."""
    for one in analyses(shared):
        read = tuple(table for table in one.tables if table.title == READ)
        yield from chapter(replace(one, lead="", tables=read if one.folded else one.tables[:1]))


def _refused_labels(findings: Sequence[Mapping[str, Any]], rounding: Rounded) -> str:
    """The refused labels that findings list, in brackets, with their instances; else empty."""
    parts = [part for finding in findings for part in finding["parts"] if part["nodes"]]
    counts = (cell(one["evidence"].get("instances"), rounding) for one in parts)
    every = zip(parts[:TOP], counts, strict=False)
    names = [one_line(f"{one['nodes'][0]['id']} {count}") for one, count in every]
    more = f" and {len(parts) - TOP:,} more" if len(parts) > TOP else ""
    return f" ({', '.join(names)}{more})" if names else ""


def _reading(shared: Mapping[str, Any]) -> Text:
    """How many instances there are, how many rows are mapped, and how many refused, by reason."""
    ledger, rounding = shared["ledger"], shared["rounding"]
    counts = {reason: n for reason, n in ledger["refused"].items() if n is not None}
    refused = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    hierarchy = one_line(shared["identity"]["hierarchy"]["name"])
    instances = counted(ledger["instances"], shared["identity"]["data"]["called"])
    mapped = f"{instances}; {mapped_of(ledger, rounding)} mapped to {hierarchy}"
    checks = (check for check in shared["checks"] if check["name"] in counts)
    named = {check["name"]: _refused_labels(check["findings"], rounding) for check in checks}
    reasons = ", ".join(
        f"{reason} {cell(rows, rounding)}{named.get(reason, '')}" for reason, rows in refused
    )
    return Text(f"{mapped}; refused: {reasons or none_refused(ledger, rounding)}.")
