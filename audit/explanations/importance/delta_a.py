"""Delta-A: how much better attributions fit their own explanation than those of other examples.

Equation 7 of *Importance Alignment*: the mean difference of Fisher-transformed correlations, back
on the scale of correlations; that is not a difference of correlations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL
from audit.explanations.importance.examples import codes, pairs_of
from audit.explanations.importance.row_alignment import REASONS


@dataclass(frozen=True, eq=False)
class ClusteredMeans:
    """Means over examples, with standard errors over clusters; all shapes are (n_cells,).

    Args:
        n: Number of examples.
        clusters: Number of clusters that they come in.
        mean: NaN without examples.
        error: Standard error; NaN with fewer than two clusters.
    """

    n: IntArray
    clusters: IntArray
    mean: FloatArray
    error: FloatArray

    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of the means by Student's distribution with a degree less than clusters."""
        freedom = np.maximum(self.clusters - 1, 1)
        half = stdtrit(freedom, (1 + LEVEL) / 2) * self.error
        return self.mean - half, self.mean + half

    def test(self) -> tuple[FloatArray, FloatArray]:
        """Student's t against a mean of 0 and its two-sided p; NaN where nothing varies."""
        t = np.divide(self.mean, self.error, out=np.full(len(self.n), np.nan), where=self.error > 0)
        return t, 2 * stdtr(np.maximum(self.clusters - 1, 1), -np.abs(t))


class Clustering:
    """Values in cells, examples and clusters; an example is in one cluster.

    Args:
        cell: The cell of each value.
        example: The example of each value.
        cluster: The cluster of each value.
        n_cells: Number of cells.
    """

    def __init__(self, cell: IntArray, example: IntArray, cluster: IntArray, n_cells: int) -> None:
        self.n_cells = n_cells
        self._examples = pairs_of(cell, example)
        own = np.empty(len(self._examples.left), np.int64)
        own[self._examples.of_row] = cluster
        self._clusters = pairs_of(self._examples.left, own)

    def means(self, value: FloatArray) -> ClusteredMeans:
        """Means over examples, each the mean of its own values; NaN are left out.

        The variance of a mean is ``G / (G - 1)`` times the sum over its G clusters of the squared
        sum of residuals, over the square of the number of examples. If each cluster is one example,
        this is the variance of the paired t-test.
        """
        known = ~np.isnan(value)
        of_value, n_examples = self._examples.of_row[known], len(self._examples.left)
        values = np.bincount(of_value, minlength=n_examples)
        own = ratio(np.bincount(of_value, value[known], minlength=n_examples), values)
        here = values > 0
        cell, cluster, own = self._examples.left[here], self._clusters.of_row[here], own[here]
        n = np.bincount(cell, minlength=self.n_cells)
        mean = ratio(np.bincount(cell, own, minlength=self.n_cells), n)
        used, of_example = np.unique(cluster, return_inverse=True)
        residual = np.bincount(of_example, own - mean[cell], minlength=len(used))
        cell = self._clusters.left[used]
        clusters = np.bincount(cell, minlength=self.n_cells)
        squares = np.bincount(cell, residual**2, minlength=self.n_cells)
        variance = clusters * ratio(squares, clusters - 1)
        return ClusteredMeans(n, clusters, mean, ratio(np.sqrt(variance), n))


def delta_a(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Delta-A of each combination of values of some columns.

    Args:
        rows: As `ImportanceAlignment.rows` has them, with the columns of ``by``. A row may recur,
            as where a label is below several nodes.
        by: Such as ``method, model, oracle``.

    Returns:
        ``by``; ``examples``, those with a difference, and ``clusters``, ``seeds``; ``rows``, of
        which ``rows_used`` have a difference, the others being counted by reason in
        ``dropped_...``; ``undefined_share``, of the draws of other explanations for rows with a C;
        ``correlation``, back from the mean C; ``delta_a`` with ``low, high, t, p_t``; and
        ``delta_a_zeros, low_zeros, high_zeros``, with 0 for undefined draws. Sorted by ``by``.
    """
    cell = codes(rows, by)
    keys = rows.select(by).unique().sort(by)
    clustering = Clustering(cell, rows["example"].to_numpy(), rows["cluster"].to_numpy(), len(keys))
    c, own, zeros = (
        clustering.means(rows[column].fill_null(np.nan).to_numpy())
        for column in ("c", "difference", "difference_zeros")
    )
    used = rows["dropped"].is_null().to_numpy()
    t, p = own.test()
    low, high = own.interval()
    low_zeros, high_zeros = zeros.interval()
    numbers = {
        "examples": own.n,
        "clusters": own.clusters,
        "seeds": _different(cell[used], codes(rows, ("seed",))[used], len(keys)),
        **_rows(rows, cell, used, len(keys)),
        "undefined_share": _undefined_share(rows, cell, len(keys)),
        "correlation": np.tanh(c.mean),
        "delta_a": np.tanh(own.mean),
        "low": np.tanh(low),
        "high": np.tanh(high),
        "t": t,
        "p_t": p,
        "delta_a_zeros": np.tanh(zeros.mean),
        "low_zeros": np.tanh(low_zeros),
        "high_zeros": np.tanh(high_zeros),
    }
    return keys.with_columns(
        pl.Series(name, of).fill_nan(None) if of.dtype == np.float64 else pl.Series(name, of)
        for name, of in numbers.items()
    )


def _rows(rows: pl.DataFrame, cell: IntArray, used: BoolArray, n_cells: int) -> dict[str, IntArray]:
    """Numbers of rows of each cell: all, used, and dropped by reason."""
    dropped = rows["dropped"]
    return {
        "rows": np.bincount(cell, minlength=n_cells),
        "rows_used": np.bincount(cell[used], minlength=n_cells),
        **{
            f"dropped_{reason}": np.bincount(
                cell[(dropped == reason).fill_null(False).to_numpy()], minlength=n_cells
            )
            for reason in REASONS
        },
    }


def _undefined_share(rows: pl.DataFrame, cell: IntArray, n_cells: int) -> FloatArray:
    """Share of the draws that have no correlation, among rows with a C; NaN without draws."""
    defined = rows["c"].is_not_null().to_numpy()
    draws, undefined = (
        np.bincount(cell[defined], rows[name].to_numpy()[defined], minlength=n_cells)
        for name in ("draws", "undefined")
    )
    return ratio(undefined, draws)


def _different(cell: IntArray, value: IntArray, n_cells: int) -> IntArray:
    """Number of different values in each cell."""
    return np.bincount(pairs_of(cell, value).left, minlength=n_cells)
