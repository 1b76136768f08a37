"""Accuracies of the tests of concepts with their intervals, and the verdicts that they make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.concepts.classes import Described
from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.tests_of_concepts import (
    ABLATIONS,
    CAUSAL,
    GROUNDED,
    MODULAR,
    ONE,
    PREDICT,
    REST,
    TOKEN,
    TRANSFER,
    Answers,
    Part,
)
from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import (
    at_freedom,
    effective_n,
    grouped_wilson,
    p_above,
)

LIMIT = 0.75
"""Accuracy above which a concept is read; the paper calls it arbitrary."""
MARGIN = 0.05
"""Distance from chance up to which an accuracy is at chance."""
EQUIVALENCE_LEVEL = 0.9
"""Level of the interval within the margin: two one-sided tests at 5 % each."""
NO_PAIRS = (
    "no minimal pairs: instances of different classes with equal values in the column pair are"
    " needed"
)
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


def tables_of(
    described: Described, answers: Sequence[Answers], instances: IntArray
) -> dict[str, pl.DataFrame]:
    """The tables ``tests``, ``parts`` and ``values``, and ``points``, by seed and unseen class.

    Args:
        instances: Different instances of each class that were judged, shape (classes,).
    """
    of_part, names = defaultdict[Part, list[Answers]](list), described.classes["class"]
    for one in answers:
        of_part[one.part].append(one)
    parts, values, points = [], [], []
    for part, several in of_part.items():
        seeds, place = np.unique([one.seed for one in several], return_inverse=True)
        right, judged = np.zeros((2, len(seeds), len(instances)))
        np.add.at(right, place, [one.right for one in several])
        np.add.at(judged, place, [one.judged for one in several])
        own, areas = part._asdict(), [one.auc for one in several if one.auc is not None]
        own["requirement"] = required = requirement_of(part)
        found = estimate(described, part, right.sum(axis=0), judged.sum(axis=0), instances)
        own["chance"] = chance = found["chance"]
        found |= {"auc": float(np.nanmean(areas)) if areas else None, "seeds": len(seeds)}
        found["verdict"] = by_threshold(required, found["accuracy"], chance)
        parts.append(own | found | {"interval_verdict": by_interval(required, found)})
        for seed, k, n in zip(seeds.tolist(), right, judged, strict=True):
            share = float(k.sum() / n.sum())
            told = {"seed": seed, "accuracy": share, "instances": int(n.sum())}
            values.append(own | told | {"verdict": by_threshold(required, share, chance)})
            points += [
                own | {"seed": seed, "class": names[one], "accuracy": k[one] / n[one],
                       "instances": int(n[one])}
                for one in np.flatnonzero(n).tolist()
            ]  # fmt: skip
    types = TABLES["values"].columns.types | {"class": pl.String()}
    by_class = pl.DataFrame(points, schema=types).drop("chance", "verdict")
    made = TABLES["parts"].frame(parts)
    families = [made.head(0)]
    for _, family in made.group_by("test", "seen", "ablation", "probe", maintain_order=True):
        q = benjamini_hochberg(family["p_above_chance"].to_numpy(), len(family))
        families.append(family.with_columns(q_above_chance=pl.Series(q)))
    told_parts = pl.concat(families)
    return {
        "tests": _tests(described, told_parts),
        "parts": told_parts,
        "values": TABLES["values"].frame(values),
        "points": by_class,
    }


def estimate(
    described: Described, part: Part, right: FloatArray, judged: FloatArray, instances: IntArray
) -> dict[str, Any]:
    """An accuracy with its intervals, from right answers and all answers by class.

    A constant answer is right for exactly one class of a slice, so that an accuracy at chance
    varies between classes as much as it can, and between slices not at all; one far above chance
    is the more certain the more classes it holds in. Repeated answers for one instance, by probes
    of several slices and seeds, count as one.

    Returns:
        The ``accuracy``; its 95 % interval, where classes vary; the 90 % one, where slices along
        the dimension that is read vary; ``chance``, the share of the most frequent concept; the p
        value of an accuracy at chance or below.
    """
    concept = group = np.arange(len(instances))
    if part.read is not None:
        place = described.dimensions.index(part.read)
        concept = np.maximum(described.class_codes[:, place], 0)
        for together in described.parts(place, 0) if described.crossed[place] else ():
            group = np.where(np.isin(np.arange(len(group)), together), together[0], group)
    there = judged > 0
    share = float(right.sum() / judged.sum())
    scale = min(instances[there].sum() / judged.sum(), 1.0)
    k, n = right * scale, judged * scale
    chance = float(np.bincount(concept[there], judged[there]).max() / judged.sum())
    low, high = grouped_wilson(k[there], n[there])
    groups_right, groups_all = (np.bincount(group, of).astype(np.float64) for of in (k, n))
    own, of_group = groups_right[groups_all > 0], groups_all[groups_all > 0]
    low_90, high_90 = grouped_wilson(own, of_group, EQUIVALENCE_LEVEL)
    total, groups = float(n.sum()), len(of_group)
    effective = at_freedom(effective_n(own, of_group), total, groups)
    return {
        "accuracy": share,
        "low": low,
        "high": high,
        "low_90": low_90,
        "high_90": high_90,
        "chance": chance,
        "p_above_chance": p_above(share, effective, total, groups, chance),
        "instances": int(judged.sum()),
        "classes": int(there.sum()),
    }


def requirement_of(part: Part) -> str:
    """What a test requires of an accuracy: of the dimension that was removed, chance."""
    if part.test in (MODULAR, CAUSAL) and part.read == part.dimension:
        return "at_or_below_chance" if part.test == MODULAR else "at_chance"
    return "above_limit"


def by_threshold(requirement: str, accuracy: float, chance: float) -> str:
    """The verdict of an accuracy as it is."""
    if requirement == "above_limit":
        return "pass" if accuracy > LIMIT else "fail"
    low = chance - MARGIN if requirement == "at_chance" else 0.0
    return "pass" if low <= accuracy <= chance + MARGIN else "fail"


def by_interval(requirement: str, found: Mapping[str, Any]) -> str:
    """The verdict that the interval allows; undecided where it holds both sides of a limit."""
    low, high, chance = found["low_90"], found["high_90"], found["chance"]
    least = chance - MARGIN if requirement == "at_chance" else -1.0
    passes, fails = least < low and high < chance + MARGIN, low > chance + MARGIN or high < least
    if requirement == "above_limit":
        passes, fails = found["low"] > LIMIT, found["high"] <= LIMIT
    return "pass" if passes else "fail" if fails else "undecided"


def _tests(described: Described, parts: pl.DataFrame) -> pl.DataFrame:
    """The table ``tests``: every test of every dimension, those that do not apply with a reason."""
    of = defaultdict[tuple[str | None, ...], list[dict[str, Any]]](list)
    for row in parts.iter_rows(named=True):
        of[tuple(row[name] for name in Part._fields[:5])].append(row)
    keys, both = [tuple(Part(GROUNDED))[:5]], (ONE, REST)
    keys += [(TOKEN, name, seen, None, TRANSFER) for seen in both for name in described.dimensions]
    keys += [
        (test, name, seen, ablation, probe)
        for test, probe in ((MODULAR, TRANSFER), (CAUSAL, PREDICT))
        for seen in both
        for ablation in ABLATIONS
        for name in described.dimensions
    ]
    rows = []
    for key in keys:
        own, before = of[key], of[(TOKEN, *key[1:3], None, TRANSFER)]
        reason = _why_not(described, key, own)
        verdict, interval = (_all_of(own, name) for name in ("verdict", "interval_verdict"))
        if reason:
            verdict = interval = "not_applicable"
        elif key[0] in (MODULAR, CAUSAL):
            share = before[0]["accuracy"] if before else float("nan")
            if not before or before[0]["interval_verdict"] != "pass":
                interval = "undecided"
            if not share > LIMIT:
                reason = REMOVED_NOTHING.format(key[1], share, LIMIT)
                verdict = interval = "undecided"
        told = {"verdict": verdict, "interval_verdict": interval, "reason": reason}
        rows.append(dict(zip(Part._fields, key, strict=False)) | told | {"parts": len(own)})
    return TABLES["tests"].frame(rows)


def _why_not(
    described: Described, key: Sequence[str | None], parts: Sequence[Mapping[str, Any]]
) -> str | None:
    """Why a test does not apply; None if it does."""
    test, dimension, *_ = key
    if dimension is None:
        return None if parts else NO_PAIRS
    place = described.dimensions.index(dimension)
    if (unfit := described.why_unfit(place)) is not None:
        return unfit
    if test != TOKEN and not described.crossed[place]:
        return NESTED
    if dimension not in [part["read"] for part in parts]:
        return ALL_SEEN
    return ONE_DIMENSION if test != TOKEN and len(parts) == 1 else None


def _all_of(parts: Sequence[Mapping[str, Any]], name: str) -> str:
    """Fails if one fails, else is undecided if one is, else passes."""
    every = {part[name] for part in parts}
    return next((one for one in ("fail", "undecided") if one in every), "pass")
