"""Folding of changes: a change that another one accounts for is folded into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from audit.base.dag import BoolArray, IntArray, Sparse
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
    that several changes have in common. Changes of which none waits for another are judged at once.
    """
    rank = {change: place for place, change in enumerate(order)}
    into = _into_parts(counts, order, above)
    for layer in _layers(order[::-1], {}, above):
        nearest = {
            change: min(standing, key=rank.__getitem__)
            for change in layer
            if change not in into
            and (standing := [other for other in above[change] if other not in into])
        }
        into |= _folding(nearest, _hold_within(counts, nearest))
    return {change: _end(into, change) for change in into}


def _into_parts(
    counts: Counts, order: Sequence[int], above: Mapping[int, Sequence[int]]
) -> dict[int, int]:
    """Changes that a change below accounts for, with that one."""
    into: dict[int, int] = {}
    sign, size = np.sign(counts.difference).tolist(), np.abs(counts.difference).tolist()
    rank = {change: place for place, change in enumerate(order)}
    greatest: dict[tuple[int, float], int] = {}
    for layer in _layers(order, above, {}):
        parts = {
            change: greatest[change, sign[change]]
            for change in layer
            if sign[change] and (change, sign[change]) in greatest
        }
        into |= _folding(parts, _hold_without(counts, parts))
        for change in layer:
            if change in into:
                continue
            for other in above[change]:
                known = greatest.get((other, sign[change]))
                if known is None or (size[known], -rank[known]) < (size[change], -rank[change]):
                    greatest[other, sign[change]] = change
    return into


def _layers(
    order: Sequence[int], after: Mapping[int, Sequence[int]], before: Mapping[int, Sequence[int]]
) -> list[list[int]]:
    """Changes in layers that can be judged one after the other, each at once, in their order."""
    place = dict.fromkeys(order, 0)
    layers: list[list[int]] = []
    for change in order:
        own = max((place[change], *(place[other] + 1 for other in before.get(change, ()))))
        place[change] = own
        for other in after.get(change, ()):
            place[other] = max(place[other], own + 1)
        if own == len(layers):
            layers.append([])
        layers[own].append(change)
    return layers


def _folding(found: Mapping[int, int], holds: BoolArray) -> dict[int, int]:
    """Those that do not hold beside what was found for them."""
    pairs = zip(found.items(), holds.tolist(), strict=True)
    return {change: other for (change, other), held in pairs if not held}


def _hold_without(counts: Counts, parts: Mapping[int, int]) -> BoolArray:
    """Whether what is left of changes without a part of each still changed in its direction."""
    changes = list(parts)
    rest = counts[changes].without(counts[list(parts.values())])
    along = rest.difference * counts.difference[changes] > 0
    return np.asarray(rest.holds() & along)


def _hold_within(counts: Counts, wholes: Mapping[int, int]) -> BoolArray:
    """Whether the share of changes of the instances of one above each changed, or is unknown."""
    changes, above = list(wholes), list(wholes.values())
    whole = counts[above]
    old, new = counts[changes].among(whole.n_old, whole.n_new)
    n_old, n_new = (np.rint(n).astype(np.int64) for n in (whole.old, whole.new))
    in_both = (n_old > 0) & (n_new > 0)
    holds = ~in_both
    within = Counts(
        np.minimum(old, n_old)[in_both],
        n_old[in_both],
        np.minimum(new, n_new)[in_both],
        n_new[in_both],
        counts.same_data,
    )
    holds[in_both] = within.holds()
    return holds


def _end(into: Mapping[int, int], change: int) -> int:
    while change in into:
        change = into[change]
    return change


def pairs_above(a: IntArray, b: IntArray, closure: Sparse) -> list[list[int]]:
    """For each pair, the indices of the other pairs at or above it node by node, in order.

    Args:
        a: First nodes, shape (n_pairs,).
        b: Second nodes; a pair may be in either order, once.
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
