"""Labels that a model confuses: how often they are exchanged, and how often by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, triu, vstack
from scipy.special import betainc

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.pair_counts import support
from audit.engine.pairs.rows import chosen, counts_at, row_numbers

TOLERANCE = 1e-9
"""Largest deviation from a margin at which the fit ends, as a share of the table's total."""
MOST_STEPS = 10_000
"""Number of steps after which the fit stops without having converged. Only a table with nearly all
counts in the row and column of one label needs more; its largest row then lacks less than one
count in 5,000."""


@dataclass(frozen=True, eq=False)
class Exchanges:
    """The exchanges of labels on some instances.

    A label is *missed* on an instance that has it without its being predicted, and *false* on an
    instance for which it is predicted but which does not have it. Label a is exchanged for b where
    a is missed and b is false.

    Args:
        missed: Number of instances on which each label is missed and some other label is false,
            shape (n_nodes,).
        false: Number of instances on which each label is false and some other label is missed,
            same shape.
        a: First label of each pair that is exchanged at least once, shape (n_pairs,).
        b: Second label, after the first in node order, same shape.
        forth: Number of instances on which a is missed and b is false, same shape.
        back: Number of instances on which b is missed and a is false, same shape.
        counted: Exchanges in both directions, each once in a group, same shape.
        rows: Terms of the expectation by missed label, shape (n_terms, n_nodes).
        columns: Terms of the expectation by false label, same shape.
    """

    missed: IntArray
    false: IntArray
    a: IntArray
    b: IntArray
    forth: IntArray
    back: IntArray
    counted: IntArray
    rows: Sparse
    columns: Sparse

    @property
    def observed(self) -> IntArray:
        """Number of exchanges of each pair in both directions, shape (n_pairs,)."""
        return self.forth + self.back

    def expected(self, a: IntArray, b: IntArray) -> FloatArray:
        """Expected exchanges, each once in a group, of pairs of different labels, (n_pairs,)."""
        total = np.zeros(len(a))
        for term in range(self.rows.shape[0]):
            x, y = (one[[term]].toarray()[0] for one in (self.rows, self.columns))
            total += x[a] * y[b] + x[b] * y[a]
        return total

    def exchangeable(self, a: IntArray, b: IntArray) -> BoolArray:
        """Whether the margins let a pair be exchanged in either direction, shape (n_pairs,).

        One of its labels is missed on some instance, and the other is false on some instance.
        """
        missed, false = self.missed > 0, self.false > 0
        return np.asarray((missed[a] & false[b]) | (missed[b] & false[a]))

    def family_size(self, closure: Sparse) -> int:
        """Number of exchangeable pairs of labels of which neither is above the other.

        It depends only on the counts of missed and false labels; no pair is built.
        """
        missed, false = self.missed > 0, self.false > 0
        both = int((missed & false).sum())
        ordered = int(missed.sum()) * int(false.sum()) - both
        below, above = above_another(closure)
        return ordered - both * (both - 1) // 2 - int(self.exchangeable(below, above).sum())


def least_margin(missed: IntArray, false: IntArray, a: IntArray, b: IntArray) -> IntArray:
    """Least of ``min(missed[a], false[b])`` and ``min(missed[b], false[a])`` above 0, else 0.

    Args:
        missed: How often each label, or any of several, is missed, shape (n,).
        false: How often it is false, same shape.
        a: First of each pair, shape (n_pairs,).
        b: Second of each pair, same shape.
    """
    ways = np.array([[missed[a], false[b]], [missed[b], false[a]]])
    least = np.where(ways.min(axis=1) > 0, ways.min(axis=1), ways.max(initial=0) + 1).min(axis=0)
    return np.where(ways.min(axis=1).max(axis=0) > 0, least, 0)


def above_another(closure: Sparse) -> tuple[IntArray, IntArray]:
    """Each node and each of its strict ancestors, two arrays of the same shape."""
    below, above = row_numbers(closure), closure.indices.astype(np.int64)
    return below[below != above], above[below != above]


