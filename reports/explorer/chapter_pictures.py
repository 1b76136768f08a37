"""The pictures of chapters and findings as files: each leads to its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import Any, TypeAlias, TypeVar

from reports.explorer.pictures import Picture, plot_drawing
from reports.explorer.site import address
from reports.words.parts import Card, Figure, Plot

Record = TypeVar("Record")
_Led: TypeAlias = Callable[[Figure | Plot, str], Figure | Plot]


def led_to_files(record: Record, path: str, **asked: str) -> tuple[Record, dict[str, Picture]]:
    """A chapter or card whose pictures lead to their files, and these pictures by name.

    Args:
        record: A record of the templates with others in it, such as a report.
        path: Address of the page that shows it.
        asked: Parameters of that address.
    """
    pictures: dict[str, Picture] = {}
    numbers = count(1)

    def led(shown: Figure | Plot, heading: str) -> Figure | Plot:
        name = shown.id if isinstance(shown, Figure) else f"evidence-{next(numbers)}"
        file = address(path, **asked, svg=name)
        pictures[name] = _picture(shown, heading)
        return replace(shown, file=file)

    return _changed(record, led, ""), pictures


def _picture(shown: Figure | Plot, heading: str) -> Picture:
    if isinstance(shown, Plot):
        return Picture(heading, shown.alt, plot_drawing(shown))
    told = f"{shown.alt} {shown.caption}"
    return Picture(shown.title, told, shown.drawing, shown.key_title, shown.key)


def _changed(record: Any, led: _Led, heading: str) -> Any:
    """The same record with every figure and plot in it changed, wherever it stands."""
    if isinstance(record, Figure | Plot):
        return led(record, heading)
    if isinstance(record, tuple):
        return tuple(_changed(one, led, heading) for one in record)
    if not is_dataclass(record) or isinstance(record, type):
        return record
    own = record.headline if isinstance(record, Card) else heading
    inner = {field.name: getattr(record, field.name) for field in fields(record)}
    changed = {name: _changed(value, led, own) for name, value in inner.items()}
    kept = all(changed[name] is value for name, value in inner.items())
    return record if kept else replace(record, **changed)
