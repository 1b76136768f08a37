"""Figures: small drawers, each of a declared table, as SVG in colours that a sheet overrides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from audit.base.declared import Columns
from audit.base.figures import Figure
from audit.results.printed import Rounded
from reports.words import Row


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure: its title, what it says to whoever does not see it, and its SVG."""

    title: str
    says: str
    svg: Markup


def draw(
    figure: Figure, columns: Columns, rows: Sequence[Row], rounding: Rounded
) -> Drawing | None:
    """Draw a figure of rows of a view; None where no row has what is drawn."""
    return None
