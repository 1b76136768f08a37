"""Marks: what is drawn in the cell of a number, on the scale of its column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, HEIGHT = 100, 12
COLOURS = {
    "axis": "#d9dee5",
    "span": "#0f4c82",
    "limit": "#8a4b00",
    "reference": "#56616f",
    "dot": "#0f4c82",
}
"""Light colours of what is drawn, by class; the sheet overrides them for dark pages."""


@dataclass(frozen=True, slots=True)
class Scale:
    """From which number to which a column is drawn; ``zero`` is where its line stands."""

    low: float
    high: float
    zero: float | None = None
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Where a number stands, from 0 to 1; at an end if it is beyond it."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(max(value, self.low))
        return min(max((value - low) / (high - low), 0.0), 1.0)


def scale_of(kind: str, numbers: Iterable[float | None]) -> Scale:
    """The scale of a column of a kind, of all that is drawn in it.

    >>> scale_of("share", [0.2]), scale_of("difference", [-0.1, 0.3])
    (Scale(low=0.0, high=1.0, zero=None, logarithmic=False), \
Scale(low=-0.3, high=0.3, zero=0.0, logarithmic=False))
    """
    found = [one for one in numbers if one is not None]
    if kind == "share":
        return Scale(0.0, 1.0)
    if kind == "ratio":
        above = [one for one in found if one > 0]
        return Scale(min([0.5, *above]), max([2.0, *above]), 1.0, logarithmic=True)
    furthest = max(map(abs, found), default=0.0) or 1.0
    if kind == "difference" or min(found, default=0.0) < 0:
        return Scale(-furthest, furthest, 0.0)
    return Scale(0.0, furthest)


def mark(
    scale: Scale,
    value: float | None,
    ends: tuple[float | None, float | None] = (None, None),
    limit: float | None = None,
    reference: float | None = None,
) -> Markup:
    """What is drawn within an SVG of `WIDTH` and `HEIGHT`; empty without a value."""
    if value is None:
        return Markup("")
    drawn = [_line(f"M0 6H{WIDTH}", "axis")]
    low, high = ends
    if low is not None and high is not None:
        start, end = (f"{WIDTH * scale.at(one):.1f}" for one in (low, high))
        drawn.append(_line(f"M{start} 6H{end}", "span", 5))
    for name, at in (("axis", scale.zero), ("limit", limit), ("reference", reference)):
        if at is not None:
            drawn.append(_line(f"M{WIDTH * scale.at(at):.1f} 0V{HEIGHT}", name, 1.5))
    left = f"{WIDTH * scale.at(value) - 1.2:.1f}"
    dot = '<rect class="dot" x="{}" y="2" width="2.4" height="8" fill="{}"/>'
    return Markup("").join([*drawn, Markup(dot).format(left, COLOURS["dot"])])


def _line(path: str, name: str, width: float = 1) -> Markup:
    """SVG of a route, such as ``M0 6H9``, in the colour of a name of `COLOURS`."""
    opacity = Markup(' opacity=".4"') if name == "span" else ""
    line = '<path class="{}" d="{}" stroke="{}" stroke-width="{}"{}/>'
    return Markup(line).format(name, path, COLOURS[name], width, opacity)
