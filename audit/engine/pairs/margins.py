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
    tallied,
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


def length_cuts(histogram: IntArray) -> IntArray:
    """Greatest length of each stratum except the last, ascending.

    The distinct ``i / k`` quantiles (nearest rank) of the lengths of the records that take part,
    with k at most `MOST_STRATA` and one for every `RECORDS_PER_STRATUM` of them. The result depends
    on the histogram alone.

    Args:
        histogram: Number of records with each number of labels, from 0 up; lengths below
            `LEAST_LABELS` do not count.

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


def strata_of(lengths: IntArray, cuts: IntArray, others: Sequence[IntArray] = ()) -> IntArray:
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
    for column in others:
        category = category * (int(column.max(initial=0)) + 1) + column[part]
    keys = category * (len(cuts) + 1) + by_length
    if others:
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
    return {
        "carried": _by_part(carried, part, weight),
        "labelled": _by_part(specific, part, weight),
        "between": _between(specific, part, branch_of, weight),
    }


def _by_part(matrix: Sparse, part: IntArray, weight: IntArray | None) -> Sums:
    """Stored values counted, or weighed, by ``part * n_nodes + node``; none of a negative part."""
    n_nodes, behind = matrix.shape[1], int(part.max(initial=-1)) + 1
    keys = np.repeat(np.where(part < 0, behind, part) * n_nodes, np.diff(matrix.indptr))
    keys += matrix.indices
    if weight is None:
        sums = tallied(keys)
    else:
        sums = counts_by_place(weighed_sums(keys, np.repeat(weight, np.diff(matrix.indptr))))
    return sums[: np.searchsorted(sums.keys, behind * n_nodes)]


def _between(
    specific: Sparse, part: IntArray, branch_of: IntArray, weight: IntArray | None
) -> Sums:
    """Ordered pairs of different labels of a record, by part and branches, as `Margin` says."""
    n_nodes, record = specific.shape[1], row_numbers(specific)
    branch = branch_of[specific.indices]
    kept = np.flatnonzero((branch >= 0) & (part[record] >= 0))
    places = record[kept], branch[kept]
    labels = csr_array((np.ones(len(kept), np.int64), places), shape=specific.shape)
    labels.sum_duplicates()
    record = row_numbers(labels)
    in_part = part[record] * n_nodes + labels.indices, labels.indptr
    weighed = labels if weight is None else csr_array(labels * weight[:, None])
    shape = (labels.shape[0], (int(part.max(initial=0)) + 1) * n_nodes)
    met = csr_array(csr_array((labels.data, *in_part), shape=shape).T @ weighed).tocoo()
    alone = csr_array((weighed.data, *in_part), shape=shape).sum(axis=0)
    row, second = met.row.astype(np.int64), met.col
    counts = met.data - np.where(row % n_nodes == second, alone[row], 0)
    some = (row % n_nodes <= second) & (counts > 0)
    return added_up((row * n_nodes + second)[some], counts[some])


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
        """Number of records in all strata, or their summed weight times `unit`."""
        return int(self.size.sum())

    @property
    def weight(self) -> FloatArray:
        """Sum of the weights of the records of each stratum, shape (n_strata,)."""
        return np.asarray(self.size / self.unit, np.float64)

    @property
    def support(self) -> IntArray:
        """Records that carry each node: number, or summed weight times `unit`, shape (n_nodes,)."""
        return np.asarray(self.carried.sum(axis=0), np.int64)


def strata_from(
    cuts: IntArray, size: IntArray, margins: Mapping[Margin, Sums], n_nodes: int, unit: int = 1
) -> Strata:
    """Build strata from margins that were counted by stratum.

    Args:
        cuts: From `length_cuts`.
        size: Records of each stratum, shape (n_strata,).
        margins: From `count_margins`, the parts being strata.
        unit: What a record that weighs one counts in them; it is kept, and nothing divided by it.
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
    return added_up(keys, sums.joint[kept])
