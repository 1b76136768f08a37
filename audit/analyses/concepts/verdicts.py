"""Answers of probes and predictions by class, and verdicts of the tests that they make."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.intervals import (
    LEVEL,
    at_freedom,
    effective_n,
    grouped_wilson,
    p_above,
)

ONE, REST = "1 slice", "N-1 slices"
"""The classes that probes and ablation see: those of one slice, or of all but one."""
INLP, LEACE = "inlp", "leace"
TRANSFER, PREDICT = "transfer", "predict"
GROUNDED, TOKEN, MODULAR, CAUSAL = "is_grounded", "is_token_of_type", "is_modular", "is_causal"


class Part(NamedTuple):
    """What an accuracy is of; dimensions by their place."""

    test: str
    dimension: int | None = None
    seen: str | None = None
    ablation: str | None = None
    probe: str | None = None
    read: int | None = None


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one probe, of one seed, counted by class.

    Args:
        right: Right answers per class, shape (classes,).
        judged: All answers per class.
        auc: Area under the curve, NaN where it is not measured.
    """

    part: Part
    seed: int
    right: IntArray
    judged: IntArray
    auc: float = float("nan")


def count_answers(
    part: Part,
    seed: int,
    classes: int,
    class_of: IntArray,
    right: np.ndarray[tuple[int], np.dtype[np.bool_]],
    auc: float = float("nan"),
) -> Answers:
    """Count right answers by class, both of shape (n,)."""
    return Answers(
        part,
        seed,
        np.bincount(class_of[right], minlength=classes).astype(np.int64),
        np.bincount(class_of, minlength=classes).astype(np.int64),
        auc,
    )


@dataclass(frozen=True, eq=False)
class Pooled:
    """The answers of a part over slices and seeds.

    Args:
        right: Right answers, shape (seeds, classes).
        judged: All answers, shape (seeds, classes).
        auc: Mean area under the curve over all probes; NaN where it is not measured.
    """

    seeds: IntArray
    right: FloatArray
    judged: FloatArray
    auc: float


def pool_answers(answers: list[Answers]) -> dict[Part, Pooled]:
    """Add the answers of each part up, in the order in which parts first occur."""
    of_part: dict[Part, list[Answers]] = {}
    for one in answers:
        of_part.setdefault(one.part, []).append(one)
    return {part: _pool(several) for part, several in of_part.items()}


def _pool(answers: list[Answers]) -> Pooled:
    seeds, place = np.unique([one.seed for one in answers], return_inverse=True)
    shape = (len(seeds), len(answers[0].right))
    right, judged = np.zeros(shape), np.zeros(shape)
    for row, one in zip(place.tolist(), answers, strict=True):
        right[row] += one.right
        judged[row] += one.judged
    areas = np.array([one.auc for one in answers])
    areas = areas[~np.isnan(areas)]
    return Pooled(seeds, right, judged, float(areas.mean()) if len(areas) else float("nan"))


Verdict: TypeAlias = Literal["pass", "fail", "undecided", "not_applicable"]
Requirement: TypeAlias = Literal["above_limit", "at_or_below_chance", "at_chance"]

LIMIT = 0.75
"""Accuracy above which a concept is read; the paper calls it arbitrary."""
MARGIN = 0.05
"""Distance from chance up to which an accuracy is at chance."""
EQUIVALENCE_LEVEL = 0.9
"""Level of the interval within the margin: two one-sided tests at 5 % each."""


@dataclass(frozen=True)
class Estimate:
    """An accuracy with its intervals.

    Args:
        accuracy: Share of right answers over slices and seeds.
        low: Lower end of the 95 % interval, where classes vary.
        high: Upper end.
        low_90: Lower end of the 90 % interval, where slices vary.
        high_90: Upper end.
        chance: Share of the most frequent concept among what was judged.
        p_above_chance: P value of the accuracy being chance or below, where slices vary.
    """

    accuracy: float
    low: float
    high: float
    low_90: float
    high_90: float
    chance: float
    p_above_chance: float


def estimate(
    pooled: Pooled, concept_of: IntArray, slice_of: IntArray, instances: IntArray
) -> Estimate:
    """Estimate an accuracy from answers by class.

    A constant answer is right for exactly one class of a slice, so that an accuracy at chance
    varies between classes as much as it can, and between slices not at all; one far above chance
    is the more certain the more classes it holds in. Repeated answers for one instance, by probes
    of several slices and seeds, count as one.

    Args:
        pooled: Answers by class; at least one.
        concept_of: The answer that is right for each class, shape (classes,).
        slice_of: The slice of each class along the dimension that is read, shape (classes,).
        instances: Different instances of each class that were judged, shape (classes,).
    """
    judged, right = pooled.judged.sum(axis=0), pooled.right.sum(axis=0)
    share = right.sum() / judged.sum()
    scale = instances[judged > 0].sum() / judged.sum()
    k, n = right * min(scale, 1.0), judged * min(scale, 1.0)
    chance = np.bincount(concept_of[judged > 0], weights=judged[judged > 0]).max() / judged.sum()
    own = np.arange(len(judged))
    low, high = grouped_wilson(*_grouped(k, n, own), LEVEL)
    groups = _grouped(k, n, slice_of)
    low_90, high_90 = grouped_wilson(*groups, EQUIVALENCE_LEVEL)
    effective = at_freedom(effective_n(*groups), float(n.sum()), len(groups[1]))
    p_value = p_above(share, effective, float(n.sum()), len(groups[1]), float(chance))
    return Estimate(float(share), low, high, low_90, high_90, float(chance), p_value)


def _grouped(k: FloatArray, n: FloatArray, group: IntArray) -> tuple[FloatArray, FloatArray]:
    right, judged = (np.bincount(group, weights=values).astype(np.float64) for values in (k, n))
    return right[judged > 0], judged[judged > 0]


def requirement_of(part: Part) -> Requirement:
    """What a test requires of an accuracy: of the dimension that was removed, chance."""
    if part.test in (MODULAR, CAUSAL) and part.read == part.dimension:
        return "at_or_below_chance" if part.test == MODULAR else "at_chance"
    return "above_limit"


def by_threshold(requirement: Requirement, accuracy: float, chance: float) -> Verdict:
    """The verdict of an accuracy as it is."""
    if requirement == "above_limit":
        return "pass" if accuracy > LIMIT else "fail"
    low = chance - MARGIN if requirement == "at_chance" else 0.0
    return "pass" if low <= accuracy <= chance + MARGIN else "fail"


def by_interval(requirement: Requirement, found: Estimate) -> Verdict:
    """The verdict that the interval allows; undecided where it holds both sides of a limit."""
    if requirement == "above_limit":
        if found.low > LIMIT:
            return "pass"
        return "fail" if found.high <= LIMIT else "undecided"
    low = found.chance - MARGIN if requirement == "at_chance" else -1.0
    high = found.chance + MARGIN
    if found.low_90 > low and found.high_90 < high:
        return "pass"
    return "fail" if found.low_90 > high or found.high_90 < low else "undecided"


def conjunction(verdicts: Iterable[Verdict]) -> Verdict:
    """Fails if one fails, else is undecided if one is, else passes."""
    every = set(verdicts)
    if "fail" in every:
        return "fail"
    return "undecided" if "undecided" in every else "pass"
