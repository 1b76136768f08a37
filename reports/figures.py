"""Figures: small drawers, each of rows of a declared table, as SVG.

Colours, widths and fonts are attributes for light pages; the sheet of a page overrides them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, TypeVar

from markupsafe import Markup

from audit.base.declared import Column, Columns
from audit.base.figures import Curve, Dots, Figure, Graph, Icicle, Matrix
from audit.results.printed import Rounded
from reports import words
from reports.cells import cell
from reports.marks import Scale, scale_of
from reports.shapes import circle, cut, line, path, rect, text, width
from reports.words import Row

WIDE = 720
NAMES = 250
"""Width of the figures, and of the names of their lines."""
LINE = 18
"""Height of a line."""
SERIES = 6
ARCS, INDENT = 150, 16
"""Width of the lines between the nodes of a graph, and how far each depth is set in."""
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure: what stands above it, and its SVG."""

    title: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class _Rows:
    """What is drawn: rows of a table, and what its columns are."""

    columns: Columns
    rows: tuple[Row, ...]
    rounding: Rounded

    def of(self, rows: Sequence[Row]) -> _Rows:
        return _Rows(self.columns, tuple(rows), self.rounding)

    def said(self, name: str, row: Row) -> str:
        """A value of a row in words."""
        return cell(self.columns[name], row, self.columns, self.rounding).said

    def named(self, names: str, row: Row) -> str:
        """What several columns say, as far as they say anything."""
        every = (self.said(name, row) for name in names.split())
        return ", ".join(one for one in every if one != words.NOTHING)

    def grouped(self, names: str) -> Iterator[tuple[str, _Rows]]:
        """The rows by what columns say, in order; all of them where no column is named."""
        for said, rows in grouped(self.rows, lambda row: self.named(names, row)):
            yield said, self.of(rows)

    def scale(self, column: Column) -> Scale:
        """The scale on which a column of the rows is drawn."""
        return column_scale(column, self.rows)


def column_scale(column: Column, rows: Iterable[Row]) -> Scale:
    """The scale that spans a column's numbers, ends of intervals, limits and references."""
    names = [column.name, *column.ends, *beside(column)]
    found = (row.get(name) for row in rows for name in names if name)
    return scale_of(scale_kind(column), (one for one in found if isinstance(one, int | float)))


def scale_kind(column: Column) -> str:
    """The kind of scale: ``difference`` for points, ``share`` for % and metrics, else its own."""
    if column.unit == "points":
        return "difference"
    return "share" if column.unit == "%" or column.kind == "metric" else column.kind


def beside(column: Column) -> tuple[str, str]:
    """Names of the columns with the limit and the reference of a column; empty without."""
    return (column.mark.limit, column.mark.reference) if column.mark else ("", "")


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> list[tuple[Key, list[Row]]]:
    """Rows by a key, in the order in which the keys come first."""
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return [*found.items()]


def draw(
    figure: Figure, columns: Columns, rows: Sequence[Row], rounding: Rounded
) -> Drawing | None:
    """Draw a figure of rows of a view; None where no row has what is drawn."""
    if figure.where:
        name, value = figure.where
        rows = [row for row in rows if str(row.get(name)) == value]
    height, shapes = _drawn(figure, _Rows(columns, tuple(rows), rounding))
    if not shapes:
        return None
    title = figure.title or f"{type(figure).__name__} of the numbers in the table"
    svg = Markup(
        '<svg class="figure" role="img" viewBox="0 0 {} {:.0f}" font-family="DejaVu Sans"'
        ' font-size="11"><title>{}</title>{}</svg>'
    ).format(WIDE, height, title, Markup("").join(shapes))
    return Drawing(figure.title, svg)


_Drawn = tuple[float, list[Markup]]


@singledispatch
def _drawn(figure: Any, drawn: _Rows) -> _Drawn:
    """Height and shapes of a figure, as its kind is drawn; no shapes without numbers."""
    raise NotImplementedError(type(figure).__name__)


