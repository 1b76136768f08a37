"""methods_disagree: two methods whose peaks agree hardly more than random sets of their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from audit.analyses.explanations.agreement import HUMAN
from audit.analyses.explanations.evidence import LEAST_INSTANCES
from audit.base.declared import Columns, count, estimate, mean, setting
from audit.checks.rows import Row, Rows, check_of_rows
from audit.engine.statistics.intervals import LEVEL
from audit.measure.measure import Measurements
from audit.results.findings import times_limit

LEAST_AGREEMENT = 0.05
"""Agreement above chance that is hardly any, where the 95 % interval is below it."""
POWER = 0.8


def _compared(measured: Measurements) -> Rows:
    """Two methods whose peaks agree hardly more than random sets of their sizes.

    Two methods choose tokens of the same texts by the peaks of their scores. Told are two whose
    [agreement](methods/agreement.md#agreement-of-attribution-methods) is above that of random sets
    of the same sizes by at most .05 at the upper end of the 95 % interval, on 11 instances or more,
    once for each model. Both are means over instances. Noise agrees by more than .5: the number by
    itself says little. `smallest_difference` is what a two-sided test at 5 % would find four times
    in five.

    **Severity.** Note: methods answer different questions, and nothing says which is right.
    """
    frames = measured.of("explanations").frames
    methods = frames["chosen"].filter(pl.col("method") != HUMAN)["method"].n_unique()
    pairs = frames["agreement"].filter(
        (pl.col("rule") == "dynamic")
        & (pl.col("second") != HUMAN)
        & (pl.col("n") >= LEAST_INSTANCES)
        & pl.col("above_high").is_not_null()
    )
    several = pairs["model"].n_unique() > 1
    few = pairs.filter(pl.col("above_high") <= LEAST_AGREEMENT)
    return Rows(
        len(pairs),
        "pairs of attribution methods on eleven instances or more, by model",
        [_disagreeing(row, several=several) for row in few.iter_rows(named=True)],
        "" if methods > 1 else "one method alone was given",
    )


def _disagreeing(row: Mapping[str, Any], *, several: bool) -> Row:
    """Two methods that agree hardly more than by chance; ``several``: on one of several models."""
    low, high, n = row["above_low"], row["above_high"], row["n"]
    two_sided, power = (float(stdtrit(n - 1, level)) for level in ((1 + LEVEL) / 2, POWER))
    smallest = (high - low) / 2 * (two_sided + power) / two_sided
    of_model = f", for {row['model']}" if several else ""
    return Row(
        key=(row["model"], row["first"], row["second"]),
        sentence=f"{row['first']} and {row['second']} choose the same tokens hardly more often "
        f"than by chance{of_model}[: their peaks have an agreement of {{agreement}}, and random "
        "sets of the same sizes {chance}, on {instances} instances].",
        evidence={
            "instances": n,
            "agreement": round(row["agreement"], 3),
            "chance": round(row["chance_sizes"], 3),
            "above_chance": round(row["above_chance"], 3),
            "above_low": round(low, 3),
            "above_high": round(high, 3),
            "smallest_difference": round(smallest, 3),
            "margin": LEAST_AGREEMENT,
        },
        curator="Find out which of the two follows the model: take the tokens that each puts first "
        "away, and leave the other one out.",
        data_user="Do not show either by itself as the reason for an answer.",
        strength=max(0.0, LEAST_AGREEMENT - row["above_chance"]),
        beyond=times_limit(high, LEAST_AGREEMENT, below=True),
        cases=np.empty(0, np.int64),
    )


METHODS_DISAGREE = check_of_rows(
    "methods_disagree",
    "Do two attribution methods agree hardly more than by chance?",
    _compared,
    reads="explanations",
    evidence=Columns(
        count("instances"),
        mean("agreement chance", n="instances"),
        mean("above_chance", n="instances", low=-1.0, ends="above_low above_high"),
        estimate("smallest_difference", n="instances", reason="it is half an interval"),
        setting("margin"),
    ),
    denominator="untold",
)
