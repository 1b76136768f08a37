"""How much attributions differ between runs of one model, and which run differs least.

*Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods*,
appendix A.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
from scipy.special import stdtrit

from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.declared import TABLES
from audit.analyses.explanations.top_tokens import Compat
from audit.base.dag import FloatArray, IntArray
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL

MATCHED = ["id", "target", "method", "text"]
"""What a row of one run has in common with that of another."""


def run_differences(attributions: Attributions, compat: Compat = None) -> pl.DataFrame:
    """Measure the average pairwise difference (APD) of runs, which are seeds.

    ``AD(T1, T2) = sum of |T1 - T2| / (rows * longest)``, where T holds the scores of a run, one row
    per instance, target and method, filled up with zeros to the longest text. A run's APD is its
    mean AD to the other runs. Only rows that all runs of a model have, on the same tokens, are
    compared.

    Args:
        attributions: Scores of models; a model with one run gives nothing.
        compat: "kamp": a run is also compared with itself, as in the released code, which gives
            (m - 1) / m of the definition for m runs.

    Returns:
        The table ``runs``: ``difference, low, high``, the APD and its 95 % interval over instances;
        ``per_token``, the same without the zeros that pad texts; matched ``rows``, and the tokens
        of the ``longest`` matched text; ``median``: whether the run
        differs least, of equal ones the first.
    """
    own = attributions.rows.with_row_index("row").filter(~pl.col("borrowed").fill_null(False))
    kept = own.unique([*MATCHED, "model", "seed"], keep="first", maintain_order=True)
    several = kept.filter(pl.col("seed").n_unique().over("model") > 1)
    tables = [TABLES["runs"].frame()]
    for (model,), rows in several.sort("model").group_by("model", maintain_order=True):
        seeds = rows["seed"].unique().sort()
        matched = rows.filter(pl.len().over(MATCHED) == len(seeds)).sort("seed", *MATCHED)
        table = _of_model(attributions, matched, seeds, compat == "kamp")
        tables.append(table.with_columns(model=pl.lit(model)).pipe(TABLES["runs"].cast))
    return pl.concat(tables).with_columns(pl.col(pl.Float64).fill_nan(None))


def _of_model(
    attributions: Attributions, matched: pl.DataFrame, seeds: pl.Series, with_self: bool
) -> pl.DataFrame:
    """The runs of one model; the matched rows are those of one seed after the other."""
    runs, n = len(seeds), len(matched) // len(seeds)
    rows = matched["row"].to_numpy().astype(np.int64).reshape(runs, n)
    scores = [attributions.scores.take(own) for own in rows]
    sums = np.zeros((runs, n))
    for a, b in combinations(range(runs), 2):
        apart = np.abs(scores[a].values - scores[b].values)
        of_rows = np.bincount(scores[a].owner, apart, minlength=n)
        sums[a] += of_rows
        sums[b] += of_rows
    others, tokens = runs if with_self else runs - 1, scores[0].lengths
    instance = matched["id"][:n].rank("dense").to_numpy().astype(np.int64)
    each = sums / (others * max(int(tokens.max(initial=0)), 1))
    value = ratio(each.sum(axis=1), np.array(n))
    reach = _reach(each - value[:, None], instance)
    return pl.DataFrame(
        {
            "seed": seeds,
            "difference": value,
            "low": value - reach,
            "high": value + reach,
            "per_token": ratio(sums.sum(axis=1) / others, tokens.sum()),
            "rows": np.full(runs, n),
            "instances": np.full(runs, len(np.unique(instance))),
            "longest": np.full(runs, int(tokens.max(initial=0))),
            "median": np.arange(runs) == (np.argmin(value) if n else -1),
        }
    )


def _reach(residual: FloatArray, instance: IntArray) -> FloatArray:
    """Half the interval of means over rows, whose instances are clusters; NaN below two."""
    groups = int(instance.max(initial=0))
    if groups < 2:
        return np.full(len(residual), np.nan)
    sums = np.stack([np.bincount(instance - 1, of) for of in residual])
    error = np.sqrt(groups / (groups - 1) * (sums**2).sum(axis=1)) / residual.shape[1]
    reach: FloatArray = error * stdtrit(groups - 1, (1 + LEVEL) / 2)
    return reach
