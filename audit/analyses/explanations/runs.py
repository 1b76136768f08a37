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
from audit.analyses.explanations.lists import Lists, sums
from audit.analyses.explanations.top_tokens import Compat
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL

MATCHED = ["id", "target", "method", "text"]
"""What a row of one run has in common with that of another."""


def run_differences(attributions: Attributions, compat: Compat = None) -> pl.DataFrame:
    """The table ``runs``: the average pairwise difference (APD) of runs, which are seeds.

    ``AD(T1, T2) = sum of |T1 - T2| / (rows * longest)``, where T holds the scores of a run, one row
    per instance, target and method, filled up with zeros to the longest text. A run's APD is its
    mean AD to the other runs, with an interval over instances; ``per_token`` is the same without
    the zeros, ``median`` whether the run differs least, of equal ones the first. Only rows that all
    runs of a model have, on the same tokens, are compared.

    Args:
        attributions: Scores of models; a model with one run gives nothing.
        compat: "kamp": a run is also compared with itself, as in the released code, which gives
            (m - 1) / m of the definition for m runs.
    """
    own = attributions.own_rows()
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
    scores = [attributions.scores.take(own) for own in matched["row"].to_numpy().reshape(runs, n)]
    apart = np.zeros((runs, n))
    for a, b in combinations(range(runs), 2):
        of_rows = sums(Lists(np.abs(scores[a].values - scores[b].values), scores[a].starts))
        apart[[a, b]] += of_rows
    others, tokens = runs if with_self else runs - 1, scores[0].lengths
    longest = int(tokens.max(initial=0))
    instance = matched["id"][:n].rank("dense").to_numpy().astype(np.int64)
    groups = int(instance.max(initial=0))
    each = apart / (others * max(longest, 1))
    value = ratio(each.sum(axis=1), np.array(n))
    reach = np.full(runs, np.nan)
    if groups > 1:
        of_instance = np.stack([np.bincount(instance - 1, of) for of in each - value[:, None]])
        error = np.sqrt(groups / (groups - 1) * (of_instance**2).sum(axis=1)) / n
        reach = error * stdtrit(groups - 1, (1 + LEVEL) / 2)
    return pl.DataFrame({"seed": seeds, "difference": value}).with_columns(
        low=value - reach,
        high=value + reach,
        per_token=ratio(apart.sum(axis=1) / others, tokens.sum()),
        rows=n,
        instances=groups,
        longest=longest,
        median=np.arange(runs) == (np.argmin(value) if n else -1),
    )
