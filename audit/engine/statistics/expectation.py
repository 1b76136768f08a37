"""Expected number of records that carry two nodes, given how many labels records have."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.machine import cores
from audit.engine.pairs.margins import Strata

MOST_BRANCHES = 200
"""Largest number of facets, each pair of which has a factor of its own."""
PRIOR = 20.0
"""Number added to observed and to expected pairs of labels between two branches (shrinkage)."""
CHUNK = 1 << 15
"""Number of pairs computed at a time, few enough for the processor's cache."""


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected joint records of pairs of nodes, from record length and labels between branches.

    Args:
        size: Number of records of each stratum, or what they weigh, shape (n_strata,).
        share: Share of them that carry each node, shape (n_strata, n_nodes).
        facet: Facet of each node, shape (n_nodes,).
        factor: Factor of each stratum and pair of facets, shape (n_strata, n_facets, n_facets):
            label pairs observed over those expected if labels were drawn independently; not
            negative.
    """

    size: FloatArray
    share: FloatArray
    facet: IntArray
    factor: FloatArray

    @cached_property
    def _one_less_factor(self) -> FloatArray:
        """One minus the factor, shape (n_strata, n_facets^2)."""
        return 1.0 - self.factor.reshape(len(self.factor), prod(self.factor.shape[1:]))

    def joint(self, a: IntArray, b: IntArray) -> FloatArray:
        """Records expected to carry both nodes of each pair, shape (n_pairs,).

        ``sum over strata of n pi_a pi_b (1 - (1 - c) (1 - pi_a) (1 - pi_b))``; swapping a and b
        gives the same bits. With ``c = 1 - 1 / d`` this is Hajek's correction for records with a
        fixed number of labels. Time grows with pairs times strata.
        """
        expected = np.zeros(len(a))

        def fill(some: slice) -> None:
            facets = np.ravel_multi_index(
                (self.facet[a[some]], self.facet[b[some]]), self.factor.shape[1:]
            )
            for size, share, less in zip(self.size, self.share, self._one_less_factor, strict=True):
                expected[some] += _terms(share[a[some]], share[b[some]], size, less[facets])

        chunks = [slice(start, start + CHUNK) for start in range(0, len(a), CHUNK)]
        if len(chunks) == 1:
            fill(chunks[0])
        elif chunks:
            with ThreadPoolExecutor(cores()) as threads:
                list(threads.map(fill, chunks))
        return expected


def _terms(
    first: FloatArray, second: FloatArray, size: FloatArray, one_less_factor: FloatArray
) -> FloatArray:
    """Expected joint records of pairs in one stratum; the shares of both nodes are overwritten."""
    independent = first * second
    independent *= size
    np.subtract(1.0, first, out=first)
    np.subtract(1.0, second, out=second)
    first *= second
    first *= one_less_factor
    np.subtract(1.0, first, out=first)
    first *= independent
    return first


@dataclass(frozen=True, eq=False)
class Facets:
    """Groups of branches (facets) that share a factor of an expectation.

    Args:
        of_branch: Facet of each branch, indexed by the branch's node index, shape (n_nodes,); -1
            if fewer than two of its labels are in use.
    """

    of_branch: IntArray
    count: int

    def of(self, branch_of: IntArray) -> IntArray:
        """Facet of each node, from its branch (negative: none), same shape; -1 without one."""
        return np.where(branch_of >= 0, self.of_branch[branch_of], -1)


def facets_of(labelled: IntArray, branch_of: IntArray) -> Facets:
    """A facet for each branch with at least two labels in use, at most `MOST_BRANCHES` in all.

    If there are more such branches, those with the fewest labels share one facet.

    Args:
        labelled: Number of records with each node as a most specific label, shape (n_nodes,).
    """
    used = np.flatnonzero((labelled > 0) & (branch_of >= 0))
    labels = np.bincount(branch_of[used], minlength=len(branch_of))
    several = np.flatnonzero(labels > 1)
    facet, count = np.full(len(branch_of), -1, np.int64), min(len(several), MOST_BRANCHES)
    if len(several) > MOST_BRANCHES:
        largest = several[np.argsort(-labels[several], kind="stable")]
        facet[several] = MOST_BRANCHES - 1
        several = np.sort(largest[: MOST_BRANCHES - 1])
    facet[several] = np.arange(len(several))
    return Facets(facet, count)


@dataclass(frozen=True, eq=False)
class LabelPairs:
    """Ordered pairs of different labels on one record, one in each of two facets, by stratum.

    Args:
        observed: Observed pairs, shape (n_strata, n_facets, n_facets).
        drawn: Expected pairs if labels were drawn independently, same shape.
        competing: ``h``, the share of the drawn pairs that record length leaves, (n_strata,).
        found: From `pairs_found`: drawn pairs below finds, times their excess; same shape as
            drawn, or one number for all.
    """

    facets: Facets
    observed: FloatArray
    drawn: FloatArray
    competing: FloatArray
    found: FloatArray | float = 0.0

    @property
    def factor(self) -> FloatArray:
        """Observed per drawn pair, (n_strata, n_facets + 1, n_facets + 1); that of length is last.

        ``found`` lowers a factor at most to that of length, unless it is lower without.
        """
        k, n = self.observed.shape[:2]
        length = self.competing[:, None, None]
        factor = np.empty((k, n + 1, n + 1))
        factor[:] = length
        observed, drawn = self.observed + PRIOR * length, self.drawn + PRIOR
        least = np.minimum(observed / drawn, length)
        factor[:, :n, :n] = np.maximum(observed / (drawn + self.found), least)
        return factor


def label_pairs(strata: Strata, branch_of: IntArray) -> LabelPairs:
    """Pairs of labels between facets in each stratum, as observed and as drawn independently."""
    facets = facets_of(strata.labelled.sum(axis=0), branch_of)
    k = len(strata.size)
    share = shares(strata.labelled, strata.size)
    at = facets.of(branch_of)
    inside = np.flatnonzero(at >= 0)
    sums, squares = np.zeros((2, k, facets.count))
    for stratum in range(k):
        own = share[stratum, inside]
        sums[stratum] = np.bincount(at[inside], own, minlength=facets.count)
        squares[stratum] = np.bincount(at[inside], own * own, minlength=facets.count)
    drawn = sums[:, :, None] * sums[:, None, :]
    drawn[:, np.arange(facets.count), np.arange(facets.count)] -= squares
    drawn *= strata.weight[:, None, None]
    free = (share * (1 - share)).sum(axis=1)
    competing = np.where(free > 0, 1.0 - 1.0 / np.maximum(free, 1.0), 1.0)
    return LabelPairs(facets, _observed_pairs(strata, facets), drawn, competing)


def pairs_found(
    strata: Strata,
    facet: IntArray,
    below: Sparse,
    finds: tuple[IntArray, IntArray, FloatArray],
) -> FloatArray:
    """Drawn pairs of labels below finds, times their excess, shape (n_strata, n_facets, n_facets).

    ``sum over finds of delta n (pi(a, A) pi(b, B) + pi(b, A) pi(a, B))``, where pi(a, A) is the
    number of labels of facet A at or below a that a record has on average. Zeros without finds.

    Args:
        facet: Facet of each node, shape (n_nodes,); -1 without one.
        finds: First nodes, second nodes, and excess over expectation, shape (n_finds,) each.
    """
    first, second, delta = finds
    n = int(facet.max()) + 1
    found = np.zeros((len(strata.weight), n, n))
    share, inside = shares(strata.labelled, strata.size), np.flatnonzero(facet >= 0)
    below_first, below_second = below[first], below[second]
    for own, size, labelled in zip(found, strata.weight, share, strict=True):
        labels = csr_array((labelled[inside], (inside, facet[inside])), shape=(len(facet), n))
        ahead = csr_array(below_first @ labels)
        ahead.data *= np.repeat(delta, np.diff(ahead.indptr))
        one = (ahead.T @ (below_second @ labels)).toarray()
        own[:] = size * (one + one.T)
    return found


def expectation(strata: Strata, branch_of: IntArray, pairs: LabelPairs) -> Expectation:
    """Expected joint records of any pairs of nodes, as they follow from the margins of strata.

    Args:
        pairs: From `label_pairs` of the same strata and branches.
    """
    facet = pairs.facets.of(branch_of)
    facet[facet < 0] = pairs.facets.count
    share = shares(strata.carried, strata.size)
    return Expectation(strata.weight, share, facet, pairs.factor)


def shares(counts: IntArray, size: IntArray) -> FloatArray:
    """Share of the records of each stratum that are counted, 0 without records, as ``counts``."""
    return np.asarray(counts / np.maximum(size, 1)[:, None], np.float64)


def _observed_pairs(strata: Strata, facets: Facets) -> FloatArray:
    """Observed pairs of labels between facets, shape (n_strata, n_facets, n_facets)."""
    k, n_nodes = strata.labelled.shape
    observed = np.zeros((k, facets.count, facets.count))
    rest, second = np.divmod(strata.between.keys, n_nodes)
    stratum, first = np.divmod(rest, n_nodes)
    a, b = facets.of_branch[first], facets.of_branch[second]
    kept = (a >= 0) & (b >= 0)
    stratum, a, b = stratum[kept], a[kept], b[kept]
    counts, apart = strata.between.joint[kept] / strata.unit, first[kept] != second[kept]
    np.add.at(observed, (stratum, a, b), counts)
    np.add.at(observed, (stratum[apart], b[apart], a[apart]), counts[apart])
    return observed
