"""Geometry of pictures of small graphs, read back from their shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from audit._reports.charts.graph_picture import (
    HEAD,
    LINES,
    MOST,
    GraphEdge,
    draw_graph,
    wrapped,
)
from audit._reports.charts.palette import LIGHT
from audit._reports.charts.parts import WIDTH
from audit._reports.words.parts import Drawing
from audit._reports.words.words import columns_of

_PAIR = re.compile(r"(-?[\d.]+) (-?[\d.]+)")
TEXTS = st.text(st.sampled_from("abc de f,–<&心"), min_size=1, max_size=70).filter(str.strip)
Point = tuple[float, float]


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[str], list[GraphEdge]]:
    texts = draw(st.lists(TEXTS, min_size=1, max_size=9, unique=True))
    pairs = [(a, b) for a, b in product(range(len(texts)), repeat=2) if a != b]
    chosen = draw(
        st.lists(st.sampled_from(pairs), unique=True, max_size=14) if pairs else st.just([])
    )
    states = st.sampled_from(("valid", "denied", "both"))
    return texts, [GraphEdge(*pair, draw(states)) for pair in chosen]


def shapes(drawing: Drawing, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(f"<svg>{drawing.markup}</svg>").iter(tag))


def boxes(drawing: Drawing) -> list[Box]:
    found = []
    for rect in shapes(drawing, "rect"):
        x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        found.append(Box(x, y, x + width, y + height))
    return found


def curves(drawing: Drawing) -> Iterator[tuple[str, bool, list[Point]]]:
    """Colour, whether it is dashed, and points along each edge."""
    for path in shapes(drawing, "path"):
        if path.attrib["stroke-width"] == "1.5" and "Z" not in path.attrib["d"]:
            dashed = "stroke-dasharray" in path.attrib
            yield path.attrib["stroke"], dashed, list(points_of(path.attrib["d"]))


def points_of(path: str) -> Iterator[Point]:
    """Points along a path of lines and cubic curves."""
    at: Point = (0.0, 0.0)
    for letter, rest in re.findall(r"([MLC])([^MLC]*)", path):
        pairs = [(float(x), float(y)) for x, y in _PAIR.findall(rest)]
        if letter == "C":
            first, second, end = pairs
            for step in range(1, 21):
                t, u = step / 20, 1 - step / 20
                weights = (u**3, 3 * u * u * t, 3 * u * t * t, t**3)
                yield tuple(  # type: ignore[misc]
                    sum(w * p[axis] for w, p in zip(weights, (at, first, second, end), strict=True))
                    for axis in (0, 1)
                )
        else:
            (end,) = pairs
            steps = 20 if letter == "L" else 1
            yield from (
                (at[0] + (end[0] - at[0]) * n / steps, at[1] + (end[1] - at[1]) * n / steps)
                for n in range(1, steps + 1)
            )
        at = end


def inside(box: Box, point: Point, by: float = 0.05) -> bool:
    return box.left + by < point[0] < box.right - by and box.top + by < point[1] < box.bottom - by


def touched(all_boxes: Sequence[Box], point: Point) -> list[int]:
    """The boxes on whose border a point lies."""
    wide = [
        Box(*(side - 0.1 for side in box[:2]), *(side + 0.1 for side in box[2:]))
        for box in all_boxes
    ]
    return [
        n
        for n, box in enumerate(wide)
        if inside(box, point, 0) and not inside(all_boxes[n], point, 0.1)
    ]


@given(graphs())
def test_boxes_lie_in_the_picture_and_apart(drawn: tuple[list[str], list[GraphEdge]]) -> None:
    texts, edges = drawn
    drawing = draw_graph(texts, edges)
    found = boxes(drawing)
    assert len(found) == len(texts)
    assert drawing.width >= WIDTH
    for number, box in enumerate(found):
        assert 0 <= box.left < box.right <= drawing.width
        assert 0 <= box.top < box.bottom <= drawing.height
        for other in found[:number]:
            apart_x = box.right < other.left or other.right < box.left
            assert apart_x or box.bottom < other.top or other.bottom < box.top


@given(graphs())
def test_an_edge_leads_from_its_instance_to_its_concept_and_meets_no_other_box(
    drawn: tuple[list[str], list[GraphEdge]],
) -> None:
    texts, edges = drawn
    drawing = draw_graph(texts, edges)
    found = boxes(drawing)
    ordered = [
        *(e for e in edges if e.state != "denied"),
        *(e for e in edges if e.state == "denied"),
    ]
    told = list(curves(drawing))
    assert len(told) == len(ordered)
    for edge, (_, _, points) in zip(ordered, told, strict=True):
        assert touched(found, points[0]) == [edge.child]
        assert touched(found, points[-1]) == [edge.parent]
        assert not any(inside(box, point) for box in found for point in points)


@given(graphs())
def test_the_head_of_an_arrow_points_at_its_concept(
    drawn: tuple[list[str], list[GraphEdge]],
) -> None:
    drawing = draw_graph(*drawn)
    found = boxes(drawing)
    heads = [path for path in shapes(drawing, "path") if path.attrib["stroke-width"] == "1.2"]
    assert len(heads) == len(drawn[1])
    for head, (_, _, points) in zip(heads, curves(drawing), strict=True):
        tip, *corners = [(float(x), float(y)) for x, y in _PAIR.findall(head.attrib["d"])]
        assert tip == points[-1]
        for corner in corners:
            assert not any(inside(box, corner) for box in found)
            assert max(abs(corner[0] - tip[0]), abs(corner[1] - tip[1])) <= HEAD + 0.02


@given(graphs())
def test_what_is_denied_is_told_by_more_than_its_colour(
    drawn: tuple[list[str], list[GraphEdge]],
) -> None:
    drawing = draw_graph(*drawn)
    states = [edge.state for edge in drawn[1]]
    told = list(curves(drawing))
    assert sum(dashed for _, dashed, _ in told) == states.count("denied")
    crosses = [path for path in shapes(drawing, "path") if path.attrib["stroke-width"] == "2"]
    assert len(crosses) == states.count("denied")
    diamonds = [
        path
        for path in shapes(drawing, "path")
        if path.attrib["stroke-width"] == "1.5" and "Z" in path.attrib["d"]
    ]
    assert len(diamonds) == states.count("both")


@given(graphs())
def test_marks_stand_on_their_edges(drawn: tuple[list[str], list[GraphEdge]]) -> None:
    drawing = draw_graph(*drawn)
    marks = [path for path in shapes(drawing, "path") if path.attrib["stroke-width"] == "2"]
    dashed = [points for _, dash, points in curves(drawing) if dash]
    for mark, points in zip(marks, dashed, strict=True):
        ends = [(float(x), float(y)) for x, y in _PAIR.findall(mark.attrib["d"])]
        middle = tuple(sum(end[axis] for end in ends) / 4 for axis in (0, 1))
        assert any(_near(middle, one, two) for one, two in pairwise(points))


def _near(point: Sequence[float], one: Point, two: Point) -> bool:
    """Whether a point lies about between two neighbouring points of a curve."""
    return all(
        min(one[axis], two[axis]) - 0.5 <= point[axis] <= max(one[axis], two[axis]) + 0.5
        for axis in (0, 1)
    )


@given(graphs())
def test_colours_are_those_of_the_palette_and_bytes_the_same_again(
    drawn: tuple[list[str], list[GraphEdge]],
) -> None:
    drawing = draw_graph(*drawn)
    assert set(re.findall(r"#[0-9a-f]{6}", drawing.markup)) <= set(LIGHT.values())
    assert draw_graph(*drawn) == drawing


@given(TEXTS, st.integers(4, MOST))
def test_a_label_keeps_its_room(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert 1 <= len(lines) <= LINES
    assert all(columns_of(line) <= width for line in lines)
    whole = "".join("".join(lines).split())
    if not whole.endswith("…"):
        assert whole == "".join(text.split())
    else:
        assert "".join(text.split()).startswith(whole.removesuffix("…").rstrip(" ,;:("))


def test_texts_cannot_leave_their_label() -> None:
    drawing = draw_graph(["</text><script>", "a & b"], [GraphEdge(0, 1, "valid")])
    assert "<script" not in drawing.markup
    assert ["".join(one.itertext()) for one in shapes(drawing, "text")] == [
        "</text><script>",
        "a & b",
    ]
