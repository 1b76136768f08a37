"""Sums of pairs by key, which tallies add up batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import FloatArray, IntArray


@dataclass(frozen=True)
class Sums:
    """Sums of some pairs.

    Args:
        keys: ``a * n_nodes + b``, ascending and distinct, shape (n_pairs,).
        joint: Number of instances carrying both nodes, shape (n_pairs,).
        confusion: Summed entropies of the two values in bits, shape (n_pairs,).
    """

    keys: IntArray
    joint: IntArray
    confusion: FloatArray

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, chosen: Any) -> Sums:
        return Sums(self.keys[chosen], self.joint[chosen], self.confusion[chosen])

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return self.keys.nbytes + self.joint.nbytes + self.confusion.nbytes


def summed(parts: Sequence[Sums]) -> Sums:
    """The sums of several parts added up by key, in the order of the parts."""
    some = [part for part in parts if len(part)]
    if len(some) < 2:
        return some[0] if some else NOTHING
    every = end_to_end(some)
    if all(one.keys[-1] < other.keys[0] for one, other in pairwise(some)):
        return every
    return added_up(every.keys, every.joint, every.confusion)


def end_to_end(parts: Sequence[Sums]) -> Sums:
    """Parts one after the other, at least one; keys stay as they are."""
    if len(parts) == 1:
        return parts[0]
    return Sums(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.joint for part in parts]),
        np.concatenate([part.confusion for part in parts]),
    )


def added_up(keys: IntArray, joint: IntArray, confusion: FloatArray) -> Sums:
    """The sums of keys in any order, each any number of times; shapes (n,)."""
    if not len(keys):
        return NOTHING
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    joint, confusion = joint[order], confusion[order]
    return Sums(keys[starts], np.add.reduceat(joint, starts), np.add.reduceat(confusion, starts))


def listed(keys: IntArray, bits: FloatArray) -> Sums:
    """The sums of a list of pairs, in which a pair occurs once for each instance.

    Args:
        keys: Key of each listed pair, in any order, shape (n,).
        bits: Entropy of each listed pair in bits, shape (n,).
    """
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    if not len(keys):
        return NOTHING
    joint = np.diff(starts, append=len(keys))
    return Sums(keys[starts], joint, np.add.reduceat(bits[order], starts))


UNIT = 1 << 32
"""Units of weight that a record alone in its group weighs. Weights are whole numbers of units, so
that their sums are exact in any order.
"""

EXACT = (1 << 53) // UNIT
"""So many weights have a sum that a float holds exactly."""


def weighed_sums(keys: IntArray, weight: IntArray, least: int = 0) -> IntArray:
    """Sum of the weights of each key from 0 on, exact; at least ``least`` of them.

    Args:
        keys: Not negative, in any order, shape (n,).
        weight: From 0 to `UNIT`, shape (n,).
    """
    if len(keys) <= EXACT:
        return np.bincount(keys, weight, least).astype(np.int64)
    halves = (np.bincount(keys, half, least) for half in (weight >> 16, weight & 0xFFFF))
    high, low = (half.astype(np.int64) for half in halves)
    return np.asarray((high << 16) + low)


class Tail(Protocol):
    """A store for the sums of pairs of rare nodes."""

    def add(self, sums: Sums) -> None:
        """Add the sums of a batch."""

    def between(self, first: int, stop: int) -> Sums:
        """The sums of the keys from ``first`` up to, but not including, ``stop``."""


class SortedTail:
    """Sums in memory; new sums are merged once they outgrow those merged before."""

    def __init__(self, parts: Sequence[Sums] = ()) -> None:
        self.parts = list(parts)

    def add(self, sums: Sums) -> None:
        """Add the sums of a batch; time grows with the logarithm of the number of batches."""
        self.parts.append(sums)
        while len(self.parts) > 1 and len(self.parts[-2]) <= 2 * len(self.parts[-1]):
            last = self.parts.pop()
            self.parts[-1] = summed([self.parts[-1], last])

    def between(self, first: int, stop: int) -> Sums:
        """The sums of the keys from ``first`` up to, but not including, ``stop``."""
        ends = [np.searchsorted(part.keys, (first, stop)) for part in self.parts]
        parts = [part[slice(*end)] for part, end in zip(self.parts, ends, strict=True)]
        return summed([NOTHING, *parts])

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return sum(part.nbytes for part in self.parts)


def counts_only(keys: IntArray, counts: NDArray[np.integer[Any]]) -> Sums:
    """Sums of counts alone, without entropies; keys ascending and distinct, shapes (n_keys,)."""
    return Sums(keys, counts.astype(np.int64, copy=False), np.zeros(len(keys)))


def counts_by_place(counts: IntArray) -> Sums:
    """The nonzero counts of an array of shape (n_places,), keyed by their positions."""
    some = np.flatnonzero(counts)
    return counts_only(some, counts[some])


NOTHING = Sums(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
"""The sums of no pair."""
