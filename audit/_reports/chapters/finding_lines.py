"""A finding in a line of its check's table, and what unfolds below the line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from audit._reports.words.parts import Badge, Bar, Cell, FindingLine, Node, PartLine, Ranged
from audit._reports.words.words import (
    DECISION,
    EVIDENCE,
    SENTENCE_END,
    SEVERITY,
    TONE,
    UNDEFINED,
    among,
    capitalised,
    evidence_value,
    number,
    span,
    words,
)
from audit.results.findings import promise
from audit.results.printed import ratio_of

COUNTED = ("edges", "tuples", "keys", "lacking", "instances", "rows")
"""Counts that ``of`` is the total of: the first of these that evidence has."""
_TOTALS = {"elsewhere": "of_elsewhere", "groups": "of_groups", "parent_units": "of_parent"}
"""Counts with a total of their own, by name of the count."""
PARTS = 5
"""Parts of a finding that are told at most."""


def headline(statement: str) -> str:
    """The first sentence of a statement."""
    return _first_and_rest(statement)[0]


def _first_and_rest(statement: str) -> tuple[str, str]:
    ends = (end.end() for end in SENTENCE_END.finditer(statement))
    end = next((one for one in ends if not statement[one + 1].islower()), len(statement))
    return statement[:end], statement[end + 1 :]


DEFAULT = (
    {"heading": "Finding", "shows": "sentence"},
    {"shows": "share ratio difference", "low": "low", "high": "high", "limit": "limit"},
    {"shows": " ".join((*COUNTED, "joint")), "of": "of"},
)
"""The columns of a check that declares none: a sentence, how far it goes, and what it counts."""
_PLACES = {"node": 0, "other": 1}
"""Columns that show a node of a finding, by its place."""


def columns_of(
    check: Mapping[str, Any], called: Mapping[str, str] = EVIDENCE
) -> list[Mapping[str, str]]:
    """The columns of the table of a check's findings, less those that none of these fills.

    One without a heading is named by what it shows.
    """
    found = [finding["evidence"] for finding in check["findings"]]
    columns: list[Mapping[str, str]] = []
    for column in check["columns"] or DEFAULT:
        names = {name for evidence in found if (name := shown_by(column, evidence))}
        if names or column["shows"] in (*_PLACES, "sentence"):
            several = "how many" if column.get("of") else "measured"
            named = words(next(iter(names)), called) if len(names) == 1 else several
            columns.append({"heading": capitalised(named), **column})
    return columns


def says_words(column: Mapping[str, str], findings: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a column names something: a node, or evidence that is a text."""
    if column["shows"] in (*_PLACES, "sentence"):
        return True
    told = (one["evidence"].get(shown_by(column, one["evidence"])) for one in findings)
    return any(isinstance(value, str) for value in told)


def shown_by(column: Mapping[str, str], evidence: Mapping[str, Any]) -> str:
    """The name of the evidence that a column shows of a finding; empty where none is told."""
    return next((name for name in column["shows"].split() if evidence.get(name) is not None), "")


def _ends(column: Mapping[str, str], name: str, evidence: Mapping[str, Any]) -> tuple[str, str]:
    """Names of the ends of the interval of what a column shows; empty without one of its own."""
    return _bounds_of(name, evidence) or (column.get("low", ""), column.get("high", ""))


def _shown(column: Mapping[str, str], evidence: Mapping[str, Any]) -> Iterator[str]:
    """All evidence of a finding that a column shows."""
    if name := shown_by(column, evidence):
        yield from (name, *_ends(column, name, evidence))
        yield from (column.get(part, "") for part in ("of", "over", "limit"))


def cell_of(
    column: Mapping[str, str],
    columns: Sequence[Mapping[str, str]],
    finding: Mapping[str, Any],
    above: Mapping[str, Mapping[str, Any]] = {},
) -> Cell:
    """What a column says of a finding; its sentence where it has not the nodes of its table."""
    evidence, place = finding["evidence"], _PLACES.get(column["shows"])
    wanted = sum(one["shows"] in _PLACES for one in columns)
    if column["shows"] == "sentence" or (place == 0 and len(finding["nodes"]) < wanted):
        return headline(finding["statement"])
    if place is not None:
        found = _nodes(finding["nodes"][place : place + 1], above)
        return found[0] if found else UNDEFINED
    name = shown_by(column, evidence)
    return _number(column, name, evidence) if name else UNDEFINED


def _number(column: Mapping[str, str], name: str, evidence: Mapping[str, Any]) -> Cell:
    """A number of a finding, of its whole or over another one; a share as a bar.

    No interval stands beside a number that is not of it.
    """
    value, text = evidence[name], evidence_value(name, evidence[name], evidence)
    if column.get("of") in evidence:
        return among(text, evidence[column["of"]])
    if over := column.get("over"):
        return _over(value, evidence.get(over))
    ends = _ends(column, name, evidence)
    low, at, high = (_drawn(evidence.get(one)) for one in (ends[0], name, ends[1]))
    if low is None or at is None or high is None or not low <= at <= high:
        low = high = None
    told = (evidence_value(end, evidence[end], evidence) for end in ends if low is not None)
    interval = "" if low is None else span(*told)
    if text.endswith("%"):
        return Bar(text, interval, value, low, high, _drawn(evidence.get(column.get("limit", ""))))
    return Ranged(text, interval) if interval else text


