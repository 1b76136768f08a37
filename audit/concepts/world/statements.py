"""The statements of "Unit Testing for Concepts in Neural Networks", and whether they come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import Any

import polars as pl

from audit.concepts.measurements import ConceptMeasurements

NEAR_CHANCE = 0.05
"""How far from chance an accuracy still is at chance."""
HIGH = 0.75
"""What the paper calls a high accuracy."""


@dataclass(frozen=True)
class Figure:
    """What is computed of one network for one statement, and whether it holds there."""

    shown: dict[str, float]
    holds: bool


@dataclass(frozen=True)
class Statement:
    """One statement of the paper.

    Args:
        why: Why it is not tested here, or what may keep it from coming back.
        name: What its figures are known by; empty where it is not tested.
        figure: What it comes to for one network that learned without colours.
    """

    section: str
    says: str
    why: str
    name: str = ""
    figure: Callable[[ConceptMeasurements], Figure] | None = None


def _parts(measured: ConceptMeasurements, test: str, *where: pl.Expr) -> pl.DataFrame:
    """The parts of a test as the paper runs it."""
    return _as_the_paper(measured.parts, test, *where)


def _as_the_paper(table: pl.DataFrame, test: str, *where: pl.Expr) -> pl.DataFrame:
    paper = pl.col("ablation").is_null() | (
        (pl.col("ablation") == "inlp") & pl.col("probe").is_in(["transfer", "predict"])
    )
    return table.filter(pl.col("test") == test, paper, *where)


def _mean(table: pl.DataFrame, column: str = "accuracy") -> float:
    return float(table[column].mean())  # type: ignore[arg-type]


_ABLATED = pl.col("read") == pl.col("dimension")
_SLICES = ("1 slice", "N-1 slices")


def _grounded(measured: ConceptMeasurements) -> Figure:
    accuracy = _mean(_parts(measured, "is_grounded"))
    return Figure({"right": accuracy}, accuracy >= 0.95)


def _seen(measured: ConceptMeasurements) -> Figure:
    seen = measured.controls.filter(pl.col("judged") == "seen")
    means = seen.group_by("dimension", maintain_order=True).agg(pl.col("linear").mean())
    shown = dict(means.iter_rows())
    return Figure(shown, min(shown.values()) > 0.99)


def _one_slice(measured: ConceptMeasurements) -> Figure:
    parts = _parts(measured, "is_token_of_type", pl.col("seen") == _SLICES[0])
    one, chance = _mean(parts), _mean(parts, "chance")
    return Figure({"right": one, "chance": chance}, one > 0.65)


def _more_slices(measured: ConceptMeasurements) -> Figure:
    one, rest = (_mean(_parts(measured, "is_token_of_type", pl.col("seen") == s)) for s in _SLICES)
    return Figure(dict(zip(_SLICES, (one, rest), strict=True)), rest > one)


def _removed(measured: ConceptMeasurements) -> Figure:
    parts = _parts(measured, "is_modular", _ABLATED)
    ablated, chance = _mean(parts), _mean(parts, "chance")
    return Figure({"ablated": ablated, "chance": chance}, ablated <= chance + NEAR_CHANCE)


def _left(measured: ConceptMeasurements) -> Figure:
    others = _mean(_parts(measured, "is_modular", ~_ABLATED))
    return Figure({"others": others}, others > HIGH)


def _spread(measured: ConceptMeasurements) -> Figure:
    points = _as_the_paper(measured.points, "is_modular")
    centre = pl.col("accuracy").mean().over("seen", "dimension", "read")
    within = points.with_columns(pl.col("accuracy") - centre)
    one, rest = (
        float(within.filter(pl.col("seen") == s)["accuracy"].std())  # type: ignore[arg-type]
        for s in _SLICES
    )
    return Figure({f"sd {s}": sd for s, sd in zip(_SLICES, (one, rest), strict=True)}, one > rest)


def _causal(measured: ConceptMeasurements) -> Figure:
    ablated = _parts(measured, "is_causal", _ABLATED)
    by_slices = ablated.group_by("seen", maintain_order=True).agg(pl.col("accuracy").mean())
    above = (ablated["accuracy"] > ablated["chance"] + NEAR_CHANCE).all()
    return Figure({**dict(by_slices.iter_rows()), "chance": _mean(ablated, "chance")}, bool(above))


def _iterations(measured: ConceptMeasurements) -> Figure:
    curve = measured.iterations.filter(
        pl.col("ablation") == "inlp", pl.col("probe") == "transfer", ~_ABLATED
    )
    means = curve.group_by("iteration").agg(pl.col("accuracy").mean()).sort("iteration")
    first, last = means["accuracy"][1], means["accuracy"][-1]
    name = f"after {means['iteration'][-1]}"
    return Figure({"others after 1": first, name: last}, last < first - NEAR_CHANCE)


def _curve(measured: ConceptMeasurements, measure: str) -> list[float]:
    own = measured.layer_curves.filter(pl.col("measure") == measure).sort("place")
    return own.group_by("place", maintain_order=True).agg(pl.col("value").min())["value"].to_list()


def _composite_last(measured: ConceptMeasurements) -> Figure:
    worst, direct = _curve(measured, "probe"), _curve(measured, "direct")
    gaps = [one - whole for one, whole in zip(worst, direct, strict=True)]
    return Figure({"least gap": min(gaps)}, min(gaps) > -NEAR_CHANCE)


def _composed(measured: ConceptMeasurements) -> Figure:
    direct, composed = _curve(measured, "direct"), _curve(measured, "composed")
    gap = mean(one - other for one, other in zip(direct, composed, strict=True))
    return Figure({"direct - composed": gap}, -NEAR_CHANCE < gap < 0.15)


def _mutual(measured: ConceptMeasurements) -> Figure:
    curve = _curve(measured, "nmi")
    shown = {"first layer": curve[0], "last but one": curve[-2], "last": curve[-1]}
    return Figure(shown, max(curve[:-1]) < 0.5 < curve[-1])


_LEARNED = "a network that has learned little names fewer; more images and times do better"
_WEIGHTS = "needs the weights of ImageNet or CLIP"
COLOURS = "colours"
"""Name of the statement on networks that learned from colours."""
STATEMENTS: tuple[Statement, ...] = (
    Statement("5.2", "Minimal pairs of the default images: about 98 % right.", _LEARNED,
              "grounded", _grounded),
    Statement("5.2", "The more often a colour tells the class, the fewer minimal pairs are right.",
              "a share that is at chance already cannot fall", COLOURS),
    Statement("5.2", "With a colour that is right in 99 %, pretrained models name 75 %.", _WEIGHTS),
    Statement("5.3", "With one that is always right they still name about half.", _WEIGHTS),
    Statement("5.3", "Only in `is_grounded` do pretrained models do better.", _WEIGHTS),
    Statement("6.2", "Probes of concepts on seen classes: above 99 %.",
              "the last layer need not hold a concept in a line beyond what its answers need",
              "seen", _seen),
    Statement("6.2", "On unseen classes with 1 slice: about 75 %, well above chance.",
              "one slice is two or three classes, of few images", "one_slice", _one_slice),
    Statement("6.2", "On unseen classes more with N-1 slices than with 1 slice.",
              "none is known", "more_slices", _more_slices),
    Statement("7.2", "After ablation the ablated concepts are at or near chance.",
              "probe and ablation are fitted on halves of their own here, and leave some",
              "removed", _removed),
    Statement("7.2", "After ablation the other concepts stay high, above 75 %.",
              "they are no higher than before ablation, see the lines of 6.2", "left", _left),
    Statement("7.2", "Accuracies vary more with 1 slice.", "none is known", "spread", _spread),
    Statement("8.2", "`is_causal` fails: along the ablated dimension far above chance.",
              "none is known", "causal", _causal),
    Statement("8.2", "The same holds on seen classes.",
              "unseen classes alone are judged"),
    Statement("8.2", "More iterations of INLP degrade all concepts.",
              "few concepts among many features: what is removed last holds little of the others",
              "iterations", _iterations),
    Statement("9.2", "Composite concepts are read only where their constituents are.",
              "a probe for each class has more freedom than one for each concept",
              "composite_last", _composite_last),
    Statement("9.2", "Direct answers are as good as composed ones, or slightly better.",
              "none is known", "composed", _composed),
    Statement("9.3", "NMI of direct and composed answers is low until the last layer.",
              "of few instances it is too high, also between guesses", "mutual", _mutual),
    Statement("9.3", "ViT by CLIP may be an exception to that.", _WEIGHTS),
)  # fmt: skip
"""All that the paper says of its encoders in sections 5 to 9; whether one holds is decided by
limits that the paper does not state."""


def figures_of(measured: ConceptMeasurements) -> dict[str, dict[str, Any]]:
    """Figures of each statement that is tested, by name: ``shown`` and ``holds``."""
    return {one.name: vars(one.figure(measured)) for one in STATEMENTS if one.figure is not None}


def of_colours(right: Mapping[float, float]) -> Figure:
    """What the statement on colours comes to, by how often a colour told the class."""
    shares = [right[one] for one in sorted(right)]
    shown = {f"{100 * one:.0f} %": right[one] for one in sorted(right)}
    return Figure(shown, all(a > b for a, b in pairwise(shares)))


IDENTITIES: tuple[tuple[str, bool], ...] = (
    ("18 classes = 3 layouts x 3 shapes x 2 strokes", 3 * 3 * 2 == 18),
    ("RAND = 1/18 = 5.6 %", round(100 / 18, 1) == 5.6),
    ("6 / 6 / 9 slices = 18/3, 18/3, 18/2", (18 // 3, 18 // 3, 18 // 2) == (6, 6, 9)),
    ("N-1 slices: 15 seen and 3 unseen classes", 15 + 3 == 18),
    ("18,000 images = 1,000 of each class", 18 * 1_000 == 18_000),
    ("1,500 answers of 150 people = 10 each", 150 * 10 == 1_500),
)
"""Numbers of the paper that others of its numbers give."""
