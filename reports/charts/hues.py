"""The hues of branches, in light and dark mode: apart for all eyes, and dark or light enough.

A branch is always named too, so that its hue is never all that tells it apart.
"""

from __future__ import annotations

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
"""Colour by role, which ``on-high`` of the palette is written on."""

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
