"""How exactly numbers of a model were written, by the numbers themselves."""

from __future__ import annotations

import numpy as np

from audit.base.dag import FloatArray, Sparse

SUM_TOLERANCE = 1e-4
"""Share of a total by which a row may miss it, however its numbers were written."""
MOST_TOLERANCE = 0.02
"""Largest such share that rounding is taken to explain without asking."""
_SOME = 4096


def rounding(numbers: FloatArray, columns: int, total: float = 1.0) -> float:
    """How far a row may be from its total because its numbers were rounded; 0 for whole numbers.

    Numbers of float16 and bfloat16 are rounded by a share of each, those with d decimals by half a
    unit of the last one, whatever type they have now.

    Args:
        numbers: All numbers, not negative, shape (n_numbers,).
        columns: Number of numbers of a row, zeros included.
        total: What a row adds up to.

    >>> rounding(np.array([0.25, 0.333, 0.417]), 3)
    0.0015
    """
    if (numbers == np.rint(numbers)).all():
        return 0.0
    decimals = (d for d in range(1, 8) if _are_whole(numbers[:_SOME] * 10.0**d))
    d = next((d for d in decimals if _are_whole(numbers * 10.0**d)), None)
    half = _are_halves(numbers[:_SOME]) and _are_halves(numbers)
    bits = numbers.astype(np.float32)
    brain = (bits == numbers).all() and not (bits.view(np.uint32) & 0xFFFF).any()
    explained = (
        0.0 if d is None else columns * 10.0**-d / 2,
        half * (total * 2.0**-11 + columns * 2.0**-25),
        brain * total * 2.0**-8,
    )
    return float(max(explained))


def sum_to_one(scores: Sparse) -> bool:
    """Whether the scores of each row do, as far as their rounding explains."""
    apart = np.abs(np.asarray(scores.sum(axis=1)) - 1).max(initial=0)
    rounded = apart > SUM_TOLERANCE and rounding(np.asarray(scores.data), scores.shape[1])
    return bool(apart <= max(SUM_TOLERANCE, min(rounded, MOST_TOLERANCE)))


def _are_whole(numbers: FloatArray) -> bool:
    """Whether all are whole, as far as float32 can tell."""
    return bool((np.abs(numbers - np.rint(numbers)) <= 2.0**-23 * numbers + 1e-9).all())


def _are_halves(numbers: FloatArray) -> bool:
    """Whether all are of float16, or what it is written as in the fewest digits."""
    halves = numbers.astype(np.float16)
    bits, written = halves.view(np.uint16), np.zeros(2**16)
    occurring = np.flatnonzero(np.bincount(bits)).astype(np.uint16)
    written[occurring] = [float(str(half)) for half in occurring.view(np.float16)]
    alike = np.minimum(np.abs(halves - numbers), np.abs(written[bits] - numbers))
    return bool((alike <= 1e-7 * numbers).all())
