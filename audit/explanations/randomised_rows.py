"""Whether scores depend on what a model has learned: scores beside those of a shuffled model."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.errors import InputError
from audit.base.schemas import schema
from audit.engine.statistics.means import clusters_by, instance_means
from audit.explanations.attributions import Attributions
from audit.explanations.lists import Lists

KEYS = ("id", "target", "method", "model", "seed")
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
    both = own.join(other, on=list(KEYS), nulls_equal=True, maintain_order="left")
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
