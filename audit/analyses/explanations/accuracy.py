"""Do accurate models align with people's reasons: Delta-A beside accuracies (table 5)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.analyses.explanations.alignment import BY, delta_a
from audit.analyses.explanations.declared import TABLES
from audit.base.errors import InputError, first_cases
from audit.base.tables import open_table
from audit.data.records import records
from audit.engine.statistics.intervals import LEVEL

LEAST_POINTS = 3
"""Fewest points that a correlation is computed from: two always give 1 or -1."""
_ROLES = {"model": ("model",), "accuracy": ("accuracy", "acc"), "seed": ("seed",)}


def read_accuracies(path: Path, models: pl.Series) -> pl.DataFrame:
    """``model, accuracy``, the name of the file as ``data``, and ``seed`` if the file has one.

    Raises:
        InputError: If a value is no number in [0, 1], a model or a run of it is there twice, or the
            file has none of the ``models`` of the attributions.
        SchemaError: If a column is missing.
    """
    read = records(open_table(path), _ROLES, None, ("model", "accuracy")).frame
    table = read.with_columns(pl.col("accuracy").cast(pl.Float64, strict=False))
    keys = [name for name in ("model", "seed") if name in table]
    for required, wrong in (
        ("accuracies are numbers from 0 to 1", ~pl.col("accuracy").is_between(0, 1)),
        ("each model has one accuracy, or one for each seed", pl.struct(keys).is_duplicated()),
        (f"models are {first_cases(models.unique().sort())}", ~pl.col("model").is_in(models).any()),
    ):
        found = read.filter(table.select(wrong.fill_null(True)).to_series())
        if len(found):
            cases = pl.concat_str([*keys, "accuracy"], separator=" ", ignore_nulls=True)
            told = first_cases(found.select(cases).to_series())
            raise InputError(required, found=told, where=path)
    if "seed" in table:
        table = table.with_columns(pl.col("seed").cast(pl.Int64, strict=False))
    return table.with_columns(data=pl.lit(path.name))


def accuracy_table(aligned: pl.DataFrame, elsewhere: pl.DataFrame | None) -> pl.DataFrame:
    """The table ``accuracy``: Pearson's correlation of Delta-A with accuracy, by oracle and subset.

    A point is a model and seed, or a model where other data do not say the seed. The accuracy of a
    run is the share of its examples that it gets right, of those whose truth is known.
    """
    known = aligned.drop_nulls(["gold", "predicted"])
    each = known.unique(["example", "model", "seed"], keep="first", maintain_order=True)
    own = each.group_by("model", "seed").agg(accuracy=pl.col("right").mean())
    lines, names = list[dict[str, object]](), ["method", "oracle", "subset"]
    for accuracies in [own] if elsewhere is None else [own, elsewhere]:
        of = [name for name in ("model", "seed") if name in accuracies]
        deltas = delta_a(aligned, [*BY, *of[1:]])
        points = deltas.join(accuracies, on=of, how="left").sort(*names, *of)
        for key, part in points.group_by(names, maintain_order=True):
            here = part.drop_nulls(["delta_a", "accuracy"])
            data = accuracies["data"].first() if "data" in accuracies else None
            counts = {"n": len(here), "models": here["model"].n_unique(), "data": data}
            lines.append(dict(zip(names, key, strict=True)) | counts | _fit(here))
    return TABLES["accuracy"].frame(lines)


def _fit(points: pl.DataFrame) -> dict[str, float | str]:
    n = len(points)
    if n < LEAST_POINTS:
        return {"absent": f"{n} points, and {LEAST_POINTS} are needed"}
    for name, what in (("delta_a", "Delta-A"), ("accuracy", "the accuracy")):
        if points[name].n_unique() == 1:
            return {"absent": f"{what} is the same at all {n} points"}
    from scipy.stats import pearsonr

    found = pearsonr(points["delta_a"].to_numpy(), points["accuracy"].to_numpy())
    low, high = found.confidence_interval(LEVEL)
    return {"r": float(found.statistic), "low": low, "high": high, "p": float(found.pvalue)}