def mistakes(labels: Sparse, decided: Sparse) -> tuple[Sparse, Sparse]:
    """The missed labels and the false predictions of each instance, 0/1, both of the same shape."""
    right = labels.multiply(decided)
    missed, false = csr_array(labels - right), csr_array(decided - right)
    missed.eliminate_zeros()
    false.eliminate_zeros()
    return missed, false


def count_exchanges(labels: Sparse, decided: Sparse, group_of: IntArray | None = None) -> Exchanges:
    """Count the exchanges of each pair of labels, and compute the expected exchanges.

    What is expected is fitted to exchanges that count once in a group for each label and answer: a
    model answers a patient who comes again as before. Instances with the same numbers of missed and
    of false labels form a stratum. The expected exchanges of a stratum keep its counts of missed
    and false labels, and no label is exchanged with itself.

    Args:
        group_of: Index of each instance's group, shape (n_instances,); None where each is its own.

    Time and memory grow with the sum over instances of missed times false labels; the time of the
    expectation grows with strata times nodes.
    """
    missed, false = mistakes(labels, decided)
    here = np.flatnonzero((np.diff(missed.indptr) > 0) & (np.diff(false.indptr) > 0))
    missed, false = csr_array(missed[here]), csr_array(false[here])
    instance, a, b = _each(missed, false)
    every = _table(a, b, missed.shape[1])
    if group_of is not None:
        keys = (group_of[here][instance] * every.shape[0] + a) * every.shape[0] + b
        first = np.unique(keys, return_index=True)[1]
        instance, a, b = instance[first], a[first], b[first]
    once = _table(a, b, every.shape[0])
    pairs = triu(every + every.T, k=1).tocoo()
    one, other = pairs.row.astype(np.int64), pairs.col.astype(np.int64)
    lengths = np.column_stack([np.diff(missed.indptr), np.diff(false.indptr)])
    stratum = np.unique(lengths, axis=0, return_inverse=True)[1].ravel()[instance]
    rows, columns = _terms(stratum, a, b, every.shape[0])
    return Exchanges(
        missed=support(missed),
        false=support(false),
        a=one,
        b=other,
        forth=counts_at(every, one, other),
        back=counts_at(every, other, one),
        counted=counts_at(once, one, other) + counts_at(once, other, one),
        rows=rows,
        columns=columns,
    )


def _each(missed: Sparse, false: Sparse) -> tuple[IntArray, IntArray, IntArray]:
    """Instance, missed and false label of every exchange."""
    instance, times = row_numbers(missed), np.diff(false.indptr)
    each = times[instance]
    first = np.repeat(np.cumsum(each) - each, each)
    place = np.repeat(false.indptr[:-1][instance], each) + np.arange(each.sum()) - first
    exchanged = np.repeat(instance, each), np.repeat(missed.indices, each), false.indices[place]
    instance, a, b = (np.asarray(one, np.int64) for one in exchanged)
    return instance, a, b


def _table(a: IntArray, b: IntArray, n: int) -> Sparse:
    """Number of exchanges of each missed label a for each false one b, (n, n), canonical CSR."""
    counts = csr_array((np.ones(len(a), np.int64), (a, b)), shape=(n, n))
    counts.sum_duplicates()
    return counts


@dataclass(frozen=True, eq=False)
class Given:
    """How often each label is given falsely in place of others, and missed for others.

    Args:
        falsely: 1 where a label is false on an instance that misses another one, not above it, and
            has no label below it; shape (n_instances, n_nodes).
        missed: 1 where a label is missed on an instance with another false one, not above it, and
            no answer is below it; same shape.
        more: Number of groups with more of the first than of the second, shape (n_nodes,).
        fewer: Number of groups with fewer, same shape.
    """

    falsely: Sparse
    missed: Sparse
    more: IntArray
    fewer: IntArray

    @property
    def p_value(self) -> FloatArray:
        """Sign test over groups: of so many or more with more, if both were as likely.

        Shape (n_nodes,); 1 where no group has more or fewer.
        """
        tail = betainc(np.maximum(self.more, 1), self.fewer + 1.0, 0.5)
        return np.where(self.more > 0, tail, 1.0)


