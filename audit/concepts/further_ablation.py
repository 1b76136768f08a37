"""What further iterations of ablation remove, on classes that were seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from audit.base.dag import IntArray
from audit.concepts.ablation import Ablation, balanced_weights, inlp, leace
from audit.concepts.answers import INLP, LEACE, PREDICT, RETRAINED, TRANSFER
from audit.concepts.probes import LinearProbe, fit_linear, in_parallel
from audit.concepts.unseen_classes import Scene

ITERATIONS = 6
"""Number of iterations of INLP."""


def iteration_rows(scene: Scene, places: list[int]) -> list[dict[str, Any]]:
    """Rows of `audit.concepts.measurements.ITERATIONS` of one split.

    Ablation is fitted on one quarter of the instances, judged on another, and probes are fitted on
    the other half.
    """
    probes = dict(in_parallel(lambda place: (place, _probe(scene, place)), places))
    rows = in_parallel(lambda place: list(_rows(scene, place, places, probes)), places)
    return [row for several in rows for row in several]


def _probe(scene: Scene, place: int) -> LinearProbe:
    fitted = np.flatnonzero(scene.knows(place) & scene.split.probing)
    return fit_linear(scene.z[fitted], scene.split.codes[fitted, place])


def _rows(
    scene: Scene, place: int, places: list[int], probes: Mapping[int, LinearProbe]
) -> Iterator[dict[str, Any]]:
    split, known = scene.split, scene.knows(place)
    fitted = np.flatnonzero(known & (split.quarter == 0))
    judged = np.flatnonzero(known & (split.quarter == 2))
    z, concept = scene.z[fitted], split.codes[fitted, place]
    if len(np.unique(concept)) < 2 or not len(judged):
        return
    features = scene.z.shape[1]
    whole = Ablation(np.zeros(features), np.empty((features, 0)), np.empty((0, features)))
    curve = [(INLP, 0, whole)]
    curve += [(INLP, k, one) for k, one in enumerate(islice(inlp(z, concept), ITERATIONS), 1)]
    curve += [(LEACE, 1, leace(z, concept, balanced_weights(concept)))]
    for name, iteration, ablate in curve:
        after = ablate(scene.z[judged])
        common = {
            "dimension": scene.described.dimensions[place],
            "ablation": name,
            "iteration": iteration,
            "seed": split.seed,
            "removed": ablate.removed,
            "variance_kept": float(after.var(axis=0).sum() / scene.z[judged].var(axis=0).sum()),
        }
        for probe, read, answers in _answers(scene, place, places, probes, ablate, judged):
            truth = split.codes[judged, read]
            there = truth >= 0
            if there.any():
                yield common | {
                    "read": scene.described.dimensions[read],
                    "probe": probe,
                    "accuracy": float((answers == truth)[there].mean()),
                    "chance": float(np.bincount(truth[there]).max() / there.sum()),
                }


def _answers(
    scene: Scene,
    place: int,
    places: list[int],
    probes: Mapping[int, LinearProbe],
    ablate: Ablation,
    judged: IntArray,
) -> Iterator[tuple[str, int, IntArray]]:
    after = ablate(scene.z[judged])
    for read in places:
        yield TRANSFER, read, probes[read](after)
    fitted = np.flatnonzero(scene.knows(place) & scene.split.probing)
    retrained = fit_linear(ablate(scene.z[fitted]), scene.split.codes[fitted, place])
    yield RETRAINED, place, retrained(after)
    if scene.predict is not None:
        predicted = scene.predict(after)
        for read in places:
            if scene.described.crossed[read]:
                yield PREDICT, read, predicted[:, read]
