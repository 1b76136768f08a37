"""What GitHub's runner reads: annotations on standard error, and a summary of the step.

Annotations are commands to the runner, lines that begin with two colons; see "Workflow commands for
GitHub Actions". No text of a dataset may become one, nor a part of one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from audit.cli.ci.outcomes import Case, Outcome, Statement
from audit.cli.terminal.tables import one_line

MOST = 10
"""Number of annotations of each kind that GitHub shows of one step."""
LARGEST = 900_000
"""Number of bytes of a step's summary; GitHub refuses one from 1 MiB up."""
_KIND: Mapping[str, str] = {"error": "error", "warning": "warning", "note": "notice"}
_ICON: Mapping[str, str] = {"failed": "❌", "crashed": "💥", "passed": "✅", "skipped": "⏭️"}
_MARK: Mapping[str, str] = {"error": "❗", "warning": "⚠️", "note": "ℹ️"}
_LISTED = 20
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
    """Add the summary of a step to the file that GitHub shows.

    Raises:
        OSError: If the file cannot be written.
    """
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
    return f"- **{statement.severity}** {_plain(case.name)}: {_plain(statement.sentence)}"


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
