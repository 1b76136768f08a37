"""Folding of changes: a change that another one accounts for is folded into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from audit.base.dag import IntArray, Sparse
from audit.runs.compare.counts import Counts


def fold_changes(
    counts: Counts, order: Sequence[int], above: Mapping[int, Sequence[int]]
) -> dict[int, int]:
    """Fold changes into those that account for them.

    From the deepest up, a change is folded into the change below it that differs most in the same
    direction, if the remaining instances have not changed, or changed in the other direction. Then,
    from the top down, a change is folded into the deepest unfolded change above it, if its share of
    that one's instances has not changed.

    Args:
        counts: Counts of the changes; an instance that counts for one counts for all above it.
        order: Indices of the changes, each before all changes above it.
        above: The changes above each change.

    Returns:
        For each folded change, the unfolded one that accounts for it.

    Only one change below can be subtracted exactly: the tables do not hold the number of instances
    that several changes have in common.
    """
    into: dict[int, int] = {}
    below: dict[int, list[int]] = {change: [] for change in order}
    for change in order:
        part = _greatest_part(counts, change, below[change])
        if part is not None and not _holds_without(counts, change, part):
            into[change] = part
            continue
        for other in above[change]:
            below[other].append(change)
    rank = {change: place for place, change in enumerate(order)}
    for change in reversed(order):
        standing = [other for other in above[change] if other not in into]
        if change not in into and standing:
            nearest = min(standing, key=rank.__getitem__)
            if not _holds_within(counts, change, nearest):
                into[change] = nearest
    return {change: _end(into, change) for change in into}


def _greatest_part(counts: Counts, change: int, below: Sequence[int]) -> int | None:
    """The change below that differs most in the same direction."""
    sign = np.sign(counts.difference[change])
    along = [part for part in below if sign * counts.difference[part] > 0]
    return max(along, key=lambda part: abs(counts.difference[part]), default=None)


def _holds_without(counts: Counts, change: int, part: int) -> bool:
    """Whether what is left without a part still changed in the same direction."""
    rest = counts[[change]].without(counts[[part]])
    along = rest.difference[0] * counts.difference[change] > 0
    return bool(rest.holds()[0] and along)


def _holds_within(counts: Counts, change: int, whole: int) -> bool:
    """Whether a change's share of the instances of one above it changed, or cannot be told."""
    n_old, n_new = int(counts.old[whole]), int(counts.new[whole])
    if not n_old or not n_new:
        return True
    one = counts[[change]]
    within = Counts(one.old, n_old, one.new, n_new, counts.same_data)
    return bool(within.holds()[0])


def _end(into: Mapping[int, int], change: int) -> int:
    while change in into:
        change = into[change]
    return change


def pairs_above(a: IntArray, b: IntArray, closure: Sparse) -> list[list[int]]:
    """For each pair, the indices of the other pairs at or above it node by node, in order.

    Args:
        a: First nodes, shape (n_pairs,).
        b: Second nodes; a pair may stand in either order, once.
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).

    Time grows with the pairs times the ancestors of both nodes.
    """
    n = np.int64(closure.shape[0])
    keys = np.minimum(a, b) * n + np.maximum(a, b)
    order = np.argsort(keys)
    ordered = keys[order]
    found = []
    for own, first, second in zip(keys.tolist(), a.tolist(), b.tolist(), strict=True):
        left = closure.indices[closure.indptr[first] : closure.indptr[first + 1]].astype(np.int64)
        right = closure.indices[closure.indptr[second] : closure.indptr[second + 1]]
        above = np.minimum(left[:, None], right) * n + np.maximum(left[:, None], right)
        wanted = np.unique(above)
        wanted = wanted[wanted != own]
        place = np.searchsorted(ordered, wanted).clip(max=len(ordered) - 1)
        found.append(sorted(order[place[ordered[place] == wanted]].tolist()))
    return found
