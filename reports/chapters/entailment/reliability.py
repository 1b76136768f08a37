"""Whether scores are calibrated: the share of valid tuples by score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.chapters.entailment.detection import called
from reports.charts.curves import CURVES, reliability_spec
from reports.charts.svg import draw
from reports.words.entailment_words import ALL
from reports.words.parts import Figure, Key
from reports.words.shown_numbers import bounds, grouped, plain
from reports.words.table_specs import decimals, interval_below, numbers, table, texts
from reports.words.words import counted, more_in_table, number

SHAPES = {"circle": "dot", "diamond": "diamond", "square": "square", "triangle-up": "up",
          "cross": "cross", "triangle-down": "down"}  # fmt: skip
"""Shapes in the key, by marks of curves."""


def reliability(entailment: Mapping[str, Any]) -> Figure | None:
    """Curves of the models with scores, over all relations; None without any."""
    rows = entailment["detection_reliability"]
    several = len({row["relation"] for row in rows}) > 1
    own = [
        row
        for row in rows
        if (not several or row["relation"] == ALL) and row["valid_share"] is not None
    ]
    curves = grouped(own, ["model", "trained_on"])
    if not curves:
        return None
    return Figure(
        id="entailment-reliability",
        title="Are scores what they say?",
        drawing=draw(
            reliability_spec([list(map(_point, curve)) for curve in curves[: len(CURVES)]])
        ),
        alt=f"Curves of {counted(len(curves[: len(CURVES)]), 'model')}. {called(curves[0][0])}: "
        + ", ".join(
            f"{plain(row, 'valid_share', 2)} at a score of {plain(row, 'mean_score', 2)}"
            for row in curves[0]
        )
        + ".",
        caption="Tuples in ten classes of scores: the share that is valid over the mean score, "
        "with its 95% interval. On the dashed line, scores are shares; below it a model is surer "
        "of valid than it should be." + more_in_table(len(curves) - len(CURVES), "model"),
        key_title="Model",
        key=tuple(
            Key(role, called(curve[0]), SHAPES[shape])
            for curve, (role, shape) in zip(curves, CURVES, strict=False)
        ),
        table=table(
            "entailment-reliability-numbers",
            "Tuples by score",
            own,
            texts("Model", called),
            texts("Scores", lambda row: f"{number(row['from'])} to {number(row['to'])}"),
            decimals("Mean score", "mean_score"),
            interval_below(decimals("Valid, share", "valid_share")),
            numbers("Tuples", "n"),
        ),
    )


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("mean_score", "valid_share")} | bounds(row)
