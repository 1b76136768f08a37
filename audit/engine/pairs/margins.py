"""Strata of records with about as many labels, and the margins of records in each.

A record with many labels carries more of everything, so that two nodes meet on it more often than
they would if they were independent. Within a stratum records are about equally long. Labels are
the most specific ones here: those without another label of the record below them.
Expected joint counts of pairs are computed from the margins of each stratum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.rows import row_numbers
from audit.engine.pairs.sums import (
    Sums,
    added_up,
    counts_by_place,
    counts_only,
    summed,
    weighed_sums,
)

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


Margin: TypeAlias = Literal["carried", "labelled", "between"]
"""What is counted in each part of the records.

``carried``: records that carry a node, by ``part * n_nodes + node``; ``labelled``: those with it as
a most specific label, likewise; ``between``: ordered pairs of different most specific labels of one
record, one in each of two branches, by ``(part * n_nodes + branch) * n_nodes + other``, the smaller
branch first.
"""
MARGINS: tuple[Margin, ...] = ("carried", "labelled", "between")

PLACES_PER_KEY = 4
"""Possible keys, from 0 on, per given key up to which an array counts them; above, sorting does."""


def counted_branches(first_branch: IntArray, leaf: BoolArray) -> IntArray:
    """The branch of each node whose labels between branches are counted, shape (n_nodes,).

    -1 where a node's labels are not counted.

    Args:
        first_branch: The first branch that each node is in, shape (n_nodes,); -1 for the root.
        leaf: Whether a node has no children, shape (n_nodes,): a branch that is a single label has
            no factor of its own.
    """
    return np.where((first_branch >= 0) & ~leaf[first_branch], first_branch, -1)


def count_margins(
    specific: Sparse,
    carried: Sparse,
    part: IntArray,
    branch_of: IntArray,
    weight: IntArray | None = None,
) -> dict[Margin, Sums]:
    """Count the margins of some records; margins of different records can be added up.

    Args:
        part: The part that each record is counted in, numbered from 0, shape (n_records,); records
            with a negative number are left out.
        weight: Weight of each record, shape (n_records,), as `weighed_sums` takes it: sums of
            weights take the place of counts. None: each record counts once.

    Time grows with the stored values.
    """
    n_nodes = specific.shape[1]
    return {
        "carried": _by_part(carried, part, weight),
        "labelled": _by_part(specific, part, weight),
        "between": _between(specific, part, branch_of, n_nodes, weight),
    }


def _by_part(matrix: Sparse, part: IntArray, weight: IntArray | None) -> Sums:
    """Stored values by ``part * n_nodes + node``; rows left out are counted behind, and dropped."""
    n_nodes, behind = matrix.shape[1], int(part.max(initial=-1)) + 1
    keys = np.repeat(np.where(part < 0, behind, part) * n_nodes, np.diff(matrix.indptr))
    keys += matrix.indices
    if weight is None:
        sums = tallied(keys)
    else:
        sums = counts_by_place(weighed_sums(keys, np.repeat(weight, np.diff(matrix.indptr))))
    return sums[: np.searchsorted(sums.keys, behind * n_nodes)]


def tallied(keys: IntArray) -> Sums:
    """Number of occurrences of each key; the keys may be in any order."""
    if not len(keys):
        return counts_only(keys.astype(np.int64), keys)
    if int(keys.max()) < PLACES_PER_KEY * len(keys):
        return counts_by_place(np.bincount(keys))
    there, counts = np.unique(keys, return_counts=True)
    return counts_only(there.astype(np.int64), counts)


def _between(
    specific: Sparse, part: IntArray, branch_of: IntArray, n_nodes: int, weight: IntArray | None
) -> Sums:
    branches = np.unique(branch_of[branch_of >= 0])
    column = np.searchsorted(branches, branch_of[specific.indices])
    counted = branch_of[specific.indices] >= 0
    rows = row_numbers(specific)[counted]
    ones = np.ones(len(rows), np.int64)
    shape = (specific.shape[0], len(branches))
    labels = csr_array((ones, (rows, column[counted])), shape=shape)
    labels.sum_duplicates()
    weighed = labels
    if weight is not None:
        data = labels.data * np.repeat(weight, np.diff(labels.indptr))
        weighed = csr_array((data, labels.indices, labels.indptr), shape=labels.shape)
    found = []
    for number in np.unique(part[part >= 0]).tolist():
        records = np.flatnonzero(part == number)
        own, each = labels[records], weighed[records]
        met = csr_array(own.T @ each).tocoo()
        same = met.row == met.col
        alone = np.asarray(each.sum(axis=0), np.int64)
        counts = met.data - np.where(same, alone[met.row], 0)
        kept = (met.row <= met.col) & (counts > 0)
        first, second = branches[met.row[kept]], branches[met.col[kept]]
        keys = (number * n_nodes + first) * n_nodes + second
        order = np.argsort(keys)
        found.append(counts_only(keys[order], counts[kept][order]))
    return summed(found)


@dataclass(frozen=True, eq=False)
class Strata:
    """Margins, by stratum, of the records with at least two most specific labels.

    Args:
        cuts: Greatest number of labels in each stratum of length except the last.
        size: Records of each stratum, shape (n_strata,).
        carried: Records of each stratum that carry each node, shape (n_strata, n_nodes).
        labelled: Records of each stratum with each node as a most specific label, same shape.
        between: Ordered pairs of labels between branches, by stratum, keyed as in `Margin`.
        unit: What a record that weighs one counts in these.
    """

    cuts: IntArray
    size: IntArray
    carried: IntArray
    labelled: IntArray
    between: Sums
    unit: int = 1

    @property
    def records(self) -> int:
        """Number of records that take part, in units."""
        return int(self.size.sum())

    @property
    def weight(self) -> FloatArray:
        """What the records of each stratum weigh, shape (n_strata,)."""
        return np.asarray(self.size / self.unit, np.float64)

    @property
    def support(self) -> IntArray:
        """Number of records that take part and carry each node, in units, shape (n_nodes,)."""
        return np.asarray(self.carried.sum(axis=0), np.int64)


def lighter(strata: Strata, lost: Strata) -> Strata:
    """Strata of whole records as those by weight, less what some records lack of a whole one.

    Args:
        strata: The records, each counted once.
        lost: Of some of the records what they lack, in units.
    """
    whole, less, unit = strata.between, lost.between, lost.unit
    keys = np.concatenate([whole.keys, less.keys])
    joint = np.concatenate([whole.joint * unit, -less.joint])
    return Strata(
        strata.cuts,
        strata.size * unit - lost.size,
        strata.carried * unit - lost.carried,
        strata.labelled * unit - lost.labelled,
        added_up(keys, joint, np.zeros(len(keys))),
        unit,
    )


def strata_from(
    cuts: IntArray, size: IntArray, margins: Mapping[Margin, Sums], n_nodes: int, unit: int = 1
) -> Strata:
    """Build strata from margins that were counted by stratum.

    Args:
        cuts: From `length_cuts`.
        size: Records of each stratum, shape (n_strata,).
        margins: From `count_margins`, the parts being strata.
        unit: What a record that weighs one counts in them.
    """
    carried, labelled = np.zeros((2, len(size), n_nodes), np.int64)
    carried.flat[margins["carried"].keys] = margins["carried"].joint
    labelled.flat[margins["labelled"].keys] = margins["labelled"].joint
    return Strata(cuts, size, carried, labelled, margins["between"], unit)


def with_parts(sums: Sums, part_of: IntArray, per_part: int) -> Sums:
    """Add up margins that were counted in finer parts.

    Args:
        sums: Margins of one kind.
        part_of: The part that each finer part belongs to, shape (n_finer,); negative: left out.
        per_part: Keys of one part: ``n_nodes``, or its square for ``between``.
    """
    finer, rest = np.divmod(sums.keys, per_part)
    part = part_of[finer]
    kept = np.flatnonzero(part >= 0)
    keys = part[kept] * per_part + rest[kept]
    return added_up(keys, sums.joint[kept], sums.confusion[kept])
