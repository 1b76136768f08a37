"""Slices of classes along a dimension: what is seen together, and what is held out together."""

from __future__ import annotations

import numpy as np

from audit.base.dag import IntArray
from audit.concepts.classes import Described
from audit.engine.statistics.resampling import unit_keys

MOST_FOLDS = 10
"""Largest number of folds of classes of a nested dimension."""


def slices(described: Described, place: int) -> list[IntArray]:
    """Classes that differ in one dimension alone, as arrays of their places.

    Along a crossed dimension, a slice is the classes equal in all other crossed dimensions, those
    with no concept there included; it has at least two concepts.
    """
    others = [k for k, crossed in enumerate(described.crossed) if crossed and k != place]
    here = np.flatnonzero(described.class_codes[:, place] >= 0)
    groups: dict[tuple[int, ...], list[int]] = {}
    for one in here.tolist():
        groups.setdefault(tuple(described.class_codes[one, others].tolist()), []).append(one)
    several = [np.array(group) for group in groups.values()]
    return [group for group in several if len(np.unique(described.class_codes[group, place])) > 1]


def folds(described: Described, place: int, seed: int) -> list[IntArray]:
    """Classes of a nested dimension, dealt into folds that hold some of each concept.

    A concept of one class cannot be held out and is in no fold. Empty if no concept has two.
    """
    keys = unit_keys(described.classes["class"].to_list(), seed)
    codes = described.class_codes[:, place]
    dealt = [
        members[np.argsort(keys[members], kind="stable")]
        for concept in range(len(described.concepts[place]))
        if len(members := np.flatnonzero(codes == concept)) > 1
    ]
    if not dealt:
        return []
    number = min(MOST_FOLDS, *(len(members) for members in dealt))
    return [np.concatenate([members[fold::number] for members in dealt]) for fold in range(number)]
