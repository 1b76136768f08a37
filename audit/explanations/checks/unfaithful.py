"""unfaithful: attribution methods whose first tokens matter no more to the model than others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.checks.check import Check, Outcome
from audit.disclosure import coarse, rounded
from audit.explanations.checks.methods_disagree import bounds_above
from audit.explanations.faithful_rows import HIGHER
from audit.explanations.measure import ExplanationMeasurements
from audit.explanations.node_results import LEAST_INSTANCES
from audit.measure.measure import Measurements
from audit.results.findings import INSTANCES, Column, Finding, times_limit

_NAME = "unfaithful"
MARGIN = 0.01
"""Comprehensiveness above that of random tokens counts as none if its interval is below this."""


def run(measured: Measurements) -> Outcome:
    """Report methods whose first tokens change the output no more than tokens drawn at random."""
    explained = measured.of(ExplanationMeasurements)
    means = explained.faithfulness
    if means is None:
        return Outcome(0, "attribution methods, by model", not_applicable=_WITHOUT)
    tested = means.filter((pl.col("metric") == HIGHER) & (pl.col("n") >= LEAST_INSTANCES))
    return Outcome(
        denominator=len(tested),
        denominator_unit="attribution methods, by model",
        findings=tuple(
            _finding(explained, row)
            for row in tested.filter(pl.col("above_high") <= MARGIN).iter_rows(named=True)
        ),
        not_applicable="" if len(tested) else "no method was tried on ten instances",
    )


_WITHOUT = "no faithfulness was given; --faithfulness names a file with it"


def _finding(explained: ExplanationMeasurements, row: Mapping[str, Any]) -> Finding:
    of_model = f" of {row['model']}" if explained.several_models else ""
    n = row["n"], explained.instances
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(),
        statement=f"The tokens that {row['method']} ranks first matter no more to the "
        f"answers{of_model} than tokens drawn at random: without them the output falls "
        "by {fall}, without random ones by {random_fall}, on {instances} instances.",
        evidence={
            "instances": coarse(*n),
            "fall": rounded(row["value"], *n),
            "random_fall": rounded(row["random"], *n),
            "above_random": rounded(row["above_random"], *n),
            **bounds_above(row, MARGIN, explained.instances),
        },
        curator="Leave this method out of what people are shown, or find out why it does not "
        "follow the model: a wrong layer, a wrong baseline, or scores of another model.",
        data_user="Do not read these scores as the model’s reasons.",
        touched=row["n"],
        strength=max(0.0, MARGIN - row["above_random"]),
        beyond=times_limit(row["above_high"], MARGIN, below=True),
        key=(row["model"], row["method"]),
    )


CHECK = Check(
    _NAME,
    "Are a method's top tokens no more important to the model than random ones?",
    run,
    reads=ExplanationMeasurements,
    columns=(
        Column("Method", "sentence"),
        Column("Output falls by", "fall"),
        Column("Without random tokens", "random_fall"),
        Column("Difference", "above_random", low="above_low", high="above_high"),
        INSTANCES,
    ),
)
