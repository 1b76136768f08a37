"""Counts below each other as bars of one scale, one of them set apart."""

from __future__ import annotations

from collections.abc import Sequence

from reports.charts.parts import ADVANCE, WIDTH
from reports.charts.shapes import rect, text
from reports.words.parts import Drawing
from reports.words.words import number, shortened

ROW = 24
"""Height of a line in pixels."""
NAMES, AMOUNT = 300, 60
"""Widths of names and of numbers."""


def count_bars(counts: Sequence[tuple[str, int]], own: int) -> Drawing:
    """Draw counts in the order given, each with its name, number and bar.

    Args:
        counts: Names and counts, one at least.
        own: Position of the count that is set apart; -1 for none.
    """
    largest = max(1, *(count for _, count in counts))
    room = WIDTH - NAMES - AMOUNT - 10
    shapes = []
    for at, (name, count) in enumerate(counts):
        top, apart = at * ROW, at == own
        shapes += [
            text(0, top + 15, shortened(name, int(NAMES / ADVANCE)), bold=apart),
            text(NAMES + AMOUNT, top + 15, number(count), anchor="end"),
            rect(
                NAMES + AMOUNT + 10,
                top + 6,
                room * count / largest,
                12,
                "limit" if apart else "observed",
            ),
        ]
    return Drawing(WIDTH, ROW * len(counts), "".join(shapes))
