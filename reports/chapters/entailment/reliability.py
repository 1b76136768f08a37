"""Whether scores are calibrated: the share of valid tuples by score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.chapters.entailment.detection import called
from reports.chapters.shown_numbers import Rows, bounds, count, plain, ranged
from reports.charts.concept_charts import CURVES
from reports.charts.entailment_charts import reliability_spec
from reports.charts.svg import draw
from reports.words.entailment_words import ALL
from reports.words.parts import Figure, Key, Table, column
from reports.words.words import counted, number

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
    models = list(dict.fromkeys((row["model"], row["trained_on"]) for row in own))
    if not models:
        return None
    curves = [
        [row for row in own if (row["model"], row["trained_on"]) == model] for model in models
    ]
    rest = len(models) - len(CURVES)
    return Figure(
        id="entailment-reliability",
        title="Are scores what they say?",
        drawing=draw(
            reliability_spec([list(map(_point, curve)) for curve in curves[: len(CURVES)]])
        ),
        alt=f"Curves of {counted(len(curves[: len(CURVES)]), 'model')}. {called(models[0])}: "
        + ", ".join(
            f"{plain(row, 'valid_share', 2)} at a score of {plain(row, 'mean_score', 2)}"
            for row in curves[0]
        )
        + ".",
        caption="Tuples in ten classes of scores: the share that is valid over the mean score, "
        "with its 95% interval. On the dashed line, scores are shares; below it a model is surer "
        "of valid than it should be."
        + (f" The table has {counted(rest, 'model')} more." if rest > 0 else ""),
        key_title="Model",
        key=tuple(
            Key(role, called(model), SHAPES[shape])
            for model, (role, shape) in zip(models, CURVES, strict=False)
        ),
        table=_table(own),
    )


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("mean_score", "valid_share")} | bounds(row)


def _table(rows: Rows) -> Table:
    return Table(
        id="entailment-reliability-numbers",
        caption="Tuples by score",
        columns=column("Model", "Scores", "Mean score", "Valid, share", "Tuples", numeric="  nnn"),
        rows=tuple(
            (
                called((row["model"], row["trained_on"])),
                f"{number(row['from'])} to {number(row['to'])}",
                plain(row, "mean_score"),
                ranged(plain(row, "valid_share"), row),
                count(row),
            )
            for row in rows
        ),
    )
