"""What the report says about one finding: its row, its evidence, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from audit._reports.charts.evidence import COUNTED, plots
from audit._reports.words.parts import Badge, Bar, Card, Cell, Node, Nodes, Ranged, Table
from audit._reports.words.shown_numbers import UNDEFINED
from audit._reports.words.table_specs import Spec, optional_table, texts
from audit._reports.words.words import (
    DECISION,
    EVIDENCE,
    SENTENCE_END,
    SEVERITY,
    TONE,
    WITHHELD,
    among,
    capitalised,
    evidence_value,
    number,
    span,
    words,
)
from audit.base.plurals import title_and_code
from audit.results.findings import DRAWN, line_count, promise


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
    return any(isinstance(value, str) and value[0] not in "<>" for value in told)


def shown_by(column: Mapping[str, str], evidence: Mapping[str, Any]) -> str:
    """The name of the evidence that a column shows of a finding; empty where it has none."""
    return next((name for name in column["shows"].split() if name in evidence), "")


def _ends(column: Mapping[str, str], name: str, evidence: Mapping[str, Any]) -> tuple[str, str]:
    """Names of the ends of the interval of what a column shows; empty without one of its own."""
    if name == "share" and DRAWN in evidence:
        return "", ""
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
    """How many times what was expected; withheld where either is."""
    numbers = isinstance(value, int | float) and isinstance(expected, int | float) and expected
    return f"×{number(round(value / expected, 1))}" if numbers else WITHHELD


def card(
    finding: Mapping[str, Any],
    check: Mapping[str, Any],
    columns: Sequence[Mapping[str, str]],
    anchor: str,
    thresholds: Mapping[str, float],
    called: Mapping[str, str] = EVIDENCE,
    above: Mapping[str, Mapping[str, Any]] = {},
) -> Card:
    """What the report says about one finding, and the nodes above it in the hierarchy's picture."""
    headline, rest = _first_and_rest(finding["statement"])
    evidence = finding["evidence"]
    drawn = plots(check["name"], evidence, thresholds)
    in_row = {name for column in columns for name in _shown(column, evidence)}
    return Card(
        anchor=anchor,
        id=finding["id"],
        check=check["name"],
        badge=_badge(finding),
        cells=tuple(
            (column["heading"], cell_of(column, columns, finding, above)) for column in columns
        ),
        headline=headline,
        explanation=" ".join(filter(None, (rest, *_judgement(finding)))),
        nodes=_nodes(_unnamed_nodes(finding), above),
        sure=tuple(
            (_label(name, evidence, called), _text(name, evidence))
            for name in evidence
            if name not in in_row and not _stands_elsewhere(name, evidence)
        ),
        plots=drawn,
        undrawn="" if drawn else _undrawn(evidence),
        parts=_parts(finding, f"{anchor}-parts", called),
        lineage=_lineage(finding, above),
    )


