"""What GitHub's runner reads: it obeys the command's own lines and none of the data."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import audit
from audit.cli.ci_output import (
    LARGEST,
    MOST,
    annotation,
    annotation_lines,
    inert,
    markdown,
)
from audit.cli.outcomes import Case, Outcome, Statement, of_audit
from audit.results.findings import SEVERITIES
from tests.unit.cli.drawn import outcomes, texts, told

KIND = {"error": "error", "warning": "warning", "notice": "note"}


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


def seen(text: str) -> str:
    """A sentence as an annotation may show it."""
    kept = "".join(c if c.isprintable() or c in "\r\n" else "\ufffd" for c in text)
    return kept.replace("##[", "## [")


@example(Statement("note", "%0A%25 of 100%0D"), "100%3A")
@given(told, st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20))
def test_the_runner_reads_one_command_with_the_sentence(one: Statement, title: str) -> None:
    ((name, read, message),) = runner_reads(annotation(one, title))

    assert KIND[name] == one.severity
    assert message == seen(one.sentence)
    assert read == " ".join(title.split()).replace("##[", "## [")


@given(texts)
def test_no_text_is_a_command(text: str) -> None:
    assert runner_reads(inert(text)) == []


@given(st.text("ab :#[", max_size=12))
def test_text_that_orders_nothing_stays_as_it_is(text: str) -> None:
    if not runner_reads(text) and not text.lstrip().startswith("::"):
        assert inert(text) == text


@given(outcomes)
def test_the_worst_sentences_come_first_and_few_of_each(outcome: Outcome) -> None:
    lines = list(annotation_lines(outcome))
    read = [KIND[name] for line in lines for name, _, _ in runner_reads(line)]
    standing = [one.severity for c in outcome.cases if c.state != "skipped" for one in c.statements]

    assert read == sorted(read, key=SEVERITIES.index)
    for severity in SEVERITIES:
        assert read.count(severity) == min(standing.count(severity), MOST)


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)


OWN = {
    "h2", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li",
    "details", "summary",
}  # fmt: skip


@given(outcomes)
def test_no_text_of_the_summary_is_markup(outcome: Outcome) -> None:
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown(outcome))

    assert Tags(html).tags <= OWN


def test_the_summary_says_verdict_checks_and_sentences() -> None:
    cases = (
        Case("a", "Is a so?", "failed", (Statement("error", "2 of 3 rows."),), 1),
        Case("b", "Is b so?", "passed", (Statement("note", "A | b."),)),
        Case("c", "Is c so?", "skipped", (Statement("note", "no split"),)),
        Case("d", "Is d so?", "passed"),
    )
    text = markdown(Outcome("run", "Ward", "Fails", "Of 3 checks.", cases, {"tool": "audit 1"}))

    assert text.startswith("## audit run · Ward\n\n**Fails.** Of 3 checks.\n")
    assert "| ❌ | Is a so? (a) | 2 |" in text
    assert "- **error** a: 2 of 3 rows." in text
    assert "A &#124; b." in text
    assert "checks that passed without a finding: 1; checks that did not apply: 1." in text
    assert "no split" not in text


def test_a_summary_stays_below_what_github_takes() -> None:
    long = Statement("error", "x" * 100_000)
    cases = tuple(Case(f"c{n}", "?", "failed", (long,)) for n in range(20))
    text = markdown(Outcome("run", "", "Fails", "", cases, {}))

    assert 100_000 < len(text.encode()) <= LARGEST
    assert text.endswith("\n")


def test_the_numbers_of_the_summary_are_those_of_its_verdict() -> None:
    labels = [["401.9"]] * 60 + [["401.1"]] * 2 + [["405.99"]] * 3
    result = audit.run_audit(audit.load_labels(labels, "icd9cm"))
    outcome = of_audit("run", result.shared(), "never")
    assert result.findings["folded_into"].is_not_null().any()
    rows = [row.split("|") for row in markdown(outcome).splitlines() if row.startswith("| ")]
    listed = sum(int(cells[3]) for cells in rows if cells[3].strip().isdigit())
    assert f"{listed} finding" in outcome.sentence
