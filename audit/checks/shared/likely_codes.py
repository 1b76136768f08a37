"""How probable it is that a damaged or vague label of a record is each of several codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.association import log_lift
from audit.measure.measure import Measurements

_TEMPERS = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
"""How much of the evidence of other labels may count, since these depend on each other."""
_TRIED = 2_000
"""Number of records whose code is known by which the share of the evidence that counts is found."""
_FEWEST = 30
"""Number of such records below which frequencies alone decide."""


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What speaks for codes in every record.

    Args:
        frequency: Logarithm of how many records carry each code, and a half, shape (n_codes,).
        lift: `log_lift` of each node beside each code, shape (n_nodes, n_codes), by columns.
        labels: Direct labels, shape (n_instances, n_nodes).
    """

    place: dict[str, int]
    frequency: FloatArray
    lift: csc_array
    labels: csr_array

    def of(self, instances: IntArray, places: IntArray) -> FloatArray:
        """Evidence of the other labels of each instance for some codes, (n_chosen, n_places)."""
        return np.asarray((self.labels[instances] @ self.lift[:, places]).toarray())


def likelihoods(
    measured: Measurements, asked: Mapping[tuple[str, ...], IntArray]
) -> Iterator[FloatArray]:
    """Probability of each candidate of records, given that it is one of them.

    A code weighs by the records that carry it, times how much more often than by chance the other
    labels of the record stand beside it (`log_lift`, its lower bound). Labels of a record depend on
    each other, so their evidence counts in part only: the share of it under which records that
    carry exactly one of the same candidates are foretold best, by the logarithm of the probability.

    Args:
        asked: Indices of the records, shape (n,), by the nodes that are their candidates, at least
            one.

    Yields:
        For each of these the probabilities, shape (n, n_candidates), whose rows sum to one.
    """
    codes = sorted({code for own in asked for code in own})
    labels = measured.loaded.dataset.direct
    nodes = np.array([measured.hierarchy.index(code) for code in codes], np.int64)
    code_of = csr_array(
        (np.ones(len(nodes), np.int64), (nodes, np.arange(len(nodes)))),
        shape=(labels.shape[1], len(nodes)),
    )
    frequency = np.log(measured.direct_support[nodes] + 0.5)
    place = {code: column for column, code in enumerate(codes)}
    evidence = _Evidence(place, frequency, csc_array(log_lift(labels, code_of)), labels)
    part = _part_that_counts(evidence, nodes, {*asked})
    for own, instances in asked.items():
        places = np.array([place[code] for code in own], np.int64)
        spoken = part * evidence.of(instances, places) if part and len(own) > 1 else 0.0
        weight = np.zeros((len(instances), len(own))) + frequency[places] + spoken
        share = np.exp(weight - weight.max(axis=1, keepdims=True))
        yield share / share.sum(axis=1, keepdims=True)


def _part_that_counts(evidence: _Evidence, nodes: IntArray, sets: set[tuple[str, ...]]) -> float:
    """The share of the evidence by which known codes are foretold best; 0 with few of them."""
    several = sorted(own for own in sets if len(own) > 1)
    if not several:
        return 0.0
    carried = csc_array(evidence.labels[:, nodes])
    draws = np.random.default_rng(0)
    losses, tried = np.zeros(len(_TEMPERS)), 0
    for own in several:
        places = np.array([evidence.place[code] for code in own], np.int64)
        of_set = csr_array(carried[:, places])
        one = np.flatnonzero(np.diff(of_set.indptr) == 1)
        some = draws.permutation(one)[: max(1, _TRIED // len(several))]
        if not len(some):
            continue
        truth = of_set[some].indices
        spoken = evidence.of(some, places)
        for n, part in enumerate(_TEMPERS):
            weight = evidence.frequency[places] + part * spoken
            total = np.logaddexp.reduce(weight, axis=1)
            losses[n] += float((total - weight[np.arange(len(some)), truth]).sum())
        tried += len(some)
    return float(_TEMPERS[losses.argmin()]) if tried >= _FEWEST else 0.0