def _lineage(finding: Mapping[str, Any], above: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    own = [node["id"] for node in finding["nodes"]]
    pictured = (one for node in own if node in above for one in above[node]["above"])
    return tuple(dict.fromkeys((*own, *pictured)))


def _undrawn(evidence: Mapping[str, Any]) -> str:
    """Why nothing is drawn; empty where there is nothing to draw."""
    withheld = any(value is None or str(value)[0] in "<>" for value in evidence.values())
    return "Nothing is drawn: the numbers are withheld." if withheld else ""


def _unnamed_nodes(finding: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The finding's nodes; none where its sentences name each, or its breakdown does."""
    parts = {node["id"] for part in finding["parts"] for node in part["nodes"]}
    nodes: Sequence[Mapping[str, Any]] = finding["nodes"]
    named = (title_and_code(node["id"], node["title"]) for node in nodes)
    in_sentences = all(name in finding["statement"] for name in named)
    return [] if in_sentences or all(node["id"] in parts for node in nodes) else nodes


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
    evidence: Mapping[str, Any], called: Mapping[str, str] = EVIDENCE
) -> tuple[tuple[str, str], ...]:
    """Evidence as pairs of label and text, counts with their totals and bounds as intervals."""
    return tuple(
        (_label(name, evidence, called), _text(name, evidence))
        for name in evidence
        if not _stands_elsewhere(name, evidence)
    )


def _stands_elsewhere(name: str, evidence: Mapping[str, Any]) -> bool:
    if name == "explained" and evidence[name] == evidence.get("expected_length"):
        return True
    if name == "instances" and "tuples" in evidence:
        return True
    if _bounds_of(name.removesuffix("_low").removesuffix("_high"), evidence):
        return name.endswith(("_low", "_high"))
    partners = {"high": "low", "of": _counted(evidence)} | {
        total: part for part, total in _TOTALS.items()
    }
    return partners.get(name) in evidence


_TOTALS = {
    "elsewhere": "of_elsewhere",
    "groups": "of_groups",
    "parent_units": "of_parent",
}
"""Counts with a total of their own, by name of the count."""


def _bounds_of(name: str, evidence: Mapping[str, Any]) -> tuple[str, str] | None:
    """Names of the bounds given with a number of the evidence; None where it has none."""
    bounds = f"{name}_low", f"{name}_high"
    return bounds if {name, *bounds} <= evidence.keys() else None


def _counted(evidence: Mapping[str, Any]) -> str | None:
    """The count that ``of`` is the total of."""
    return next((name for name in (*COUNTED, "joint") if name in evidence), None)


def _label(name: str, evidence: Mapping[str, Any], called: Mapping[str, str]) -> str:
    if name == "low" and "high" in evidence:
        return "95% interval"
    return words(name, called)


def _text(name: str, evidence: Mapping[str, Any]) -> str:
    text = evidence_value(name, evidence[name], evidence)
    if name == "low" and "high" in evidence:
        return span(text, evidence_value("high", evidence["high"], evidence))
    if bounds := _bounds_of(name, evidence):
        low, high = (evidence_value(bound, evidence[bound], evidence) for bound in bounds)
        return text if WITHHELD in (low, high) else f"{text} ({span(low, high)})"
    total = _TOTALS.get(name, "")
    if total in evidence:
        return among(text, evidence[total])
    if "of" in evidence and name == _counted(evidence):
        return among(text, evidence["of"])
    return text


_TEXTS = ("kind", "rule", "may stand for", "fits best")
"""Labels of evidence that is text rather than a number."""


def _parts(finding: Mapping[str, Any], id_: str, called: Mapping[str, str]) -> Table | None:
    lines = [
        (_nodes(part["nodes"]), dict(evidence_lines(part["evidence"], called)))
        for part in finding["parts"]
    ]
    labels = dict.fromkeys(label for _, told in lines for label in told)
    paired = all(len(nodes) == 2 for nodes, _ in lines)
    titled = any(node.title for nodes, _ in lines for node in nodes)
    known = any(not isinstance(line_count(part["evidence"]), str) for part in finding["parts"])
    return optional_table(
        id_,
        f"Where it comes from{', the largest part first' * known}{_adding_up(finding)}",
        lines,
        texts(
            "Node" if paired or titled else "Node or code",
            lambda line: line[0][0] if paired or len(line[0]) == 1 else Nodes(line[0]),
        ),
        texts("With", lambda line: line[0][1]) if paired else None,
        *map(_told, labels),
    )


def _adding_up(finding: Mapping[str, Any]) -> str:
    """Why parts do not add up to what the finding counts; empty where they do, or are withheld."""
    every = [part["evidence"] for part in finding["parts"]]
    name = next((one for one in COUNTED if all(one in part for part in every)), "")
    counts = [finding["evidence"].get(name), *(part.get(name) for part in every)]
    if not all(isinstance(one, int) for one in counts):
        return ""
    whole, *of_parts = counts
    if sum(of_parts) > whole:
        return f"; some of the {number(whole)} are in several parts"
    rest = whole - sum(of_parts)
    return f"; at least {number(rest)} of the {number(whole)} are in none of these" if rest else ""


def _told(label: str) -> Spec:
    """The column of one number of the evidence of parts, some of which may lack it."""
    return Spec(capitalised(label), lambda line: line[1].get(label, UNDEFINED), label not in _TEXTS)


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
