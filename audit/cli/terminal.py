"""Renderables of results for a terminal; nothing is printed here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from audit.base.errors import printable
from audit.base.plurals import counted
from audit.cli.detected import HEADINGS, detected_rows, unused_rows

if TYPE_CHECKING:
    from audit.alignment.preference import PreferenceResult
    from audit.hierarchies.hierarchy import Hierarchy
    from audit.hierarchies.lint.finding import LintFinding
    from audit.hierarchies.lint.linting import LintResult
    from audit.runs.case_lists import Listed
    from audit.runs.verify import Verdict

WIDEST = 120
"""Greatest width in columns, even in a wider terminal: longer lines are hard to read."""
TOP = 5
"""Number of findings shown as sentences."""
LONGEST = 280
"""Greatest number of characters of a sentence, since titles may be of any length."""
LARGEST = 10
"""Number of changed nodes shown for a comparison."""

_STYLE = {
    "error": "bold red",
    "fail": "bold red",
    "warn": "yellow",
    "warning": "yellow",
    "note": "cyan",
    "pass": "green",
    "holds": "green",
    "does not hold": "bold red",
}
_STATUSES = ("error", "fail", "warn", "note")
_SEVERITIES = ("error", "warning", "note")
_QUIET = {"pass": "pass", "not_applicable": "not applicable"}
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)%]{3}\.) (?=[A-Z])")
_INTERVALS = (("low", "high", "share"), ("ratio_low", "ratio_high", "ratio"))


def one_line(text: object) -> str:
    """A text on one line, without control characters."""
    return printable(" ".join(str(text).split()))


# --- an audit ---------------------------------------------------------------------------------


def summary(shared: Mapping[str, Any], word: str, sentence: str) -> Group:
    """Summary of an audit, from the verdict to the rows that could not be read.

    Args:
        shared: The view that may be shared.
        word: The verdict.
        sentence: The sentence that explains it.
    """
    parts: list[RenderableType] = [_verdict(shared["status"], word, sentence)]
    if loud := [check for check in shared["checks"] if check["status"] not in _QUIET]:
        parts += ["", _checks(sorted(loud, key=lambda check: _STATUSES.index(check["status"])))]
    parts += ["", *_quiet(shared["checks"]), *_concept_tests(shared.get("concepts"))]
    parts += _detected(shared.get("entailment"))
    if findings := _ranked(shared["checks"]):
        parts += ["", _findings(findings[:TOP], len(findings)), *_beyond(shared["checks"])]
    return Group(*parts, *_withheld(shared), "", _reading(shared))


def _withheld(shared: Mapping[str, Any]) -> Iterator[RenderableType]:
    """That numbers are withheld, and how data that anybody may see are shown in full."""
    min_cell = int(shared.get("policy", {}).get("min_cell", 1))
    numbers = (
        value
        for check in shared["checks"]
        for finding in check["findings"]
        for one in (finding, *finding["parts"])
        for value in one["evidence"].values()
    )
    if min_cell > 1 and any(isinstance(n, str) and n[:1] in ("<", ">") for n in numbers):
        yield ""
        yield Text(
            f"Counts below {min_cell} are withheld, as of persons' records; data that are public, "
            "or of no persons, can be audited with --min-cell 1.",
            "dim",
        )


def machine_summary(
    shared: Mapping[str, Any], out: Path, not_written: Sequence[Exception]
) -> dict[str, Any]:
    """The output of ``audit run --json``."""
    return {
        "run": str(out),
        "status": shared["status"],
        "ledger": shared["ledger"],
        "checks": [
            {key: check[key] for key in ("name", "status", "denominator", "total", "folded")}
            for check in shared["checks"]
        ],
        "not_written": [str(error) for error in not_written],
    }


def _verdict(status: str, word: str, sentence: str) -> Text:
    return Text.assemble(
        (word, f"{_STYLE.get(status, '')} bold".strip()), f". {one_line(sentence)}"
    )


def _checks(checks: Iterable[Mapping[str, Any]]) -> Table:
    """A line a check, with what it looked at and how many of its findings are shown."""
    table = _table("status", "check", "looked at", "findings", "shown", "folded", right=3)
    for check in checks:
        looked_at = check["reason"] or counted(check["denominator"], check["denominator_unit"])
        shown, folded = len(check["findings"]), check["folded"]
        table.add_row(
            _status(check["status"]),
            check["name"],
            Text(one_line(looked_at)),
            *(f"{n:,}" for n in (shown + check["not_shown"], shown, folded)),
        )
    return table


def _status(status: str) -> Text:
    return Text(status, _STYLE.get(status, ""))


def _quiet(checks: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """The names of checks that found nothing, or did not apply."""
    for status, word in _QUIET.items():
        names = [check["name"] for check in checks if check["status"] == status]
        if names:
            heading = (f"{len(names)} {word}", _STYLE.get(status, "dim"))
            yield Text.assemble(heading, (f": {', '.join(names)}", "dim"))


_CONCEPT_TESTS = ("is_token_of_type", "is_modular", "is_causal")


def _concept_tests(concepts: Mapping[str, Any] | None) -> Iterator[RenderableType]:
    """The paper's tests of each dimension, all slices but one seen; on minimal pairs, if any."""
    if concepts is None:
        return
    rows = [
        row
        for row in concepts["tests"]
        if row["ablation"] in (None, "inlp") and row["probe"] != "retrained"
    ]
    verdicts = {
        (row["dimension"], row["test"]): row["verdict"]
        for row in rows
        if row["seen"] in (None, "N-1 slices")
    }
    table = _table("dimension", *_CONCEPT_TESTS)
    for dimension in dict.fromkeys(row["dimension"] for row in rows if row["dimension"]):
        words = (verdicts.get((dimension, test), "not_applicable") for test in _CONCEPT_TESTS)
        table.add_row(
            Text(one_line(dimension)), *(_status(word.replace("_", " ")) for word in words)
        )
    yield ""
    yield Text(f"Tests on unseen classes, layer {one_line(concepts['facts']['layer'])}")
    yield table
    if verdicts.get((None, "is_grounded"), "not_applicable") != "not_applicable":
        yield Text.assemble("is_grounded: ", _status(verdicts[None, "is_grounded"]))


