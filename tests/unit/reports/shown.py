"""What chapters show, read back: their tables, and every form in which a number may be written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from audit._reports.chapters.report import Report
from audit._reports.words.parts import Cell, Code, Figure, Named, Node, Ranged, Table


def tables_of(value: Any) -> Iterator[Table]:
    """Every table of a record, those behind figures too."""
    if isinstance(value, Table):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from tables_of(one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from tables_of(getattr(value, field.name))


def figure_of(report: Report, id_: str) -> Figure:
    """The figure with an id."""
    return next(figure for figure in report.all_figures if figure.id == id_)


def text_of(cell: Cell) -> str:
    """The text of a cell, with the interval below it."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Ranged):
        return f"{cell.text} {cell.interval}"
    return cell.text if isinstance(cell, Node | Code | Named) else str(cell)


def forms_of(value: Any) -> set[str]:
    """Every form in which a number of a structure may be written."""
    texts: set[str] = set()
    for number in numbers_of(value):
        for places in (1, 2, 3):
            text = f"{number:,.{places}f}".replace("-", "−")
            texts |= {text, f"+{text}", text.removeprefix("−")}
        texts |= {f"{number:,.0f}", f"{number:.1%}", f"{number:g}", f"{round(number, 3):g}"}
        texts |= {f"{number:.2g}"}
    return texts


def numbers_of(value: Any) -> Iterator[float]:
    """Every number of a structure."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers_of(inner)
    elif isinstance(value, int | float):
        yield float(value)
