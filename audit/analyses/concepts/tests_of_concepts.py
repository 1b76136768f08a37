"""The four tests of concepts, question by question: probes and ablation see some slices of classes
and are judged on others, and answers are judged on minimal pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.concepts.facets import Described
from audit.analyses.concepts.probes import ABLATIONS, Probe, fit
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import schema

ONE, REST = "1 slice", "N-1 slices"
"""The classes that probes and ablation see: those of one slice, or of all but one."""
TRANSFER, PREDICT = "transfer", "predict"
GROUNDED, TOKEN, MODULAR, CAUSAL = "is_grounded", "is_token_of_type", "is_modular", "is_causal"
ASKED = ("test", "dimension", "seen", "ablation", "probe")
KEYS = (*ASKED, "read")
"""What an accuracy is of; dimensions by their name."""
Answers: TypeAlias = tuple[Any, ...]
"""What was asked by `KEYS`, the seed, and right answers and all answers by class."""
_Key: TypeAlias = tuple[int, str, int]
"""A dimension, what is seen along it, and the number of the slice."""
_Judged: TypeAlias = tuple[Probe, BoolArray]
"""A probe, and the rows that it is judged on."""


@dataclass(frozen=True, eq=False)
class Scene:
    """One layer of the instances of one split, and what the tests fit on it.

    Ablation is fitted on the even quarters, where its classes are seen, and all is judged there;
    probes are fitted on the odd ones.

    Args:
        rows: The instances, by their rows in the representations.
        quarter: 0 to 3, shape (rows,).
        z: Their representations, scaled, shape (rows, features).
    """

    described: Described
    seed: int
    rows: IntArray
    quarter: IntArray
    z: FloatArray
    probes: dict[tuple[int, bytes], Probe | None] = field(default_factory=dict)

    @cached_property
    def class_of(self) -> IntArray:
        """The class of each row."""
        return self.described.class_of[self.rows]

    @cached_property
    def codes(self) -> IntArray:
        """The concept of each row in each dimension, or `NONE`."""
        return self.described.class_codes[self.class_of]

    @property
    def judging(self) -> BoolArray:
        """The half that ablation is fitted on and all is judged on."""
        return np.asarray(self.quarter % 2 == 0)

    def probe(self, place: int, seen: BoolArray | None = None) -> Probe | None:
        """The probe of a dimension that is fitted on seen classes, else on all, once.

        None if they have one concept.
        """
        shown = np.ones(len(self.described.classes), np.bool_) if seen is None else seen
        key = place, shown.tobytes()
        if key not in self.probes:
            rows = ~self.judging & shown[self.class_of] & (self.codes[:, place] >= 0)
            several = len(np.unique(target := self.codes[rows, place])) > 1
            self.probes[key] = fit(self.z[rows], target) if several else None
        return self.probes[key]

    def unseen(self, place: int, seen: BoolArray) -> _Judged | None:
        """A probe of seen classes, and rows of unseen ones whose concept it knows; None without."""
        if (probe := self.probe(place, seen)) is None:
            return None
        known = np.isin(self.codes[:, place], probe.classes)
        rows = self.judging & ~seen[self.class_of] & known
        return (probe, rows) if rows.any() else None

    @cached_property
    def seen(self) -> dict[_Key, BoolArray]:
        """Which classes are seen, by dimension, `ONE` or `REST`, and slice; none if all would be.

        Those in no fold, whose concept has no other class, always are.
        """
        every, found = np.arange(len(self.described.classes)), dict[_Key, BoolArray]()
        for place in self.described.fit:
            crossed, parts = self.described.crossed[place], self.described.parts(place, self.seed)
            for number, part in enumerate(parts if len(parts) > 1 else ()):
                outside = ~np.isin(every, np.concatenate(parts)) & ~crossed
                found[place, ONE, number] = np.isin(every, part) | outside
                found[place, REST, number] = ~np.isin(every, part)
        return dict(sorted(found.items(), key=lambda item: item[0][:2]))

    @cached_property
    def predictor(self) -> tuple[Probe, IntArray] | None:
        """A probe of combinations of crossed concepts, and these; None without two combinations."""
        combinations, of_class = self.described.combinations(self.described.places)
        target = of_class[self.class_of[~self.judging]]
        several = self.described.places and len(np.unique(target)) > 1
        return (fit(self.z[~self.judging], target), combinations) if several else None

    def predict(self, z: FloatArray) -> dict[int, IntArray]:
        """The concepts of what is answered, by crossed dimension; empty without a predictor."""
        if self.predictor is None:
            return {}
        said = self.predictor[1][self.predictor[0](z)]
        return {place: said[:, place] for place in self.described.places}

    def told(self, rows: BoolArray, right: BoolArray, *key: str | None) -> Answers:
        """An entry of `Answers`: what was asked, the ``key``, and counts of answers on ``rows``."""
        of, most = self.class_of[rows], len(self.described.classes)
        counts = (np.bincount(some, minlength=most).tolist() for some in (of[right], of))
        return (*key, self.seed, *counts)


def unseen_answers(scene: Scene) -> Iterator[Answers]:
    """Answers of `is_token_of_type`, `is_modular` and `is_causal`, by dimension and ablation, on
    classes that nothing was fitted to; none of dimensions that cannot be tested."""
    codes, names = scene.codes, scene.described.dimensions
    every = ((key, scene.unseen(key[0], seen)) for key, seen in scene.seen.items())
    judged = {key: one for key, one in every if one is not None}
    for (place, how, _), (probe, rows) in judged.items():
        right, name = probe(scene.z[rows]) == codes[rows, place], names[place]
        yield scene.told(rows, right, TOKEN, name, how, None, TRANSFER, name)
    for key, shown in scene.seen.items():
        place, how, _ = key
        known = (codes[:, place] >= 0) & scene.judging
        fitted, hidden = known & shown[scene.class_of], known & ~shown[scene.class_of]
        if not scene.described.crossed[place] or len(np.unique(codes[fitted, place])) < 2:
            continue
        readings = [(place, *judged[key])] if key in judged else []
        readings += _probes_of_others(scene, judged, key)
        for name, ablation in ABLATIONS.items():
            ablate = ablation(scene.z[fitted], codes[fitted, place])
            asked = names[place], how, name
            for read, probe, rows in readings:
                right = probe(ablate(scene.z[rows])) == codes[rows, read]
                yield scene.told(rows, right, MODULAR, *asked, TRANSFER, names[read])
            for read, said in scene.predict(ablate(scene.z[hidden])).items():
                there, rows = codes[hidden, read] >= 0, hidden & (codes[:, read] >= 0)
                if there.any():
                    right = said[there] == codes[rows, read]
                    yield scene.told(rows, right, CAUSAL, *asked, PREDICT, names[read])


def _probes_of_others(
    scene: Scene, judged: Mapping[_Key, _Judged], key: _Key
) -> Iterator[tuple[int, Probe, BoolArray]]:
    """Number, probe and unseen rows of other dimensions; it saw the same classes (`ONE`: some)."""
    shown, others = scene.seen[key], [k for k in scene.described.places if k != key[0]]
    for place in others if key[1] == REST else ():
        if (one := scene.unseen(place, shown)) is not None:
            yield place, *one
    for other, (probe, rows) in judged.items():
        if key[1] == other[1] == ONE and other[0] in others and (scene.seen[other] & shown).any():
            unseen = rows & ~shown[scene.class_of]
            if unseen.any():
                yield other[0], probe, unseen


def pair_answers(scene: Scene, instances: pl.DataFrame, *, first: bool) -> Iterator[Answers]:
    """Answers on minimal pairs whose instances are of several classes.

    Predictions that were given are the same in every split, and count in the ``first``; a missing
    one is wrong. Without any the predictor of the split is judged by concepts.
    """
    several, key = pl.col("of").n_unique().over("pair") > 1, (GROUNDED, *[None] * 5)
    table = instances.with_columns(of=scene.described.class_of).with_row_index("row")
    paired = table.filter(pl.col("pair").is_not_null(), pl.col("of") >= 0).filter(several)
    if not instances["prediction"].is_null().all():
        if first and len(paired):
            right = paired.filter(pl.col("labels").list.contains(pl.col("prediction")))
            most = len(scene.described.classes)
            counts = [np.bincount(of["of"], minlength=most).tolist() for of in (right, paired)]
            yield (*key, scene.seed, *counts)
        return
    rows = scene.judging & np.isin(scene.rows, paired["row"].to_numpy())
    said = scene.predict(scene.z[rows])
    if said and rows.any():
        hits = [one == scene.codes[rows, place] for place, one in said.items()]
        yield scene.told(rows, np.all(hits, axis=0), *key)


def points_of(answers: Sequence[Answers], class_names: pl.Series) -> pl.DataFrame:
    """Right answers and all by `KEYS`, ``seed`` and ``class``, in the order of the first answers.

    These are the points of the paper's figures 3 to 6, with the ``accuracy`` of each.
    """
    several = pl.List(pl.Int64())
    types = schema((" ".join(KEYS), pl.String()), ("seed", pl.Int64()), ("right judged", several))
    every = pl.DataFrame(list(answers), schema=types, orient="row").with_row_index("part")
    return (
        every.with_columns(
            pl.col("part").min().over(KEYS), place=pl.int_ranges(pl.col("right").list.len())
        )
        .explode("right", "judged", "place")
        .group_by("part", *KEYS, "seed", "place")
        .agg(pl.col("right", "judged").sum())
        .filter(pl.col("judged") > 0)
        .sort("part", "seed", "place")
        .with_columns(
            pl.lit(class_names).gather(pl.col("place")).alias("class"),
            accuracy=pl.col("right") / pl.col("judged"),
        )
    )
