"""Whether accurate models are better aligned (*Importance Alignment*, section 5)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtr

from audit.base.errors import InputError, first_cases
from audit.base.schemas import schema
from audit.data.records import records
from audit.data.sources import File
from audit.engine.statistics.intervals import LEVEL
from audit.explanations.attributions import Attributions
from audit.explanations.importance.oracles import Informed, judged_rows

LEAST_POINTS = 3
"""Fewest points that a correlation is computed from: two always give 1 or -1."""

CORRELATION = schema(
    ("method oracle subset data", pl.String),
    ("n models", pl.Int64),
    ("r low high p", pl.Float64),
    ("absent", pl.String),
)


def correlation_p(r: float, n: int) -> float:
    """Two-sided p value of Pearson's correlation of n points, by Student's t.

    >>> round(correlation_p(0.39, 40), 2)
    0.01
    """
    freedom = n - 2
    if abs(r) >= 1:
        return 0.0
    return float(2 * stdtr(freedom, -abs(r) * np.sqrt(freedom / (1 - r * r))))


def correlation_interval(r: float, n: int) -> tuple[float, float]:
    """Interval of Pearson's correlation of n points, by Fisher's transform; (-1, 1) up to 3."""
    if n <= LEAST_POINTS or abs(r) >= 1:
        return (-1.0, 1.0) if n <= LEAST_POINTS else (r, r)
    half = float(ndtri((1 + LEVEL) / 2)) / np.sqrt(n - 3)
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))


def accuracies(attributions: Attributions, informed: Informed | None = None) -> pl.DataFrame:
    """Share of the examples in the attributions that each model gets right, by seed.

    Returns:
        ``model, seed, examples, accuracy``; examples whose truth or prediction is unknown are left
        out.
    """
    rows = attributions.rows[judged_rows(attributions, informed or {})]
    known = rows.filter(pl.col("gold").is_not_null() & pl.col("predicted").is_not_null())
    return (
        known.unique(["id", "target", "model", "seed"], keep="first", maintain_order=True)
        .group_by("model", "seed")
        .agg(
            examples=pl.len().cast(pl.Int64),
            accuracy=(pl.col("gold") == pl.col("predicted")).mean(),
        )
        .sort("model", "seed")
    )


_ROLES = {"model": ("model",), "accuracy": ("accuracy", "acc"), "seed": ("seed",)}


def read_accuracies(path: Path, attributions: Attributions) -> pl.DataFrame:
    """Accuracies of models on other data, from a file with ``model, accuracy`` and maybe ``seed``.

    Returns:
        ``model, accuracy, data``, which is the name of the file, and ``seed`` if it has one.

    Raises:
        InputError: If a value is no number in [0, 1], a model or a run of it is there twice, or the
            file has none of the attributions' models.
        SchemaError: If a column is missing.
    """
    read = records(File(path), _ROLES, None, ("model", "accuracy")).frame
    table = read.with_columns(pl.col("accuracy").cast(pl.Float64, strict=False))
    keys = [name for name in ("model", "seed") if name in table]
    for required, wrong in (
        ("accuracies are numbers from 0 to 1", ~pl.col("accuracy").is_between(0, 1)),
        ("each model has one accuracy, or one for each seed", pl.struct(keys).is_duplicated()),
    ):
        found = read.filter(table.select(wrong.fill_null(True)).to_series())
        if len(found):
            cases = found.select(
                pl.concat_str([*keys, "accuracy"], separator=" ", ignore_nulls=True)
            )
            raise InputError(required, found=first_cases(cases.to_series()), where=path)
    known = attributions.rows["model"].unique()
    if not table["model"].is_in(known.implode()).any():
        raise InputError(
            f"accuracies of the models {first_cases(known.sort())} are required",
            found=first_cases(table["model"]),
            where=path,
        )
    if "seed" in table:
        table = table.with_columns(pl.col("seed").cast(attributions.rows.schema["seed"]))
    return table.with_columns(data=pl.lit(path.name))


def correlate_with_accuracy(deltas: pl.DataFrame, accuracy: pl.DataFrame) -> pl.DataFrame:
    """Pearson's correlation of Delta-A with accuracy, a point per model, and seed if there are.

    Seeds of one model are not independent of each other, so that p is too small where there are
    several: ``models`` is given with ``n``.

    Args:
        deltas: ``method, model, oracle, subset, delta_a``, and ``seed`` where each seed is a point,
            as `alignment_by_seed` gives them.
        accuracy: ``model, accuracy``, and ``seed`` if it is known by seed.

    Returns:
        Per method, oracle and subset: ``n`` points of so many ``models``, ``r`` with ``low``,
        ``high`` and ``p``, or, in ``absent``, why there is none; ``data`` is null.
    """
    shared = [name for name in ("model", "seed") if name in deltas and name in accuracy]
    points = deltas.join(
        accuracy.select(*shared, "accuracy"), on=shared, nulls_equal=True, how="left"
    ).sort("method", "oracle", "subset", *(name for name in ("model", "seed") if name in deltas))
    lines = []
    for key, part in points.group_by("method", "oracle", "subset", maintain_order=True):
        known = part.drop_nulls(["delta_a", "accuracy"])
        line = dict(zip(("method", "oracle", "subset"), key, strict=True))
        lines.append(line | {"n": len(known), "models": known["model"].n_unique()} | _fit(known))
    return pl.DataFrame(lines, schema=CORRELATION)


def _fit(points: pl.DataFrame) -> dict[str, float | str]:
    n = len(points)
    if n < LEAST_POINTS:
        return {"absent": f"{n} points, and {LEAST_POINTS} are needed"}
    for name, what in (("delta_a", "Delta-A"), ("accuracy", "the accuracy")):
        if points[name].n_unique() == 1:
            return {"absent": f"{what} is the same at all {n} points"}
    r = float(np.corrcoef(points["delta_a"].to_numpy(), points["accuracy"].to_numpy())[0, 1])
    low, high = correlation_interval(r, n)
    return {"r": r, "low": low, "high": high, "p": correlation_p(r, n)}
