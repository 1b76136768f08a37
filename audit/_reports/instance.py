"""The tree of one instance, its labels beside its predictions: as nested lines, and drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from audit._reports.charts.parts import rect, text
from audit._reports.words.parts import Drawing
from audit._reports.words.words import node_label

DEEPEST = 100
"""Number of levels drawn inside each other; browsers flatten what is nested much deeper."""
TONES = {"hit": "pass", "miss": "error", "false": "warning"}
"""Tone of each mark, which its word says as well."""
ROW = 22
"""Height of a line in pixels."""
INDENT = 14
NAMES, MARK, AMOUNT, BAR = 430, 60, 56, 180
"""Widths of names, of marks, of the numbers before a bar, and of a bar."""
PLAIN, BOLD = 6.6, 7.4
"""Pixels of a character."""
MOST_INDENTED = 18
"""Levels that are indented; deeper ones are drawn below each other."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of the tree, and how it opens and closes the lines around it."""

    line: Mapping[str, Any]
    tone: str
    opens: bool
    """Whether there are lines below it."""
    closes: int
    """How many branches end behind it."""


def branches(lines: Sequence[Mapping[str, Any]]) -> list[Branch]:
    """The lines down to the deepest level that is drawn, each with what it opens and closes.

    Args:
        lines: Each with its ``level``, 0 for the first; a line is at most one level below the one
            before it.
    """
    kept = [line for line in lines if line["level"] <= DEEPEST]
    levels = [*(line["level"] for line in kept), 0]
    return [
        Branch(line, TONES.get(line["mark"], "plain"), below > level, max(level - below, 0))
        for line, (level, below) in zip(kept, pairwise(levels), strict=True)
    ]


def tree_drawing(view: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> Drawing:
    """The lines of an instance's tree below each other, with bars of labels and of scores."""
    kinds = ("label", "score") if view["predicted"] else ("label",)
    marked = MARK if view["predicted"] else 0
    starts = {kind: NAMES + marked + at * (AMOUNT + BAR + 16) for at, kind in enumerate(kinds)}
    width = NAMES + marked + len(kinds) * (AMOUNT + BAR + 16)
    shapes = [
        text(0, 14, "Node", role="muted"),
        *(text(starts[kind] + AMOUNT + 6, 14, f"{kind.title()}s", role="muted") for kind in kinds),
    ]
    for at, line in enumerate(lines, 1):
        shapes += _line(line, at * ROW, starts, width)
    return Drawing(width, ROW * (len(lines) + 1), "".join(shapes))


def _line(
    line: Mapping[str, Any], top: int, starts: Mapping[str, int], width: int
) -> Iterator[str]:
    left = INDENT * min(line["level"], MOST_INDENTED)
    own = bool(line["own_label"])
    name = node_label(line["node"], line["title"], int((NAMES - left) / (BOLD if own else PLAIN)))
    yield rect(0, top, width, 0.6, "grid")
    yield text(left, top + 15, name, bold=own)
    if line["mark"] and "score" in starts:
        yield text(NAMES, top + 15, line["mark"], role=TONES[line["mark"]], bold=True)
    for kind, start in starts.items():
        if line["node"] and line[kind]:
            yield text(start + AMOUNT, top + 15, f"{line[kind]:.4g}", anchor="end")
            begins, length = (BAR * share for share in line[f"{kind}_bar"])
            at = start + AMOUNT + 6
            yield rect(at, top + 6, BAR, 11, "raised")
            yield rect(at + begins, top + 6, length, 11, {"label": "observed"}.get(kind, "model"))
