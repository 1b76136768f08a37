"""The picture of the hierarchy: bars in columns, each with its name, counts and place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from audit._reports.charts.palette import HUES, HUES_LIGHT, LIGHT
from audit._reports.charts.parts import TEXT, WIDTH
from audit._reports.words.parts import Drawing, Node
from audit._reports.words.words import counted, node_label, percent

COLUMNS = 5
"""Number of columns of the figure; deeper nodes are only in its table."""
FONT = "Arial, 'Liberation Sans', sans-serif"
CHARACTER = 6.6
"""Width in pixels that a character has on average, at most, also where no other font than DejaVu
Sans, a wide one, is installed.
"""
_COLOURS = {**LIGHT, **HUES_LIGHT}
_DARK = ("scale-3", "scale-4", *HUES)
"""Shades that light text stands on."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A node's position: its column, and its vertical extent from 0 (top) to 1."""

    row: Mapping[str, Any]
    column: int
    top: float
    bottom: float


def icicle(rows: Sequence[Mapping[str, Any]]) -> list[Cell]:
    """Lay nodes out in columns, each next to its parent, in order of their instances.

    A node's extent is divided among its children by their instances. If their sum exceeds the
    node's instances, since an instance can carry several children, extents are scaled to the sum;
    if it is smaller, a gap remains.

    Args:
        rows: Nodes with ``node``, ``parent`` (None, or the id of another row) and ``instances``.
    """
    known = {row["node"] for row in rows}
    children: dict[str | None, list[Mapping[str, Any]]] = {}
    for row in rows:
        parent = row["parent"] if row["parent"] in known else None
        children.setdefault(parent, []).append(row)
    cells: list[Cell] = []
    _place(children, None, 0.0, _sum_of_instances(children.get(None, [])), -1, cells)
    if len(children.get(None, [])) == 1:
        cells = [Cell(c.row, c.column - 1, c.top, c.bottom) for c in cells if c.column]
    return cells


def _sum_of_instances(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(row["instances"] for row in rows)


def _place(
    children: Mapping[str | None, Sequence[Mapping[str, Any]]],
    parent: str | None,
    top: float,
    instances: int,
    column: int,
    cells: list[Cell],
    extent: float = 1.0,
) -> None:
    rows = sorted(children.get(parent, ()), key=lambda row: (-row["instances"], row["node"]))
    whole = max(instances, _sum_of_instances(rows))
    for row in rows:
        own = row["instances"]
        height = extent * own / whole if whole else 0.0
        cells.append(Cell(row, column + 1, top, top + height))
        _place(children, row["node"], top, own, column + 1, cells, height)
        top += height


def icicle_drawing(
    cells: Sequence[Cell],
    roles: Mapping[str, str],
    columns: int = COLUMNS,
    height: int | None = None,
    address: Callable[[str], str] | None = None,
) -> Drawing:
    """The upper hierarchy: columns of bars, the branches at the left.

    Each bar is a group that names its node (``data-node``), what a reader learns of it
    (``title``), and its label, so that a script can open it; without one, browsers show the title.

    Args:
        height: Height in pixels; None for one by the number of bars.
        address: Gives the page of a node, which its bar then leads to.
    """
    drawn = [cell for cell in cells if cell.column < columns]
    used = max((cell.column for cell in drawn), default=0) + 1
    tall = height or min(760, max(160, 14 * len(drawn)))
    width = WIDTH // used
    bars = [_bar(cell, roles[cell.row["node"]], width, tall) for cell in drawn]
    if address is not None:
        bars = [
            f'<a href="{escape(address(cell.row["node"]))}">{bar}</a>'
            for bar, cell in zip(bars, drawn, strict=True)
        ]
    return Drawing(WIDTH, tall, "".join(bars))


def _bar(cell: Cell, role: str, width: int, tall: int) -> str:
    row, left = cell.row, cell.column * width
    top, bottom = round(cell.top * tall, 2), round(cell.bottom * tall, 2)
    high = round(bottom - top, 2)
    label = node_label(row["node"], row["title"], int((width - 10) / CHARACTER))
    ink = LIGHT["on-high" if role in _DARK else "on-low"]
    text = (
        f'<text x="{left + 5}" y="{round((top + bottom) / 2 + 3.5, 2):g}" fill="{ink}" '
        f'font-family="{FONT}" font-size="10">{escape(label)}</text>'
        if high >= TEXT
        else ""
    )
    return (
        f'<g class="bar" data-node="{escape(row["node"])}" data-label="{escape(label)}" '
        f'data-ink="{ink}"><title>{escape(bar_words(row))}</title>'
        f'<path d="M{left},{top:g}h{width}v{high:g}h-{width}Z" fill="{_COLOURS[role]}" '
        f'stroke="{LIGHT["gap"]}" stroke-width="0.8"/>{text}</g>'
    )


def bar_words(row: Mapping[str, Any]) -> str:
    """A bar in words: its name, its instances, and its residual share where it has one.

    >>> row = {"node": "401", "title": "Hypertension", "instances": 1200, "residual_share": 0.5}
    >>> bar_words(row)
    'Hypertension (401): 1,200 instances, residual share 50.0%'
    """
    name, share = Node(str(row["node"]), str(row["title"] or "")).text, row["residual_share"]
    instances = counted(row["instances"], "instance")
    residual = f", residual share {percent(share)}" if isinstance(share, float) else ""
    return f"{name}: {instances}{residual}"
