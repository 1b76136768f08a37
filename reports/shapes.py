"""Shapes of SVG in light colours, which the sheet of a page overrides by their classes."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from unicodedata import combining, normalize

from markupsafe import Markup

COLOURS = {
    "ink": "#1b2430", "muted": "#56616f", "axis": "#d9dee5", "limit": "#8a4b00",
    "s0": "#0f4c82", "s1": "#b3500b", "s2": "#1e7145", "s3": "#8b3a8f", "s4": "#7a6a00",
    "s5": "#56616f",
    "none": "#dfe6ee", "note": "#bcd3ea", "warning": "#f3c78f", "error": "#efb0a8",
}  # fmt: skip
"""Colours by class; series beyond the last share its colour."""
_WIDTHS = {
    4.6: " .,:;!|'()[]/\\-fijlrtI",
    5.8: 'szJ*_`"',
    6.4: "ckLF?",
    7.1: "abdeghnopquvxyESPTY0123456789{}$",
    7.6: "ABKVXZ",
    11.0: "mwMW@%#+<=>^~Ææ",
}
"""Characters by their width, at most; that of others is another."""
LEAST_TITLE = 35.0
"""Width of a title below which it is not cut for its id."""


def width(said: str) -> float:
    """Width of a text at 11 points, at most: in DejaVu Sans, or in another font what that lacks.

    >>> width("ill") < width("nnn") < width("WWW") < width("漢漢漢")
    True
    """
    return sum(map(_width, said))


@cache
def _width(character: str) -> float:
    if character > "\uffff":
        return 16.0
    return sum(map(_of_letter, normalize("NFKD", character)))


def _of_letter(character: str) -> float:
    """Width of a letter at 11 points, at most; 0 of an accent, which stands above a letter."""
    if combining(character):
        return 0.0
    if character > "ÿ":
        return 12.5
    return next((wide for wide, of in _WIDTHS.items() if character in of), 8.7)


def cut(name: str, wide: float) -> str:
    """A name that fits a width: its id, in parentheses at the end, stays.

    >>> cut("Congestive heart failure (428.0)", 130), cut("漢字漢字", 40)
    ('Congestive… (428.0)', '漢字…')
    """
    if width(name) <= wide:
        return name
    title, opened, identifier = name.rpartition(" (")
    end = f"… ({identifier}"
    if not opened or width(end) > wide - LEAST_TITLE:
        title, end = name, "…"
    left = wide - width(end)
    return title[: sum(one <= left for one in accumulate(map(_width, title)))].rstrip() + end


def text(
    x: float, y: float, said: str, tone: str = "ink", anchor: str = "start", *, bold: bool = False
) -> Markup:
    """A text, its base line at y."""
    weight = Markup(' font-weight="bold"') if bold else ""
    return Markup(
        '<text class="{}" x="{:.1f}" y="{:.1f}" fill="{}" text-anchor="{}"{}>{}</text>'
    ).format(tone, x, y, COLOURS[tone], anchor, weight, said)


def path(route: str, tone: str, width: float = 1, *, opacity: float = 1) -> Markup:
    """A line on a route, as SVG writes it."""
    return Markup(
        '<path class="{} line" d="{}" fill="none" stroke="{}" stroke-width="{:.1f}"'
        ' opacity="{:.2g}"/>'
    ).format(tone, route, COLOURS[tone], width, opacity)


def line(
    x1: float, y1: float, x2: float, y2: float, tone: str, width: float = 1, *, opacity: float = 1
) -> Markup:
    """A straight line."""
    return path(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}", tone, width, opacity=opacity)


def rect(x: float, y: float, wide: float, high: float, tone: str, *, opacity: float = 1) -> Markup:
    """A filled rectangle."""
    return Markup(
        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"'
        ' opacity="{:.2g}"/>'
    ).format(tone, x, y, wide, high, COLOURS[tone], opacity)


def circle(x: float, y: float, radius: float, tone: str) -> Markup:
    """A filled dot."""
    return Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="{}"/>').format(
        tone, x, y, radius, COLOURS[tone]
    )
