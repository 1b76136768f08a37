"""Publish an outcome where a CI job looks: a JUnit file, and GitHub's annotations.

JUnit files hold to what the schemas of Ant's JUnit task and of Jenkins both allow. Annotations are
commands to GitHub's runner, lines that begin with two colons; see "Workflow commands for GitHub
Actions". No text of a dataset may become one, nor a part of one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import typer

from audit.base.disk import dated, written_whole
from audit.base.errors import InputError, OutputError, printable
from audit.cli.outcomes import Case, Outcome, State, Statement
from audit.cli.terminal.tables import one_line
from audit.results.printed import NOT_TOLD

_OURS = b'package="audit"'
"""What the suite of each file begins with."""
_LIST = 200
"""Number of sentences of one check that the file holds."""
_TAGS: Mapping[State, str] = {"failed": "failure", "crashed": "error", "skipped": "skipped"}
_COUNTS: Mapping[State, str] = {"failed": "failures", "crashed": "errors", "skipped": "skipped"}


def refuse_foreign_file(path: Path | None) -> None:
    """Raise InputError if a JUnit file is a folder, OutputError if another program wrote it."""
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


def junit_bytes(outcome: Outcome) -> bytes:
    """The JUnit file of an outcome: one suite, dated by SOURCE_DATE_EPOCH where that is set.

    A failed case has its first sentence as the message, and all of them as its text. Sentences of
    cases that did not fail are the suite's output.
    """
    suites, states = Element("testsuites"), [case.state for case in outcome.cases]
    suite = SubElement(
        suites,
        "testsuite",
        id="0",
        package="audit",
        name=f"audit {outcome.command}",
        timestamp=dated().strftime("%Y-%m-%dT%H:%M:%S"),
        hostname="localhost",
        tests=str(len(states)),
        time="0",
        attrib={name: str(states.count(state)) for state, name in _COUNTS.items()},
    )
    title = {"name": "title", "value": printable(outcome.title)}
    SubElement(SubElement(suite, "properties"), "property", title)
    output = [outcome.sentence]
    for case in outcome.cases:
        _add_case(suite, case, f"audit.{outcome.command}")
        if case.state == "passed":
            output += [f"{case.name}: {line}" for line in _lines(case)]
    SubElement(suite, "system-out").text = printable("\n".join(output))
    SubElement(suite, "system-err").text = ""
    indent(suites)
    content: bytes = tostring(suites, "utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + content + b"\n"


def _add_case(suite: Element, case: Case, classname: str) -> None:
    """Append the JUnit element of a check, with why it failed, crashed or was skipped."""
    added = SubElement(suite, "testcase", name=printable(case.name), classname=classname, time="0")
    if case.state == "passed":
        return
    first = case.statements[0] if case.statements else Statement("error", case.title)
    stated = SubElement(added, _TAGS[case.state], message=printable(first.sentence))
    if case.state != "skipped":
        stated.set("type", first.severity)
        stated.text = printable("\n".join((case.title, *_lines(case))))


def _lines(case: Case) -> Iterator[str]:
    """The sentences of a case, at most `_LIST`, then how many findings have none here."""
    for statement in case.statements[:_LIST]:
        yield f"{statement.severity}: {statement.sentence}"
    if beyond := len(case.statements[_LIST:]) + case.unsaid:
        yield f"Further findings that are not written out here: {beyond:,}."
    if case.not_told:
        yield NOT_TOLD


MOST = 10
"""Number of annotations of each kind that GitHub shows of one step."""
_KIND: Mapping[str, str] = {"error": "error", "warning": "warning", "note": "notice"}
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
    """A text as the message of an annotation, on one line, in which nothing is obeyed."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return "".join(c if c.isprintable() else "\ufffd" for c in escaped).replace("##[", "## [")


def publish(outcome: Outcome, junit: Path | None) -> None:
    """Write the JUnit file if one is asked for, and annotate if GitHub's runner runs the command.

    Annotations go to standard error, so that standard output is the same everywhere.
    """
    if junit is not None:
        with written_whole(junit) as begun:
            begun.write_bytes(junit_bytes(outcome))
    if on_github():
        for line in annotation_lines(outcome):
            typer.echo(line.encode("utf-8", "replace").decode("utf-8"), err=True)
