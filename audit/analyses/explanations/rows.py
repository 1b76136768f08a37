"""Rows of tokens: in blocks of one length, ranked, correlated, and as means over instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import stdtrit

from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.engine.statistics.association import ratio
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import LEVEL
from audit.engine.statistics.resampling import mixed, unit_keys

AT_ONCE = 1 << 17
"""Largest number of values in a block, unless one row alone holds more."""
STEP = np.uint64(0x9E3779B97F4A7C15)
"""Distance between the numbers that are mixed, one for each token."""
NAMING = ("id", "target", "method", "model", "seed")
"""Columns that name a row of attributions."""


def of_one_length(lengths: IntArray, width: int = 1) -> Iterator[tuple[IntArray, int]]:
    """Places of lists of one length, and the length, in blocks of about `AT_ONCE` values.

    Each place stands for ``width`` lists. Without lists there is one block, of length 1.
    """
    order = np.argsort(lengths, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        length = int(lengths[places[0]]) if len(places) else 1
        at_once = max(AT_ONCE // (length * width), 1)
        for start in range(0, max(len(places), 1), at_once):
            yield places[start : start + at_once], length


def by_row(
    rows: pl.DataFrame,
    lists: Sequence[str],
    measure: Callable[..., Mapping[str, Any]],
    *beside: str,
) -> pl.DataFrame:
    """Rows with columns of numbers that a function makes of their lists, without the lists.

    It is given the lists, of one length in each row and not empty, as arrays of shape (rows,
    tokens), then the columns ``beside``; NaN becomes null.
    """
    flat = [rows[name].explode().to_numpy() for name in lists]
    lengths = rows[lists[0]].list.len().to_numpy().astype(np.int64)
    starts, found = np.cumsum(lengths) - lengths, dict[str, FloatArray]()
    for places, length in of_one_length(lengths):
        at = starts[places, None] + np.arange(length)
        given = *(one[at] for one in flat), *(rows[name].to_numpy()[places] for name in beside)
        for name, values in measure(*given).items():
            found.setdefault(name, np.full(len(rows), np.nan))[places] = values
    columns = (pl.Series(name, values).fill_nan(None) for name, values in found.items())
    return rows.drop(lists).with_columns(*columns)


class Ranking(NamedTuple):
    """Tokens in order, the highest score first, and the ``first`` and ``last`` place with the same
    score, along the order; arrays of shape (rows, tokens)."""

    order: IntArray
    first: IntArray
    last: IntArray

    @property
    def places(self) -> IntArray:
        """Place of each token in the order, from 0."""
        return np.argsort(self.order, axis=1)

    def tied_at(self, k: int) -> BoolArray:
        """Whether a key decided which tokens are the k highest, shape (rows,)."""
        if k >= self.order.shape[1]:
            return np.zeros(len(self.order), np.bool_)
        return np.asarray(self.first[:, k - 1] == self.first[:, k])

    @property
    def ranks(self) -> FloatArray:
        """Rank of each token, the highest first, from 1; equal ones share their mean rank."""
        ranks = np.empty(self.order.shape)
        np.put_along_axis(ranks, self.order, (self.first + self.last) / 2 + 1, axis=1)
        return ranks


def ranking(scores: FloatArray, keys: UIntArray | None = None) -> Ranking:
    """Order the tokens of each row by score, shape (rows, tokens), and equal ones by hashed keys,
    shape (rows,), where their order matters."""
    order = np.argsort(-scores, axis=1)
    ordered = np.take_along_axis(scores, order, axis=1)
    places = np.arange(1, scores.shape[1])
    new = ordered[:, 1:] != ordered[:, :-1]
    first, last = np.zeros_like(order), np.full_like(order, scores.shape[1] - 1)
    first[:, 1:] = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    backwards = np.where(new, places - 1, scores.shape[1] - 1)[:, ::-1]
    last[:, :-1] = np.minimum.accumulate(backwards, axis=1)[:, ::-1]
    tied = ~new.all(axis=1)
    if keys is not None and tied.any():
        tokens = np.arange(1, scores.shape[1] + 1, dtype=np.uint64) * STEP
        order[tied] = np.lexsort((mixed(keys[tied, None] + tokens), -scores[tied]), axis=1)
    return Ranking(order, first, last)


def row_keys(rows: pl.DataFrame, seed: int) -> pl.Series:
    """A 64-bit key for each row, from what names it; equal keys for equal rows, in any order."""
    keys = np.zeros(len(rows), np.uint64)
    for column in NAMING:
        names = rows[column].cast(pl.String).fill_null("")
        keys = mixed(keys + unit_keys(names.to_list(), seed) + STEP)
    return pl.Series(keys)


def pearson(left: FloatArray, right: FloatArray) -> FloatArray:
    """Pearson's correlation of each pair of rows, shape (rows,); NaN where one does not vary."""
    a, b = (one - one.mean(axis=1, keepdims=True) for one in (left, right))
    norms = np.sqrt((a**2).sum(axis=1)) * np.sqrt((b**2).sum(axis=1))
    varies = (np.ptp(left, axis=1) > 0) & (np.ptp(right, axis=1) > 0)
    return np.where(varies, ratio((a * b).sum(axis=1), norms).clip(-1, 1), np.nan)


