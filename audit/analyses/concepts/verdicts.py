"""Accuracies of the tests of concepts with their intervals, and the verdicts that they make."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from audit.analyses.concepts import tests_of_concepts as of
from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.facets import UNFIT, Described
from audit.analyses.concepts.probes import ABLATIONS
from audit.base.dag import IntArray
from audit.engine.statistics.intervals import grouped_wilson

LIMIT = 0.75
"""Accuracy above which a concept is read; the paper calls it arbitrary."""
MARGIN = 0.05
"""Distance from chance up to which an accuracy is at chance."""
EQUIVALENCE_LEVEL = 0.9
"""Level of the interval within the margin: two one-sided tests at 5 % each."""
_REMOVED = pl.col("test").is_in([of.MODULAR, of.CAUSAL]) & pl.col("read").eq(pl.col("dimension"))
_REQUIREMENT = (
    pl.when(~_REMOVED.fill_null(value=False))
    .then(pl.lit("above_limit"))
    .when(test=of.MODULAR)
    .then(pl.lit("at_or_below_chance"))
    .otherwise(pl.lit("at_chance"))
)
"""What a test requires of an accuracy: of the dimension that was removed, chance."""
_ABOVE = pl.col("requirement") == "above_limit"
_LEAST = pl.when(requirement="at_chance").then(pl.col("chance") - MARGIN).otherwise(-1.0)
_MOST = pl.col("chance") + MARGIN


def _verdict(passes: pl.Expr, fails: pl.Expr) -> pl.Expr:
    said = pl.when(passes).then(pl.lit("pass")).when(fails).then(pl.lit("fail"))
    return said.otherwise(pl.lit("undecided"))


def parts_of(described: Described, points: pl.DataFrame, instances: IntArray) -> pl.DataFrame:
    """The table ``parts``, family after family, of points and the judged instances of each class.

    ``verdict`` is that of the accuracy as it is, ``interval_verdict`` what the interval allows:
    undecided where it holds both sides of a limit.
    """
    rows = []
    for key, own in points.group_by(of.KEYS, maintain_order=True):
        counts = own.group_by("place").agg(pl.col("right", "judged").sum()).sort("place")
        told = _estimate(described, key[-1], counts, instances)
        rows.append(dict(zip(of.KEYS, key, strict=True)) | told | {"seeds": own["seed"].n_unique()})
    accuracy, low, high = pl.col("accuracy"), pl.col("low_90"), pl.col("high_90")
    passes = pl.when(_ABOVE).then(accuracy > LIMIT).otherwise(accuracy.is_between(_LEAST, _MOST))
    surely = pl.when(_ABOVE).then(pl.col("low") > LIMIT).otherwise((low > _LEAST) & (high < _MOST))
    never = pl.when(_ABOVE).then(pl.col("high") <= LIMIT).otherwise((low > _MOST) | (high < _LEAST))
    parts = TABLES["parts"].frame(rows).with_columns(requirement=_REQUIREMENT)
    parts = parts.with_columns(
        verdict=_verdict(passes, ~passes), interval_verdict=_verdict(surely, never)
    )
    family = pl.col("row").min().over("test", "seen", "ablation", "probe")
    return parts.with_row_index("row").sort(family, maintain_order=True).drop("row")


def _estimate(
    described: Described, read: Any, counts: pl.DataFrame, instances: IntArray
) -> dict[str, Any]:
    """An accuracy with its intervals, from right answers and all answers by class.

    A constant answer is right for exactly one class of a slice, so that an accuracy at chance
    varies between classes as much as it can, and between slices not at all; one far above chance
    is the more certain the more classes it holds in: the 95 % interval takes classes, the 90 % one
    slices along the dimension that is read. Repeated answers for one instance count as one.
    """
    place, right, judged = counts.to_numpy().T
    concept = group = np.arange(len(instances))
    if read is not None:
        dimension = described.dimensions.index(read)
        concept = np.maximum(described.class_codes[:, dimension], 0)
        for merged in described.parts(dimension, 0) if described.crossed[dimension] else ():
            group = np.where(np.isin(np.arange(len(group)), merged), merged[0], group)
    scale = min(instances[place].sum() / judged.sum(), 1.0)
    k, n, group = right * scale, judged * scale, group[place]
    of_group = [np.bincount(group, some)[np.unique(group)] for some in (k, n)]
    low, high = grouped_wilson(k, n)
    low_90, high_90 = grouped_wilson(of_group[0], of_group[1], EQUIVALENCE_LEVEL)
    chance = np.bincount(concept[place], judged).max() / judged.sum()
    ends = {"low": low, "high": high, "low_90": low_90, "high_90": high_90}
    told = {"accuracy": right.sum() / judged.sum(), "chance": chance, **ends}
    return told | {"instances": judged.sum(), "classes": len(place)}


def tests_of(described: Described, parts: pl.DataFrame) -> pl.DataFrame:
    """The table ``tests``: every test of every dimension, those that do not apply with a reason."""
    names, both = described.dimensions, (of.ONE, of.REST)
    keys: list[tuple[str | None, ...]] = [(of.GROUNDED, None, None, None, None)]
    keys += [(of.TOKEN, name, seen, None, of.TRANSFER) for seen in both for name in names]
    keys += [
        (test, name, seen, ablation, probe)
        for test, probe in ((of.MODULAR, of.TRANSFER), (of.CAUSAL, of.PREDICT))
        for seen in both
        for ablation in ABLATIONS
        for name in names
    ]
    rows = []
    for key in keys:
        matches = [pl.col(name).eq_missing(one) for name, one in zip(of.ASKED, key, strict=True)]
        own, before = parts.filter(*matches), parts.filter(*matches[1:3], test=of.TOKEN)
        told = {
            name: next((one for one in ("fail", "undecided") if one in own[name]), "pass")
            for name in ("verdict", "interval_verdict")
        }
        reason = _why_not(described, key[0], key[1], own)
        if reason:
            told = dict.fromkeys(told, "not_applicable")
        elif key[0] in (of.MODULAR, of.CAUSAL):
            share = before["accuracy"].item() if len(before) else np.nan
            if before["interval_verdict"].to_list() != ["pass"]:
                told["interval_verdict"] = "undecided"
            if not share > LIMIT:
                told = dict.fromkeys(told, "undecided")
                reason = (
                    f"nothing to remove: before the ablation the concepts of {key[1]} are read in"
                    f" {share:.0%} of the unseen instances, not in more than {LIMIT:.0%}"
                )
        asked = dict(zip(of.ASKED, key, strict=True))
        rows.append({**asked, **told, "reason": reason, "parts": len(own)})
    return TABLES["tests"].frame(rows)


def _why_not(
    described: Described, test: str | None, dimension: str | None, parts: pl.DataFrame
) -> str | None:
    """Why a test does not apply; None if it does."""
    if dimension is None:
        why = (
            "no minimal pairs: instances of different classes with equal values in the column pair"
        )
        return None if len(parts) else f"{why} are needed"
    place = described.dimensions.index(dimension)
    if place not in described.fit:
        return UNFIT
    if test != of.TOKEN and not described.crossed[place]:
        return "nodes of one dimension lie below those of the other: removing one changes the other"
    if dimension not in parts["read"]:
        return "no slice leaves a class unseen that could be judged"
    if test != of.TOKEN and len(parts) == 1:
        return (
            "no other crossed dimension can be read on unseen classes: there is none, or the slice"
            " held out has all instances of a concept"
        )
    return None
