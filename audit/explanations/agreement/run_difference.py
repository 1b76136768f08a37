"""How much attributions differ between runs of one model, and which run differs least.

*Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods*,
appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from scipy.special import stdtrit

from audit.base.dag import FloatArray, IntArray
from audit.base.schemas import schema
from audit.engine.statistics.intervals import LEVEL
from audit.explanations.agreement.top_tokens import Compat
from audit.explanations.attributions import Attributions

MATCHED = ["id", "target", "method", "text"]
"""What a row of one run has in common with that of another."""


@dataclass(frozen=True, eq=False)
class RunDifference:
    """Average differences of the runs of each model; a run is a seed.

    Args:
        runs: ``model, seed``; ``difference, low, high``: the average pairwise difference (APD) and
            its 95 % interval over instances; ``per_token``, the same without the zeros that pad
            texts; ``rows`` (matched), ``instances``, ``longest`` (tokens of the longest matched
            text); ``median``: whether the run differs least, of equal ones the first.
        pairs: ``model, first, second`` (seeds) and ``difference`` (AD).
        ledger: ``rows`` of models with two runs or more, and those left out: ``one_run`` (rows of
            models with a single run), ``borrowed``, ``repeated`` and ``unmatched`` (not in all
            runs).
    """

    runs: pl.DataFrame
    pairs: pl.DataFrame
    ledger: Mapping[str, int]


RUNS = schema(
    ("model", pl.String),
    ("seed", pl.Int64),
    ("difference low high per_token", pl.Float64),
    ("rows instances longest", pl.Int64),
    ("median", pl.Boolean),
)
PAIRS = schema(("model", pl.String), ("first second", pl.Int64), ("difference", pl.Float64))


def measure_run_difference(attributions: Attributions, *, compat: Compat = None) -> RunDifference:
    """Measure the average pairwise difference of runs.

    ``AD(T1, T2) = sum of |T1 - T2| / (rows * longest)``, where T holds the scores of a run, one row
    per instance, target and method, filled up with zeros to the longest text. A run's APD is its
    mean AD to the other runs. Only rows that all runs of a model have, on the same tokens, are
    compared.

    Args:
        attributions: Scores of models; a model with one run gives nothing.
        compat: "kamp": a run is also compared with itself, as in the released code, which gives
            (m - 1) / m of the definition for m runs.
    """
    every = attributions.rows.select(*MATCHED, "model", "seed", "borrowed").with_row_index("row")
    own = every.filter(~pl.col("borrowed").fill_null(False))
    kept = own.unique([*MATCHED, "model", "seed"], keep="first", maintain_order=True)
    several = kept.filter(pl.col("seed").n_unique().over("model") > 1)
    runs, pairs, used = [], [], 0
    for (model,), rows in several.sort("model").group_by("model", maintain_order=True):
        seeds = rows["seed"].unique().sort()
        matched = rows.filter(pl.len().over(MATCHED) == len(seeds)).sort("seed", *MATCHED)
        used += len(matched)
        table, between = _model(attributions, matched, seeds, compat == "kamp")
        runs.append(table.with_columns(model=pl.lit(model, dtype=pl.String)).select(*RUNS))
        pairs.append(between.with_columns(model=pl.lit(model, dtype=pl.String)).select(*PAIRS))
    ledger = {
        "rows": len(every),
        "borrowed": len(every) - len(own),
        "repeated": len(own) - len(kept),
        "one_run": len(kept) - len(several),
        "unmatched": len(several) - used,
    }
    return RunDifference(
        pl.concat([pl.DataFrame(schema=RUNS), *runs]),
        pl.concat([pl.DataFrame(schema=PAIRS), *pairs]),
        ledger,
    )


def _model(
    attributions: Attributions, matched: pl.DataFrame, seeds: pl.Series, with_self: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables of one model; the matched rows are those of one seed after the other."""
    n_runs, n_rows = len(seeds), len(matched) // len(seeds)
    rows = matched["row"].to_numpy().astype(np.int64).reshape(n_runs, n_rows)
    lengths = attributions.scores.lengths[rows[0]] if n_rows else np.empty(0, np.int64)
    longest = int(lengths.max(initial=0))
    sums = np.zeros((n_runs, n_rows))
    between = []
    for a, b in combinations(range(n_runs), 2):
        apart = _distance(attributions, rows[a], rows[b])
        sums[a] += apart
        sums[b] += apart
        between.append((seeds[a], seeds[b], _quotient(apart.sum(), n_rows * longest)))
    others = n_runs if with_self else n_runs - 1
    instance = matched["id"][:n_rows].rank("dense").to_numpy().astype(np.int64)
    each = sums / (others * max(longest, 1))
    low, high = _interval(each, instance)
    value = np.array([_quotient(of.sum(), n_rows) for of in each])
    per_token = [_quotient(of.sum() / others, int(lengths.sum())) for of in sums]
    first_least = np.arange(n_runs) == (np.argmin(value) if n_rows else -1)
    table = pl.DataFrame(
        {
            "seed": seeds,
            "difference": value,
            "low": low,
            "high": high,
            "per_token": per_token,
            "rows": np.full(n_runs, n_rows),
            "instances": np.full(n_runs, len(np.unique(instance))),
            "longest": np.full(n_runs, longest),
            "median": first_least,
        }
    ).with_columns(pl.col("difference", "low", "high", "per_token").fill_nan(None))
    schema = {name: kind for name, kind in PAIRS.items() if name != "model"}
    pairs = pl.DataFrame(between, schema=schema, orient="row")
    return table, pairs.with_columns(pl.col("difference").fill_nan(None))


def _distance(attributions: Attributions, some: IntArray, others: IntArray) -> FloatArray:
    """Sum of the absolute differences of each row's scores, shape (n_rows,)."""
    first, second = attributions.scores.take(some), attributions.scores.take(others)
    apart = np.abs(first.values - second.values)
    return np.bincount(first.owner, apart, minlength=len(first)).astype(np.float64)


def _quotient(total: float, count: int) -> float:
    return total / count if count else float("nan")


def _interval(each: FloatArray, instance: IntArray) -> tuple[FloatArray, FloatArray]:
    """Interval of the mean over rows, whose rows of one instance belong together; NaN below two."""
    n_rows = each.shape[1]
    groups = int(instance.max(initial=0))
    if groups < 2:
        return np.full((2, len(each)), np.nan)[0], np.full(len(each), np.nan)
    mean = each.mean(axis=1, keepdims=True)
    sums = np.stack([np.bincount(instance - 1, of) for of in each - mean])
    spread = np.sqrt(groups / (groups - 1) * (sums**2).sum(axis=1)) / n_rows
    spread *= stdtrit(groups - 1, (1 + LEVEL) / 2)
    return mean[:, 0] - spread, mean[:, 0] + spread
