"""How far oracles agree on the tokens that matter (*Importance Alignment*, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.schemas import schema
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL
from audit.explanations.attributions import Attributions, Evidence
from audit.explanations.importance.oracles import (
    HumanOracle,
    Informed,
    SoftOracle,
    codes,
    examples_of,
    human_oracle,
    judged_rows,
    pairs_of,
    soft_oracle,
)
from audit.explanations.importance.row_alignment import REASONS
from audit.explanations.lists import LEAST_TOKENS, Lists, pearson


@dataclass(frozen=True, eq=False)
class ClusteredMeans:
    """Means over examples, with standard errors over clusters; all shapes are (n_cells,).

    Args:
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
    """Values in cells, examples and clusters; an example is in one cluster."""

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


AGREEMENT = schema(
    ("method oracle other", pl.String),
    ("texts tokens", pl.Int64),
    ("spearman pearson", pl.Float64),
    ("examples", pl.Int64),
    ("mean_spearman low high", pl.Float64),
)


def ranks(lists: Lists[np.float64]) -> Lists[np.float64]:
    """The rank of each value within its list, from 1; equal values share their mean rank."""
    owner = lists.owner
    order = np.lexsort((lists.values, owner))
    ordered, whose = lists.values[order], owner[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]) | (whose[1:] != whose[:-1])
    run = np.cumsum(new) - 1
    start = np.flatnonzero(new)
    end = np.append(start[1:], len(order))
    mean = (start + end + 1) / 2
    result = np.empty(len(order))
    result[order] = mean[run] - lists.starts[whose]
    return Lists(result, lists.starts)


def oracle_agreement(
    attributions: Attributions,
    *,
    evidence: Sequence[Evidence] = (),
    informed: Informed | None = None,
) -> pl.DataFrame:
    """Correlation over tokens of what each two oracles say.

    Args:
        attributions: Rows; their own evidence makes the first oracle.
        evidence: Further evidence on the same texts.
        informed: Per model the explanation-informed models that make its soft oracle. Each row of
            such a model, method by method, is compared with the others; models are pooled.

    Returns:
        A line per pair of oracles, and method where one is soft: ``method``; ``oracle``,
        ``other``; ``texts`` and ``tokens``, ``spearman`` and ``pearson`` over all tokens together,
        as the paper has them; ``examples``, in which both oracles vary over 4 tokens or more, and
        the mean over them of Spearman's correlation in each, ``mean_spearman``, with ``low`` and
        ``high``. Null where a correlation is undefined; no line for fewer than two oracles.
    """
    rows = attributions.rows
    row = judged_rows(attributions, informed or {})
    examples = examples_of(rows)
    given = [one for one in (attributions.evidence, *evidence) if one is not None]
    people = [human_oracle(attributions, one) for one in given]
    texts = row[_first_of_each(codes(rows, ("text", "target"))[row])]
    lines: list[dict[str, object]] = []
    for one, other in combinations(people, 2):
        both = texts[(one.item[texts] >= 0) & (other.item[texts] >= 0)]
        pair = (_marks(one, both), _marks(other, both))
        lines.append({"method": None, "oracle": one.name, "other": other.name})
        lines[-1] |= _correlations(*pair, examples.of_row[both], examples.cluster)
    if informed:
        soft = _different_texts(attributions, soft_oracle(attributions, informed))
        method = rows["method"].to_numpy()[soft.informed]
        for one in people:
            for name in np.unique(method):
                pairs = soft.only((method == name) & (one.item[soft.row] >= 0))
                marks = _marks(one, pairs.row)
                scores = attributions.scores.take(pairs.informed, marks.lengths)
                size = Lists(np.abs(scores.values), scores.starts)
                lines.append({"method": name, "oracle": one.name, "other": "soft"})
                lines[-1] |= _correlations(
                    marks, size, examples.of_row[pairs.row], examples.cluster
                )
    return pl.DataFrame(lines, schema=AGREEMENT).with_columns(pl.col(pl.Float64).fill_nan(None))


def _first_of_each(code: IntArray) -> IntArray:
    return np.unique(code, return_index=True)[1]


def _marks(oracle: HumanOracle, row: IntArray) -> Lists[np.float64]:
    return oracle.evidence.marks.take(oracle.item[row])


def _different_texts(attributions: Attributions, oracle: SoftOracle) -> SoftOracle:
    """One pair for each text, target and row of an informed model that read its own explanation."""
    own = oracle.only(~oracle.borrowed)
    text = codes(attributions.rows, ("text", "target"))[own.row]
    return own.only(_first_of_each(pairs_of(text, own.informed).of_row))


def _correlations(
    left: Lists[np.float64], right: Lists[np.float64], example: IntArray, cluster: IntArray
) -> dict[str, float | int]:
    """What a line says of two lists of tokens for each of some texts."""
    together = [Lists(one.values, one.starts[[0, -1]]) for one in (left, right)]
    within = pearson(ranks(left), ranks(right))
    within[left.lengths < LEAST_TOKENS] = np.nan
    one_cell = np.zeros(len(left), np.int64)
    mean = Clustering(one_cell, example, cluster[example], 1).means(within)
    low, high = mean.interval()
    return {
        "texts": len(left),
        "tokens": len(left.values),
        "spearman": float(pearson(*map(ranks, together))[0]),
        "pearson": float(pearson(*together)[0]),
        "examples": int(mean.n[0]),
        "mean_spearman": float(mean.mean[0]),
        "low": float(low[0]),
        "high": float(high[0]),
    }