def fisher(r: FloatArray) -> FloatArray:
    """Inverse hyperbolic tangent of correlations: NaN, not infinite, where they are 1 or -1."""
    return np.arctanh(np.where(np.abs(r) < 1 - 1e-12, r, np.nan))


def means(rows: pl.DataFrame, by: Sequence[str], *values: str) -> pl.DataFrame:
    """Means over instances, ``id``, of the mean of each, with Student's 95 % intervals.

    Null values are left out. Of the value ``x`` there are also ``x_low, x_high`` (null below two
    instances), ``x_sd`` over instances and their number ``x_n``; in order of ``by``, a line for
    each combination that has rows.
    """
    each = rows.group_by(*by, "id", maintain_order=True).agg(pl.col(values).mean())
    told = each.group_by(by, maintain_order=True).agg(
        pl.col(values).mean(),
        pl.col(values).std().name.suffix("_sd"),
        pl.col(values).count().cast(pl.Int64).name.suffix("_n"),
    )
    ends = dict[str, pl.Expr]()
    for name in values:
        n = np.maximum(told[f"{name}_n"].to_numpy(), 2)
        reach = pl.col(f"{name}_sd") * pl.Series(stdtrit(n - 1, (1 + LEVEL) / 2) / np.sqrt(n))
        ends |= {f"{name}_low": pl.col(name) - reach, f"{name}_high": pl.col(name) + reach}
    return told.with_columns(**ends).sort(by)


def clustered_means(rows: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """Means over examples, ``example``, each the mean of its own values, null left out.

    The variance of a mean is ``G / (G - 1)`` times the sum over its G clusters, ``cluster``, of the
    squared sum of residuals, over the square of the number of examples: if each cluster is one
    example, that of the paired t-test. ``reach`` is half the 95 % interval by Student. A line for
    each combination that has rows, by ``by``; without a value ``mean`` is null, and below two
    clusters ``error``.
    """
    known = rows.drop_nulls(value)
    each = known.group_by(*by, "cluster", "example", maintain_order=True).agg(pl.col(value).mean())
    residual = pl.col(value) - pl.col(value).mean().over(by)
    clusters = (
        each.with_columns(residual=residual)
        .group_by(*by, "cluster", maintain_order=True)
        .agg(pl.len().alias("n"), pl.col(value, "residual").sum())
    )
    n, g = pl.col("n").sum(), pl.len()
    squares = (pl.col("residual") ** 2).sum()
    told = clusters.group_by(by, maintain_order=True).agg(
        examples=n.cast(pl.Int64),
        clusters=g.cast(pl.Int64),
        mean=pl.col(value).sum() / n,
        error=pl.when(g > 1).then((squares * g / (g - 1)).sqrt() / n),
    )
    every = rows.select(by).unique().sort(by)
    table = every.join(told, on=by, how="left", nulls_equal=True, maintain_order="left")
    table = table.with_columns(pl.col("examples", "clusters").fill_null(0))
    reach = stdtrit(np.maximum(table["clusters"].to_numpy() - 1, 1), (1 + LEVEL) / 2)
    return table.with_columns(reach=pl.Series(reach) * pl.col("error"))


def q_values(table: pl.DataFrame, by: Sequence[str], p: str) -> pl.Series:
    """P values adjusted by Benjamini and Hochberg within families; null where there is none."""
    q = np.full(len(table), np.nan)
    for _, own in table.with_row_index("line").drop_nulls(p).group_by(by):
        q[own["line"].to_numpy()] = benjamini_hochberg(own[p].to_numpy(), len(own))
    return pl.Series(q).fill_nan(None)
