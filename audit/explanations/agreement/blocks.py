"""Lists of one length, as matrices of moderate size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import IntArray
from audit.explanations.lists import Lists, Value

AT_ONCE = 1 << 17
"""Largest number of values in a block, unless one list alone holds more."""


def equal_lengths(lengths: IntArray, width: int = 1) -> Iterator[IntArray]:
    """Places of lists of one length, block after block; empty lists are in no block.

    Args:
        lengths: Length of each list, shape (n,).
        width: Number of lists that each place stands for; a block holds about `AT_ONCE` values.

    Yields:
        Ascending places of lists of one length, each place in one block.
    """
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    bounds = [0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist(), len(order)]
    for start, end in pairwise(bounds):
        if start == end or ordered[start] == 0:
            continue
        size = max(AT_ONCE // (int(ordered[start]) * width), 1)
        for first in range(start, end, size):
            yield order[first : min(first + size, end)]


def matrix(lists: Lists[Value], places: IntArray, length: int) -> NDArray[Value]:
    """Lists of one length as an array of shape ``(*places.shape, length)``."""
    taken: NDArray[Value] = lists.values[lists.starts[places][..., None] + np.arange(length)]
    return taken
