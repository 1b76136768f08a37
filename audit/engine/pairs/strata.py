"""Strata of records with about as many labels, within which expected joint counts are fair.

A record with many labels carries more of everything, so that two nodes meet on it more often than
they would if they were independent. Within a stratum records are about equally long. Labels are
the most specific ones here: those without another label of the record below them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse

LEAST_LABELS = 2
"""Least number of most specific labels of a record that takes part in the judgement of pairs."""
MOST_STRATA = 20
RECORDS_PER_STRATUM = 40
"""Least number of records per stratum of length, so that a small release has few strata."""
LEAST_RECORDS = 10
"""Number of records below which a stratum crossed with other columns joins its neighbour."""
NO_STRATUM = -1
"""Stratum of records that take no part, having fewer than two most specific labels."""


def most_specific(direct: Sparse, above: Sparse) -> Sparse:
    """Leave out every label above another label of the same record, as it adds no information.

    Args:
        direct: Direct labels, 0/1, shape (n_records, n_nodes), canonical CSR.
        above: A positive value stored where a node is strictly above a label of the record, same
            shape.

    Returns:
        0/1, same shape, int64, canonical CSR. A record with labels keeps one of them at least.
    """
    superfluous = csr_array(direct.multiply(above))
    if not superfluous.nnz:
        return direct
    superfluous.data[:] = 1
    kept = csr_array(direct - superfluous)
    kept.eliminate_zeros()
    kept.sort_indices()
    return csr_array((np.ones(kept.nnz, np.int64), kept.indices, kept.indptr), shape=kept.shape)


def length_histogram(lengths: IntArray) -> IntArray:
    """Number of records with each number of labels, from 0 up; empty without records.

    >>> length_histogram(np.array([2, 0, 2])).tolist()
    [1, 0, 2]
    """
    return np.bincount(lengths).astype(np.int64)


def merged_histogram(left: IntArray, right: IntArray) -> IntArray:
    """The histogram of two sets of records together."""
    merged = np.zeros(max(len(left), len(right)), np.int64)
    merged[: len(left)] += left
    merged[: len(right)] += right
    return merged


def length_cuts(histogram: IntArray) -> IntArray:
    """Greatest length of each stratum except the last, ascending.

    The distinct ``i / k`` quantiles (nearest rank) of the lengths of the records that take part,
    with k at most `MOST_STRATA` and one for every `RECORDS_PER_STRATUM` of them. The result depends
    on the histogram alone.

    Args:
        histogram: From `length_histogram`; lengths below `LEAST_LABELS` do not count.

    Returns:
        Shape (n_strata - 1,); empty if there is only one stratum.

    >>> length_cuts(np.array([9, 9, 60, 20, 0, 40])).tolist()
    [2, 3]
    """
    taking_part = np.concatenate([np.zeros(LEAST_LABELS, np.int64), histogram[LEAST_LABELS:]])
    records = int(taking_part.sum())
    k = min(MOST_STRATA, max(1, records // RECORDS_PER_STRATUM))
    ranks = -(-np.arange(1, k) * records // k)
    lengths = np.unique(np.searchsorted(np.cumsum(taking_part), ranks))
    return lengths[lengths < len(histogram) - 1].astype(np.int64)


def strata_of(lengths: IntArray, cuts: IntArray, further: Sequence[IntArray] = ()) -> IntArray:
    """Stratum of each record: its stratum of length, crossed with further categories.

    A crossed stratum of fewer than `LEAST_RECORDS` records joins the next length of its category;
    the last one of a category joins the length before it.

    Args:
        lengths: Number of most specific labels of each record, shape (n_records,).
        cuts: From `length_cuts`, of these or of other records.
        further: Category numbers of each record, from 0, one array for each further column.

    Returns:
        Consecutive numbers from 0, ordered by categories and then by length,
        shape (n_records,); `NO_STRATUM` for a record that takes no part.
    """
    stratum = np.full(len(lengths), NO_STRATUM, np.int64)
    part = np.flatnonzero(lengths >= LEAST_LABELS)
    by_length = np.searchsorted(cuts, lengths[part], "left")
    category = np.zeros(len(part), np.int64)
    for column in further:
        category = category * (int(column.max(initial=0)) + 1) + column[part]
    keys = category * (len(cuts) + 1) + by_length
    if further:
        keys = _joined(keys, len(cuts) + 1)
    stratum[part] = np.unique(keys, return_inverse=True)[1]
    return stratum


def _joined(keys: IntArray, n_lengths: int) -> IntArray:
    """Keys ``category * n_lengths + length`` with small strata joined to those beside them."""
    there, counts = np.unique(keys, return_counts=True)
    size = dict(zip(there.tolist(), counts.tolist(), strict=True))
    into: dict[int, int] = {}
    by_category: dict[int, list[int]] = {}
    for key in there.tolist():
        by_category.setdefault(key // n_lengths, []).append(key)
    for members in by_category.values():
        waiting: list[int] = []
        records = 0
        whole = members[-1]
        for key in members:
            waiting.append(key)
            records += size[key]
            if records >= LEAST_RECORDS:
                into.update(dict.fromkeys(waiting, key))
                waiting, records, whole = [], 0, key
        into.update(dict.fromkeys(waiting, whole))
    return np.array([into[key] for key in there.tolist()], np.int64)[np.searchsorted(there, keys)]
