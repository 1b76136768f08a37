"""Layers of Vega-Lite specifications, made as dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from audit._reports.words.shown_numbers import Rows

Json = dict[str, Any]
_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}


def channel(stated: str, **how: Any) -> Json:
    """A field as a channel of an encoding, with its type: ``count:Q``, or without: ``count``.

    >>> channel("count:Q", sort=None)
    {'field': 'count', 'type': 'quantitative', 'sort': None}
    """
    name, _, letter = stated.partition(":")
    return {"field": name, **({"type": _TYPES[letter]} if letter else {}), **how}


def bare_axis(title: str | None, **how: Any) -> Json:
    """An axis without its line and without ticks."""
    return {"title": title, "domain": False, "ticks": False, **how}


@dataclass(frozen=True, slots=True)
class Layer:
    """A mark for each of some rows; each method returns another layer that has more.

    Args:
        rows: The rows.
        style: The mark and how it is drawn.
        channels: What is encoded, by channel: a dictionary, or a field with its type.
        only: Condition on rows that are drawn; empty for all.
    """

    rows: Rows
    style: Mapping[str, Any] = field(default_factory=dict)
    channels: Mapping[str, str | Json] = field(default_factory=dict)
    only: str = ""

    def mark(self, kind: str, **style: Any) -> Layer:
        """The same rows with a mark of a kind."""
        return replace(self, style={"type": kind, **style})

    def encode(self, **channels: str | Json) -> Layer:
        """The same with further channels."""
        return replace(self, channels={**self.channels, **channels})

    def where(self, only: str) -> Layer:
        """The same, of rows that meet a condition."""
        return replace(self, only=only)

    def specification(self) -> Json:
        """The layer in Vega-Lite, where the far end of a span has the type of its near one."""
        encoding = {
            name: channel(stated) if isinstance(stated, str) else stated
            for name, stated in self.channels.items()
        }
        for end in {"x2", "y2"} & encoding.keys():
            encoding[end] = {k: v for k, v in encoding[end].items() if k != "type"}
        filtered = {"transform": [{"filter": self.only}]} if self.only else {}
        data = {"values": [dict(row) for row in self.rows]}
        return {"data": data, "mark": dict(self.style), "encoding": encoding, **filtered}
