"""Counts by key, which add up over batches of instances, and exact sums of weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from audit.base.dag import IntArray

UNIT = 1 << 32
"""Units that a record alone in its group weighs. Weights are whole numbers of these, so that their
sums are exact in any order."""
EXACT = (1 << 53) // UNIT
"""So many weights have a sum that a float holds exactly."""
PLACES_PER_KEY = 4
"""Possible keys, from 0 on, per given key up to which an array counts them; above, sorting does."""


@dataclass(frozen=True)
class Sums:
    """Counts by key.

    Args:
        keys: Not negative, ascending and distinct, shape (n_keys,).
        joint: The count of each, same shape.
    """

    keys: IntArray
    joint: IntArray

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, chosen: Any) -> Sums:
        return Sums(self.keys[chosen], self.joint[chosen])


NOTHING = Sums(np.empty(0, np.int64), np.empty(0, np.int64))
"""No count."""


def added_up(keys: IntArray, counts: IntArray) -> Sums:
    """The counts of keys in any order, each any number of times; shapes (n,)."""
    if not len(keys):
        return NOTHING
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return Sums(keys[starts], np.add.reduceat(counts[order], starts))


def summed(parts: Iterable[Sums]) -> Sums:
    """The counts of several parts added up by key."""
    some = [part for part in parts if len(part)]
    if len(some) < 2:
        return some[0] if some else NOTHING
    keys, counts = (
        np.concatenate([getattr(part, name) for part in some]) for name in ("keys", "joint")
    )
    return added_up(keys, counts)


def tallied(keys: IntArray) -> Sums:
    """Number of occurrences of each key; the keys may be in any order."""
    if not len(keys):
        return NOTHING
    if int(keys.max()) < PLACES_PER_KEY * len(keys):
        return counts_by_place(np.bincount(keys))
    there, counts = np.unique(keys, return_counts=True)
    return Sums(there.astype(np.int64), counts)


def counts_by_place(counts: IntArray) -> Sums:
    """The nonzero counts of an array of shape (n_places,), keyed by their positions."""
    some = np.flatnonzero(counts)
    return Sums(some, counts[some])


def weighed_sums(keys: IntArray, weight: IntArray, least: int = 0) -> IntArray:
    """Exact sums of the weights of each key, shape (largest key + 1,), or (``least``,) if longer.

    Args:
        keys: Not negative, in any order, shape (n,).
        weight: From 0 to `UNIT`, shape (n,).
    """
    if len(keys) <= EXACT:
        return np.bincount(keys, weight, least).astype(np.int64)
    halves = (np.bincount(keys, half, least) for half in (weight >> 16, weight & 0xFFFF))
    high, low = (half.astype(np.int64) for half in halves)
    return np.asarray((high << 16) + low)
