"""methods_disagree: attribution methods that choose the same tokens hardly more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.checks.check import Check, Outcome
from audit.disclosure import Quantity, coarse, rounded
from audit.engine.statistics.means import smallest_difference
from audit.explanations.agreement.agreement_values import HUMAN
from audit.explanations.measure import ExplanationMeasurements
from audit.explanations.node_results import LEAST_INSTANCES
from audit.measure.measure import Measurements
from audit.results.findings import INSTANCES, Column, Finding, times_limit

_NAME = "methods_disagree"
MARGIN = 0.05
"""Agreement above chance that is hardly any, where the 95 % interval is below it."""


def run(measured: Measurements) -> Outcome:
    """Report pairs of methods whose peaks agree hardly more than those of permuted scores."""
    explained = measured.of(ExplanationMeasurements)
    pairs = explained.agreement.pairs.filter(
        (pl.col("rule") == "dynamic")
        & (pl.col("second") != HUMAN)
        & (pl.col("n") >= LEAST_INSTANCES)
        & pl.col("above_high").is_not_null()
    )
    return Outcome(
        denominator=len(pairs),
        denominator_unit="pairs of attribution methods on ten instances or more, by model",
        findings=tuple(
            _finding(explained, row)
            for row in pairs.filter(pl.col("above_high") <= MARGIN).iter_rows(named=True)
        ),
        not_applicable="" if len(pairs) else "no two methods both explain ten instances",
    )


def _finding(explained: ExplanationMeasurements, row: Mapping[str, Any]) -> Finding:
    of_model = f", for {row['model']}" if explained.several_models else ""
    n = row["n"], explained.instances
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(),
        statement=f"{row['first']} and {row['second']} choose the same tokens hardly more often "
        f"than by chance{of_model}: their peaks have an agreement of {{agreement}}, and "
        "those of permuted scores {chance}, on {instances} instances.",
        evidence={
            "instances": coarse(*n),
            "agreement": rounded(row["agreement"], *n),
            "chance": rounded(row["chance_permuted"], *n),
            "above_chance": rounded(row["above_chance"], *n),
            **bounds_above(row, MARGIN, explained.instances),
        },
        curator="Find out which of the two follows the model: compare their faithfulness, and "
        "leave the other one out.",
        data_user="Do not show either by itself as the reason for an answer.",
        touched=row["n"],
        strength=max(0.0, MARGIN - row["above_chance"]),
        beyond=times_limit(row["above_high"], MARGIN, below=True),
        key=(row["model"], row["first"], row["second"]),
    )


def bounds_above(row: Mapping[str, Any], margin: float, total: int) -> dict[str, Quantity]:
    """By how much a mean of ``n`` instances is above chance for sure, as evidence."""
    low, high, n = row["above_low"], row["above_high"], row["n"]
    return {
        "above_low": rounded(low, n, total),
        "above_high": rounded(high, n, total),
        "smallest_difference": rounded(smallest_difference(low, high, n), n, total),
        "margin": Quantity(margin),
    }


CHECK = Check(
    _NAME,
    "Do two attribution methods agree hardly more than by chance?",
    run,
    reads=ExplanationMeasurements,
    columns=(
        Column("Methods", "sentence"),
        Column("Agreement", "agreement"),
        Column("By chance", "chance"),
        Column("Difference", "above_chance", low="above_low", high="above_high"),
        INSTANCES,
    ),
)
