"""Verdicts for machines: JUnit files keep the schemas' rules; GitHub obeys no text of the data."""

from __future__ import annotations

import re
from typing import get_args
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import audit
from audit.base.errors import printable
from audit.cli.ci_output import MOST, annotation, annotation_lines, inert, junit_bytes
from audit.cli.options import Severity
from audit.cli.outcomes import Case, Outcome, Statement, of_audit
from audit.results.findings import SEVERITIES
from fixtures.junit_rules import broken_rules
from fixtures.results import hostile_result, judged_result, rich_result

NASTY = (
    *("::error::x", "##[command]x", "a\r\n::stop-commands::t", "50%, a: b", "\x00"),
    *("%0A%25 of 100%0D", "<b>|`*_[x](y)"),
)
TEXTS = st.one_of(st.sampled_from(NASTY), st.text(max_size=30))
TOLD = st.builds(Statement, st.sampled_from(SEVERITIES), TEXTS)


def _case(place: int, title: str, state: str, sentences: list[Statement], unsaid: int) -> Case:
    needed = sentences or [Statement("error", "why")] if state != "passed" else sentences
    ranked = sorted(needed, key=lambda one: SEVERITIES.index(one.severity))
    return Case(f"check_{place}", title, state, tuple(ranked), unsaid)  # type: ignore[arg-type]


CASES = st.builds(
    _case,
    st.integers(0, 9),
    TEXTS,
    st.sampled_from(("passed", "failed", "crashed", "skipped")),
    st.lists(TOLD, max_size=14),
    st.integers(0, 3),
)
OUTCOMES = st.builds(Outcome, st.just("run"), TEXTS, TEXTS, st.lists(CASES, max_size=5).map(tuple))
TAG = {"failed": "failure", "crashed": "error", "skipped": "skipped"}
KIND = {"error": "error", "warning": "warning", "notice": "note"}


@given(OUTCOMES)
def test_every_case_says_its_state_and_its_sentences(outcome: Outcome) -> None:
    content = junit_bytes(outcome)
    (suite,) = ElementTree.fromstring(content)
    written = suite.findall("testcase")

    assert broken_rules(content) == []
    assert [case.get("name") for case in written] == [case.name for case in outcome.cases]
    for case, element in zip(outcome.cases, written, strict=True):
        states = [child.tag for child in element]
        assert states == ([] if case.state == "passed" else [TAG[case.state]])
        if case.state != "passed":
            assert element[0].get("message") == printable(case.statements[0].sentence)
        if case.state in ("failed", "crashed"):
            assert (element[0].text or "").count("error: ") >= sum(
                one.severity == "error" for one in case.statements
            )


@pytest.mark.parametrize("fail_on", get_args(Severity))
def test_a_case_fails_as_the_exit_status_says(fail_on: Severity) -> None:
    shared = rich_result().shared()
    outcome = of_audit("run", shared, fail_on)
    failing = {"fail"} | ({"warn"} if fail_on == "warning" else set())

    for check, case in zip(shared["checks"], outcome.cases, strict=True):
        expected = {"error": "crashed", "not_applicable": "skipped"}.get(
            check["status"], "failed" if check["status"] in failing else "passed"
        )
        assert (check["name"], expected) == (case.name, case.state)
    assert {case.state for case in outcome.cases} >= {"crashed", "skipped", "passed", "failed"}


@pytest.mark.parametrize("result", [hostile_result(), judged_result()])
def test_sentences_are_those_of_the_shared_view_without_the_waived(
    result: audit.AuditResult,
) -> None:
    shared = result.shared()
    findings = [f for check in shared["checks"] for f in check["findings"] if f["waiver"] is None]
    told = [
        one.sentence
        for case in of_audit("run", shared, "never").cases
        if case.state in ("passed", "failed")
        for one in case.statements
    ]

    assert sorted(told) == sorted(finding["statement"] for finding in findings)


def runner_reads(output: str) -> list[tuple[str, str, str]]:
    """Commands that the runner finds in an output: name, title, and message, as it decodes them."""
    found = []
    for line in re.split(r"\r\n|\r|\n", output):
        if "##[" in line:
            found.append(("##[", "", line))
        match = re.match(r"::([a-z-]+)(?: title=(.*?))?::(.*)$", line.lstrip(), re.S)
        if match:
            title = decoded(match[2] or "", {"%3A": ":", "%2C": ","})
            found.append((match[1], title, decoded(match[3], {})))
        elif line.lstrip().startswith("::"):
            found.append(("?", "", line))
    return found


def decoded(text: str, further: dict[str, str]) -> str:
    for code, character in {"%0D": "\r", "%0A": "\n", **further, "%25": "%"}.items():
        text = text.replace(code, character)
    return text


@example(Statement("note", "%0A%25 of 100%0D"), "100%3A")
@given(TOLD, st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20))
def test_the_runner_reads_one_command_with_the_sentence(one: Statement, title: str) -> None:
    ((name, read, message),) = runner_reads(annotation(one, title))
    kept = "".join(c if c.isprintable() or c in "\r\n" else "\ufffd" for c in one.sentence)

    assert KIND[name] == one.severity
    assert message == kept.replace("##[", "## [")
    assert read == " ".join(title.split()).replace("##[", "## [")


@given(TEXTS | st.text("ab :#[", max_size=12))
def test_no_text_is_a_command_and_one_that_orders_nothing_stays(text: str) -> None:
    assert runner_reads(inert(text)) == []
    if not runner_reads(text) and not text.lstrip().startswith("::"):
        assert inert(text) == text


@given(OUTCOMES)
def test_the_worst_sentences_come_first_and_few_of_each(outcome: Outcome) -> None:
    lines = list(annotation_lines(outcome))
    read = [KIND[name] for line in lines for name, _, _ in runner_reads(line)]
    standing = [one.severity for c in outcome.cases if c.state != "skipped" for one in c.statements]

    assert read == sorted(read, key=SEVERITIES.index)
    for severity in SEVERITIES:
        assert read.count(severity) == min(standing.count(severity), MOST)
