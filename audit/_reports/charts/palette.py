"""The report's colours, for charts and pages, in light and dark mode.

The scale varies in lightness only, so that it works with colour blindness and in greyscale; a
severity is always shown by word and mark too, never by colour only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Palette: TypeAlias = Mapping[str, str]

LIGHT = {
    "paper": "#ffffff",
    "raised": "#f5f7f9",
    "ink": "#17212b",
    "muted": "#52606d",
    "line": "#d3dae1",
    "grid": "#e6eaee",
    "accent": "#0f4c81",
    "error": "#9b1c1c",
    "error-tint": "#fbeeec",
    "warning": "#845000",
    "warning-tint": "#fcf3e2",
    "note": "#1d5c94",
    "note-tint": "#ebf3fa",
    "pass": "#1c6647",
    "pass-tint": "#e9f4ee",
    "observed": "#0f4c82",
    "expected": "#7a8896",
    "limit": "#c2410c",
    "model": "#a8480f",
    "scale-none": "#eef1f4",
    "scale-1": "#d6e4f0",
    "scale-2": "#a3c7e2",
    "scale-3": "#2f74a8",
    "scale-4": "#0b3d69",
    "on-low": "#17212c",
    "on-high": "#fffffe",
    "gap": "#fefefe",
}
"""Colour by role; all values differ, so that a colour in a chart identifies its role."""

DARK = {
    "paper": "#10161c",
    "raised": "#182028",
    "ink": "#e7ecf1",
    "muted": "#a4b1bd",
    "line": "#34414d",
    "grid": "#25303a",
    "accent": "#8fc2ef",
    "error": "#ff9e95",
    "error-tint": "#341b1a",
    "warning": "#f2b85c",
    "warning-tint": "#32260f",
    "note": "#8fc2ee",
    "note-tint": "#152737",
    "pass": "#80d1a9",
    "pass-tint": "#132c20",
    "observed": "#8fc2ed",
    "expected": "#94a2b0",
    "limit": "#ff9a5c",
    "model": "#ffb07a",
    "scale-none": "#202a33",
    "scale-1": "#24405a",
    "scale-2": "#2f628c",
    "scale-3": "#7db3dd",
    "scale-4": "#cfe4f5",
    "on-low": "#e7ecf2",
    "on-high": "#0d131a",
    "gap": "#10161d",
}
"""The same roles in dark mode."""

SCALE = ("scale-1", "scale-2", "scale-3", "scale-4")
"""Roles of the scale, from little to much."""
HUES_LIGHT = {
    "hue-1": "#214369",
    "hue-2": "#887416",
    "hue-3": "#a054a6",
    "hue-4": "#0c6b69",
    "hue-5": "#790e35",
    "hue-6": "#547d41",
    "hue-7": "#3f2693",
    "hue-8": "#6a3000",
}
"""The hues of branches, apart for all eyes, and dark enough for ``on-high`` to be written on.

A branch is always named too, so that its hue is never all that tells it apart.
"""

HUES_DARK = {
    "hue-1": "#8cccfe",
    "hue-2": "#c9a012",
    "hue-3": "#c776b2",
    "hue-4": "#74efea",
    "hue-5": "#dc6b71",
    "hue-6": "#bee576",
    "hue-7": "#7f8cf0",
    "hue-8": "#f7c5a6",
}
"""The same roles in dark mode."""

HUES = tuple(HUES_LIGHT)
"""Their order; a ninth branch begins again."""
STEPS = (0.1, 0.25, 0.5, 0.75)
"""Boundaries between the shades: size of a score over the largest of its text."""


def shade(size: float, largest: float) -> int:
    """The shade of a score, from 0 to 4.

    >>> [shade(size, 2.0) for size in (0.0, -0.3, 2.0)]
    [0, 1, 4]
    """
    return sum(abs(size) >= step * largest for step in STEPS) if largest > 0 else 0


def variables_css(light: Palette = LIGHT, dark: Palette = DARK) -> str:
    """CSS custom properties of both palettes, and the charts' colours in dark mode."""
    darkened = f":root {{{_declared(dark)}}}\n{_charts_css(light, dark)}"
    return (
        f":root {{{_declared(light)}}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n{darkened}}}"
    )


def _declared(palette: Palette) -> str:
    return " ".join(f"--{role}: {colour};" for role, colour in palette.items())


def _charts_css(light: Palette, dark: Palette) -> str:
    """Charts name colours in attributes, which a style sheet may overrule."""
    return "".join(
        f'svg [{attribute}="{colour}"] {{ {attribute}: {dark[role]}; }}\n'
        for role, colour in light.items()
        for attribute in ("fill", "stroke")
    )
