"""Scales: map values to positions on an axis, from 0 at the left end to 1 at the right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from reports.words.parts import Tick

_ROUND = (1, 2, 5)
_MARKS = 5
"""Number of ticks of a logarithmic axis above which only powers of ten are marked."""

Text = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis from ``start`` to ``end``; logarithmic if ``log``."""

    start: float
    end: float
    log: bool = False
    ticks: tuple[Tick, ...] = ()

    def place(self, value: float) -> float:
        """Position of a value from 0 to 1; values outside the axis are clipped to its ends."""
        value = min(max(value, self.start), self.end)
        if self.log:
            return math.log(value / self.start) / math.log(self.end / self.start)
        return (value - self.start) / (self.end - self.start)

    def marked(self, values: Iterable[float], text: Text) -> Scale:
        """The same axis with a tick at each value."""
        return replace(self, ticks=tuple(Tick(self.place(v), text(v)) for v in values))


def whole(text: Text) -> Scale:
    """An axis of shares, from 0 to 1."""
    return Scale(0.0, 1.0).marked((0.0, 0.5, 1.0), text)


def from_zero(values: Iterable[float], text: Text) -> Scale:
    """An axis from 0 to the first round number at or above every value.

    >>> [tick.text for tick in from_zero([3, 7], str).ticks]
    ['0.0', '5.0', '10.0']
    """
    end = _round_above(values)
    return Scale(0.0, end).marked((0.0, end / 2, end), text)


def around_zero(values: Iterable[float], text: Text) -> Scale:
    """An axis symmetric about 0 that holds every value."""
    end = _round_above(map(abs, values))
    return Scale(-end, end).marked((-end, 0.0, end), text)


def around_one(values: Iterable[float], text: Text) -> Scale:
    """A logarithmic axis that holds 1 and every positive value.

    >>> [tick.text for tick in around_one([1.5, 4], str).ticks]
    ['1.0', '2.0', '5.0']
    """
    shown = [1.0, *(value for value in values if value > 0)]
    start, end = min(shown) / 1.25, max(2.0, *shown) * 1.25
    return Scale(start, end, log=True).marked(_round_between(start, end), text)


def _round_above(values: Iterable[float]) -> float:
    largest = max(values, default=0.0) or 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(step * power for step in (*_ROUND, 10) if step * power >= largest)


def _round_between(start: float, end: float) -> Sequence[float]:
    powers = range(math.floor(math.log10(start)), math.ceil(math.log10(end)) + 1)
    every = [step * 10.0**power for power in powers for step in _ROUND]
    within = [value for value in every if start <= value <= end]
    tens = [10.0**power for power in powers if start <= 10.0**power <= end]
    return within if len(within) <= _MARKS else tens
