"""Budget of the printed report: limits it to sixty pages for data of any size.

Findings have priority over tables, and tables over the numbers behind the figures. Rows that do
not fit are left out from the end of a table, and their number is stated there; the attached
``result.json`` holds everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from reports.chapters.cards import more
from reports.chapters.report import Report
from reports.pdf import columns
from reports.words.parts import Card, Cell, Figure, More, Named, Node, Nodes, Table, column
from reports.words.words import shortened

PAGES = 60
"""Largest number of pages of the document."""

_HEIGHT = 680.0
"""Points from the first line of a page to its last, less what headings take."""
_LINE, _GAP = 11.2, 6.5
"""Points of a line in a table, and between two rows."""
_FINE_LINE, _FINE_GAP, _FINE_ROOM = 8.6, 4.0, 146
"""The same in fine print, and characters across the page."""
_FIXED = 11.0
"""Pages independent of the data, without model and figures: cover, methods, limitations."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on the parts of a report that grow with the data.

    Args:
        cards: Number of findings printed as cards; the others are lines.
        parts: Rows of a card's breakdown.
        table: Pages of one table.
        numbers: Pages of all numbers behind figures together.
        fine: Whether the further findings are in fine print.
        further: Pages of further findings.
        text: Characters of a text in a table; of a finding's sentences too.
    """

    cards: int = 20
    parts: int = 10
    table: float = 3.0
    numbers: float = 8.0
    fine: bool = False
    further: float = 45.0
    text: int = 2_000


BUDGETS = (
    Budget(),
    Budget(table=1.5, numbers=4, parts=6),
    Budget(table=1, numbers=2, parts=4, fine=True),
    Budget(cards=10, table=0.6, numbers=1, parts=4, fine=True, further=32, text=800),
    Budget(cards=5, table=0.4, numbers=0.5, parts=3, fine=True, further=26, text=300),
    Budget(cards=3, table=0.2, numbers=0.2, parts=2, fine=True, further=20, text=160),
)
"""Budgets from the most readable to the smallest, which always fits; the first that fits is
used.
"""


@dataclass(frozen=True, slots=True)
class Printed:
    """A report reduced to a budget.

    Args:
        report: The report without the parts left out.
        fine: Whether its further findings are in fine print.
        tables: Number of tables with rows left out.
        rows: Total number of rows left out.
        findings: Number of those that are findings.
    """

    report: Report
    fine: bool
    tables: int
    rows: int
    findings: int


def printed(report: Report, budget: Budget) -> Printed:
    """Reduce the report to a budget."""
    share = budget.numbers / max(1, len(report.all_figures))
    leading = report.leading[: budget.cards]
    kept = _kept(replace(report, leading=leading, more=()), budget, share)
    further = _further(report, budget)
    kept = replace(kept, more=further)
    left_out = [table.left_out for table in _tables(kept) if table.left_out]
    return Printed(
        report=kept,
        fine=budget.fine,
        tables=len(left_out),
        rows=sum(left_out),
        findings=sum(one.table.left_out for one in further),
    )


def budgets(report: Report) -> Iterator[Printed]:
    """The report within each budget, from the first that is estimated to fit to the last."""
    for place, budget in enumerate(BUDGETS):
        kept = printed(report, budget)
        if place == len(BUDGETS) - 1 or pages(kept) <= PAGES:
            yield kept


def pages(kept: Printed) -> float:
    """Estimated number of pages of a printed report."""
    report = kept.report
    further = {one.table.id for one in report.more}
    tables = sum(
        _height(table, fine=kept.fine and table.id in further) for table in _tables(report)
    )
    cards = sum(_card_height(card) for card in report.leading)
    figures = 0.6 * len(report.all_figures)
    return _FIXED + figures + (tables + cards) / _HEIGHT


def _further(report: Report, budget: Budget) -> tuple[More, ...]:
    """Findings that are no cards, as tables of each check, with their ids."""
    rest = [
        *report.leading[budget.cards :],
        *(card for one in report.more for card in one.cards),
    ]
    gathered = [replace(one, cards=(), table=_lines(one, budget)) for one in more(rest)]
    heights = [_height(one.table, fine=budget.fine) for one in gathered]
    room = min(1.0, budget.further * _HEIGHT / max(1.0, sum(heights)))
    return tuple(
        replace(one, table=_within(one.table, room * height, fine=budget.fine))
        for one, height in zip(gathered, heights, strict=True)
    )


def _lines(one: More, budget: Budget) -> Table:
    return replace(
        one.table,
        columns=column("Finding", "Severity"),
        rows=tuple(
            (
                Named(
                    shortened(f"{card.headline} {card.explanation}".strip(), budget.text), card.id
                ),
                card.badge,
            )
            for card in one.cards
        ),
    )


def _card(card: Card, budget: Budget) -> Card:
    parts = card.parts and _first(card.parts, budget.parts)
    return replace(
        card,
        headline=shortened(card.headline, budget.text),
        explanation=shortened(card.explanation, budget.text),
        parts=parts and _brief(parts, budget),
    )


def _kept(value: Any, budget: Budget, share: float) -> Any:
    """A part of the report, its tables cut; those behind figures to their share of a page."""
    match value:
        case Card():
            return _card(value, budget)
        case Figure():
            return replace(value, table=_within(_brief(value.table, budget), share * _HEIGHT))
        case Table():
            return _within(_brief(value, budget), budget.table * _HEIGHT)
        case tuple():
            return tuple(_kept(one, budget, share) for one in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            parts = {field.name: getattr(value, field.name) for field in fields(value)}
            return replace(
                value, **{name: _kept(part, budget, share) for name, part in parts.items()}
            )
    return value


def _tables(value: Any) -> Iterator[Table]:
    """Every table in a part of the report."""
    if isinstance(value, Table):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _tables(one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _tables(getattr(value, field.name))


def _brief(table: Table, budget: Budget) -> Table:
    """The table with no text longer than the budget has it."""
    return replace(
        table,
        rows=tuple(tuple(_shortened(cell, budget.text) for cell in row) for row in table.rows),
    )


def _shortened(cell: Cell, width: int) -> Cell:
    match cell:
        case str():
            return shortened(cell, width)
        case Node():
            return _brief_node(cell, width)
        case Nodes():
            return replace(cell, nodes=tuple(_brief_node(node, width) for node in cell.nodes))
        case Named():
            return replace(cell, text=shortened(cell.text, width))
    return cell


def _brief_node(node: Node, width: int) -> Node:
    return replace(node, title=shortened(node.title, width))


def _within(table: Table, height: float, *, fine: bool = False) -> Table:
    """The first rows of a table that take a height at most, one at least."""
    room, taken = height, 0
    for used in _heights(table, fine=fine):
        room -= used
        if room < 0 and taken:
            break
        taken += 1
    return _first(table, taken)


def _first(table: Table, rows: int) -> Table:
    return replace(table, rows=table.rows[:rows], left_out=len(table.rows[rows:]))


def _height(table: Table, *, fine: bool) -> float:
    return 30 + sum(_heights(table, fine=fine))


def _heights(table: Table, *, fine: bool) -> Iterator[float]:
    if fine:
        lines = columns.lines(table, _FINE_ROOM)
        return (_FINE_GAP + _FINE_LINE * max(1, n - 1) for n in lines)  # the id is on no own line
    return (_GAP + _LINE * n for n in columns.lines(table))


def _card_height(card: Card) -> float:
    """Without its breakdown: a head, its sentences, evidence and advice."""
    texts: list[Cell] = [card.explanation, card.curator, card.data_user]
    texts += [node.text for node in card.nodes]
    told = sum(columns.height(text, 100) for text in texts) * 13
    return 110 + told + 17 * columns.height(card.headline, 84) + 60 * bool(card.plots)
