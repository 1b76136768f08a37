"""The statements of "Unit Testing for Concepts in Neural Networks", and whether they come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean

import polars as pl

from audit.concepts.measurements import ConceptMeasurements
from benchmarks.concept_encoders import Coloured, Encoder

NEAR_CHANCE = 0.05
"""How far from chance an accuracy still is at chance."""


@dataclass(frozen=True)
class Figures:
    """What is computed of one network for one statement.

    Args:
        shown: Figures by name, as the page shows them.
        holds: Whether the statement is true of this network.
    """

    shown: dict[str, float]
    holds: bool


@dataclass(frozen=True)
class Statement:
    """One statement of the paper about encoders of this kind.

    Args:
        section: Where it stands.
        says: What it says.
        figures: What it comes to for one network.
    """

    section: str
    says: str
    figures: Callable[[ConceptMeasurements], Figures]


def _parts(measured: ConceptMeasurements, test: str, *where: pl.Expr) -> pl.DataFrame:
    """The parts of a test as the paper runs it."""
    paper = pl.col("ablation").is_null() | (
        (pl.col("ablation") == "inlp") & pl.col("probe").is_in(["transfer", "predict"])
    )
    return measured.parts.filter(pl.col("test") == test, paper, *where)


def _accuracy(measured: ConceptMeasurements, test: str, *where: pl.Expr) -> float:
    """Mean accuracy over parts of a test."""
    return float(_parts(measured, test, *where)["accuracy"].mean())  # type: ignore[arg-type]


def _passed(measured: ConceptMeasurements, test: str, *where: pl.Expr) -> float:
    """Share of parts of a test that pass."""
    return float((_parts(measured, test, *where)["verdict"] == "pass").mean())  # type: ignore[arg-type]


_ABLATED = pl.col("read") == pl.col("dimension")


def _grounded(measured: ConceptMeasurements) -> Figures:
    accuracy = _accuracy(measured, "is_grounded")
    return Figures({"right": accuracy}, accuracy >= 0.95)


def _seen(measured: ConceptMeasurements) -> Figures:
    seen = measured.controls.filter(pl.col("judged") == "seen")
    means = seen.group_by("dimension", maintain_order=True).agg(pl.col("linear").mean())
    shown = dict(means.iter_rows())
    return Figures(shown, min(shown.values()) > 0.99)


def _types(measured: ConceptMeasurements) -> Figures:
    one, rest = (
        _accuracy(measured, "is_token_of_type", pl.col("seen") == seen)
        for seen in ("1 slice", "N-1 slices")
    )
    return Figures({"1 slice": one, "N-1 slices": rest}, rest > one > 0.5)


def _modular(measured: ConceptMeasurements) -> Figures:
    shown = {
        "ablated": _accuracy(measured, "is_modular", _ABLATED),
        "others": _accuracy(measured, "is_modular", ~_ABLATED),
        "parts that pass": _passed(measured, "is_modular"),
    }
    return Figures(shown, shown["parts that pass"] > 0.5)


def _causal(measured: ConceptMeasurements) -> Figures:
    ablated = _parts(measured, "is_causal", _ABLATED)
    by_slices = ablated.group_by("seen", maintain_order=True).agg(pl.col("accuracy").mean())
    shown = dict(by_slices.iter_rows())
    above = (ablated["accuracy"] > ablated["chance"] + NEAR_CHANCE).all()
    chance = float(ablated["chance"].mean())  # type: ignore[arg-type]
    return Figures({**shown, "chance": chance}, bool(above))


def _iterations(measured: ConceptMeasurements) -> Figures:
    curve = measured.iterations.filter(
        pl.col("ablation") == "inlp", pl.col("probe") == "transfer", ~_ABLATED
    )
    means = curve.group_by("iteration").agg(pl.col("accuracy").mean()).sort("iteration")
    first, last = means["accuracy"][1], means["accuracy"][-1]
    name = f"after {means['iteration'][-1]}"
    return Figures({"others after 1": first, name: last}, last < first - NEAR_CHANCE)


def _curve(measured: ConceptMeasurements, measure: str) -> list[float]:
    own = measured.layer_curves.filter(pl.col("measure") == measure).sort("place")
    return own.group_by("place", maintain_order=True).agg(pl.col("value").min())["value"].to_list()


def _composite_last(measured: ConceptMeasurements) -> Figures:
    worst, direct = _curve(measured, "probe"), _curve(measured, "direct")
    gaps = [one - whole for one, whole in zip(worst, direct, strict=True)]
    return Figures({"least gap": min(gaps)}, min(gaps) > -NEAR_CHANCE)


def _composed(measured: ConceptMeasurements) -> Figures:
    direct, composed = _curve(measured, "direct"), _curve(measured, "composed")
    gap = mean(one - other for one, other in zip(direct, composed, strict=True))
    return Figures({"direct - composed": gap}, -NEAR_CHANCE < gap < 0.15)


def _mutual(measured: ConceptMeasurements) -> Figures:
    curve = _curve(measured, "nmi")
    shown = {"first layer": curve[0], "last but one": curve[-2], "last": curve[-1]}
    return Figures(shown, max(curve[:-1]) < 0.5 < curve[-1])


STATEMENTS: tuple[Statement, ...] = (
    Statement("5.2", "Minimal pairs of the default images: about 98 % right.", _grounded),
    Statement("6.2", "Probes of concepts on seen classes: above 99 %.", _seen),
    Statement("6.2", "On unseen classes about 75 % with 1 slice, more with N-1 slices.", _types),
    Statement("7.2", "`is_modular` passes for the most part.", _modular),
    Statement("8.2", "`is_causal` fails: along the ablated dimension far above chance.", _causal),
    Statement("8.2", "More iterations of INLP degrade all concepts.", _iterations),
    Statement(
        "9.2", "Composite concepts are read only where their constituents are.", _composite_last
    ),
    Statement("9.2", "Direct answers are as good as composed ones, or slightly better.", _composed),
    Statement("9.3", "NMI of direct and composed answers is low until the last layer.", _mutual),
)
"""Those about all five encoders of the paper, so about the two that learned from its images too."""

IDENTITIES: tuple[tuple[str, bool], ...] = (
    ("18 classes = 3 layouts x 3 shapes x 2 strokes", 3 * 3 * 2 == 18),
    ("RAND = 1/18 = 5.6 %", round(100 / 18, 1) == 5.6),
    ("6 / 6 / 9 slices = 18/3, 18/3, 18/2", (18 // 3, 18 // 3, 18 // 2) == (6, 6, 9)),
    ("N-1 slices: 15 seen and 3 unseen classes", 15 + 3 == 18),
    ("18,000 images = 1,000 of each class", 18 * 1_000 == 18_000),
    ("1,500 answers of 150 people = 10 each", 150 * 10 == 1_500),
)
"""Numbers of the paper that others of its numbers give."""
PRETRAINED: tuple[tuple[str, str], ...] = (
    ("5.2", "With a colour that is right in 99 %, pretrained models name 75 % of minimal pairs."),
    ("5.3", "With one that is always right they still name about half of them."),
    ("5.3", "Only in `is_grounded` do pretrained models do better than those from scratch."),
    ("9.3", "ViT by CLIP may be an exception to low NMI in early layers."),
)
"""Statements about encoders whose weights come from ImageNet and CLIP."""


def over_networks(statement: Statement, networks: Sequence[Encoder]) -> tuple[str, str]:
    """The figures of networks of one kind, mean and range, and of how many the statement holds."""
    each = [statement.figures(one.measured) for one in networks]
    texts = [f"{name} {_spread([one.shown[name] for one in each])}" for name in each[0].shown]
    return ", ".join(texts), f"{sum(one.holds for one in each)} of {len(each)}"


def by_correlation(networks: Sequence[Coloured]) -> list[tuple[str, str, str]]:
    """Kind, correlation and share of minimal pairs that are named rightly."""
    keys = sorted({(one.kind, one.correlation) for one in networks})
    return [
        (
            kind,
            f"{correlation:.1%}",
            _spread(
                [o.grounded for o in networks if (o.kind, o.correlation) == (kind, correlation)]
            ),
        )
        for kind, correlation in keys
    ]


def _spread(values: Sequence[float]) -> str:
    middle = f"{mean(values):.2f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.2f} to {max(values):.2f})"
