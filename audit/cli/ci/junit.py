"""JUnit files: a test case for each check, as test reporters read them.

The files hold to what the schemas of Ant's JUnit task and of Jenkins both allow.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from audit.base.disk import written_whole
from audit.base.errors import InputError
from audit.base.source_date import dated
from audit.base.xml_text import xml_text
from audit.cli.ci.outcomes import Case, Outcome, Statement

_LIST = 200
"""Number of sentences of one check that the file holds."""


def refuse_no_file(path: Path | None, *outputs: Path) -> None:
    """Raise InputError where no file can be written, or it would lie in a sealed folder.

    Args:
        path: The JUnit file; None without one.
        outputs: Folders that the command seals or reads.
    """
    if path is None:
        return
    if path.is_dir():
        raise InputError("--junit names a file", found="a folder", where=path)
    within = [out for out in outputs if path.resolve().is_relative_to(out.resolve())]
    if within:
        raise InputError(
            "the JUnit file must be outside the run",
            found=f"a path in {within[0]}",
            where=path,
            hint="everything in a run is sealed with it; name a file outside the run",
        )


def write_junit(outcome: Outcome, path: Path) -> None:
    """Write the outcome of a command as a JUnit file, which replaces an earlier one.

    Raises:
        OutputError: If the file cannot be written.
    """
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
        SubElement(properties, "property", name=key, value=xml_text(value))
    for case in outcome.cases:
        _add_case(suite, case, f"audit.{outcome.command}")
    SubElement(suite, "system-out").text = xml_text(_output(outcome))
    SubElement(suite, "system-err").text = ""
    indent(suites)
    content: bytes = tostring(suites, "utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + content + b"\n"


def _add_case(suite: Element, case: Case, classname: str) -> None:
    added = SubElement(suite, "testcase", name=xml_text(case.name), classname=classname, time="0")
    if case.state == "passed":
        return
    tag = {"failed": "failure", "crashed": "error", "skipped": "skipped"}[case.state]
    first = case.statements[0] if case.statements else Statement("error", case.title)
    stated = SubElement(added, tag, message=xml_text(first.sentence))
    if case.state != "skipped":
        stated.set("type", first.severity)
        stated.text = xml_text("\n".join((case.title, *_lines(case))))


def _lines(case: Case) -> Iterable[str]:
    yield from (
        f"{statement.severity}: {statement.sentence}" for statement in case.statements[:_LIST]
    )
    beyond = len(case.statements[_LIST:]) + case.unsaid
    if beyond:
        yield f"Further findings that are not written out here: {beyond:,}."


def _output(outcome: Outcome) -> str:
    passed = (case for case in outcome.cases if case.state == "passed" and case.statements)
    lines = (f"{case.name}: {line}" for case in passed for line in _lines(case))
    return "\n".join((f"{outcome.word}. {outcome.sentence}", *lines))
