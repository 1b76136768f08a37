"""Publish an outcome where a CI job looks: a JUnit file, GitHub's annotations and summary.

JUnit files hold to what the schemas of Ant's JUnit task and of Jenkins both allow. Annotations are
commands to GitHub's runner, lines that begin with two colons; see "Workflow commands for GitHub
Actions". No text of a dataset may become one, nor a part of one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import typer

from audit.base.disk import dated, written_whole
from audit.base.errors import InputError, OutputError, printable
from audit.cli.outcomes import Case, Outcome, Statement
from audit.cli.terminal.tables import one_line
from audit.results.printed import NOT_TOLD

_OURS = b'package="audit"'
"""What the suite of each file begins with."""
_LIST = 200
"""Number of sentences of one check that the file holds."""


def refuse_no_file(path: Path | None) -> None:
    """Refuse a JUnit file that is a folder, or another program's file."""
    if path is None or not path.exists():
        return
    if path.is_dir():
        raise InputError("--junit names a file", found="a folder", where=path)
    with path.open("rb") as opened:
        if _OURS not in opened.read(1_000):
            raise OutputError(
                "--junit names a new file, or one that audit wrote",
                found="another file",
                where=path,
                hint="name another; it would be lost",
            )


def write_junit(outcome: Outcome, path: Path) -> None:
    """Write the outcome of a command as a JUnit file, which replaces an earlier one."""
    with written_whole(path) as begun:
        begun.write_bytes(junit_bytes(outcome))


