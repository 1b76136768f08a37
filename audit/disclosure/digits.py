"""Digits: what of a number may be told beside the counts that it was computed from.

A mean, a share or an interval next to its own n is a count: 0.36 of 22 to 32 instances is 9 of 25.
Numbers are therefore told in steps, of 1, 2 or 5 in their last digit, which leave all counts that
the told ones leave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import TypeAlias

import numpy as np

from audit.base.dag import BoolArray, FloatArray

Range: TypeAlias = tuple[int, int]
"""Least and greatest value that a count can have."""
Number: TypeAlias = float | None
Counted: TypeAlias = tuple[int, int]
"""A count in steps, and its total, which is told."""

STEPS = tuple(float(f"{first}e{place}") for place in range(-3, 0) for first in (1, 2, 5))
"""Steps of numbers up to 1; those of larger ones are as many times as large."""
CHANCES = frozenset(("p", "q", "p_t", "p_value", "q_value"))
"""Names of p-values and q-values, as are those that end in ``_p`` and ``_q``."""
_POINTS = 64
"""Most values of a number that are tried beside each count."""


def in_digits(
    numbers: Mapping[str, Number],
    counts: Sequence[Counted],
    min_cell: int,
    apart: Iterable[str] = (),
    interval: Callable[[float, float], tuple[float, float]] | None = None,
    at_least: int | None = None,
) -> dict[str, Number]:
    """Numbers as they may be told beside counts in steps.

    Args:
        numbers: By name; the ends of an interval follow its number, and are called ``low`` and
            ``high`` or end so. They are rounded outwards; p-values upwards, to 1, 2 or 5 in their
            one digit.
        counts: What they were computed from, the least first.
        min_cell: So many values of n remain possible, or of what is counted where n is told. A
            share of two of the counts, of which bounds are told, is the middle of what these leave.
        apart: Names of the numbers that compare with the other instances of the first total: they
            are told as if they were of the smaller side, and withheld where it is small.
        interval: Interval of a share of counts. Of a share whose counts are told as bounds the one
            is told that holds those of all counts within them, if it holds its own.
        at_least: The least that is told of the first count, where that is less than its step.
    """
    if min_cell <= 1:
        return {name: _finite(value) for name, value in numbers.items()}
    told = dict[str, Number]()
    own, total = counts[0]
    least, most = _not_small(left_by_steps(own, total, min_cell), min_cell)
    smaller = min(least, total - most) if own < total else least
    told_least = least if at_least is None else at_least
    for name, ends in _intervals(numbers):
        value, beside = _finite(numbers[name]), name in apart
        known = {end: one for end in ends if (one := _finite(numbers[end])) is not None}
        told |= dict.fromkeys((name, *ends))
        if value is None or (beside and 0 < total - own < min_cell):
            continue
        if bounds := _of_bounds(name, value, counts, min_cell):
            told[name] = _middle(*bounds)
            told |= _around(known, *bounds, interval) if interval else {}
            continue
        if _is_chance(name):
            told[name] = _upwards(value)
            continue
        side = min(smaller if beside else least, told_least)
        step = _step(value, known, side, (own, (least, most)), min_cell)
        told[name] = _told(value, min(step, STEPS[-1] * _scale(value)))
        told |= {end: _told(one, step, _side(end)) for end, one in known.items()}
    return told


def left_by_steps(value: int, total: int, min_cell: int) -> Range:
    """Least and greatest count that one in steps leaves.

    >>> left_by_steps(37, 100, 11), left_by_steps(95, 100, 11), left_by_steps(100, 100, 11)
    ((33, 43), (88, 99), (100, 100))
    """
    if value == total:
        return value, value
    most = max(0, (total - min_cell) // min_cell)
    steps = min(value // min_cell, most)
    end = total - 1 if steps == most else (steps + 1) * min_cell - 1
    return steps * min_cell, end


def in_proportion(value: float, n: int, min_cell: int) -> Number:
    """A number that grows with a count, in a step that leaves ``min_cell`` values of it.

    >>> in_proportion(6.0925, 150, 11), in_proportion(6.0925, 8, 11), in_proportion(6.0925, 8, 1)
    (6.0, None, 6.0925)
    """
    if min_cell <= 1 or not value:
        return value
    return to_step(value, value * min_cell / n) if n >= min_cell else None


def to_step(value: float, least: float) -> float:
    """A number in steps of 1, 2 or 5 in one digit that are at least as wide as asked.

    >>> to_step(2.0952, 0.0437)
    2.1
    """
    place = 10.0 ** math.floor(math.log10(least))
    step = place * next(first for first in (1, 2, 5, 10) if first * place >= least)
    return float(f"{round(value / step) * step:.9g}")


def _finite(value: Number) -> Number:
    return value if value is not None and math.isfinite(value) else None


def _side(name: str) -> int:
    """-1 for a lower end, 1 for an upper one, 0 for another number."""
    last = name.removesuffix("_90").rpartition("_")[2]
    return {"low": -1, "high": 1}.get(last, 0)


def _is_chance(name: str) -> bool:
    return name in CHANCES or name.endswith(("_p", "_q")) or name.startswith(("p_", "q_"))


def _intervals(names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Each number with the ends that follow it."""
    groups: list[tuple[str, list[str]]] = []
    for name in names:
        if _side(name) and groups:
            groups[-1][1].append(name)
        else:
            groups.append((name, []))
    return iter(groups)


