"""The tree of one instance as an HTML file: its labels beside its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from reports.chapters.report import printable_view
from reports.html import environment, rendering, style

DEEPEST = 100
"""Number of levels drawn inside each other; browsers flatten what is nested much deeper."""
TONES = {"hit": "pass", "miss": "error", "false": "warning"}
"""Tone of each mark, which its word says as well."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of the tree, and how it opens and closes the lines around it."""

    line: Mapping[str, Any]
    tone: str
    opens: bool
    """Whether there are lines below it."""
    closes: int
    """How many branches end behind it."""


def instance_html(view: Mapping[str, Any]) -> str:
    """Render the complete file.

    Raises:
        RenderError: If the view cannot be rendered.
    """
    with rendering("the page of an instance"):
        shown = printable_view(view)
        return (
            environment()
            .get_template("instance.html.jinja")
            .render(
                view=shown,
                branches=branches(shown["lines"]),
                deeper=sum(line["level"] > DEEPEST for line in shown["lines"]),
                deepest=DEEPEST,
                tones=TONES,
                css=style("screen", ("instance",)),
            )
        )


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
