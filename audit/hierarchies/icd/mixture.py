"""Which code sets, each written in one way, explain the labels of a column best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from audit.base.dag import FloatArray, IntArray

NOISE = 1e-8
"""Likelihood of a label that is no code."""
_ROUNDS, _BEAM = 12, 6
_FURTHER, _OTHERWISE = 8.0, 12.0
"""Nats that each further set costs, and that sets cost which are written in different ways."""


class Sources(NamedTuple):
    """What labels may come from: each source is a code set as one writer writes it.

    ``likelihood`` of each pattern of labels has the shape (n_patterns, n_sources); the ``sets``,
    ``writers`` and ``costs`` in nats of the sources are (n_sources,).
    """

    likelihood: FloatArray
    sets: IntArray
    writers: IntArray
    costs: FloatArray


class Mixture(NamedTuple):
    """The log likelihood of some sources less their costs, their shares, and that of none."""

    score: float
    sources: tuple[int, ...]
    shares: tuple[float, ...]
    noise: float
    affix: int = 0


def mixtures(sources: Sources, weights: FloatArray, alone: int | None) -> Iterator[Mixture]:
    """All mixtures that are tried: of one source, and of two and three by a beam.

    Args:
        sources: The sources.
        weights: Weight of each pattern, shape (n_patterns,).
        alone: A source that is tried by itself alone, if any.
    """
    some = np.flatnonzero(weights)
    sources, weights = sources._replace(likelihood=sources.likelihood[some]), weights[some]
    usable = np.flatnonzero(sources.likelihood.any(axis=0))
    wider: set[tuple[int, ...]] = {(source,) for source in usable.tolist()}
    while wider:
        found = list(_fitted(sources, weights, np.array(sorted(wider))))
        yield from found
        best = sorted((one for one in found if one.sources != (alone,)), reverse=True)[:_BEAM]
        wider = {
            tuple(sorted((*one.sources, source)))
            for one in best
            for source in usable.tolist()
            if source != alone and sources.sets[source] not in sources.sets[list(one.sources)]
            if len(one.sources) < 3
        }


def _fitted(sources: Sources, weights: FloatArray, chosen: IntArray) -> Iterator[Mixture]:
    """The mixtures of chosen sources, shape (n_mixtures, n_sources of each), by EM."""
    of_pattern, size = sources.likelihood[:, chosen], chosen.shape[1]
    shares, noise = np.full(chosen.shape, 1 / (size + 1)), np.full(len(chosen), 1 / (size + 1))
    for _ in range(_ROUNDS):
        by = weights[:, None] / ((of_pattern * shares).sum(axis=2) + noise * NOISE)
        shares = shares * np.einsum("pms,pm->ms", of_pattern, by) / weights.sum()
        noise = np.maximum(1 - shares.sum(axis=1), np.finfo(float).tiny)
    density = (of_pattern * shares).sum(axis=2) + noise * NOISE
    written = sources.writers[chosen]
    costs = sources.costs[chosen].sum(axis=1) + _FURTHER * (size - 1)
    costs += _OTHERWISE * (written != written[:, :1]).any(axis=1)
    score = weights @ np.log(density) - costs
    for row, own in enumerate(chosen.tolist()):
        yield Mixture(float(score[row]), tuple(own), tuple(shares[row].tolist()), float(noise[row]))