@_drawn.register
def _dots(figure: Dots, drawn: _Rows) -> _Drawn:
    column = drawn.columns[figure.value]
    kept = drawn.of([row for row in drawn.rows if _number(row, figure.value) is not None])
    scale, top, shapes = kept.scale(column), 0.0, list[Markup]()
    tones = {name: place for place, (name, _) in enumerate(kept.grouped(figure.series))}
    shapes_of_series = _legend(tones) if figure.series else []
    top += LINE if figure.series else 0
    for panel, within in kept.grouped(figure.panel):
        if panel:
            shapes.append(text(0, top + 13, panel, bold=True))
            top += LINE
        lines = grouped(within.rows, lambda row: kept.named(figure.name, row))[: figure.most]
        for name, rows in lines:
            shapes.append(text(NAMES - 8, top + 13, cut(name, NAMES - 8), anchor="end"))
            shapes.append(line(NAMES, top + 9, WIDE, top + 9, "axis"))
            for row in rows:
                tone = tones[kept.named(figure.series, row)] if figure.series else 0
                shapes += _dot(column, row, scale, top + 9, f"s{min(tone, SERIES - 1)}")
            top += LINE
        shapes += _axis(column, scale, top, kept)
        top += LINE
    return top, shapes_of_series + shapes if kept.rows else []


def _dot(column: Column, row: Row, scale: Scale, y: float, tone: str) -> Iterator[Markup]:
    """A row's value as a point at height y, its interval, and ticks of limit and reference."""
    low, high = ([_number(row, one) for one in column.ends] + [None, None])[:2]
    if low is not None and high is not None:
        yield line(_x_of(scale, low), y, _x_of(scale, high), y, tone, 4, opacity=0.4)
    for name, kind in zip(beside(column), ("limit", "muted"), strict=True):
        at = _number(row, name)
        if at is not None:
            yield line(_x_of(scale, at), y - 6, _x_of(scale, at), y + 6, kind, 1.5)
    yield circle(_x_of(scale, row[column.name]), y, 3.5, tone)


def _x_of(scale: Scale, value: float) -> float:
    return NAMES + (WIDE - NAMES) * scale.at(value)


def _axis(column: Column, scale: Scale, top: float, drawn: _Rows) -> Iterator[Markup]:
    """Numbers at the ends of a scale, and at its zero or middle."""
    middle = scale.zero if scale.zero is not None else (scale.low + scale.high) / 2
    for value, anchor in ((scale.low, "start"), (middle, "middle"), (scale.high, "end")):
        yield text(_x_of(scale, value), top + 12, _tick(column, value), "muted", anchor)


def _tick(column: Column, value: float) -> str:
    if scale_kind(column) == "share":
        return f"{value:.0%}"
    if column.kind == "difference":
        return f"{100 * value:+.0f}".replace("-", "−")
    return words.number(value, 2)


def _legend(tones: Mapping[str, int]) -> list[Markup]:
    """Names of series in their colours, in one line."""
    made, x = [], 0.0
    for name, place in tones.items():
        tone = f"s{min(place, SERIES - 1)}"
        made += [circle(x + 5, 9, 4, tone), text(x + 13, 13, name, tone)]
        x += 26 + width(name)
    return made


@_drawn.register
def _curve(figure: Curve, drawn: _Rows) -> _Drawn:
    column = drawn.columns[figure.value]
    kept = drawn.of([row for row in drawn.rows if _number(row, figure.value) is not None])
    scale, top, shapes, tall = kept.scale(column), 0.0, list[Markup](), 130.0
    tones = {name: place for place, (name, _) in enumerate(kept.grouped(figure.series))}
    if figure.series:
        shapes, top = _legend(tones), float(LINE)
    steps = _x_of_values(figure.x, kept)
    for panel, within in kept.grouped(figure.panel):
        if panel:
            shapes.append(text(0, top + 13, panel, bold=True))
            top += LINE
        for value in (scale.low, scale.high):
            y = top + tall * (1 - scale.at(value)) + 6
            shapes.append(text(60, y + 4, _tick(column, value), "muted", "end"))
            shapes.append(line(66, y, WIDE, y, "axis"))
        for name, rows in within.grouped(figure.series):
            tone = f"s{min(tones[name], SERIES - 1)}"
            shapes += _path(column, figure.x, rows, scale, steps, (top + 6, tall), tone)
        for said, at in steps.items() if len(steps) <= 12 else [*steps.items()][:: len(steps) - 1]:
            shapes.append(text(at, top + tall + 20, cut(said, 90), "muted", "middle"))
        top += tall + LINE + 8
    return top, shapes if kept.rows else []


