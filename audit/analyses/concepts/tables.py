"""Answers as tables: verdicts, the accuracies they rest on, and their values by seed and class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.concepts.classes import Described, slices
from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.unseen_classes import NO_PAIRS
from audit.analyses.concepts.verdicts import (
    CAUSAL,
    GROUNDED,
    INLP,
    LEACE,
    LIMIT,
    MODULAR,
    ONE,
    PREDICT,
    REST,
    TOKEN,
    TRANSFER,
    Estimate,
    Part,
    Pooled,
    Verdict,
    by_interval,
    by_threshold,
    conjunction,
    estimate,
    requirement_of,
)
from audit.base.dag import IntArray
from audit.engine.statistics.fdr import benjamini_hochberg

POINTS = {
    name: kind
    for name, kind in TABLES["values"].columns.types.items()
    if name not in ("chance", "verdict")
} | {"class": pl.String()}
"""The parts by seed and unseen class, which is named by its concepts."""
NESTED = "nodes of one dimension lie below those of the other: removing one changes the other"
ONE_DIMENSION = (
    "no other crossed dimension can be read on unseen classes: there is none, or the slice held "
    "out has all instances of a concept"
)
ALL_SEEN = "no slice leaves a class unseen that could be judged"
REMOVED_NOTHING = (
    "nothing to remove: before the ablation the concepts of {} are read in {:.0%} of the unseen"
    " instances, not in more than {:.0%}"
)
KEYS = ["test", "dimension", "seen", "ablation", "probe"]


@dataclass(frozen=True, eq=False)
class Judged:
    """Pooled answers and what is estimated from them, by part."""

    described: Described
    pooled: Mapping[Part, Pooled]
    estimates: Mapping[Part, Estimate]

    def named(self, part: Part) -> dict[str, Any]:
        """The columns that say what an accuracy is of."""
        names = self.described.dimensions
        return {
            "test": part.test,
            "dimension": None if part.dimension is None else names[part.dimension],
            "seen": part.seen,
            "ablation": part.ablation,
            "probe": part.probe,
            "read": None if part.read is None else names[part.read],
        }


def judge_answers(
    described: Described, pooled: Mapping[Part, Pooled], instances: IntArray
) -> Judged:
    """Estimate every part.

    Args:
        instances: Different instances of each class that were judged, shape (classes,).
    """
    own = np.arange(len(described.class_codes))
    slice_of: dict[int | None, IntArray] = {None: own}
    for place, crossed in enumerate(described.crossed):
        numbers = own.copy()
        for together in slices(described, place) if crossed else ():
            numbers[together] = together[0]
        slice_of[place] = numbers
    estimates = {}
    for part, answers in pooled.items():
        concept_of = (
            own if part.read is None else np.maximum(described.class_codes[:, part.read], 0)
        )
        estimates[part] = estimate(answers, concept_of, slice_of[part.read], instances)
    return Judged(described, pooled, estimates)


def part_frame(judged: Judged) -> pl.DataFrame:
    """The table ``parts``."""
    rows = []
    for part, found in judged.estimates.items():
        pooled, requirement = judged.pooled[part], requirement_of(part)
        counts = pooled.judged.sum(axis=0)
        rows.append(
            judged.named(part)
            | vars(found)
            | {
                "auc": None if np.isnan(pooled.auc) else pooled.auc,
                "requirement": requirement,
                "verdict": by_threshold(requirement, found.accuracy, found.chance),
                "interval_verdict": by_interval(requirement, found),
                "instances": int(counts.sum()),
                "classes": int((counts > 0).sum()),
                "seeds": len(pooled.seeds),
            }
        )
    families = [
        group.with_columns(
            pl.Series(
                "q_above_chance",
                benjamini_hochberg(group["p_above_chance"].to_numpy(), len(group)),
                pl.Float64,
            )
        )
        for _, group in TABLES["parts"]
        .frame(rows)
        .drop("q_above_chance")
        .group_by("test", "seen", "ablation", "probe", maintain_order=True)
    ]
    table = pl.concat(families) if families else TABLES["parts"].frame()
    return table.select(list(TABLES["parts"].columns))


def value_frame(judged: Judged) -> pl.DataFrame:
    """The table ``values``."""
    rows = []
    for part, pooled in judged.pooled.items():
        chance, requirement = judged.estimates[part].chance, requirement_of(part)
        for seed, right, counts in zip(
            pooled.seeds.tolist(), pooled.right, pooled.judged, strict=True
        ):
            accuracy = float(right.sum() / counts.sum())
            rows.append(
                judged.named(part)
                | {
                    "seed": seed,
                    "accuracy": accuracy,
                    "chance": chance,
                    "verdict": by_threshold(requirement, accuracy, chance),
                    "instances": int(counts.sum()),
                }
            )
    return TABLES["values"].frame(rows)


def point_frame(judged: Judged) -> pl.DataFrame:
    """Columns `POINTS`."""
    names = judged.described.classes["class"].to_list()
    rows = [
        judged.named(part)
        | {
            "seed": seed,
            "class": names[one],
            "accuracy": float(right[one] / counts[one]),
            "instances": int(counts[one]),
        }
        for part, pooled in judged.pooled.items()
        for seed, right, counts in zip(
            pooled.seeds.tolist(), pooled.right, pooled.judged, strict=True
        )
        for one in np.flatnonzero(counts).tolist()
    ]
    return pl.DataFrame(rows, schema=POINTS)


def test_frame(judged: Judged) -> pl.DataFrame:
    """The table ``tests``: every test of every dimension, those that do not apply with a reason."""
    rows = []
    for key in _tests(judged.described):
        parts = [part for part in judged.pooled if part[:5] == key[:5]]
        reason = _why_not(judged.described, key, parts)
        row = {name: value for name, value in judged.named(key).items() if name in KEYS}
        if reason is not None:
            verdicts: tuple[Verdict, Verdict] = ("not_applicable", "not_applicable")
        else:
            verdicts, reason = _verdicts(judged, key, parts)
        rows.append(
            row
            | {
                "verdict": verdicts[0],
                "interval_verdict": verdicts[1],
                "reason": reason,
                "parts": len(parts),
            }
        )
    return TABLES["tests"].frame(rows)


def _tests(described: Described) -> list[Part]:
    places = range(len(described.dimensions))
    tests = [Part(GROUNDED)]
    for seen in (ONE, REST):
        tests += [Part(TOKEN, place, seen, None, TRANSFER) for place in places]
        tests += [
            Part(test, place, seen, ablation, probe)
            for test, probe in ((MODULAR, TRANSFER), (CAUSAL, PREDICT))
            for ablation in (INLP, LEACE)
            for place in places
        ]
    return sorted(tests, key=lambda part: (GROUNDED, TOKEN, MODULAR, CAUSAL).index(part.test))


def _why_not(described: Described, key: Part, parts: Sequence[Part]) -> str | None:
    """Why a test does not apply; None if it does."""
    if key.dimension is None:
        return None if parts else NO_PAIRS
    unfit = described.why_unfit(key.dimension)
    if unfit is not None:
        return unfit
    if key.test != TOKEN and not described.crossed[key.dimension]:
        return NESTED
    if not any(part.read == key.dimension for part in parts):
        return ALL_SEEN
    others = [part for part in parts if part.read != key.dimension]
    return ONE_DIMENSION if key.test != TOKEN and not others else None


def _verdicts(
    judged: Judged, key: Part, parts: Sequence[Part]
) -> tuple[tuple[Verdict, Verdict], str | None]:
    found = [(requirement_of(part), judged.estimates[part]) for part in parts]
    verdict = conjunction(by_threshold(need, one.accuracy, one.chance) for need, one in found)
    interval = conjunction(by_interval(need, one) for need, one in found)
    if key.test not in (MODULAR, CAUSAL):
        return (verdict, interval), None
    before = judged.estimates.get(
        Part(TOKEN, key.dimension, key.seen, None, TRANSFER, key.dimension)
    )
    if before is None or by_interval("above_limit", before) != "pass":
        interval = "undecided"
    if before is not None and before.accuracy > LIMIT:
        return (verdict, interval), None
    name = judged.described.dimensions[key.dimension or 0]
    share = before.accuracy if before is not None else float("nan")
    return ("undecided", "undecided"), REMOVED_NOTHING.format(name, share, LIMIT)
