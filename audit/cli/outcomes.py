"""What a command found, a case for each check, for those who read verdicts by machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from audit.cli.options import Severity
from audit.results.findings import SEVERITIES, promise
from audit.results.order import first_findings

if TYPE_CHECKING:
    from audit.hierarchies.lint import LintResult

State: TypeAlias = Literal["passed", "failed", "crashed", "skipped"]

FAILING: Mapping[Severity, tuple[str, ...]] = {
    "never": (),
    "error": SEVERITIES[:1],
    "warning": SEVERITIES[:2],
}
"""Severities of findings that give exit status 1."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of a check, how much it matters, and the finding that it is of."""

    severity: str
    sentence: str
    finding: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One check.

    Args:
        statements: Its sentences, the worst first; a check that did not run gives its reason.
        unsaid: Number of its findings that have no sentence here, without those folded into others.
        not_told: Whether it has findings that are not told, on so few that counts are rounded.
    """

    name: str
    title: str
    state: State
    statements: tuple[Statement, ...] = ()
    unsaid: int = 0
    not_told: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one command found.

    Args:
        first: Ids of the findings to act on first.
    """

    command: str
    title: str
    sentence: str
    cases: tuple[Case, ...]
    first: tuple[str, ...] = ()

    def ranked(self) -> list[tuple[Case, Statement]]:
        """Every sentence with its check, without those of checks that were skipped.

        Those on the findings to act on first; then by severity, and by place within their check.
        """
        places = {id_: place for place, id_ in enumerate(self.first)}
        every = [
            (places.get(one.finding, len(places)), SEVERITIES.index(one.severity), rank, case, one)
            for case in self.cases
            if case.state != "skipped"
            for rank, one in enumerate(case.statements)
        ]
        every.sort(key=lambda one: one[:3])
        return [(case, statement) for *_, case, statement in every]


def _case(
    name: str,
    title: str,
    statements: Iterable[Statement],
    fail_on: Severity,
    status: str = "",
    **more: Any,
) -> Case:
    """A check that ran; errors fail it without ``--fail-on`` too."""
    worst = tuple(sorted(statements, key=lambda one: SEVERITIES.index(one.severity)))
    failing = FAILING[fail_on] or FAILING["error"]
    of_status = {"fail": "error", "warn": "warning"}.get(status)
    failed = any(one in failing for one in (of_status, *(said.severity for said in worst)))
    return Case(name, title, "failed" if failed else "passed", worst, **more)


def of_audit(
    command: str,
    shared: Mapping[str, Any],
    fail_on: Severity,
    unrendered: Sequence[Exception] = (),
    title: str = "",
) -> Outcome:
    """The outcome of an audit."""
    from reports.findings import verdict

    cases = (_of_check(check, fail_on) for check in shared["checks"])
    return Outcome(
        command=command,
        title=title or str(shared["identity"]["data"]["title"] or ""),
        sentence=verdict(shared).said,
        cases=(*cases, *_of_reports(unrendered)),
        first=tuple(finding["id"] for _, finding in first_findings(shared)),
    )


def _of_check(check: Mapping[str, Any], fail_on: Severity) -> Case:
    name, title, reason = check["name"], check["title"], str(check["reason"] or "")
    if check["status"] == "not_applicable":
        return Case(name, title, "skipped", (Statement("note", reason),))
    if check["status"] == "error":
        return Case(name, title, "crashed", (Statement("error", reason),))
    statements = (
        Statement(one["severity"], " ".join((one["statement"], *promise(one))), one["id"])
        for one in check["findings"]
        if one["waiver"] is None
    )
    more = {"unsaid": check["not_shown"], "not_told": check["not_told"]}
    return _case(name, title, statements, fail_on, check["status"], **more)


def _of_reports(unrendered: Iterable[Exception]) -> Iterator[Case]:
    """A crashed case for each report that could not be rendered."""
    for place, error in enumerate(unrendered, 1):
        statement = Statement("error", str(error))
        yield Case(f"report_{place}", "Could the report be rendered?", "crashed", (statement,))


def of_comparison(
    shared: Mapping[str, Any], unrendered: Sequence[Exception] = (), title: str = ""
) -> Outcome:
    """The outcome of a comparison; a check fails by an error that is new, or worse than before."""
    from reports.compared import verdict

    return Outcome(
        command="compare",
        title=title or str(shared["identity"]["new"]["data"]["title"] or ""),
        sentence=verdict(shared).said,
        cases=(*map(_of_compared, shared["checks"]), *_of_reports(unrendered)),
    )


def _of_compared(check: Mapping[str, Any]) -> Case:
    """What a comparison says of a check: findings that are new or worse."""
    name, title, status = check["name"], check["title"], check["status_new"]
    if status in (None, "not_applicable"):
        why = "the later run does not have this check" if status is None else "it does not apply"
        return Case(name, title, "skipped", (Statement("note", why),))
    if status == "error":
        crashed = Statement("error", "The check crashed in the later run.")
        return Case(name, title, "crashed", (crashed,))
    worse = [one for one in check["findings"] if one["change"] in ("new", "worse")]
    statements = (
        Statement(one["severity_new"], f"{one['change'].capitalize()}: {_statement_of(one)}")
        for one in worse
    )
    unsaid = check["changes"]["new"] + check["changes"]["worse"] - len(worse)
    return _case(name, title, statements, "error", unsaid=unsaid)


def _statement_of(finding: Mapping[str, Any]) -> str:
    """The statement of a finding; without one, that the runs' own reports have it."""
    nodes = ", ".join(node["id"] for node in finding["nodes"])
    return str(finding["statement"] or f"see the runs' own reports for {nodes or finding['id']}.")


def of_lint(result: LintResult, fail_on: Severity) -> Outcome:
    """The outcome of linting a hierarchy: a case for each rule."""
    from audit.hierarchies.lint import RULES

    cases = []
    for rule, said in RULES.items():
        own = (one for one in result.findings if one.rule == rule)
        statements = (Statement(one.severity, f"{one.statement} {one.advice}") for one in own)
        cases.append(_case(rule, said["question"], statements, fail_on))
    sentence = f"{len(result.findings)} findings in {len(result.hierarchy):,} nodes."
    return Outcome("lint", result.hierarchy.name, sentence, tuple(cases))
