"""Findings as cards: their order and their content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from reports.charts.evidence import COUNTED, of_concepts, plots, ratio_words
from reports.words.parts import Badge, Card, Cell, More, Node, Nodes, Table, column
from reports.words.words import (
    EVIDENCE,
    SEVERITIES,
    SEVERITY,
    TONE,
    WITHHELD,
    evidence_value,
    number,
    span,
    words,
)

LEADING = 20
"""Number of leading findings; the others follow check by check."""
PER_CHECK = 8
"""Largest number of leading findings of one check."""

_SENTENCE_END = re.compile(r"(?<=[a-z0-9)%]{3}\.) (?=[A-Z])")


def cards(
    checks: Sequence[Mapping[str, Any]],
    thresholds: Mapping[str, float],
    called: Mapping[str, str] = EVIDENCE,
) -> tuple[Card, ...]:
    """Cards of all shown findings, by severity, and within one severity by rank within the check.

    This keeps a check with many findings from hiding the others. Waived findings are last.

    Args:
        checks: The shared view's checks.
        thresholds: The policy's thresholds by name, drawn as limits.
        called: Words for names of evidence.
    """
    ranked = sorted(
        (finding["waiver"] is not None, SEVERITIES.index(finding["severity"]), rank, place)
        for place, check in enumerate(checks)
        for rank, finding in enumerate(check["findings"])
    )
    return tuple(
        card(
            checks[place]["findings"][rank], checks[place], f"finding-{number_}", thresholds, called
        )
        for number_, (_, _, rank, place) in enumerate(ranked, 1)
    )


def leading(found: Iterable[Card]) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    """Split findings into the leading ones and the others, each in the given order."""
    seen: Counter[str] = Counter()
    first: list[Card] = []
    rest: list[Card] = []
    for one in found:
        leads = seen[one.check] < PER_CHECK and len(first) < LEADING
        (first if leads else rest).append(one)
        seen[one.check] += 1
    return tuple(first), tuple(rest)


def introduction(checks: Sequence[Mapping[str, Any]], first: int, rest: int) -> str:
    """A text on how the leading findings were chosen, and where the others are."""
    folded = sum(check["folded"] for check in checks)
    not_shown = sum(check["not_shown"] for check in checks)
    sentences = [
        "The worst severity comes first; within a severity, the first finding of each check: the "
        "strongest, or the one that touches the most instances."
    ]
    if rest:
        sentences.append(
            f"Here are {first} of {first + rest:,}, at most {PER_CHECK} of each check; the others "
            "stand under “Further findings”."
        )
    if folded:
        sentences.append(f"Explained by these, and folded into them: {folded:,} more.")
    if not_shown:
        sentences.append(
            f"Beyond the number shown for each check, and only counted: {not_shown:,}."
        )
    return " ".join(sentences)


def more(rest: Iterable[Card]) -> tuple[More, ...]:
    """Group cards by check, in order of the checks' names."""
    by_check = sorted(rest, key=lambda card: card.check)
    return tuple(_gathered(list(found)) for _, found in groupby(by_check, lambda card: card.check))


def _gathered(found: list[Card]) -> More:
    first = found[0]
    return More(
        check=first.check,
        title=first.check_title,
        cards=tuple(found),
        table=Table(
            id=f"more-{first.check}",
            caption=f"{first.check_title} ({first.check})",
            columns=column("Finding", "Severity"),
            rows=tuple(
                (f"{card.headline} {card.explanation}".strip(), card.badge) for card in found
            ),
        ),
    )


def card(
    finding: Mapping[str, Any],
    check: Mapping[str, Any],
    anchor: str,
    thresholds: Mapping[str, float],
    called: Mapping[str, str] = EVIDENCE,
) -> Card:
    """Make the card of one finding."""
    headline, *rest = _SENTENCE_END.split(finding["statement"], maxsplit=1)
    drawn = plots(check["name"], finding["evidence"], thresholds)
    return Card(
        anchor=anchor,
        id=finding["id"],
        check=check["name"],
        check_title=check["title"],
        badge=_badge(finding),
        headline=headline,
        explanation=" ".join((*rest, *_judgement(finding))),
        nodes=_nodes(_unnamed_nodes(finding)),
        evidence=evidence_lines(finding["evidence"], ratio_words(check["name"]), called),
        plots=drawn,
        undrawn="" if drawn else _undrawn(finding["evidence"]),
        parts=_parts(finding["parts"], f"{anchor}-parts", called),
        curator=finding["curator"],
        data_user=finding["data_user"],
    )


def _undrawn(evidence: Mapping[str, Any]) -> str:
    """Why nothing is drawn; empty where there is nothing to draw."""
    withheld = any(value is None or str(value)[0] in "<>" for value in evidence.values())
    return "Nothing is drawn: the numbers are withheld." if withheld else ""


