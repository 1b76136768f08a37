"""Shapes of SVG in light colours, which the sheet of a page overrides by their classes."""

from __future__ import annotations

from markupsafe import Markup

COLOURS = {
    "ink": "#1b2430", "muted": "#56616f", "axis": "#d9dee5", "limit": "#8a4b00",
    "s0": "#0f4c82", "s1": "#b3500b", "s2": "#1e7145", "s3": "#8b3a8f", "s4": "#7a6a00",
    "s5": "#56616f",
    "none": "#dfe6ee", "note": "#bcd3ea", "warning": "#f3c78f", "error": "#efb0a8",
}  # fmt: skip
"""Colours by class; series beyond the last share its colour."""
CHARACTER = 6.4
"""Width of a character of a name."""


def cut(name: str, wide: float) -> str:
    """A name that fits a width: its id, in parentheses at the end, stays.

    >>> cut("Congestive heart failure (428.0)", 130)
    'Congestive… (428.0)'
    """
    fits = max(int(wide / CHARACTER), 2)
    if len(name) <= fits:
        return name
    title, opened, identifier = name.rpartition(" (")
    end = f"… ({identifier}" if opened and len(identifier) < fits - 5 else "…"
    return (title if opened and len(end) > 1 else name)[: fits - len(end)].rstrip() + end


def text(
    x: float, y: float, said: str, tone: str = "ink", anchor: str = "start", *, bold: bool = False
) -> Markup:
    """A text, its base line at y."""
    weight = Markup(' font-weight="bold"') if bold else ""
    return Markup(
        '<text class="{}" x="{:.1f}" y="{:.1f}" fill="{}" text-anchor="{}"{}>{}</text>'
    ).format(tone, x, y, COLOURS[tone], anchor, weight, said)


def line(
    x1: float, y1: float, x2: float, y2: float, tone: str, width: float = 1, *, opacity: float = 1
) -> Markup:
    """A straight line."""
    return Markup(
        '<path class="{} line" d="M{:.1f} {:.1f}L{:.1f} {:.1f}" stroke="{}" stroke-width="{:.1f}"'
        ' opacity="{:.2g}"/>'
    ).format(tone, x1, y1, x2, y2, COLOURS[tone], width, opacity)


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
