"""Draw a small graph of texts in layers: instances before their concepts."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias
from xml.sax.saxutils import escape

from audit._reports.charts.layered_layout import Layered, layered, places
from audit._reports.charts.palette import LIGHT
from audit._reports.charts.parts import ADVANCE, FONT, TEXT, WIDTH
from audit._reports.words.parts import Drawing
from audit._reports.words.words import columns_of, shortened

State: TypeAlias = Literal["valid", "denied", "both"]
"""What tuples state of an edge: that it is valid, that it is not, or both."""
Point: TypeAlias = tuple[float, float]
"""Along the layers and across them."""

LINE = 14
"""Height of a line of text in pixels."""
LINES = 3
"""Lines of a label at most."""
MOST = 30
"""Characters of a line at most."""
PADDING = 7
"""Room within a box at each side of its text."""
BETWEEN = 64
"""Least room between two layers."""
GAP = 14
"""Least room between two boxes of a layer."""
PASSING = 6
"""Room that an edge takes where it passes a layer."""
PORT = 8
"""Distance between two edges where they meet a box."""
HEAD = 8
"""Length of an arrow’s head."""
MARK_AT = 0.4
"""Where the mark of an edge stands, as a share of the way from its instance."""


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge between two texts, by their numbers."""

    child: int
    parent: int
    state: State


@dataclass(frozen=True, slots=True)
class Box:
    """A place of the picture: its middle, half its sizes, and the lines of its text.

    A place that an edge passes has no lines. ``reach`` is half the depth of its layer.
    """

    middle: Point
    half: Point
    reach: float
    lines: tuple[str, ...] = ()


def draw_graph(texts: Sequence[str], edges: Sequence[GraphEdge]) -> Drawing:
    """Draw texts as boxes, and edges between them as arrows from instance to concept.

    Layers follow each other from left to right, or from the top down where that leaves more room
    for the texts. Valid edges decide what stands before what.
    """
    first = [edge for edge in edges if edge.state != "denied"]
    edges = [*first, *(edge for edge in edges if edge.state == "denied")]
    graph = layered(len(texts), [(edge.child, edge.parent) for edge in edges])
    boxes, size, down = _boxes(texts, graph)
    markup = [
        *(
            shape
            for edge, points, back in zip(edges, _routes(graph, boxes), graph.against, strict=True)
            for shape in _arrow(edge.state, points[::-1] if back else points, down=down)
        ),
        *(shape for node in range(len(texts)) for shape in _label(boxes[node], down=down)),
    ]
    width, height = size[::-1] if down else size
    return Drawing(width, height, "".join(markup))


def _room_along(graph: Layered) -> float:
    """Room for a label where layers are side by side."""
    return (WIDTH + BETWEEN) / len(graph.layers) - BETWEEN


def _room_across(graph: Layered, texts: int) -> float:
    """Room for a label where layers are below each other."""
    return min(
        (WIDTH - sum(PASSING + GAP for place in row if place >= texts) + GAP)
        / max(sum(place < texts for place in row), 1)
        - GAP
        for row in graph.layers
    )


def _boxes(texts: Sequence[str], graph: Layered) -> tuple[dict[int, Box], tuple[int, int], bool]:
    """The boxes by place, in units along and across the layers, and the size of the picture.

    The last says whether the layers follow each other from the top down.
    """
    along, across_ = _room_along(graph), _room_across(graph, len(texts))
    longest = min(MOST, max(map(columns_of, texts))) * ADVANCE + 2 * PADDING
    down = across_ > along < longest
    room = across_ if down else along
    width = min(MOST, max(4, int((room - 2 * PADDING) / ADVANCE)))
    lines = {node: wrapped(text, width) for node, text in enumerate(texts)}
    met = Counter(path[0] for path in graph.paths) | Counter(path[-1] for path in graph.paths)
    sizes = {node: _size(of, met.get(node, 0), down=down) for node, of in lines.items()}
    across = places(
        graph,
        [[sizes[one][1] if one in sizes else PASSING for one in row] for row in graph.layers],
        GAP,
    )
    deep = [max(sizes[one][0] for one in row if one in sizes) for row in graph.layers]
    between = BETWEEN if down else _between(deep)
    boxes: dict[int, Box] = {}
    start = 0.0
    for row, centres, depth in zip(graph.layers, across, deep, strict=True):
        for place, centre in zip(row, centres, strict=True):
            own = sizes.get(place, (depth, PASSING))
            half = own[0] / 2, own[1] / 2
            boxes[place] = Box((start + depth / 2, centre), half, depth / 2, lines.get(place, ()))
        start += depth + between
    return *_centred(boxes, start - between, down=down), down