def count_given(
    labels: Sparse, decided: Sparse, closure: Sparse, group_of: IntArray | None = None
) -> Given:
    """On which instances each label is given in place of others, or others in its place.

    Args:
        group_of: Index of each instance's group, shape (n_instances,); None where each is its own.

    Time and memory grow with the sum over instances of missed times false labels.
    """
    missed, false = mistakes(labels, decided)
    falsely = _apart(false, missed, labels, closure)
    instead = _apart(missed, false, decided, closure)
    if group_of is None:
        return Given(falsely, instead, support(falsely), support(instead))
    n = len(group_of)
    shape = (int(group_of.max(initial=-1)) + 1, n)
    within = csr_array((np.ones(n, np.int64), (group_of, np.arange(n))), shape=shape)
    sums = csr_array(within @ (falsely - instead))
    more, fewer = (support(chosen(sums, kept)) for kept in (sums.data > 0, sums.data < 0))
    return Given(falsely, instead, more, fewer)


def _apart(own: Sparse, other: Sparse, every: Sparse, closure: Sparse) -> Sparse:
    """1 at labels beside one of ``other`` not above them, and with none of ``every`` below them."""
    rows, columns = row_numbers(own), own.indices.astype(np.int64)
    implied = counts_at(csr_array(every @ closure), rows, columns)
    above = np.asarray(other[rows].multiply(closure[columns]).sum(axis=1)).ravel()
    return chosen(own, (implied == 0) & (np.diff(other.indptr)[rows] > above))


def _terms(stratum: IntArray, a: IntArray, b: IntArray, n: int) -> tuple[Sparse, Sparse]:
    """The terms of the expectation of all strata, from the exchanges of each."""
    rows, columns = [csr_array((0, n))], [csr_array((0, n))]
    order = np.argsort(stratum, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(stratum[order])) + 1):
        x, y = fitted(*(np.bincount(end[own], minlength=n).astype(np.float64) for end in (a, b)))
        rows.append(csr_array(x))
        columns.append(csr_array(y))
    return csr_array(vstack(rows)), csr_array(vstack(columns))


def fitted(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected counts as a sum over terms of ``x[i] * y[j]``, for i != j.

    Iterative proportional fitting: each step scales the rows to their margins, then the columns, so
    that only two vectors change.

    Args:
        rows: Margin of each row, shape (n,), not negative.
        columns: Margin of each column, shape (n,), with the same sum; there must be a table with an
            empty diagonal that has these margins.

    Returns:
        ``x, y``, each of shape (n_terms, n). There is one term; no term for an empty table; and two
        if the row and column of one label hold the whole table, whose counts are then the margins
        of the other labels.
    """
    total = rows.sum()
    if total == 0:
        return np.empty((0, len(rows))), np.empty((0, len(rows)))
    hub = int(np.argmax(rows + columns))
    if rows[hub] + columns[hub] >= total:
        return _around(hub, rows, columns)
    x, y = rows / np.sqrt(total), columns / np.sqrt(total)
    for _ in range(MOST_STEPS):
        x = rows / (y.sum() - y)
        y = columns / (x.sum() - x)
        if np.abs(x * (y.sum() - y) - rows).max() <= TOLERANCE * total:
            break
    return x[None], y[None]


def _around(hub: int, rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The terms of a table that is in the row and column of a hub; no step would end there."""
    alone = np.zeros(len(rows))
    alone[hub] = 1.0
    return np.stack([alone, rows * (1 - alone)]), np.stack([columns * (1 - alone), alone])