def _upwards(p_value: float) -> float:
    """A p-value as the next step above: far from 1 it would tell n, as it falls with it.

    >>> _upwards(0.05), _upwards(0.012), _upwards(0.0), _upwards(0.7)
    (0.05, 0.02, 0.001, 1.0)
    """
    return next((step for step in STEPS if p_value <= step * (1 + 1e-9)), 1.0)


def _scale(value: float) -> float:
    """1, or the power of ten of a larger number."""
    return 10.0 ** max(0, math.ceil(math.log10(abs(value)))) if value else 1.0


def _told(value: Number, step: float, side: int = 0) -> Number:
    if value is None:
        return None
    steps = _cell(np.array([value]), step, side)[0]
    return round(float(steps * step), 3) + 0.0


def _cell(values: FloatArray, step: float, side: int) -> FloatArray:
    """Number of the step that each value is told as: outwards for the ends of an interval."""
    if side:
        return np.ceil(values / step * side - 1e-9) * side
    return np.round(values / step)


def _step(
    value: float, ends: Mapping[str, float], least: int, n: tuple[int, Range], min_cell: int
) -> float:
    """The finest step that leaves what it must; that of both bounds where none of them does."""
    scale = _scale(value)
    steps = [one * scale for one in STEPS]
    first = min(min_cell / least * scale, steps[-1])
    wide = [step for step in steps if step >= first * (1 - 1e-9)]
    return next((step for step in wide if _leaves(value, ends, step, n, min_cell)), scale)


def _of_bounds(
    name: str, value: float, counts: Sequence[Counted], min_cell: int
) -> tuple[Range, Range] | None:
    """The bounds of the two counts that a number is the share of; None for any other number."""
    for part, whole in permutations(counts, 2) if name.endswith(("share", "rate")) else ():
        told = part[0] == part[1] and whole[0] == whole[1]
        if whole[0] and abs(part[0] / whole[0] - value) < 1e-9 and not told:
            k, n = (left_by_steps(*one, min_cell) for one in (part, whole))
            return k, (max(n[0], min_cell), n[1])
    return None


def _middle(k: Range, n: Range) -> float:
    """The middle of the shares that bounds of two counts leave, in a step that holds them."""
    ends = k[0] / n[1], min(k[1] / n[0], 1.0)
    step = next((s for s in STEPS if s >= 2 * (ends[1] - ends[0])), STEPS[-1])
    return float(_told(sum(ends) / 2, step) or 0.0)


def _around(
    own: Mapping[str, float], k: Range, n: Range, interval: Callable[..., tuple[float, float]]
) -> dict[str, Number]:
    """Ends that depend on the bounds alone; none where those of the share lie beyond."""
    ends = {-1: interval(k[0], n[1])[0], 1: interval(min(k[1], n[0]), n[0])[1]}
    told = {end: _told(ends[_side(end)], STEPS[0], _side(end)) for end in own}
    beyond = any((one - (told[end] or 0.0)) * _side(end) > 0 for end, one in own.items())
    return {} if beyond else told


def _not_small(left: Range, min_cell: int) -> Range:
    """What is left of an n whose numbers are told: none of few instances is."""
    return max(left[0], min(min_cell, left[1]), 1), max(left[1], 1)


def _leaves(
    value: float,
    ends: Mapping[str, float],
    step: float,
    n: tuple[int, Range],
    min_cell: int,
) -> bool:
    """Whether as many counts remain possible as must: n, or the part of it where n is told."""
    own, (low, high) = n
    sizes = np.arange(low, high + 1)[:, None].astype(np.float64)
    k, there = _counted(value, step, sizes)
    for name, end in ends.items():
        moved = k / sizes + (end - value) * np.sqrt(own / sizes)
        side = _side(name)
        there &= _cell(moved, step, side) == _cell(np.array([end]), step, side)
    remaining = there.sum() if low == high else there.any(axis=1).sum()
    return int(remaining) >= min(min_cell, own + 1 if low == high else high - low + 1)


def _counted(value: float, step: float, sizes: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Counts whose share of each size is told as the value is, shape (sizes, points)."""
    cell = float(_cell(np.array([value]), step, 0)[0])
    first, last = (cell - 0.5) * step * sizes, (cell + 0.5) * step * sizes
    stride = np.ceil(np.maximum((last - first) / _POINTS, 1))
    k = np.asarray(np.ceil(first) + stride * np.arange(_POINTS + 2.0), np.float64)
    there = np.asarray(_cell(k / sizes, step, 0) == cell, np.bool_)
    if 0 <= value <= 1:
        there &= (k >= 0) & (k <= sizes)
    return k, there
