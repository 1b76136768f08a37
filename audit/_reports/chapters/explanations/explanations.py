"""The chapters on explanations: what was explained, and examples with both kinds of marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import tanh
from typing import Any

from audit._reports.chapters.explanations.agreement import agreement
from audit._reports.chapters.explanations.evidence import against_evidence, reasons
from audit._reports.chapters.explanations.nodes import where
from audit._reports.charts.palette import shade
from audit._reports.words.explanation_words import EVIDENCE, LEFT_OUT, SUBSETS
from audit._reports.words.parts import Chapter, Facts, Figure, Named, Node, Table
from audit._reports.words.shown_numbers import Row, Rows, minus, names
from audit._reports.words.table_specs import numbers, table, texts
from audit._reports.words.words import capitalised, decimal, number, words

FALSE_DISCOVERIES = "false_discovery_rate"
"""The policy's threshold that q-values are held against."""


@dataclass(frozen=True, slots=True)
class Explanations:
    """What the report says of explanations; a chapter is None where there is nothing to say.

    Args:
        draws: Other explanations that each is held against.
        nodes_of: The examples that nodes are compared by, in words.
    """

    facts: Facts
    by: tuple[str, ...]
    read: Table
    draws: int
    nodes_of: str
    reasons: Chapter | None
    where: Chapter | None
    agreement: Chapter | None
    evidence: Chapter | None
    examples: Examples | None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All pictures, in report order."""
        chapters = (self.reasons, self.where, self.agreement, self.evidence)
        return tuple(figure for one in chapters if one for figure in one.figures)


def explanations(shared: Mapping[str, Any]) -> Explanations | None:
    """The chapters; None for an audit without explanations."""
    found = shared.get("explanations")
    if found is None:
        return None
    facts = found["facts"]
    titles = {row["node"]: row["title"] for row in found["branches"] if row.get("title")}
    return Explanations(
        facts=_facts(facts),
        by=_by(facts),
        read=_read(facts),
        draws=facts["draws"],
        nodes_of=SUBSETS[facts["only"]],
        reasons=reasons(found),
        where=where(found, _rate(shared["policy"])),
        agreement=agreement(found),
        evidence=against_evidence(found),
        examples=examples([{**row, "title": titles.get(row["node"])} for row in found["examples"]]),
    )


def _rate(policy: Mapping[str, Any]) -> float:
    rates = (one["value"] for one in policy["thresholds"] if one["name"] == FALSE_DISCOVERIES)
    return float(next(rates, 0.05))


def _facts(facts: Mapping[str, Any]) -> Facts:
    annotators = facts["annotators"]
    evidence = EVIDENCE.get(facts["evidence"], facts["evidence"]) if facts["evidence"] else "none"
    stated = [
        ("Explained instances", number(facts["instances"])),
        ("Explained labels", f"{number(facts['examples'])}, {number(facts['labels'])} different"),
        ("Models", number(len(facts["models"]))),
        ("Methods", number(len(facts["methods"]))),
        ("Runs of models", number(facts["seeds"])),
        ("People’s evidence", evidence),
        ("Nodes are compared by", SUBSETS[facts["only"]]),
    ]
    if annotators is not None:
        stated.insert(6, ("Annotators of a text", f"up to {number(annotators)}"))
    if facts.get("compat"):
        stated.append(("Peaks, and differences of runs", "as in the code of “Dynamic top-k”"))
    if facts["instances_without_labels"]:
        stated.insert(
            2,
            ("Instances without a node", number(facts["instances_without_labels"])),
        )
    return tuple(stated)


def _by(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Who explained: the methods and models by name."""
    several = (("method", facts["methods"]), ("model", facts["models"]))
    return tuple(
        f"The {noun} is {of[0]}." if len(of) == 1 else f"The {noun}s are {names(of)}."
        for noun, of in several
    )


def _read(facts: Mapping[str, Any]) -> Table:
    left_out = [
        {"what": Named(capitalised(words(name, LEFT_OUT)), name), "rows": rows}
        for name, rows in facts["left_out"].items()
    ]
    return table(
        "explanations-read",
        "What was read of attributions and evidence, and what was left out",
        [
            {"what": "Rows of attributions read", "rows": facts["rows_read"]},
            {"what": "Rows of attributions kept", "rows": facts["rows"]},
            *left_out,
        ],
        texts("What", "what"),
        numbers("Number", "rows"),
    )


MOST_TOKENS = 160
"""Largest number of tokens of a text that is shown whole."""
AROUND = 5
"""Tokens shown on each side of one that is marked or scored high, of a longer text."""
HIGH = 3
"""Tokens of each method that count as scored high there, and that the table names."""