def _between(deep: Sequence[float]) -> float:
    """Room between layers beside each other: what the page leaves, within limits."""
    spare = (WIDTH - sum(deep)) / max(len(deep) - 1, 1)
    return max(BETWEEN, min(3 * BETWEEN, spare))


def _centred(
    boxes: dict[int, Box], along: float, *, down: bool
) -> tuple[dict[int, Box], tuple[int, int]]:
    """The boxes in the middle of the page, and its size along and across."""
    across = max(box.middle[1] + box.half[1] for box in boxes.values())
    size = (along, max(across, WIDTH)) if down else (max(along, WIDTH), across)
    shift = (0.0, (size[1] - across) / 2) if down else ((size[0] - along) / 2, 0.0)
    moved = {
        place: replace(box, middle=(box.middle[0] + shift[0] + 1, box.middle[1] + shift[1] + 1))
        for place, box in boxes.items()
    }
    return moved, (math.ceil(size[0]) + 2, math.ceil(size[1]) + 2)


def wrapped(text: str, width: int) -> tuple[str, ...]:
    """A text in lines of at most a width in columns, the last one cut where there are too many.

    >>> wrapped("PersonX feeds the dog", 12)
    ('PersonX', 'feeds the', 'dog')
    >>> wrapped("PersonX feeds the old dog in the barn", 12)
    ('PersonX', 'feeds the', 'old dog in…')
    """
    lines = textwrap.wrap(text, width, break_on_hyphens=False) or [text]
    if any(columns_of(line) > width for line in lines):
        lines = textwrap.wrap(text, max(width // 2, 1), break_on_hyphens=False)
    if len(lines) > LINES:
        rest = f"{lines[LINES - 1]} {lines[LINES]}"
        lines = [*lines[: LINES - 1], shortened(f"{rest} {'.' * width}", width)]
    return tuple(lines)


def _size(lines: Sequence[str], met: int, *, down: bool) -> Point:
    """Size along and across the layers, with room for the edges that meet the box."""
    width = max(map(columns_of, lines)) * ADVANCE + 2 * PADDING
    height = len(lines) * LINE + PADDING
    along, across = (height, width) if down else (width, height)
    return along, max(across, (met + 1) * PORT)


def _routes(graph: Layered, boxes: dict[int, Box]) -> list[list[Point]]:
    """The points that each edge passes, from the earlier layer to the later one.

    It bends between two layers alone, so that it meets no box beside its own.
    """
    ends = [(path[0], path[1], number) for number, path in enumerate(graph.paths)]
    starts = _ports(ends, boxes)
    arrives = _ports([(path[-1], path[-2], n) for n, path in enumerate(graph.paths)], boxes)
    routes = []
    for number, path in enumerate(graph.paths):
        first, last = boxes[path[0]], boxes[path[-1]]
        out, into = starts[number], arrives[number]
        points = [(first.middle[0] + by, out) for by in (first.half[0], first.reach)]
        for place in path[1:-1]:
            box = boxes[place]
            points += [(box.middle[0] + side * box.reach, box.middle[1]) for side in (-1, 1)]
        points += [(last.middle[0] - by, into) for by in (last.reach, last.half[0])]
        routes.append(points)
    return routes


def _ports(ends: Sequence[tuple[int, int, int]], boxes: dict[int, Box]) -> dict[int, float]:
    """Where each edge meets the side of its box: beside each other, in the order they come from."""
    met: dict[int, list[tuple[float, int]]] = {}
    for place, other, number in ends:
        met.setdefault(place, []).append((boxes[other].middle[1], number))
    ports = {}
    for place, edges in met.items():
        box = boxes[place]
        for spot, (_, number) in enumerate(sorted(edges)):
            ports[number] = box.middle[1] + (spot - (len(edges) - 1) / 2) * PORT
    return ports


def _arrow(state: State, points: Sequence[Point], *, down: bool) -> Iterator[str]:
    """A line with its head at the concept, and the mark of what is denied, or stated both ways."""
    role = "limit" if state == "denied" else "model" if state == "both" else "observed"
    colour = LIGHT[role]
    bends = (_bend(one, two, down=down) for one, two in pairwise(points) if one != two)
    curve = "".join(bends)
    dashes = ' stroke-dasharray="5 3.5"' if state == "denied" else ""
    yield (
        f'<path d="M{_point_text(points[0], down=down)}{curve}" fill="none" stroke="{colour}" '
        f'stroke-width="1.5"{dashes}/>'
    )
    yield _head(points, state, colour, down=down)
    if state != "valid":
        yield _mark(_between_points(points[1], points[2], MARK_AT), state, colour, down=down)


def _bend(one: Point, two: Point, *, down: bool) -> str:
    """A curve that leaves and arrives along the layers; a straight line where it passes one."""
    if one[1] == two[1]:
        return f"L{_point_text(two, down=down)}"
    middle = (one[0] + two[0]) / 2
    turns = (_point_text((middle, point[1]), down=down) for point in (one, two))
    return f"C{' '.join(turns)} {_point_text(two, down=down)}"


def _between_points(one: Point, two: Point, share: float) -> Point:
    """A point of the curve between two points; at a share of 0 the first of them."""
    rest = 1 - share
    ends, turns = rest**3, 3 * rest**2 * share
    back, turned = share**3, 3 * rest * share**2
    middle = (one[0] + two[0]) / 2
    return (
        (ends * one[0] + (turns + turned) * middle + back * two[0]),
        ((ends + turns) * one[1] + (back + turned) * two[1]),
    )


def _head(points: Sequence[Point], state: State, colour: str, *, down: bool) -> str:
    end = points[-1]
    way = 1 if end[0] > points[0][0] else -1
    base = end[0] - way * HEAD
    corners = ((base, end[1] - HEAD / 2), (base, end[1] + HEAD / 2))
    fill = LIGHT["gap"] if state == "denied" else colour
    shape = "L".join(_point_text(point, down=down) for point in (end, *corners))
    return f'<path d="M{shape}Z" fill="{fill}" stroke="{colour}" stroke-width="1.2"/>'


def _mark(at: Point, state: State, colour: str, *, down: bool) -> str:
    """A cross where an edge is denied, a diamond where it is stated both ways."""
    reach = 4.5 if state == "denied" else 5.5
    x, y = at[::-1] if down else at
    if state == "both":
        corners = ((x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y))
        shape = "L".join(_number(*corner) for corner in corners)
        return f'<path d="M{shape}Z" fill="{LIGHT["gap"]}" stroke="{colour}" stroke-width="1.5"/>'
    strokes = "".join(
        f"M{_number(x - reach, y - side * reach)}L{_number(x + reach, y + side * reach)}"
        for side in (1, -1)
    )
    return f'<path d="{strokes}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _label(box: Box, *, down: bool) -> Iterator[str]:
    """A box with its text in the middle."""
    x, y = box.middle[::-1] if down else box.middle
    half = box.half[::-1] if down else box.half
    corner = (
        f'x="{_short(x - half[0])}" y="{_short(y - half[1])}" '
        f'width="{_short(2 * half[0])}" height="{_short(2 * half[1])}"'
    )
    yield (
        f'<rect {corner} fill="{LIGHT["scale-none"]}" stroke="{LIGHT["expected"]}" '
        'stroke-width="0.8"/>'
    )
    first = y - (len(box.lines) - 1) * LINE / 2 + TEXT * 0.36
    for number, line in enumerate(box.lines):
        yield (
            f'<text x="{_short(x)}" y="{_short(first + number * LINE)}" text-anchor="middle" '
            f'font-family="{escape(FONT)}" font-size="{TEXT}" fill="{LIGHT["ink"]}">'
            f"{escape(line)}</text>"
        )


def _point_text(point: Point, *, down: bool) -> str:
    return _number(*(point[::-1] if down else point))


def _number(x: float, y: float) -> str:
    return f"{_short(x)} {_short(y)}"


def _short(value: float) -> str:
    return f"{round(value, 2):g}"
