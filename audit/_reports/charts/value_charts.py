"""Small charts of values beside each other: counts as bars, shares as dots with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from audit._reports.charts.icicle import FONT
from audit._reports.charts.palette import LIGHT
from audit._reports.charts.parts import ADVANCE, WIDTH, rect, text
from audit._reports.words.parts import Drawing
from audit._reports.words.words import number, percent, printable, shortened

ROW = 24
"""Height of a line in pixels."""
NAMES, AMOUNT = 300, 60
"""Widths of names and of numbers."""
MOST_SHARES = 60
_LEFT, _TOP, _PLOT, _BELOW, _RIGHT = 52, 12, 110, 24, 12
_WIDE, _NARROW = 640, 76
"""Room for all values at most, and for one."""
_DOT, _DIAMOND = 4.0, 5.6


def count_bars(counts: Sequence[tuple[str, int]], own: int) -> Drawing:
    """Draw counts in the order given, each with its name, number and bar."""
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


def stacked_bars(bars: Sequence[tuple[str, Sequence[tuple[str, int, str]]]]) -> Drawing:
    """Draw counts that follow each other in one bar, in the order given; one bar at least."""
    largest = max(1, *(sum(n for _, n, _ in counts) for _, counts in bars))
    room, shapes = WIDTH - 2 * NAMES, list[str]()
    for at, (name, counts) in enumerate(bars):
        top, x = at * ROW, NAMES + 10.0
        shapes.append(text(0, top + 15, shortened(name, int(NAMES / ADVANCE))))
        for role, n, _ in counts:
            if n:
                wide = room * n / largest
                shapes.append(rect(x, top + 6, max(wide - 1, 1), 12, role))
                x += wide
        told = ", ".join(f"{number(n)} {words}" for _, n, words in counts if n)
        shapes.append(text(x + 8, top + 15, told, role="muted"))
    return Drawing(WIDTH, ROW * len(bars), "".join(shapes))


@dataclass(frozen=True, slots=True)
class Share:
    """A value's share from 0 to 1, None where there is none, and whether it stands out."""

    value: str
    share: float | None
    low: float | None = None
    high: float | None = None
    differs: bool = False


def share_drawing(shares: Sequence[Share]) -> Drawing:
    """The shares in the order given, on an axis from 0; what stands out is a diamond."""
    room = min(_NARROW, _WIDE / max(len(shares), 1))
    wide = round(_LEFT + room * len(shares) + _RIGHT)
    ends = [end for one in shares for end in (one.share, one.high) if end is not None]
    most = _round_above(max(ends, default=0.0) or 1.0)

    def y(share: float) -> float:
        return round(_TOP + _PLOT * (1 - share / most), 2)

    axis = "".join(
        f'<path d="M{_LEFT} {y(tick):g}H{wide - _RIGHT}" stroke="{LIGHT["grid"]}" fill="none"/>'
        + _text(_LEFT - 6, y(tick) + 3.5, f"{100 * tick:g}%", "end")
        for tick in (0.0, most / 2, most)
    )
    every = -(-52 // round(max(room, 1)))
    marks = []
    for at, one in enumerate(shares):
        x = round(_LEFT + room * (at + 0.5), 2)
        named = _text(x, _TOP + _PLOT + 17, shortened(printable(one.value), 12), "middle")
        if one.share is not None:
            low, high = (y(one.share if end is None else end) for end in (one.low, one.high))
            marks.append(_mark(one, x, y(one.share), low, high))
        marks.append("" if at % every else named)
    return Drawing(wide, _TOP + _PLOT + _BELOW, axis + "".join(marks))


def _round_above(value: float) -> float:
    """The first of 1, 2, 5 and 10 times a power of ten that is at least a value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _mark(one: Share, x: float, y: float, low: float, high: float) -> str:
    colour = LIGHT["limit" if one.differs else "observed"]
    label = escape(f"{printable(one.value)}: {percent(one.share)}")
    shape = (
        f"M{x - _DIAMOND:g} {y:g}l{_DIAMOND} -{_DIAMOND}l{_DIAMOND} {_DIAMOND}"
        f"l-{_DIAMOND} {_DIAMOND}Z"
        if one.differs
        else f"M{x - _DOT:g} {y:g}a{_DOT:g} {_DOT:g} 0 1 0 {2 * _DOT:g} 0"
        f"a{_DOT:g} {_DOT:g} 0 1 0 -{2 * _DOT:g} 0Z"
    )
    return (
        f'<g><title>{label}</title><path d="M{x:g} {low:g}V{high:g}" stroke="{colour}" '
        f'stroke-width="2" stroke-opacity="0.55" fill="none"/><path d="{shape}" '
        f'fill="{colour}"/></g>'
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{LIGHT["muted"]}" font-family="{FONT}" '
        f'font-size="11" text-anchor="{anchor}">{escape(words)}</text>'
    )