@dataclass(frozen=True, slots=True)
class Run:
    """Tokens beside each other that look alike; ``shade`` is from 0 to 4."""

    text: str
    shade: int = 0
    marked: bool = False
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """The text once, as people or one method see it."""

    name: str
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """One example, with a line for people and one for each method."""

    id: str
    label: Node
    model: str
    value: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The first example of each model, and its further ones."""

    title: str
    first: tuple[Example, ...]
    further: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Examples:
    """The examples that are most and least aligned, and their tokens in a table."""

    groups: tuple[Group, ...]
    shortened: bool
    table: Table


_TITLES = {"most": "Most aligned", "least": "Least aligned"}


def examples(rows: Rows) -> Examples | None:
    """The examples in the shared view; None if it shows none."""
    if not rows:
        return None
    ordered = sorted(rows, key=lambda row: list(_TITLES).index(row["aligned"]))
    return Examples(
        groups=tuple(
            _group(_TITLES[aligned], list(own))
            for aligned, own in groupby(ordered, key=lambda row: row["aligned"])
        ),
        shortened=any(len(row["tokens"]) > MOST_TOKENS for row in rows),
        table=_table(ordered),
    )


def _group(title: str, rows: Rows) -> Group:
    first = {row["model"]: row for row in reversed(rows)}
    leading = [row for row in rows if first[row["model"]] is row]
    further = [row for row in rows if first[row["model"]] is not row]
    return Group(title, tuple(map(_example, leading)), tuple(map(_example, further)))


def _example(row: Row) -> Example:
    kept = _shown_tokens(row)
    marks = [mark or 0.0 for mark in row["marks"]]
    views = {"People": marks, **dict(zip(row["methods"], row["scores"], strict=True))}
    return Example(
        id=row["id"],
        label=Node(row["target"], row.get("title") or ""),
        model=row["model"],
        value=_aligned(row),
        lines=tuple(
            Line(name, tuple(_runs(row["tokens"], sizes, marks, kept)))
            for name, sizes in views.items()
        ),
    )


def _aligned(row: Row) -> str:
    """Delta-A of a single example."""
    return minus(decimal(tanh(row["value"]), 2))


def _shown_tokens(row: Row) -> Sequence[bool]:
    """Which tokens are shown: all, or those near a mark or a high score."""
    n = len(row["tokens"])
    if n <= MOST_TOKENS:
        return [True] * n
    centres = [place for place, mark in enumerate(row["marks"]) if mark]
    for scores in row["scores"]:
        centres += _highest(scores)
    near = {
        place
        for centre in centres
        for place in range(max(0, centre - AROUND), min(n, centre + AROUND + 1))
    }
    shown = set(sorted(near)[:MOST_TOKENS])
    return [place in shown for place in range(n)]


def _highest(scores: Sequence[float | None]) -> list[int]:
    places = sorted(range(len(scores)), key=lambda place: (-abs(scores[place] or 0.0), place))
    return [place for place in places[:HIGH] if scores[place]]


def _runs(
    tokens: Sequence[str],
    sizes: Sequence[float | None],
    marks: Sequence[float],
    kept: Sequence[bool],
) -> Iterator[Run]:
    largest = max((abs(size or 0.0) for size in sizes), default=0.0)
    looks = [
        (kept[place], shade(size or 0.0, largest), marks[place] > 0)
        for place, size in enumerate(sizes)
    ]
    for (shown, level, marked), run in groupby(
        range(len(tokens)), lambda place: looks[place] if kept[place] else (False, 0, False)
    ):
        places = list(run)
        if shown:
            yield Run(" ".join(tokens[place] for place in places), level, marked)
        else:
            yield Run(f"[{len(places):,} left out]", left_out=True)


def _table(rows: Rows) -> Table:
    return table(
        "examples-numbers",
        "The examples in words: tokens that people marked, and those with the largest scores",
        [{**row, **seen} for row in rows for seen in _seen(row)],
        texts("Instance", "id"),
        texts("Label", "target"),
        texts("Model", "model"),
        texts("Aligned", lambda row: f"{row['aligned']}, {_aligned(row)}"),
        texts("Seen by", "by"),
        texts("Tokens", lambda row: ", ".join(row["seen"]) or "none"),
    )


def _seen(row: Row) -> Iterator[dict[str, Any]]:
    """The tokens that people marked, and that each method scored highest."""
    tokens: Sequence[str] = row["tokens"]
    marked = [token for token, mark in zip(tokens, row["marks"], strict=True) if mark]
    yield {"by": "people", "seen": marked}
    for method, scores in zip(row["methods"], row["scores"], strict=True):
        high = [f"{tokens[place]} {_score(scores[place])}" for place in _highest(scores)]
        yield {"by": method, "seen": high}


def _score(value: float | None) -> str:
    return minus(f"{value or 0.0:.3g}")
