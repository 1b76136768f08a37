"""Layout of the hierarchy's icicle figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COLUMNS = 5
"""Number of columns of the figure; deeper nodes are only in its table."""


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


def size(instances: int | str) -> int:
    """The count used for drawing: the number itself, or the number in a bound."""
    return instances if isinstance(instances, int) else int(instances.strip("<>"))


def _sum_of_instances(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(size(row["instances"]) for row in rows)


def _place(
    children: Mapping[str | None, Sequence[Mapping[str, Any]]],
    parent: str | None,
    top: float,
    instances: int,
    column: int,
    cells: list[Cell],
    extent: float = 1.0,
) -> None:
    rows = sorted(children.get(parent, ()), key=lambda row: (-size(row["instances"]), row["node"]))
    whole = max(instances, _sum_of_instances(rows))
    for row in rows:
        own = size(row["instances"])
        height = extent * own / whole if whole else 0.0
        cells.append(Cell(row, column + 1, top, top + height))
        _place(children, row["node"], top, own, column + 1, cells, height)
        top += height
