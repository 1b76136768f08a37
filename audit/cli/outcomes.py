"""What a command found, a case for each check, for those who read verdicts by machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from audit.cli.options import Severity
from audit.results.findings import SEVERITIES
from audit.results.order import first_findings

if TYPE_CHECKING:
    from audit.hierarchies.lint import LintResult
    from audit.runs.verify import Verdict

State: TypeAlias = Literal["passed", "failed", "crashed", "skipped"]

_FAILING: Mapping[Severity, tuple[str, ...]] = {
    "never": SEVERITIES[:1],
    "error": SEVERITIES[:1],
    "warning": SEVERITIES[:2],
}
"""Severities of findings that fail their check; errors do without ``--fail-on`` too."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of a check, how much it matters, and what to do about it."""

    severity: str
    sentence: str
    to_do: str = ""
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
        facts: What identifies the data, the hierarchy, the policy and the tool, by name.
        first: Ids of the findings to act on first.
    """

    command: str
    title: str
    word: str
    sentence: str
    cases: tuple[Case, ...]
    facts: Mapping[str, str]
    first: tuple[str, ...] = ()

    def count(self, state: State) -> int:
        """Number of cases in a state."""
        return sum(case.state == state for case in self.cases)

    def ranked(self) -> list[tuple[Case, Statement]]:
        """Every sentence with its check: those to act on first, then the worst of each check."""
        places = {id_: place for place, id_ in enumerate(self.first)}
        every = [
            (places.get(one.finding, len(places)), SEVERITIES.index(one.severity), rank, case, one)
            for case in self.cases
            if case.state != "skipped"
            for rank, one in enumerate(case.statements)
        ]
        every.sort(key=lambda one: one[:3])
        return [(case, statement) for *_, case, statement in every]


def of_audit(
    command: str,
    shared: Mapping[str, Any],
    fail_on: Severity,
    unrendered: Sequence[Exception] = (),
    title: str = "",
) -> Outcome:
    """The outcome of an audit."""
    from reports.findings import verdict

    stated = verdict(shared)
    cases = tuple(_of_check(check, _FAILING[fail_on]) for check in shared["checks"])
    return Outcome(
        command=command,
        title=title or str(shared["identity"]["data"]["title"] or ""),
        word=stated.head,
        sentence=" ".join(stated.sentences),
        cases=(*cases, *_of_reports(unrendered)),
        facts=_identity(shared["identity"]) | _rounding(shared["rounding"]),
        first=tuple(finding["id"] for _, finding in first_findings(shared)),
    )


def _of_check(check: Mapping[str, Any], failing: Sequence[str]) -> Case:
    from audit.results.findings import promise

    name, title, reason = check["name"], check["title"], str(check["reason"] or "")
    if check["status"] == "not_applicable":
        return Case(name, title, "skipped", (Statement("note", reason),))
    if check["status"] == "error":
        return Case(name, title, "crashed", (Statement("error", reason),))
    statements = sorted(
        (
            Statement(
                finding["severity"],
                " ".join((finding["statement"], *promise(finding))),
                finding["curator"],
                finding["id"],
            )
            for finding in check["findings"]
            if finding["waiver"] is None
        ),
        key=lambda one: SEVERITIES.index(one.severity),
    )
    failed = {"fail": "error", "warn": "warning"}.get(check["status"]) in failing
    state: State = "failed" if failed else "passed"
    return Case(name, title, state, tuple(statements), check["not_shown"], check["not_told"])


def _of_reports(unrendered: Iterable[Exception]) -> Iterator[Case]:
    for place, error in enumerate(unrendered, 1):
        statement = Statement("error", str(error))
        yield Case(f"report_{place}", "Could the report be rendered?", "crashed", (statement,))


def _rounding(rounding: Mapping[str, Any] | None) -> dict[str, str]:
    """What is said of rounded counts."""
    return {"rounding": str(rounding["note"])} if rounding else {}


def _identity(identity: Mapping[str, Any], side: str = "") -> dict[str, str]:
    """What identifies a run; what it does not have is left out."""
    data, hierarchy, policy = (identity[name] for name in ("data", "hierarchy", "policy"))
    facts = {
        "data.format": data["format"],
        "hierarchy.name": hierarchy["name"],
        "hierarchy.sha256": hierarchy["sha256"],
        "policy.name": policy["name"],
        "policy.sha256": policy["sha256"],
        "normaliser": identity["normaliser"],
        "tool": f"{identity['tool']['name']} {identity['tool']['version']}",
    }
    return {f"{side}{name}": str(fact) for name, fact in facts.items() if fact is not None}


def of_comparison(
    shared: Mapping[str, Any], unrendered: Sequence[Exception] = (), title: str = ""
) -> Outcome:
    """The outcome of a comparison; a check fails by an error that is new, or worse than before."""
    from reports.compared import verdict

    stated = verdict(shared)
    identity = shared["identity"]
    facts = {k: v for s in ("old", "new") for k, v in _identity(identity[s], f"{s}.").items()}
    return Outcome(
        command="compare",
        title=title or str(identity["new"]["data"]["title"] or ""),
        word=stated.head,
        sentence=" ".join(stated.sentences),
        cases=(*map(_of_changes, shared["checks"]), *_of_reports(unrendered)),
        facts=facts,
    )


def _of_changes(check: Mapping[str, Any]) -> Case:
    name, title, status = check["name"], check["title"], check["status_new"]
    if status in (None, "not_applicable"):
        why = "the later run does not have this check" if status is None else "it does not apply"
        return Case(name, title, "skipped", (Statement("note", why),))
    if status == "error":
        return Case(
            name, title, "crashed", (Statement("error", "The check crashed in the later run."),)
        )
    worse = [one for one in check["findings"] if one["change"] in ("new", "worse")]
    statements = sorted(
        (
            Statement(one["severity_new"], f"{one['change'].capitalize()}: {_sentence_of(one)}")
            for one in worse
        ),
        key=lambda one: SEVERITIES.index(one.severity),
    )
    failed = any(one.severity == "error" for one in statements)
    unsaid = check["changes"]["new"] + check["changes"]["worse"] - len(statements)
    return Case(name, title, "failed" if failed else "passed", tuple(statements), unsaid)


def _sentence_of(finding: Mapping[str, Any]) -> str:
    nodes = ", ".join(node["id"] for node in finding["nodes"])
    return str(finding["statement"] or f"see the runs' own reports for {nodes or finding['id']}.")


def of_verification(run: str, verdicts: Sequence[Verdict]) -> Outcome:
    """The outcome of a verification: a step that does not hold is a failure."""
    states: Mapping[str, State] = {"holds": "passed", "does not hold": "failed"}
    cases = tuple(
        Case(
            one.name,
            one.name,
            states.get(one.outcome, "skipped"),
            () if one.outcome == "holds" else (Statement("error", f"{one.name}: {one.detail}"),),
        )
        for one in verdicts
    )
    broken = sum(case.state == "failed" for case in cases)
    sentence = f"Of {len(cases)} steps of the verification, {broken} do not hold."
    word = "Does not hold" if broken else "Holds"
    return Outcome("verify", run, word, sentence, cases, {"run": run})


def of_lint(result: LintResult, fail_on: Severity) -> Outcome:
    """The outcome of linting a hierarchy: a case for each rule."""
    from audit.hierarchies.lint import RULES

    cases = tuple(_of_rule(rule, said["question"], result, fail_on) for rule, said in RULES.items())
    sentence = f"{len(result.findings)} findings in {len(result.hierarchy):,} nodes."
    severities = [one.severity for one in result.findings]
    word = min(severities, key=SEVERITIES.index, default="pass").capitalize()
    name = result.hierarchy.name
    return Outcome("lint", name, word, sentence, cases, {"hierarchy.name": name})


def _of_rule(rule: str, title: str, result: LintResult, fail_on: Severity) -> Case:
    statements = tuple(
        Statement(one.severity, f"{one.statement} {one.advice}")
        for one in result.findings
        if one.rule == rule
    )
    failed = any(one.severity in _FAILING[fail_on] for one in statements)
    return Case(rule, title, "failed" if failed else "passed", statements)
