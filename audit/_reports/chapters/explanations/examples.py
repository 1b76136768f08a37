"""Examples: texts with people's marks and the scores of each method, one above the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import tanh
from typing import Any

from audit._reports.charts.palette import shade
from audit._reports.words.parts import Node, Table
from audit._reports.words.shown_numbers import Row, Rows, minus
from audit._reports.words.table_specs import table, texts
from audit._reports.words.words import decimal

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
        label=_label(row),
        model=row["model"],
        value=_aligned(row),
        lines=tuple(
            Line(name, tuple(_runs(row["tokens"], sizes, marks, kept)))
            for name, sizes in views.items()
        ),
    )


def _label(row: Row) -> Node:
    return Node(row["target"], row.get("title") or "")


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
