"""Whether scores depend on the model: what tokens change in its output, and a shuffled model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import first_bytes, refuse_pickle
from audit.base.schemas import schema
from audit.data.json_lines import objects_on
from audit.data.sources import source_of
from audit.engine.statistics.means import clusters_by, instance_means
from audit.explanations.attributions import Attributions
from audit.explanations.lists import Lists

HIGHER = "comprehensiveness"
LOWER = ("sufficiency", "deletion_area")
"""Measures for which a low value is faithful."""
METRICS = (HIGHER, *LOWER)
KEYS = ["id", "target", "method", "model", "seed"]


def read_faithfulness(path: Path, attributions: Attributions) -> pl.DataFrame:
    """Read faithfulness, one row per row of attributions.

    Args:
        path: JSON lines or Parquet: ``id, target, method, model, seed``, and measures of `METRICS`,
            each beside ``random_`` and its name: the same for tokens in random order.
        attributions: The rows that it is of.

    Returns:
        `KEYS`, ``row`` (place in the attributions), the measures; rows that attributions lack are
        left out.

    Raises:
        InputError: If no row fits, or a row is there twice.
        SchemaError: If a column is missing, or has a wrong type.
    """
    rows = _rows(path)
    needed = [name for metric in METRICS for name in (metric, f"random_{metric}")]
    lacking = [name for name in (*KEYS[:3], *needed) if name not in rows.columns]
    if lacking:
        raise SchemaError(
            f"the columns {', '.join((*KEYS[:3], *needed))} are required",
            found=f"no {first_cases(lacking)} among {first_cases(rows.columns)}",
            where=path,
        )
    defaults = {"model": pl.lit("model"), "seed": pl.lit(0)}
    rows = rows.with_columns(
        **{name: value for name, value in defaults.items() if name not in rows.columns}
    )
    types = {name: attributions.rows.schema[name] for name in KEYS}
    types |= dict.fromkeys(needed, pl.Float64())
    try:
        rows = rows.select(pl.col(name).cast(dtype) for name, dtype in types.items())
    except pl.exceptions.PolarsError:
        raise SchemaError(
            "ids, targets, methods and models must be text, seeds whole numbers, measures numbers",
            found=", ".join(f"{name} of type {rows.schema[name]}" for name in types),
            where=path,
        ) from None
    if rows.select(KEYS).is_duplicated().any():
        raise InputError(
            "each row of faithfulness may occur only once", found="repeated", where=path
        )
    own = attributions.rows.select(KEYS).with_row_index("row")
    joined = own.join(rows, on=KEYS).sort("row")
    if joined.is_empty():
        raise InputError(
            "faithfulness of the attributions that are audited is required",
            found="no row with the id, target, method, model and seed of one of them",
            where=path,
        )
    return joined


def _rows(path: Path) -> pl.DataFrame:
    refuse_pickle(path, first_bytes(path), "faithfulness")
    source = source_of(path)
    if not source.is_text:
        return source.table()
    lines = [line for _, line in objects_on(source.lines())]
    try:
        return pl.DataFrame(lines, infer_schema_length=None)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise SchemaError(
            "each key must have values of one type", found="values of several types", where=path
        ) from None


MEANS = schema(
    ("method model metric", pl.String),
    ("value low high random above_random above_low above_high", pl.Float64),
    ("n", pl.Int64),
)


def faithfulness_means(rows: pl.DataFrame) -> pl.DataFrame:
    """Means over instances by method, model and metric, beside tokens in random order.

    Returns:
        Columns `MEANS`; ``above_random`` with its 95 % interval is positive where the method is
        more faithful than a random order.
    """
    keys, grouped = clusters_by(rows, ["model", "method"])
    value = rows.select(METRICS).to_numpy()
    random = rows.select(f"random_{metric}" for metric in METRICS).to_numpy()
    sign = np.array([1.0 if metric == HIGHER else -1.0 for metric in METRICS])
    own, base, above = (
        instance_means(of, grouped) for of in (value, random, sign * (value - random))
    )
    tables = [
        keys.with_columns(
            metric=pl.lit(metric),
            **own.of(column).interval("value", "low", "high"),
            random=pl.Series(base.value[:, column]).fill_nan(None),
            **above.of(column).interval("above_random", "above_low", "above_high"),
            n=above.n[:, column],
        )
        for column, metric in enumerate(METRICS)
    ]
    return pl.concat(tables).select(pl.col(name).cast(kind) for name, kind in MEANS.items())


RANDOMISED = schema(
    ("method model", pl.String),
    ("correlation low high absolute_correlation absolute_low absolute_high", pl.Float64),
    ("n rows undefined", pl.Int64),
)
"""Columns of `randomised_means`."""


def rank_correlations(trained: Attributions, random: Attributions) -> pl.DataFrame:
    """Spearman correlation of a model's scores with those of the randomised model, per row.

    A method whose scores stay alike does not depend on what the model has learned ("Sanity Checks
    for Saliency Maps", Adebayo et al.).

    Args:
        trained: Attributions of the model.
        random: Those of the randomised one; rows are matched by `KEYS`.

    Returns:
        A row for each row of ``trained`` that ``random`` has too: ``row`` (its place in
        ``trained``), `KEYS`, ``correlation`` of the signed scores, and ``absolute_correlation`` of
        their absolute values; null where all scores of a side are equal.

    Raises:
        InputError: If no row is in both, or a row has other tokens in the two.
    """
    own, other = (
        one.rows.select(KEYS).with_row_index(name).with_columns(pl.col(name).cast(pl.Int64))
        for one, name in ((trained, "row"), (random, "random"))
    )
    both = own.join(other, on=KEYS, nulls_equal=True, maintain_order="left")
    if both.is_empty():
        raise InputError(
            "scores of a randomised model must be of the rows that are audited",
            found="no row with the id, target, method, model and seed of one of them",
        )
    row, place = both["row"].to_numpy(), both["random"].to_numpy()
    if not _same_tokens(trained, row, random, place):
        raise InputError("the two models need the same tokens", found="rows of other tokens")
    scores = trained.scores.take(row)
    frame = pl.DataFrame(
        {
            "row": row[scores.owner],
            "trained": scores.values,
            "random": random.scores.take(place).values,
        }
    )
    values = frame.group_by("row").agg(
        correlation=_spearman(pl.col("trained"), pl.col("random")),
        absolute_correlation=_spearman(pl.col("trained").abs(), pl.col("random").abs()),
    )
    return both.drop("random").join(values, on="row", how="left", maintain_order="left")


def _same_tokens(one: Attributions, row: IntArray, other: Attributions, place: IntArray) -> bool:
    first, second = _tokens(one, row), _tokens(other, place)
    if not np.array_equal(first.starts, second.starts):
        return False
    names = pl.concat([one.vocabulary, other.vocabulary]).unique()
    numbers = pl.int_range(len(names), eager=True)
    in_first, in_second = (
        of.vocabulary.replace_strict(names, numbers, return_dtype=pl.Int64).to_numpy()
        for of in (one, other)
    )
    return np.array_equal(in_first[first.values], in_second[second.values])


def _tokens(attributions: Attributions, row: IntArray) -> Lists[np.int64]:
    return attributions.words.take(attributions.rows["text"].to_numpy()[row])


def _spearman(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return pl.corr(left.rank(), right.rank()).fill_nan(None)


def randomised_means(trained: Attributions, random: Attributions) -> pl.DataFrame:
    """Means of `rank_correlations` over instances by method and model.

    Returns:
        Columns `RANDOMISED`: the mean over instances of the mean over an instance's rows, with its
        95 % interval; ``n`` instances, ``rows`` with a correlation, ``undefined`` ones without.
    """
    rows = rank_correlations(trained, random)
    names, grouped = clusters_by(rows, ["model", "method"])
    columns = rows.select("correlation", "absolute_correlation").fill_null(np.nan).to_numpy()
    means = instance_means(columns, grouped)
    return names.with_columns(
        **means.of(0).interval("correlation", "low", "high"),
        **means.of(1).interval("absolute_correlation", "absolute_low", "absolute_high"),
        **means.of(0).counts("n", "rows", "undefined"),
    ).select(pl.col(name).cast(kind) for name, kind in RANDOMISED.items())
