"""The four tests of concepts: probes and ablation see some slices and are judged on others, and
answers on minimal pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.concepts.classes import NONE, Described, Split, centre
from audit.analyses.concepts.probes import Probe, fit, in_parallel, inlp, leace
from audit.analyses.concepts.reading import LinearHead, Representations
from audit.base.dag import BoolArray, FloatArray, IntArray

ONE, REST = "1 slice", "N-1 slices"
"""The classes that probes and ablation see: those of one slice, or of all but one."""
INLP, LEACE = "inlp", "leace"
TRANSFER, PREDICT = "transfer", "predict"
GROUNDED, TOKEN, MODULAR, CAUSAL = "is_grounded", "is_token_of_type", "is_modular", "is_causal"
ABLATIONS: Mapping[str, Any] = {INLP: lambda z, concept: next(inlp(z, concept)), LEACE: leace}
PROBED = "a linear probe of the combinations of concepts"
HEAD = "the linear head of the model"


class Part(NamedTuple):
    """What an accuracy is of; dimensions by their name."""

    test: str
    dimension: str | None = None
    seen: str | None = None
    ablation: str | None = None
    probe: str | None = None
    read: str | None = None


class Answers(NamedTuple):
    """Answers of one probe, of one seed: right ones and all by class; the area, if measured."""

    part: Part
    seed: int
    right: IntArray
    judged: IntArray
    auc: float | None = None


Predictor: TypeAlias = tuple[Probe, IntArray]
"""What a model answers, or a probe in its place; the concept of each answer in each dimension."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Representations of one split, shape (rows of the split, features), and what tests need.

    Args:
        predictor: None where no dimensions cross.
    """

    z: FloatArray
    split: Split
    described: Described
    predictor: Predictor | None = None
    _probes: dict[tuple[int, bytes], Probe] = field(default_factory=dict)

    def knows(self, place: int) -> BoolArray:
        """Whether each row has a concept in a dimension."""
        return np.asarray(self.split.codes[:, place] >= 0)

    def predict(self, z: FloatArray) -> IntArray:
        """The concepts of what is answered, shape (n, dimensions); (n, 0) without a predictor."""
        if self.predictor is None:
            return np.empty((len(z), 0), np.int64)
        return np.asarray(self.predictor[1][self.predictor[0](z)])

    @property
    def predicted(self) -> list[int]:
        """The dimensions along which answers are judged: crossed ones."""
        return [] if self.predictor is None else self.described.places

    def probe(self, place: int, rows: IntArray) -> Probe:
        """The probe of a dimension that is fitted on some rows; each is fitted once."""
        key = place, rows.tobytes()
        if key not in self._probes:
            self._probes[key] = fit(self.z[rows], self.split.codes[rows, place])
        return self._probes[key]

    @cached_property
    def seen(self) -> dict[_Key, IntArray]:
        """The classes that are seen, by what is held out; none where nothing would be unseen.

        Those in no fold, whose concept has no other class, always are.
        """
        every, found = np.arange(len(self.described.class_codes)), {}
        for place, crossed in enumerate(self.described.crossed):
            parts = self.described.parts(place, self.split.seed)
            rest = every[:0] if crossed or not parts else np.concatenate(parts)
            outside = np.setdiff1d(every, rest) if len(rest) else rest
            for number, part in enumerate(parts if len(parts) > 1 else ()):
                found[place, ONE, number] = np.union1d(part, outside).astype(np.int64)
                found[place, REST, number] = np.setdiff1d(every, part)
        return found

    def rows(self, place: int, seen: IntArray) -> tuple[IntArray, IntArray] | None:
        """Rows of seen classes for a probe, and those of unseen classes of a concept it knows."""
        codes, shown = self.split.codes[:, place], np.isin(self.split.class_of, seen)
        fitted = np.flatnonzero(self.knows(place) & self.split.probing & shown)
        possible = np.unique(codes[fitted])
        judged = np.flatnonzero(self.split.ablating & ~shown & np.isin(codes, possible))
        return (fitted, judged) if len(possible) > 1 and len(judged) else None

    def count(
        self, part: Part, class_of: IntArray, right: BoolArray, auc: float | None = None
    ) -> Answers:
        """Answers that are right or not, by the class of each instance, both of shape (n,)."""
        most = len(self.described.class_codes)
        own, every = (np.bincount(of, minlength=most) for of in (class_of[right], class_of))
        return Answers(part, self.split.seed, own, every, auc)


def fitted_predictor(z: FloatArray, split: Split, described: Described) -> Predictor | None:
    """A probe of the combinations of crossed concepts; None without two of them."""
    combinations, of_class = described.combinations(described.places)
    rows = np.flatnonzero(split.probing)
    target = of_class[split.class_of[rows]]
    several = described.places and len(np.unique(target)) > 1
    return (fit(z[rows], target), combinations) if several else None


def head_predictor(
    head: LinearHead, layer: FloatArray, described: Described, facets: pl.DataFrame
) -> Predictor:
    """The head of a model, applied to representations that are scaled as those of ``layer``."""
    concept_of = {(node, of): concept for node, of, concept, _ in facets.iter_rows()}
    known = [dict(zip(one, range(len(one)), strict=True)) for one in described.concepts]
    codes = [
        [own.get(concept_of.get((label, name), ""), NONE)
         for own, name in zip(known, described.dimensions, strict=True)]
        for label in head.classes
    ]  # fmt: skip
    mean, size = centre(layer)
    weight, bias = head.weight * size, head.bias + head.weight @ mean
    return Probe(np.arange(len(codes)), weight, bias), np.array(codes, np.int64)


class _Reading(NamedTuple):
    """A probe of a dimension, and the unseen rows that it is judged on."""

    read: int
    judged: IntArray
    probe: Probe


_Key: TypeAlias = tuple[int, str, int]
"""A dimension, what is seen along it, and the number of the slice."""
_Readings: TypeAlias = Mapping[_Key, _Reading | None]


def unseen_answers(scene: Scene, places: Sequence[int]) -> Iterator[Answers]:
    """Answers of `is_token_of_type`, `is_modular` and `is_causal` on unseen classes.

    Args:
        places: The dimensions that take part; `is_modular` and `is_causal` run along crossed ones.
    """
    split, names = scene.split, scene.described.dimensions
    keys = sorted((key for key in scene.seen if key[0] in places), key=lambda key: key[:2])
    found = in_parallel(lambda key: _reading(scene, key[0], scene.seen[key]), keys)
    readings = dict(zip(keys, found, strict=True))
    for (place, seen, _), one in readings.items():
        if one is not None:
            z, truth = scene.z[one.judged], split.codes[one.judged, place]
            part = Part(TOKEN, names[place], seen, None, TRANSFER, names[place])
            right, auc = one.probe(z) == truth, one.probe.auc(z, truth)
            yield scene.count(part, split.class_of[one.judged], right, auc)
    crossed = [key for key in keys if scene.described.crossed[key[0]]]
    for several in in_parallel(lambda key: list(_removed(scene, readings, key)), crossed):
        yield from several


def _reading(scene: Scene, place: int, seen: IntArray) -> _Reading | None:
    rows = scene.rows(place, seen)
    return None if rows is None else _Reading(place, rows[1], scene.probe(place, rows[0]))


def _removed(scene: Scene, readings: _Readings, key: _Key) -> Iterator[Answers]:
    """Remove a dimension as the seen classes show it, and read and predict the unseen ones."""
    (place, seen, _), split, names = key, scene.split, scene.described.dimensions
    own, known = np.isin(split.class_of, scene.seen[key]), scene.knows(place) & split.ablating
    fitted, hidden = np.flatnonzero(known & own), np.flatnonzero(known & ~own)
    concept = split.codes[fitted, place]
    if len(np.unique(concept)) < 2:
        return
    several = [one for one in [readings[key], *_others(scene, readings, key)] if one]
    for name, ablation in ABLATIONS.items():
        ablate = ablation(scene.z[fitted], concept)
        for one in several:
            part = Part(MODULAR, names[place], seen, name, TRANSFER, names[one.read])
            right = one.probe(ablate(scene.z[one.judged])) == split.codes[one.judged, one.read]
            yield scene.count(part, split.class_of[one.judged], right)
        said = scene.predict(ablate(scene.z[hidden]))
        for read in scene.predicted:
            there = scene.knows(read)[hidden]
            if there.any():
                right = said[there, read] == split.codes[hidden[there], read]
                part = Part(CAUSAL, names[place], seen, name, PREDICT, names[read])
                yield scene.count(part, split.class_of[hidden[there]], right)


def _others(scene: Scene, readings: _Readings, key: _Key) -> Iterator[_Reading | None]:
    """Probes of other dimensions: of the same seen classes, or of slices that share one of them."""
    shown = scene.seen[key]
    for k in scene.described.places:
        if k != key[0] and key[1] == REST:
            yield _reading(scene, k, shown)
        for other, one in readings.items() if k != key[0] and key[1] == ONE else ():
            if one and other[:2] == (k, ONE) and np.isin(scene.seen[other], shown).any():
                judged = one.judged[~np.isin(scene.split.class_of[one.judged], shown)]
                yield one._replace(judged=judged) if len(judged) else None


def pair_answers(
    representations: Representations, scene: Scene, *, first: bool
) -> Iterator[Answers]:
    """Answers on minimal pairs whose instances are of several classes.

    Predictions that were given are the same in every split, and count in the ``first``; a missing
    one is wrong. Without any the probe that predicts is judged by concepts.
    """
    instances, class_of, split = representations.instances, scene.described.class_of, scene.split
    table = instances.select("pair", row=pl.int_range(pl.len())).with_columns(of=class_of)
    paired = table.filter(pl.col("pair").is_not_null(), pl.col("of") >= 0)
    rows = paired.filter(pl.col("of").n_unique().over("pair") > 1)["row"].to_numpy()
    given = representations.predictions
    if given is not None and first and len(rows):
        is_label = pl.col("labels").list.contains(pl.col("given")).fill_null(False)
        right = instances.with_columns(given=given).select(is_label).to_series().to_numpy()[rows]
        yield scene.count(Part(GROUNDED), class_of[rows], right)
    judged = np.flatnonzero(split.ablating & np.isin(split.rows, rows))
    if given is None and scene.predicted and len(judged):
        said = scene.predict(scene.z[judged]) == np.maximum(split.codes[judged], NONE)
        yield scene.count(
            Part(GROUNDED), split.class_of[judged], said[:, scene.predicted].all(axis=1)
        )