def _detected(entailment: Mapping[str, Any] | None) -> Iterator[RenderableType]:
    """How well models tell valid tuples from invalid ones, and which rows were not used."""
    if entailment is None:
        return
    if rows := detected_rows(entailment):
        yield ""
        yield _filled(_table(*HEADINGS, right=4), rows)
    if unused := list(unused_rows(entailment)):
        yield ""
        yield from map(Text, map(one_line, unused))


def _ranked(checks: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Checks and their findings: the worst severity first, then the first of each check first.

    What somebody answers for is left out.
    """
    ranked = sorted(
        (_SEVERITIES.index(finding["severity"]), rank, place)
        for place, check in enumerate(checks)
        for rank, finding in enumerate(check["findings"])
        if finding["waiver"] is None
    )
    return [(checks[place]["name"], checks[place]["findings"][rank]) for _, rank, place in ranked]


def _findings(findings: Sequence[tuple[str, Mapping[str, Any]]], shown: int) -> Group:
    """Findings as sentences, of how many that the report shows."""
    told_of: list[RenderableType] = [
        Text(f"{len(findings)} of {counted(shown, 'findings')}", "dim")
    ]
    for check, finding in findings:
        known = ", known" if finding["known"] else ""
        heading = (f"{finding['severity']}{known}", _STYLE[finding["severity"]])
        told_of.append(Text.assemble(heading, (f"  {check}", "dim")))
        told_of.append(Padding(Text(sentence_of(finding)), (0, 0, 0, 2)))
    return Group(*told_of)


def sentence_of(finding: Mapping[str, Any]) -> str:
    """The first sentence of a finding, shortened if long, with its interval."""
    first = one_line(_SENTENCE_END.split(finding["statement"], maxsplit=1)[0])
    if len(first) > LONGEST:
        first = f"{first[: LONGEST - 3].rstrip()}..."
    return " ".join(filter(None, (first, _interval(finding["evidence"]))))


def _interval(evidence: Mapping[str, Any]) -> str:
    for low, high, effect in _INTERVALS:
        bounds = (evidence.get(low), evidence.get(high))
        if all(isinstance(bound, float) for bound in bounds):
            unit = ".1%" if effect == "share" else ",.2f"
            of = "" if effect == "share" else f" of the {effect}"
            return f"(95% interval{of}: {bounds[0]:{unit}} to {bounds[1]:{unit}})"
    return ""


def _beyond(checks: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """How many findings no report shows, and where they stand; nothing where all are shown."""
    not_shown = sum(check["not_shown"] for check in checks)
    folded = sum(check["folded"] for check in checks)
    counts = {"beyond those that a report shows": not_shown, "folded into others": folded}
    beyond = [f"{n:,} {what}" for what, n in counts.items() if n]
    if beyond:
        yield Text(f"{' and '.join(beyond)}: all in restricted/findings.parquet", "dim")


def _reading(shared: Mapping[str, Any]) -> Text:
    """Where the rows went, and why those that were refused were."""
    ledger, tuples = shared["ledger"], shared.get("entailment", {}).get("facts")
    refused = sorted((tuples or ledger)["refused"].items(), key=lambda item: (-item[1], item[0]))
    rows = f"{ledger['rows_mapped']:,} of {counted(ledger['rows_read'], 'rows')}"
    instances = counted(ledger["instances"], "instances")
    mapped = (
        f"{rows} kept as tuples"
        if tuples
        else f"{instances}; {rows} mapped to {one_line(shared['identity']['hierarchy']['name'])}"
    )
    reasons = ", ".join(f"{reason} {rows:,}" for reason, rows in refused)
    return Text(f"{mapped}; refused: {reasons}." if refused else f"{mapped}; none refused.")


# --- cases ------------------------------------------------------------------------------------


def cases(findings: Iterable[Listed]) -> Group:
    """Findings with their numbers of cases; ids are on lines of their own."""
    parts: list[RenderableType] = []
    for one in findings:
        many = f"  {counted(one.cases, 'cases')}"
        parts.append(Text.assemble((one.severity, _STYLE[one.severity]), f"  {one.check}{many}"))
        parts.append(Text(f"  {one_line(one.id)}", no_wrap=True, overflow="ignore"))
        parts.append(Padding(Text(one_line(one.statement)), (0, 0, 0, 2)))
    return Group(*parts or [Text("No check has found anything.")])


# --- a comparison -----------------------------------------------------------------------------


_KINDS = ("new", "gone", "worse", "better")


def comparison(shared: Mapping[str, Any]) -> Group:
    """Summary of a comparison: what changed between two runs, and why."""
    parts: list[RenderableType] = [*_causes(shared["causes"])]
    nodes = [
        (row["node"], row["title"] or "", *_change_cells(row))
        for row in shared["nodes"]["rows"][:LARGEST]
    ]
    if nodes:
        headings = ("node", "title", "OLD", "NEW", "change in points", "95% interval")
        parts.append(_filled(_table(*headings, right=4), nodes))
    checks = [
        (
            check["name"],
            check["status_old"] or "-",
            check["status_new"] or "-",
            *(str(check["changes"][kind]) for kind in _KINDS),
        )
        for check in shared["checks"]
        if check["status_old"] != check["status_new"] or any(check["changes"][k] for k in _KINDS)
    ]
    if checks:
        parts.append(_filled(_table("check", "OLD", "NEW", *_KINDS, right=4), checks))
    totals = shared["totals"]
    changed = ", ".join(f"{totals[name]:,} {name}" for name in ("nodes", "pairs", "edits"))
    found = ", ".join(f"{totals[name]:,} {name}" for name in _KINDS)
    return Group(*parts, Text(f"changed: {changed}; findings: {found}"))


def machine_comparison(
    shared: Mapping[str, Any], out: Path, not_written: Sequence[Exception]
) -> dict[str, Any]:
    """The output of ``audit compare --json``."""
    return {
        "comparison": str(out),
        "changed": shared["changed"],
        "causes": {cause["name"]: cause["changed"] for cause in shared["causes"]},
        "totals": shared["totals"],
        "checks": [
            {key: value for key, value in check.items() if key not in ("findings", "not_shown")}
            for check in shared["checks"]
        ],
        "not_written": [str(error) for error in not_written],
    }


def _causes(causes: Iterable[Mapping[str, Any]]) -> Iterator[Text]:
    changed = [cause for cause in causes if cause["changed"]]
    for cause in changed:
        yield Text(one_line(f"{cause['name']} differs: {cause['statement']}"))
    if not changed:
        yield Text("data, hierarchy, normaliser, tool and policy are the same")


def _change_cells(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    old, new = (
        f"{value:,}" if isinstance(value, int) else str(value)
        for value in (row["support_old"], row["support_new"])
    )
    if row["difference"] is None:
        return old, new, "withheld", "withheld"
    low, high = 100 * row["low"], 100 * row["high"]
    return old, new, f"{100 * row['difference']:+.2f}", f"{low:+.2f} to {high:+.2f}"


# --- the other commands -----------------------------------------------------------------------


def verdicts(found: Sequence[Verdict]) -> Table:
    """Table of verification outcomes."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    table.add_column("checked", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for verdict in found:
        table.add_row(_status(verdict.outcome), verdict.name, Text(one_line(verdict.detail)))
    return table


def preference(result: PreferenceResult) -> Group:
    """Summary of which answers a language model prefers."""
    heading = Text(
        f"{counted(result.questions, 'questions')} of {result.predicate}; {result.unscored:,} "
        "without "
        f"scores; {result.answers - len(result.unmapped):,} of "
        f"{counted(result.answers, 'specific answers')} found in {result.hierarchy}; "
        f"{counted(result.tokens, 'tokens')}"
    )
    rows = [
        (
            row.metric,
            "-" if row.value is None else f"{row.value:.4f}",
            "-" if row.value is None else f"{row.low:.4f} to {row.high:.4f}",
            f"{row.n:,}",
            f"{row.ties:,}",
            f"{row.left_out:,}",
        )
        for row in result.rows
    ]
    headings = ("metric", "value", "95% interval", "n", "ties", "left out")
    return Group(heading, _filled(_table(*headings, right=5), rows))


def lint(result: LintResult) -> Group:
    """Faults of a hierarchy: a table of the rules that tell some, then each with what to do."""
    told = result.to_dict()
    sizes = ", ".join(
        counted(told[name], name.replace("_", " "))
        for name in ("nodes", "edges", "leaves", "repeated_edges")
        if told[name] or name != "repeated_edges"
    )
    heading = Text(one_line(f"{told['hierarchy']}: {sizes}; depth {told['depth']}"))
    if not result.findings:
        return Group(heading, Text("Nothing is wrong with its structure.", _STYLE["pass"]))
    table = _table("severity", "rule", "examined", "cases", right=2)
    for finding in result.findings:
        examined = counted(finding.of, finding.unit)
        cells = map(Text, (finding.rule, examined, f"{len(finding.cases):,}"))
        table.add_row(_status(finding.severity), *cells)
    each = (_lint(finding, result.hierarchy) for finding in result.findings)
    return Group(heading, "", table, *each)


def _lint(finding: LintFinding, hierarchy: Hierarchy) -> Group:
    severity = (finding.severity, _STYLE[finding.severity])
    named = Text.assemble(severity, (f"  {finding.rule}", "dim"))
    lines = [finding.statement]
    if finding.rule != "cycle":
        lines += [f"- {_lint_case(case, hierarchy)}" for case in finding.cases[:TOP]]
    if (more := len(finding.cases) - TOP) > 0:
        lines.append(f"- and {more:,} more, which --json lists")
    lines.append(f"To do: {finding.advice}")
    return Group("", named, *(Padding(Text(one_line(line)), (0, 0, 0, 2)) for line in lines))


def _lint_case(case: Sequence[str], hierarchy: Hierarchy) -> str:
    nodes = [one_line(hierarchy.describe(hierarchy.index(node)))[:LONGEST] for node in case[:TOP]]
    more = len(case) - TOP
    return "; ".join([*nodes, *([f"{more:,} more"] if more > 0 else [])])


def listed(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Table of names with descriptions."""
    return _filled(_table(*headings), rows)


def _table(*headings: str, right: int = 0) -> Table:
    """A table without lines; the last columns are numbers, set to the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for place, heading in enumerate(headings):
        number = place >= len(headings) - right
        table.add_column(
            heading, justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    return table


def _filled(table: Table, rows: Iterable[Sequence[str]]) -> Table:
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    return table


# --- progress ---------------------------------------------------------------------------------
