"""The tests on unseen classes: probes and ablation see some slices and are judged on others; and
`is_grounded`, by answers on counterfactual minimal pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from audit.analyses.concepts.ablation import balanced_weights, inlp, leace
from audit.analyses.concepts.classes import Described, Split, folds, slices
from audit.analyses.concepts.probes import LinearProbe, fit_linear, in_parallel, mean_auc
from audit.analyses.concepts.representations import Representations
from audit.analyses.concepts.verdicts import (
    CAUSAL,
    GROUNDED,
    INLP,
    LEACE,
    MODULAR,
    ONE,
    PREDICT,
    REST,
    TOKEN,
    TRANSFER,
    Answers,
    Part,
    count_answers,
)
from audit.base.dag import BoolArray, FloatArray, IntArray

Predict: TypeAlias = Callable[[FloatArray], IntArray]
"""Z -> Y: the concept of each answer in each dimension, (n, dimensions); below 0 without one."""
"""Z x concept -> bool, for all concepts of a dimension at once: the one that holds, shape (n,)."""
Ablate: TypeAlias = Callable[[FloatArray], FloatArray]
"""Z x dimension -> Z: representations without the information on one dimension."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Representations of one split, with all that the tests need to know of them.

    Args:
        predict: What the model answers; None where no dimensions cross.
    """

    z: FloatArray
    split: Split
    described: Described
    predict: Predict | None

    def of(self, classes: IntArray) -> BoolArray:
        """Whether each row belongs to one of the classes."""
        return np.isin(self.split.class_of, classes)

    def knows(self, place: int) -> BoolArray:
        """Whether each row has a concept in a dimension."""
        return np.asarray(self.split.codes[:, place] >= 0)

    def count(self, part: Part, rows: IntArray, answers: IntArray, auc: float = np.nan) -> Answers:
        """Compare answers along ``part.read`` with the truth."""
        right = answers == self.split.codes[rows, part.read]
        classes = len(self.described.class_codes)
        return count_answers(part, self.split.seed, classes, self.split.class_of[rows], right, auc)


@dataclass(frozen=True, eq=False)
class Reading:
    """A probe of a dimension, the rows it was fitted on, and the unseen rows it is judged on."""

    read: int
    fitted: IntArray
    judged: IntArray
    probe: LinearProbe


@dataclass(frozen=True, eq=False)
class Removal:
    """What is fitted to remove a dimension, and what is then read or predicted.

    Args:
        fitted: The rows that the ablation is fitted on.
        readings: Probes from before the ablation.
        predicted: The rows that predictions are judged on.
    """

    dimension: int
    seen: str
    fitted: IntArray
    readings: tuple[Reading, ...]
    predicted: IntArray


Key: TypeAlias = tuple[int, str, int]
"""A dimension, what is seen along it, and the number of the slice."""


def judge_unseen(scene: Scene, places: Sequence[int]) -> Iterator[Answers]:
    """Answers of `is_token_of_type`, `is_modular` and `is_causal` on unseen classes.

    Args:
        places: The dimensions that take part; `is_modular` and `is_causal` run along crossed ones.
    """
    parts = {place: _parts(scene, place) for place in places}
    keys = [
        (place, seen, number)
        for place in places
        for seen in (ONE, REST)
        for number in range(len(parts[place]))
    ]
    fitted = in_parallel(lambda key: _reading_of(scene, parts, key), keys)
    readings = {key: one for key, one in zip(keys, fitted, strict=True) if one is not None}
    for (_, seen, _), one in readings.items():
        yield _before(scene, seen, one)
    jobs = [key for key in keys if scene.described.crossed[key[0]]]
    removals = in_parallel(lambda key: list(_removal(scene, parts, readings, key)), jobs)
    for answers in removals:
        yield from answers


def _parts(scene: Scene, place: int) -> list[IntArray]:
    """The slices of a dimension, or its folds; none if nothing would be unseen."""
    if scene.described.crossed[place]:
        parts = slices(scene.described, place)
    else:
        parts = folds(scene.described, place, scene.split.seed)
    return parts if len(parts) > 1 else []


def _seen(scene: Scene, parts: list[IntArray], key: Key) -> IntArray:
    """The classes that are seen; those in no fold, whose concept has no other class, always are."""
    place, seen, number = key
    if seen == REST:
        return np.setdiff1d(_every(scene), parts[number])
    outside = np.setdiff1d(_every(scene), np.concatenate(parts))
    crossed = scene.described.crossed[place]
    return parts[number] if crossed else np.union1d(parts[number], outside)


def _every(scene: Scene) -> IntArray:
    return np.arange(len(scene.described.class_codes))


def _reading_of(scene: Scene, parts: Mapping[int, list[IntArray]], key: Key) -> Reading | None:
    seen = _seen(scene, parts[key[0]], key)
    return _reading(scene, key[0], seen, np.setdiff1d(_every(scene), seen))


def _before(scene: Scene, seen: str, reading: Reading) -> Answers:
    z, truth = scene.z[reading.judged], scene.split.codes[reading.judged, reading.read]
    auc = mean_auc(reading.probe.scores(z), reading.probe.classes, truth)
    part = Part(TOKEN, reading.read, seen, None, TRANSFER, reading.read)
    return scene.count(part, reading.judged, reading.probe(z), auc)


def _reading(scene: Scene, read: int, seen: IntArray, unseen: IntArray) -> Reading | None:
    rows = _rows(scene, read, seen, unseen)
    if rows is None:
        return None
    fitted, judged = rows
    probe = fit_linear(scene.z[fitted], scene.split.codes[fitted, read])
    return Reading(read, fitted, judged, probe)


def _rows(
    scene: Scene, read: int, seen: IntArray, unseen: IntArray
) -> tuple[IntArray, IntArray] | None:
    """Rows of seen classes for a probe, and those of unseen classes of a concept that was seen."""
    codes, known = scene.split.codes[:, read], scene.knows(read)
    fitted = np.flatnonzero(known & scene.split.probing & scene.of(seen))
    possible = np.unique(codes[fitted])
    judged = known & scene.split.ablating & scene.of(unseen) & np.isin(codes, possible)
    if len(possible) < 2 or not judged.any():
        return None
    return fitted, np.flatnonzero(judged)


def unseen_rows(scene: Scene, place: int) -> Iterator[tuple[IntArray, IntArray]]:
    """The rows that probes of a dimension are fitted on and judged on, as N-1 slices are seen."""
    parts = _parts(scene, place)
    for number, part in enumerate(parts):
        seen = _seen(scene, parts, (place, REST, number))
        rows = _rows(scene, place, seen, part)
        if rows is not None:
            yield rows


def _removal(
    scene: Scene,
    parts: Mapping[int, list[IntArray]],
    readings: Mapping[Key, Reading],
    key: Key,
) -> Iterator[Answers]:
    """Remove a dimension as the seen classes show it, and read and predict the unseen ones."""
    place, seen, _ = key
    shown = _seen(scene, parts[place], key)
    hidden = np.setdiff1d(_every(scene), shown)
    codes, known = scene.split.codes[:, place], scene.knows(place)
    fitted = np.flatnonzero(known & scene.split.ablating & scene.of(shown))
    if len(np.unique(codes[fitted])) < 2:
        return
    others = [k for k, crossed in enumerate(scene.described.crossed) if crossed and k != place]
    own = [readings[key]] if key in readings else []
    if seen == REST:
        held = (_reading(scene, k, shown, hidden) for k in others)
        own += [one for one in held if one is not None]
    else:
        own += list(_crossing(scene, parts, readings, shown, others))
    predicted = known & scene.split.ablating & scene.of(hidden)
    yield from _remove(scene, Removal(place, seen, fitted, tuple(own), np.flatnonzero(predicted)))


def _crossing(
    scene: Scene,
    parts: Mapping[int, list[IntArray]],
    readings: Mapping[Key, Reading],
    shown: IntArray,
    others: Sequence[int],
) -> Iterator[Reading]:
    """Probes of slices along other dimensions through a class that the ablation saw."""
    for k in others:
        for number, across in enumerate(parts.get(k, ())):
            one = readings.get((k, ONE, number))
            if one is None or not len(np.intersect1d(shown, across)):
                continue
            judged = one.judged[~np.isin(scene.split.class_of[one.judged], shown)]
            if len(judged):
                yield Reading(k, one.fitted, judged, one.probe)


def _remove(scene: Scene, job: Removal) -> Iterator[Answers]:
    z, concept = scene.z[job.fitted], scene.split.codes[job.fitted, job.dimension]
    maps: Mapping[str, Ablate] = {
        INLP: next(inlp(z, concept)),
        LEACE: leace(z, concept, balanced_weights(concept)),
    }
    for name, ablate in maps.items():
        for reading in job.readings:
            yield _read_after(scene, job, name, ablate, reading)
        if scene.predict is not None and len(job.predicted):
            answers = scene.predict(ablate(scene.z[job.predicted]))
            for read in range(answers.shape[1]):
                known = scene.split.codes[job.predicted, read] >= 0
                part = Part(CAUSAL, job.dimension, job.seen, name, PREDICT, read)
                if scene.described.crossed[read] and known.any():
                    yield scene.count(part, job.predicted[known], answers[known, read])


def _read_after(scene: Scene, job: Removal, name: str, ablate: Ablate, reading: Reading) -> Answers:
    part = Part(MODULAR, job.dimension, job.seen, name, TRANSFER, reading.read)
    return scene.count(part, reading.judged, reading.probe(ablate(scene.z[reading.judged])))


NO_PAIRS = (
    "no minimal pairs: instances of different classes with equal values in the column pair are"
    " needed"
)


def paired(representations: Representations, described: Described) -> IntArray:
    """Instances of classes that have a counterpart of another class in their pair, ascending."""
    table = pl.DataFrame(
        {"pair": representations.instances["pair"], "class": described.class_of}
    ).with_row_index("row")
    kept = table.filter(pl.col("pair").is_not_null() & (pl.col("class") >= 0)).filter(
        pl.col("class").n_unique().over("pair") > 1
    )
    return kept["row"].to_numpy().astype(np.int64)


def given_answers(
    predictions: pl.Series,
    representations: Representations,
    described: Described,
    rows: IntArray,
    seed: int,
) -> Answers:
    """Compare predicted labels with the labels of instances; one that is missing is wrong."""
    right = (
        pl.DataFrame({"labels": representations.instances["labels"], "prediction": predictions})[
            rows
        ]
        .select(pl.col("labels").list.contains(pl.col("prediction")).fill_null(False))
        .to_series()
        .to_numpy()
    )
    part, classes = Part(GROUNDED), len(described.class_codes)
    return count_answers(part, seed, classes, described.class_of[rows], right)


def probed_answers(scene: Scene, rows: IntArray) -> Answers | None:
    """Compare what a probe predicts with the concepts of instances that it was not fitted on."""
    split = scene.split
    judged = np.flatnonzero(split.ablating & np.isin(split.rows, rows))
    if scene.predict is None or not len(judged):
        return None
    crossed = np.flatnonzero(scene.described.crossed)
    truth = np.maximum(split.codes[judged], -1)
    right = (scene.predict(scene.z[judged]) == truth)[:, crossed].all(axis=1)
    classes = len(scene.described.class_codes)
    return count_answers(Part(GROUNDED), split.seed, classes, split.class_of[judged], right)
