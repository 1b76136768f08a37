"""Shapes of drawings that are made by hand, in the colours of the palette."""

from __future__ import annotations

from html import escape
from typing import Literal

from reports.charts.palette import LIGHT
from reports.charts.parts import FONT, TEXT


def rect(x: float, y: float, width: float, height: float, role: str) -> str:
    """A filled rectangle."""
    return (
        f'<rect x="{_short(x)}" y="{_short(y)}" width="{_short(width)}" '
        f'height="{_short(height)}" fill="{LIGHT[role]}"/>'
    )


def text(
    x: float,
    y: float,
    words: str,
    *,
    role: str = "ink",
    anchor: Literal["start", "end"] = "start",
    bold: bool = False,
) -> str:
    """A line of text."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}" fill="{LIGHT[role]}" '
        f'font-family="{escape(FONT)}" font-size="{TEXT}"{weight}>{escape(words)}</text>'
    )


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
