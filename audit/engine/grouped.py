"""The excess of a pair, tested against its variance between groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.engine.association import score_p_value
from audit.engine.expectation import NO_PARENT, Comparisons, Expected, Margins, joint_expected
from audit.engine.records import Records, through_two
from audit.engine.stratified import Stratified

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

CELLS_PER_BLOCK = 2_000_000
"""Residuals, an instance and comparison each, that are held at a time."""


def grouped_p_value(
    strata: Stratified,
    records: Records,
    asked: Comparisons,
    observed: FloatArray,
    expected: Expected,
) -> FloatArray:
    """One-sided score test whose variance is summed over groups, shape (n,).

    The residual of an instance is ``(x - p) * (y - q)``, with x and y whether it carries the two
    nodes and p, q their shares in its table, plus the constant that makes residuals sum to
    observed minus expected. The variance is the sum of the squared sums of groups: where one group
    holds all the excess, z is about 1.

    Time grows with the instances of all tables; comparisons of the same parents share theirs.
    """
    variance = np.zeros(len(asked))
    for places, rows in _blocks(records, asked):
        residuals = _residuals(strata, records, asked[places], rows)
        variance[places] = _summed_by_group(residuals, records.group[rows])
    p_value = np.ones(len(asked))
    varies = variance > 0
    excess = observed - expected.joint
    p_value[varies] = score_p_value(excess[varies], variance[varies])
    return p_value


def _blocks(records: Records, asked: Comparisons) -> Iterator[tuple[IntArray, IntArray]]:
    """Comparisons of the same parents, few enough at a time, and the instances they look at."""
    order = np.lexsort((asked.parent_b, asked.parent_a))
    both = np.stack([asked.parent_a[order], asked.parent_b[order]])
    starts = np.flatnonzero(np.any(np.diff(both, axis=1, prepend=NO_PARENT - 1), axis=0))
    for places in np.split(order, starts[1:]):
        if len(places):
            rows = records.given(int(asked.parent_a[places[0]]), int(asked.parent_b[places[0]]))
            width = max(CELLS_PER_BLOCK // max(len(rows), 1), 1)
            yield from ((places[i : i + width], rows) for i in range(0, len(places), width))


def _residuals(
    strata: Stratified, records: Records, asked: Comparisons, rows: IntArray
) -> FloatArray:
    """Residual of each instance in each comparison, shape (n_rows, n)."""
    nodes, column = np.unique(np.concatenate([asked.a, asked.b]), return_inverse=True)
    of_a, of_b = column.reshape(2, -1)
    through = records.through(nodes.tolist(), rows)
    carried = (through != 0).astype(np.float64)
    both = through_two(through[:, of_a], through[:, of_b])
    stratum = records.stratum[rows]
    by_stratum = csr_array(
        (np.ones(len(rows)), (stratum, np.arange(len(rows)))), shape=(len(strata.size), len(rows))
    )
    counts = by_stratum @ carried
    n = np.maximum(np.bincount(stratum, minlength=len(strata.size)), 1).astype(np.float64)[:, None]
    table = Margins(np.broadcast_to(n, (len(n), len(asked))), counts[:, of_a], counts[:, of_b])
    lengthwise = bool(asked.by_length[0])
    free = strata.free[:, None] if lengthwise else np.inf
    independent = table.first * table.second / n
    constant = (2 * independent - joint_expected(table, free)) / n
    p, q = (table.first / n)[stratum], (table.second / n)[stratum]
    residuals: FloatArray = both - p * carried[:, of_b] - q * carried[:, of_a] + constant[stratum]
    return residuals


def _summed_by_group(residuals: FloatArray, group: IntArray) -> FloatArray:
    """Squared sums of groups, added up, shape (n,)."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sums = np.add.reduceat(residuals, starts, axis=0) if len(starts) else residuals
    total: FloatArray = (sums**2).sum(axis=0)
    return total