def _x_of_values(name: str, drawn: _Rows) -> dict[str, float]:
    """The x to draw each value at, by its words: numbers in proportion, texts at equal steps."""
    found = {drawn.said(name, row): row[name] for row in drawn.rows}
    left, right = 90.0, WIDE - 45.0
    if all(isinstance(one, int | float) for one in found.values()) and found:
        low, high = min(found.values()), max(found.values())
        return {
            said: left + (right - left) * (one - low) / ((high - low) or 1)
            for said, one in found.items()
        }
    apart = (right - left) / max(len(found) - 1, 1)
    return {said: left + apart * place for place, said in enumerate(found)}


def _path(
    column: Column,
    x: str,
    drawn: _Rows,
    scale: Scale,
    steps: Mapping[str, float],
    box: tuple[float, float],
    tone: str,
) -> Iterator[Markup]:
    top, tall = box

    def up(value: float) -> float:
        return top + tall * (1 - scale.at(value))

    points = [(steps[drawn.said(x, row)], row) for row in drawn.rows]
    points.sort(key=lambda one: one[0])
    for at, row in points:
        low, high = ([_number(row, one) for one in column.ends] + [None, None])[:2]
        if low is not None and high is not None:
            yield line(at, up(low), at, up(high), tone, 2, opacity=0.4)
        for name, kind in zip(beside(column), ("limit", "muted"), strict=True):
            reference = _number(row, name)
            if reference is not None:
                yield line(at - 8, up(reference), at + 8, up(reference), kind, 1.5)
        yield circle(at, up(row[column.name]), 3, tone)
    route = "L".join(f"{at:.1f} {up(row[column.name]):.1f}" for at, row in points)
    yield path(f"M{route}", tone, 1.5)


@_drawn.register
def _matrix(figure: Matrix, drawn: _Rows) -> _Drawn:
    column = drawn.columns[figure.value]
    scale = drawn.scale(column)
    across = [name for name, _ in drawn.grouped(figure.column)]
    wide, top, shapes = min(90.0, (WIDE - NAMES) / max(len(across), 1)), 26.0, list[Markup]()
    for place, name in enumerate(across):
        shapes.append(text(NAMES + wide * (place + 0.5), 16, cut(name, wide), "muted", "middle"))
    for name, within in drawn.grouped(figure.row):
        shapes.append(text(NAMES - 8, top + 15, cut(name, NAMES - 8), anchor="end"))
        for row in within.rows:
            value, left = _number(row, figure.value), across.index(drawn.named(figure.column, row))
            if value is None:
                continue
            shade = 0.08 + 0.5 * abs(2 * scale.at(value) - 1 if scale.low < 0 else scale.at(value))
            tone = "s1" if scale.low < 0 and value > 0 else "s0"
            shapes.append(rect(NAMES + wide * left, top, wide - 2, 20, tone, opacity=shade))
            said = drawn.said(figure.value, row).split(" (")[0]
            shapes.append(text(NAMES + wide * (left + 0.5) - 1, top + 14, said, anchor="middle"))
        top += 22
    return top, shapes if drawn.rows else []


