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
_UNSEEN = np.array([0.5, 0.2, 0.1, 0.05, 0.02])
"""How many records more than it has a code may count: what one weighs that no other record has."""
_TRIED = 2_000
"""Number of records whose code is known by which both are found."""
_FEWEST = 30
"""Number of such records below which frequencies alone decide, with the first of the numbers."""


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What speaks for codes in every record.

    Args:
        carriers: How many records carry each code, shape (n_codes,).
        lift: `log_lift` of each node beside each code, shape (n_nodes, n_codes), by columns.
        labels: Direct labels, shape (n_instances, n_nodes).
    """

    place: dict[str, int]
    carriers: FloatArray
    lift: csc_array
    labels: csr_array

    def of(self, instances: IntArray, places: IntArray) -> FloatArray:
        """Evidence of the other labels of each instance for some codes, (n_chosen, n_places)."""
        return np.asarray((self.labels[instances] @ self.lift[:, places]).toarray())


def likelihoods(
    measured: Measurements, asked: Mapping[tuple[str, ...], IntArray]
) -> Iterator[FloatArray]:
    """Probability of each candidate of records, given that it is one of them.

    A code weighs by the records that carry it, and a part of one more, times how much more often
    than by chance the other labels of the record stand beside it (`log_lift`, its lower bound).
    Labels of a record depend on each other, so their evidence counts in part only. Both parts are
    those under which records that carry exactly one of the same candidates are foretold best, by
    the logarithm of the probability, where each is left out of what its code is counted on.

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
    carriers = measured.direct_support[nodes].astype(np.float64)
    place = {code: column for column, code in enumerate(codes)}
    evidence = _Evidence(place, carriers, csc_array(log_lift(labels, code_of)), labels)
    unseen, part = _parts_that_count(evidence, nodes, {*asked})
    frequency = np.log(carriers + unseen)
    for own, instances in asked.items():
        places = np.array([place[code] for code in own], np.int64)
        spoken = part * evidence.of(instances, places) if part and len(own) > 1 else 0.0
        weight = np.zeros((len(instances), len(own))) + frequency[places] + spoken
        share = np.exp(weight - weight.max(axis=1, keepdims=True))
        yield share / share.sum(axis=1, keepdims=True)


def _parts_that_count(
    evidence: _Evidence, nodes: IntArray, sets: set[tuple[str, ...]]
) -> tuple[float, float]:
    """What a code counts beside its records, and the share of the evidence, by which known codes
    are foretold best; that share is 0 with few of them."""
    several = sorted(own for own in sets if len(own) > 1)
    carried = csc_array(evidence.labels[:, nodes])
    draws = np.random.default_rng(0)
    known = list[tuple[FloatArray, FloatArray, IntArray]]()
    for own in several:
        places = np.array([evidence.place[code] for code in own], np.int64)
        of_set = csr_array(carried[:, places])
        one = np.flatnonzero(np.diff(of_set.indptr) == 1)
        some = draws.permutation(one)[: max(1, _TRIED // len(several))]
        if len(some):
            truth = of_set[some].indices.astype(np.int64)
            others = np.tile(evidence.carriers[places], (len(some), 1))
            others[np.arange(len(some)), truth] -= 1
            known.append((others, evidence.of(some, places), truth))
    if sum(len(truth) for _, _, truth in known) < _FEWEST:
        return float(_UNSEEN[0]), 0.0

    def loss(unseen: float, part: float) -> float:
        weights = (np.log(others + unseen) + part * spoken for others, spoken, _ in known)
        return sum(
            float((np.logaddexp.reduce(one, axis=1) - one[np.arange(len(truth)), truth]).sum())
            for one, (_, _, truth) in zip(weights, known, strict=True)
        )

    unseen = min(_UNSEEN.tolist(), key=lambda one: loss(one, 0.0))
    return unseen, min(_TEMPERS.tolist(), key=lambda part: loss(unseen, part))