def junit_bytes(outcome: Outcome) -> bytes:
    """The file: one suite, dated by SOURCE_DATE_EPOCH where that is set.

    A failed case has its first sentence as the message, and all of them as its text. Sentences of
    cases that did not fail are the suite's output.
    """
    suites = Element("testsuites")
    name = f"audit {outcome.command}"
    suite = SubElement(
        suites,
        "testsuite",
        id="0",
        package="audit",
        name=name,
        timestamp=dated().strftime("%Y-%m-%dT%H:%M:%S"),
        hostname="localhost",
        tests=str(len(outcome.cases)),
        failures=str(outcome.count("failed")),
        errors=str(outcome.count("crashed")),
        skipped=str(outcome.count("skipped")),
        time="0",
    )
    properties = SubElement(suite, "properties")
    for key, value in {"verdict": outcome.word, "title": outcome.title, **outcome.facts}.items():
        SubElement(properties, "property", name=key, value=printable(value))
    for case in outcome.cases:
        _add_case(suite, case, f"audit.{outcome.command}")
    SubElement(suite, "system-out").text = printable(_output(outcome))
    SubElement(suite, "system-err").text = ""
    indent(suites)
    content: bytes = tostring(suites, "utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + content + b"\n"


def _add_case(suite: Element, case: Case, classname: str) -> None:
    added = SubElement(suite, "testcase", name=printable(case.name), classname=classname, time="0")
    if case.state == "passed":
        return
    tag = {"failed": "failure", "crashed": "error", "skipped": "skipped"}[case.state]
    first = case.statements[0] if case.statements else Statement("error", case.title)
    stated = SubElement(added, tag, message=printable(first.sentence))
    if case.state != "skipped":
        stated.set("type", first.severity)
        stated.text = printable("\n".join((case.title, *_lines(case))))


def _lines(case: Case) -> Iterable[str]:
    yield from (
        f"{statement.severity}: {statement.sentence}" for statement in case.statements[:_LIST]
    )
    beyond = len(case.statements[_LIST:]) + case.unsaid
    if beyond:
        yield f"Further findings that are not written out here: {beyond:,}."
    if case.not_told:
        yield NOT_TOLD


def _output(outcome: Outcome) -> str:
    passed = (
        case
        for case in outcome.cases
        if case.state == "passed" and (case.statements or case.not_told)
    )
    lines = (f"{case.name}: {line}" for case in passed for line in _lines(case))
    return "\n".join((f"{outcome.word}. {outcome.sentence}", *lines))


MOST = 10
"""Number of annotations of each kind that GitHub shows of one step."""
LARGEST = 900_000
"""Number of bytes of a step's summary; GitHub refuses one from 1 MiB up."""
_KIND: Mapping[str, str] = {"error": "error", "warning": "warning", "note": "notice"}
_ICON: Mapping[str, str] = {"failed": "❌", "crashed": "💥", "passed": "✅", "skipped": "⏭️"}
_MARK: Mapping[str, str] = {"error": "❗", "warning": "⚠️", "note": "ℹ️"}
_LISTED = 10
_COMMAND = re.compile(r"((?:^|\r)\s*):(?=:)", re.M)


def on_github() -> bool:
    """Whether GitHub's runner runs the command."""
    return bool(os.environ.get("GITHUB_ACTIONS"))


def inert(text: str) -> str:
    """Text in which the runner finds no command; what a reader sees hardly changes.

    >>> inert("::error::no") + inert("##[error]no")
    ': :error::no## [error]no'
    """
    return _COMMAND.sub(r"\1: ", text).replace("##[", "## [")


def annotation_lines(outcome: Outcome) -> Iterator[str]:
    """Annotations, the worst first, at most `MOST` of each kind."""
    left = dict.fromkeys(_KIND, MOST)
    for case, statement in outcome.ranked():
        if left[statement.severity]:
            left[statement.severity] -= 1
            yield annotation(statement, f"{case.name}: {case.title}")


def annotation(statement: Statement, title: str) -> str:
    """One annotation, on one line.

    >>> annotation(Statement("note", "50% of\\nall"), "a: b, c")
    '::notice title=a%3A b%2C c::50%25 of%0Aall'
    """
    of_title = _escaped(one_line(title)).replace(":", "%3A").replace(",", "%2C")
    return f"::{_KIND[statement.severity]} title={of_title}::{_escaped(statement.sentence)}"


def _escaped(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return "".join(c if c.isprintable() else "\ufffd" for c in escaped).replace("##[", "## [")


def summary_file() -> Path | None:
    """The file that a step's summary is added to; None if the runner names none."""
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    return Path(named) if named else None


def add_summary(outcome: Outcome, path: Path) -> None:
    """Add the summary of a step to the file that GitHub shows."""
    with path.open("a", encoding="utf-8", errors="replace") as opened:
        opened.write(markdown(outcome))


def markdown(outcome: Outcome) -> str:
    """The summary of a step in Markdown, in which no text of the data is markup."""
    heading = " · ".join(filter(None, (f"audit {outcome.command}", _plain(outcome.title))))
    cases = sorted(outcome.cases, key=lambda case: list(_ICON).index(case.state))
    loud = [case for case in cases if case.state in ("failed", "crashed") or _findings(case)]
    lines = [f"## {heading}", "", f"**{_plain(outcome.word)}.** {_plain(outcome.sentence)}", ""]
    if loud:
        lines += ["| | check | findings |", "|---|---|---:|", *map(_row, loud), ""]
    ranked = outcome.ranked()
    lines += [_item(case, statement) for case, statement in ranked[:_LISTED]]
    if len(ranked) > _LISTED:
        lines.append(f"- and {len(ranked) - _LISTED:,} more in the report")
    quiet = {"passed": "passed without a finding", "skipped": "did not apply"}
    counts = {
        text: sum(case.state == state and case not in loud for case in cases)
        for state, text in quiet.items()
    }
    lines += ["", "; ".join(f"checks that {text}: {n}" for text, n in counts.items()) + ".", ""]
    lines += ["<details><summary>What was checked</summary>", ""]
    lines += [f"- {_plain(name)}: {_plain(fact)}" for name, fact in outcome.facts.items()]
    return _cut("\n".join([*lines, "", "</details>", "", ""]))


def _findings(case: Case) -> int:
    return 0 if case.state == "skipped" else len(case.statements) + case.unsaid


def _row(case: Case) -> str:
    name = f"{_plain(case.title)} ({_plain(case.name)})"
    mark = (
        _MARK[case.statements[0].severity] if case.state == "passed" and case.statements else None
    )
    return f"| {mark or _ICON[case.state]} | {name} | {_findings(case):,} |"


def _item(case: Case, statement: Statement) -> str:
    to_do = f" To do: {_plain(statement.to_do)}" if statement.to_do else ""
    return f"- **{statement.severity}** {_plain(case.name)}: {_plain(statement.sentence)}{to_do}"


def _plain(text: str) -> str:
    """Text on one line, without markup, links or mentions."""
    escaped = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(
        r"([\\`*_\[\]#!|~@$]|:(?=//)|(?<=www)\.)", lambda sign: f"&#{ord(sign[1])};", escaped
    )


def _cut(text: str) -> str:
    """The text, cut at a line where GitHub would refuse it."""
    cut = text.encode("utf-8")[:LARGEST].decode("utf-8", "ignore")
    return text if cut == text else cut[: cut.rindex("\n") + 1]


def publish(outcome: Outcome, junit: Path | None) -> None:
    """Write the JUnit file if one is asked for, and annotate if GitHub's runner runs the command.

    Annotations go to standard error, so that standard output is the same everywhere. A summary that
    cannot be written fails nothing: it is said on standard error.
    """
    if junit is not None:
        write_junit(outcome, junit)
    if not on_github():
        return
    for line in annotation_lines(outcome):
        typer.echo(line.encode("utf-8", "replace").decode("utf-8"), err=True)
    path = summary_file()
    if path is None:
        return
    try:
        add_summary(outcome, path)
    except OSError as error:
        typer.echo(f"No summary of the step: {error.strerror or error}", err=True)
