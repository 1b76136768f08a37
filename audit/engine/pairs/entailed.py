"""Joint records that a single label explains, because it is below both nodes of the pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse
from audit.engine.pairs.rows import row_numbers, stored
from audit.engine.pairs.sums import Sums, added_up, weighed_sums

PAIRS_AT_ONCE = 4_000_000
"""Pairs above labels that are listed at a time."""


def count_entailed(specific: Sparse, closure: Sparse, weight: IntArray | None = None) -> Sums:
    """Count the records with a label below both nodes of a pair, or add up their weights.

    Only pairs of which neither node is above the other are counted; where one is above the other
    every joint record has such a label. Only nodes that share a descendant have any: none on a
    tree.

    Args:
        weight: Weight of each record, shape (n_records,), as `weighed_sums` takes it; None: each
            counts once.

    Returns:
        Counts by key ``a * n_nodes + b``, a before b.

    Time and memory grow with the sum over labels of (ancestors that are not in line)^2.
    """
    used = np.bincount(specific.indices, minlength=closure.shape[0]) > 0
    labels = np.flatnonzero(used & (pairs_above(closure) > 0))
    of_label, keys = overlapping_above(labels, closure)
    pairs, pair = np.unique(keys, return_inverse=True)
    place = np.searchsorted(labels, of_label)
    shape = (len(labels), len(pairs))
    above = csr_array((np.ones(len(pair), np.int64), (place, pair)), shape=shape)
    own = csr_array(specific[:, labels])
    counts, done = np.zeros(len(pairs), np.int64), 0
    for some in _blocks(own, np.diff(above.indptr)):
        met, done = csr_array(some @ above), done + some.shape[0]
        if weight is None:
            counts += np.bincount(met.indices, minlength=len(pairs))
        else:
            each = np.repeat(weight[done - some.shape[0] : done], np.diff(met.indptr))
            counts += weighed_sums(met.indices.astype(np.int64), each, len(pairs))
    return Sums(pairs, counts)[counts > 0]


def joint_entailed(keys: IntArray, joint: IntArray, entailed: Sums, lines: IntArray) -> IntArray:
    """Number of records with a label at or below both nodes of each pair, shape (n_pairs,).

    Where one node of the pair is above the other, this is all its joint records.

    Args:
        keys: ``a * n_nodes + b`` of each pair, ascending.
        joint: Joint records of each.
        entailed: From `count_entailed`; it holds no other pairs than these.
        lines: From `in_line`.
    """
    found = np.zeros_like(joint)
    above = places_of(lines, keys)
    found[above] = joint[above]
    found[np.searchsorted(keys, entailed.keys)] = entailed.joint
    return found


def in_line(closure: Sparse) -> IntArray:
    """Keys ``a * n_nodes + b`` (a before b) of ancestor pairs, ascending."""
    node, above = row_numbers(closure), closure.indices.astype(np.int64)
    strict = node != above
    node, above = node[strict], above[strict]
    return np.sort(np.minimum(node, above) * closure.shape[0] + np.maximum(node, above))


def places_of(wanted: IntArray, keys: IntArray) -> IntArray:
    """Positions in ``keys`` of the wanted keys, both ascending; missing keys are left out."""
    if not len(keys):
        return np.empty(0, np.int64)
    wanted = wanted[slice(*np.searchsorted(wanted, (keys[0], keys[-1] + 1)))]
    place = np.searchsorted(keys, wanted)
    return np.asarray(place[keys[place] == wanted])


def overlapping_above(labels: IntArray, closure: Sparse) -> tuple[IntArray, IntArray]:
    """The pairs of nodes above each label in which neither node is above the other.

    Returns:
        The label and the key ``a * n_nodes + b`` (a before b) of each pair.
    """
    found_labels, found_keys = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    above = np.diff(closure.indptr)[labels].astype(np.int64)
    for count in np.unique(above).tolist():
        first, second = np.triu_indices(count, 1)
        own = labels[above == count]
        width = max(PAIRS_AT_ONCE // max(len(first), 1), 1)
        for start in range(0, len(own), width):
            some = own[start : start + width]
            nodes = closure.indices[closure.indptr[some][:, None] + np.arange(count)]
            a = nodes[:, first].ravel().astype(np.int64)
            b = nodes[:, second].ravel().astype(np.int64)
            apart = ~(stored(closure, a, b) | stored(closure, b, a))
            found_labels.append(np.repeat(some, len(first))[apart])
            found_keys.append((a * closure.shape[0] + b)[apart])
    return np.concatenate(found_labels), np.concatenate(found_keys)


def entailed_by(records: IntArray, closure: Sparse) -> Sums:
    """The entailed records of each pair if every record has a single label.

    Args:
        records: Number of records with each label, shape (n_nodes,).
    """
    labels = np.flatnonzero((records > 0) & (pairs_above(closure) > 0))
    label, keys = overlapping_above(labels, closure)
    return added_up(keys, records[label])


def pairs_above(closure: Sparse) -> IntArray:
    """Number of pairs of nodes at or above each node, ancestor pairs left out, shape (n_nodes,)."""
    above = np.diff(closure.indptr).astype(np.int64)
    in_line = np.asarray(closure @ (above - 1))
    return np.asarray(above * (above - 1) // 2 - in_line)


def _blocks(own: Sparse, pairs_of: NDArray[Any]) -> Iterator[Sparse]:
    """Rows in blocks of some `PAIRS_AT_ONCE` pairs, so many of which each label (column) has."""
    per_row = np.bincount(row_numbers(own), pairs_of[own.indices], minlength=own.shape[0])
    block = (np.cumsum(per_row) // PAIRS_AT_ONCE).astype(np.int64)
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(block)) + 1, [own.shape[0]]])
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield csr_array(own[start:stop])