@_drawn.register
def _graph(figure: Graph, drawn: _Rows) -> _Drawn:
    rows = [row for row in drawn.rows if _number(row, figure.value) is not None][: figure.most]
    ends = [(drawn.said(figure.source, row), drawn.said(figure.target, row)) for row in rows]
    depth = _depths(ends)
    places = {name: LINE * (place + 0.5) for place, name in enumerate(depth)}
    greatest = max((abs(row[figure.value]) for row in rows), default=0) or 1
    shapes = []
    for row, (source, target) in zip(rows, ends, strict=True):
        y1, y2 = places[source], places[target]
        far = min(abs(y2 - y1) / 2, ARCS - 20)
        route = f"M{ARCS} {y1}A{far:.1f} {abs(y2 - y1) / 2} 0 0 {int(y1 > y2)} {ARCS} {y2}"
        shapes.append(path(route, "s0", 0.8 + 4 * abs(row[figure.value]) / greatest, opacity=0.45))
        shapes.append(
            path(f"M{ARCS - 11} {y2 - 4}L{ARCS - 4} {y2}L{ARCS - 11} {y2 + 4}", "s0", 1.5)
        )
    for name, y in places.items():
        x = ARCS + 10 + min(INDENT * depth[name], NAMES)
        shapes += [circle(ARCS, y, 3.5, "ink"), text(x, y + 4, cut(name, WIDE - x))]
    return LINE * len(places), shapes


def _depths(ends: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The depth of each node of a graph: edges on the longest path to it; of a cycle's nodes, one.

    Unconnected parts come one after the other, in each the least deep nodes first.
    """
    import networkx as nx

    graph = nx.DiGraph(ends)
    cycles = nx.condensation(graph)
    found = {
        name: depth
        for depth, level in enumerate(nx.topological_generations(cycles))
        for one in level
        for name in cycles.nodes[one]["members"]
    }
    places = {name: place for place, name in enumerate(graph)}
    parts = nx.weakly_connected_components(graph)
    ordered = (sorted(part, key=lambda name: (found[name], places[name])) for part in parts)
    return {name: found[name] for part in ordered for name in part}


@_drawn.register
def _icicle(figure: Icicle, drawn: _Rows) -> _Drawn:
    below: dict[Any, list[Row]] = defaultdict(list)
    for row in drawn.rows:
        below[row[figure.parent]].append(row)
    tops, tall, shapes = below[None], 260.0, list[Markup]()
    start = tops[0][figure.node] if len(tops) == 1 and below.get(tops[0][figure.node]) else None
    whole = sum(row[figure.value] for row in below[start])
    wide = WIDE / figure.levels
    tones = {row.get(figure.tone) for row in drawn.rows}
    legend = [tone for tone in words.SEVERITY if tone in tones]
    for n, tone in enumerate(legend):
        shapes += [rect(90 * n, 1, 12, 12, tone), text(90 * n + 17, 11, tone)]
    first = float(LINE) if legend else 0.0

    def place(parent: Any, top: float, height: float, level: int) -> None:
        rows = sorted(below.get(parent, ()), key=lambda row: -row[figure.value])
        total = sum(row[figure.value] for row in rows)
        few = [row for row in rows if height * row[figure.value] / total < tall * figure.least]
        rest = [_rest(figure, few)] if few else []
        for row in [*(row for row in rows if row not in few), *rest]:
            high = height * row[figure.value] / total
            name = drawn.said(figure.node, row) if row[figure.node] else row["title"]
            shapes.extend(
                _icicle_part(name, row.get(figure.tone) or "none", level * wide, top, wide, high)
            )
            if level + 1 < figure.levels and row[figure.node]:
                place(row[figure.node], top, high, level + 1)
            top += high

    if whole:
        place(start, first, tall, 0)
    return first + tall, shapes if whole else []


def _rest(figure: Icicle, rows: Sequence[Row]) -> Row:
    """Parts that are too small to be drawn alone, as one, with the worst that is found of them."""
    tones = [one for one in words.SEVERITY if any(r.get(figure.tone) == one for r in rows)]
    return {
        figure.node: None,
        "title": f"and {len(rows):,} others",
        figure.value: sum(row[figure.value] for row in rows),
        figure.tone: (tones or [""])[0],
    }


def _icicle_part(
    name: str, tone: str, left: float, top: float, wide: float, high: float
) -> Iterator[Markup]:
    yield rect(left, top, wide - 1, max(high - 0.7, 0.3), tone)
    if high >= 12:
        yield text(left + 5, top + high / 2 + 4, cut(name, wide - 8))


def _number(row: Row, name: str) -> float | None:
    value = row.get(name) if name else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