def _drawn(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None


def _over(value: Any, expected: Any) -> str:
    """How many times what was expected; a dash where that is not told."""
    times = ratio_of(value, expected)
    return UNDEFINED if times is None else f"×{number(round(times, 1))}"


def finding_line(
    finding: Mapping[str, Any],
    columns: Sequence[Mapping[str, str]],
    anchor: str,
    called: Mapping[str, str] = EVIDENCE,
    above: Mapping[str, Mapping[str, Any]] = {},
    most_parts: int = PARTS,
) -> FindingLine:
    """A finding in its line and below it; ``above`` is the hierarchy's picture by node."""
    first, rest = _first_and_rest(finding["statement"])
    evidence, parts = finding["evidence"], finding["parts"]
    in_line = {name for column in columns for name in _shown(column, evidence)}
    return FindingLine(
        anchor=anchor,
        id=finding["id"],
        badge=_badge(finding),
        cells=tuple(
            (column["heading"], cell_of(column, columns, finding, above)) for column in columns
        ),
        headline=first,
        explanation=" ".join(filter(None, (rest, *_judgement(finding)))),
        numbers=tuple(evidence_lines(evidence, called, in_line)),
        parts=tuple(
            PartLine(
                _nodes(part["nodes"]),
                "; ".join(map(": ".join, evidence_lines(part["evidence"], called))),
            )
            for part in parts[:most_parts]
        ),
        more_parts=len(parts) > most_parts or bool(finding.get("more_parts")),
        lineage=_lineage(finding, above),
    )


def _lineage(finding: Mapping[str, Any], above: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    own = [node["id"] for node in finding["nodes"]]
    pictured = (one for node in own if node in above for one in above[node]["above"])
    return tuple(dict.fromkeys((*own, *pictured)))


def _badge(finding: Mapping[str, Any]) -> Badge:
    word = SEVERITY[finding["severity"]]
    if finding["waiver"]:
        return Badge(f"{word}, {DECISION[finding['waiver']['decision']]}", "plain")
    if "to_fix" in finding:
        return Badge(f"{word}, {DECISION['to_fix']}", TONE[finding["severity"]])
    return Badge(f"{word}, known" if finding["known"] else word, TONE[finding["severity"]])


def _judgement(finding: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on what the policy makes of a finding."""
    waiver = finding["waiver"]
    if waiver:
        decided = DECISION[waiver["decision"]].capitalize()
        yield f"{decided} by {waiver['owner']} until {waiver['expires']}: {waiver['reason']}"
    yield from promise(finding)
    if finding["known"]:
        yield "The reference run has this finding too, and no worse."


def evidence_lines(
    evidence: Mapping[str, Any], called: Mapping[str, str] = EVIDENCE, but: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Labels and texts of what is told, counts with their totals and numbers with intervals."""
    told = {n: evidence_value(n, v, evidence) for n, v in evidence.items() if v is not None}
    counted = next((name for name in (*COUNTED, "joint") if name in evidence), "")
    totals = {n: of for n, of in {**_TOTALS, counted: "of"}.items() if n in evidence}
    ends = {end for name in evidence for end in _bounds_of(name, evidence) or ()}
    beside = {*but, *ends, *totals.values(), *(["high"] if "low" in evidence else ())}
    if evidence.get("explained") == evidence.get("expected_length"):
        beside.add("explained")
    if "tuples" in evidence:
        beside.add("instances")
    for name, text in told.items():
        if name in beside:
            continue
        low, high = _bounds_of(name, evidence) or ("", "")
        if name == "low" and "high" in told:
            yield "95% interval", span(text, told["high"])
        elif low in told and high in told:
            yield words(name, called), f"{text} ({span(told[low], told[high])})"
        else:
            yield words(name, called), among(text, evidence.get(totals.get(name, "")))


def _bounds_of(name: str, evidence: Mapping[str, Any]) -> tuple[str, str] | None:
    """Names of the bounds given with a number of the evidence; None where it has none."""
    bounds = f"{name}_low", f"{name}_high"
    return bounds if {name, *bounds} <= evidence.keys() else None


def _nodes(
    nodes: Iterable[Mapping[str, str | None]], above: Mapping[str, Mapping[str, Any]] = {}
) -> tuple[Node, ...]:
    return tuple(
        Node(
            node["id"] or "",
            node["title"] or "",
            above.get(node["id"] or "", {}).get("below") or "",
        )
        for node in nodes
    )
