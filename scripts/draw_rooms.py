"""Draw the rooms of the code, and what they import of each other, into ``docs/rooms.svg``.

A room stands above all rooms that it imports. A line says that the upper room imports the lower
one; what follows from other lines is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from xml.sax.saxutils import escape

import networkx as nx

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "rooms.svg"
WIDTH, BOX, ROW, GAP = 1240, 280, 62, 40
"""Pixels: of the picture, of a room's width and height, and between two floors."""
INK, FAINT, LINE = "#17212b", "#52606d", "#9aa8b5"


def imports() -> nx.DiGraph[str]:
    """Which room imports which, from the code as it stands."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for path in (ROOT / "audit").rglob("*.py"):
        here = _room(path.relative_to(ROOT).with_suffix("").parts)
        graph.add_edges_from((here, room) for room in _imported(path) if here and room != here)
    return graph


def picture() -> str:
    """The picture as SVG."""
    graph = imports()
    places = dict(_places(graph))
    height = max(y for _, y in places.values()) + ROW + 16
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" font-size="12">'
    )
    title = "<title>The rooms of the code: each imports only rooms below it</title>"
    ground = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    needed = sorted(nx.transitive_reduction(graph).edges)
    lines = [_line(places[upper], places[lower]) for upper, lower in needed]
    rooms = [line for room, place in sorted(places.items()) for line in _box(room, place)]
    return "\n".join([head, title, ground, *lines, *rooms, "</svg>", ""])


def _room(parts: tuple[str, ...]) -> str:
    """``audit.engine.pairs`` belongs to ``engine``; a file beside the rooms to none."""
    return parts[1] if parts[0] == "audit" and (ROOT / "audit" / parts[1]).is_dir() else ""


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for parts in (tuple(name.split(".")) for name in names):
            if len(parts) > 1:
                yield from filter(None, [_room(parts)])


def _places(graph: nx.DiGraph[str]) -> Iterator[tuple[str, tuple[float, float]]]:
    """The upper left corner of each room; rooms whose lines pass other floors lie on the right."""
    floors = list(nx.topological_generations(graph))
    floor = {room: number for number, rooms in enumerate(floors) for room in rooms}
    long = {
        room
        for edge in nx.transitive_reduction(graph).edges
        for room in edge
        if floor[edge[1]] - floor[edge[0]] > 1
    }
    for number, rooms in enumerate(floors):
        gap = (WIDTH - len(rooms) * BOX) / (len(rooms) + 1)
        for place, room in enumerate(sorted(rooms, key=lambda room: (room in long, room))):
            yield room, (gap + place * (BOX + gap), 16 + number * (ROW + GAP))


def _line(upper: tuple[float, float], lower: tuple[float, float]) -> str:
    """From a room to one below it; where floors lie between, around them."""
    (x, y), (to_x, to_y) = upper, lower
    outside, middle = WIDTH - 30, ROW / 2
    if to_y - y == ROW + GAP:
        points = [(x + BOX / 2, y + ROW), (to_x + BOX / 2, to_y)]
    else:
        down = [(outside, y + middle), (outside, to_y + middle)]
        points = [(x + BOX, y + middle), *down, (to_x + BOX, to_y + middle)]
    path = " ".join(f"{a:g},{b:g}" for a, b in points)
    return f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="1.5"/>'


def _box(room: str, place: tuple[float, float]) -> Iterator[str]:
    x, y = place
    yield (
        f'<rect x="{x:g}" y="{y:g}" width="{BOX}" height="{ROW}" rx="4" fill="#eef1f4" '
        f'stroke="{LINE}"/>'
    )
    yield (
        f'<text x="{x + 10:g}" y="{y + 20:g}" fill="{INK}" font-size="14" font-weight="bold">'
        f"{room}</text>"
    )
    for number, words in enumerate(wrap(_meaning(room), 44)[:2]):
        yield (
            f'<text x="{x + 10:g}" y="{y + 37 + 15 * number:g}" fill="{FAINT}" font-size="11">'
            f"{escape(words)}</text>"
        )


def _meaning(room: str) -> str:
    text = (
        ast.get_docstring(ast.parse((ROOT / "audit" / room / "__init__.py").read_text("utf-8")))
        or ""
    )
    return text.splitlines()[0].replace("`", "")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