def _unnamed_nodes(finding: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The finding's nodes; none where its sentences name each, or its breakdown does."""
    parts = {node["id"] for part in finding["parts"] for node in part["nodes"]}
    nodes: Sequence[Mapping[str, Any]] = finding["nodes"]
    named = (f"{node['id']} {node['title'] or ''}".strip() for node in nodes)
    in_sentences = all(name in finding["statement"] for name in named)
    return [] if in_sentences or all(node["id"] in parts for node in nodes) else nodes


def _badge(finding: Mapping[str, Any]) -> Badge:
    word = SEVERITY[finding["severity"]]
    if finding["waiver"]:
        return Badge(f"{word}, waived", "plain")
    return Badge(f"{word}, known" if finding["known"] else word, TONE[finding["severity"]])


def _judgement(finding: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on what the policy makes of a finding."""
    waiver = finding["waiver"]
    if waiver:
        yield f"Waived by {waiver['owner']} until {waiver['expires']}: {waiver['reason']}"
    if finding["known"]:
        yield "The reference run has this finding too, and no worse."


def evidence_lines(
    evidence: Mapping[str, Any],
    ratio: str = EVIDENCE["ratio"],
    called: Mapping[str, str] = EVIDENCE,
) -> tuple[tuple[str, str], ...]:
    """Evidence as pairs of label and text, counts with their totals and bounds as intervals.

    Args:
        evidence: Published values by name.
        ratio: Label of a ratio.
        called: Words for names.
    """
    return tuple(
        (ratio if name == "ratio" else _label(name, evidence, called), _text(name, evidence))
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
    "data_instances": "data_of",
    "elsewhere": "of_elsewhere",
    "groups": "of_groups",
    "parent_units": "of_parent",
    "agreeing": "compared",
}
"""Counts with a total of their own, by name of the count."""


def _bounds_of(name: str, evidence: Mapping[str, Any]) -> tuple[str, str] | None:
    """Names of the bounds that stand beside a number of the evidence; None where it has none."""
    bounds = f"{name}_low", f"{name}_high"
    return bounds if {name, *bounds} <= evidence.keys() else None


def _counted(evidence: Mapping[str, Any]) -> str | None:
    """The count that ``of`` is the total of."""
    return next((name for name in (*COUNTED, "joint") if name in evidence), None)


def _label(name: str, evidence: Mapping[str, Any], called: Mapping[str, str]) -> str:
    if name == "low" and "high" in evidence:
        return "95% interval"
    own = name == "limit" and of_concepts(evidence)
    return "limit" if own else words(name, called)


def _text(name: str, evidence: Mapping[str, Any]) -> str:
    text = evidence_value(name, evidence[name], evidence)
    if name == "low" and "high" in evidence:
        return span(text, evidence_value("high", evidence["high"], evidence))
    if bounds := _bounds_of(name, evidence):
        low, high = (evidence_value(bound, evidence[bound], evidence) for bound in bounds)
        return text if WITHHELD in (low, high) else f"{text} ({span(low, high)})"
    total = _TOTALS.get(name, "")
    if total in evidence:
        return f"{text} of {number(evidence[total])}"
    if "of" in evidence and name == _counted(evidence):
        return f"{text} of {number(evidence['of'])}"
    return text


_TEXTS = ("kind", "rule", "may stand for", "fits best")
"""Labels of evidence that is text rather than a number."""


def _parts(parts: Sequence[Mapping[str, Any]], id_: str, called: Mapping[str, str]) -> Table | None:
    if not parts:
        return None
    labels = list(
        dict.fromkeys(
            label for part in parts for label, _ in evidence_lines(part["evidence"], called=called)
        )
    )
    paired = all(len(part["nodes"]) == 2 for part in parts)
    titled = any(node["title"] for part in parts for node in part["nodes"])
    names = ("Node", "With") if paired else ("Node",) if titled else ("Node or code",)
    rows: list[tuple[Cell, ...]] = []
    for part in parts:
        values = dict(evidence_lines(part["evidence"], called=called))
        nodes = _nodes(part["nodes"])
        cells = nodes if paired or len(nodes) == 1 else (Nodes(nodes),)
        rows.append((*cells, *(values.get(label, "–") for label in labels)))
    return Table(
        id=id_,
        caption="Where it comes from, the largest part first",
        columns=column(
            *names,
            *map(_heading, labels),
            numeric=" " * len(names) + "".join(" " if label in _TEXTS else "n" for label in labels),
        ),
        rows=tuple(rows),
    )


def _heading(label: str) -> str:
    return label[:1].upper() + label[1:]


def _nodes(nodes: Iterable[Mapping[str, str | None]]) -> tuple[Node, ...]:
    return tuple(Node(node["id"] or "", node["title"] or "") for node in nodes)
