"""How far scores follow people's evidence, node by node, among texts and evidence of one length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csc_array
from scipy.special import stdtr, stdtrit

from audit.analyses.explanations.attributions import Attributions, Evidence
from audit.analyses.explanations.lists import equal_lengths, matrix
from audit.analyses.explanations.node_results import LEAST_INSTANCES, adjusted
from audit.analyses.explanations.top_tokens import ranking
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import schema
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL
from audit.engine.statistics.means import group_means
from audit.hierarchies.hierarchy import Hierarchy

WITHIN, BOTH, APART = "within equal lengths", "both measures, lengths differ", "not comparable"
"""How a node is compared with the rest; `APART` where texts are too much longer or shorter, or
marks are graded on one side alone."""
LEAST_CONCORDANCE, LEAST_PEAK = 0.05, 0.1
"""How much lower concordance, and peak, must be for sure, by the upper end of the 95 % interval."""
SURE = 0.05
"""Twice the p value of a measure up to which it is low by itself, within equal lengths."""
LONGER = 2.0
"""How many times as long the median text of one side may be where no lengths are equal."""

MEASURES = ("concordance", "peak")
SIZES = ("tokens", "marked", "graded")
EXAMPLES = schema(("id target model method", pl.String), (" ".join(MEASURES + SIZES), pl.Float64))
"""An example, an instance and label, by model and method, a mean over seeds; ``method`` is null for
the mean over methods. ``concordance`` is `concordance`, ``peak`` is `peak`; ``tokens`` the length
of the text, ``marked`` the sum of the marks, ``graded`` 1 where a mark is neither 0 nor 1."""

EVIDENCE = schema(
    ("node", pl.String),
    ("depth", pl.Int64),
    ("model method measure compared", pl.String),
    ("examples instances", pl.Int64),
    (
        "concordance concordance_elsewhere concordance_difference concordance_low concordance_high "
        "peak peak_elsewhere peak_difference peak_low peak_high "
        "marked marked_elsewhere tokens tokens_elsewhere p_value q_value",
        pl.Float64,
    ),
    ("low", pl.Boolean),
    ("family", pl.Int64),
)
"""Columns of `compare_evidence`; ``method`` and ``measure`` are null."""


def concordance(scores: FloatArray, marks: FloatArray) -> FloatArray:
    """How often, of two tokens, the one that is marked more has the higher score.

    ``sum (m_i - m_j)+ [s_i > s_j, ties half] / sum (m_i - m_j)+`` over all pairs of tokens: a pair
    counts by how far its marks differ. For marks of 0 and 1 it is the area under the curve.
    Summed over the levels of the marks, each pair is one of ranks, so that it takes one sort.

    Args:
        scores: Shape (rows, tokens).
        marks: Shape (rows, tokens).

    Returns:
        Shape (rows,); NaN where all marks are alike.
    """
    places = np.arange(1, marks.shape[1] + 1)
    above = marks - marks.min(axis=1, keepdims=True)
    ordered = -np.sort(-above, axis=1)
    order = ranking(scores, np.zeros(len(scores), np.uint64))
    ranks = marks.shape[1] - sum(order.bounds) / 2
    won = (np.take_along_axis(above, order.order, axis=1) * ranks - ordered * places).sum(axis=1)
    return ratio(won, (ordered * (marks.shape[1] + 1 - 2 * places)).sum(axis=1))


def peak(scores: FloatArray, marks: FloatArray) -> FloatArray:
    """How well the token of the highest score is marked: 0 by chance, 1 as well as any token.

    Its mark, less the mean mark, over the highest mark less the mean mark; a mean over tokens that
    share the highest score. Arguments and empty case are those of `concordance`.
    """
    top = scores == scores.max(axis=1, keepdims=True)
    mean, most = marks.mean(axis=1), marks.max(axis=1)
    there = (marks * top).sum(axis=1) / top.sum(axis=1)
    return ratio(there - mean, np.where(most > marks.min(axis=1), most - mean, 0.0))


def evidence_examples(
    attributions: Attributions, kept: pl.DataFrame, node_of: Mapping[str, str]
) -> pl.DataFrame:
    """Columns `EXAMPLES`, by example; rows whose marks or scores are all alike are left out."""
    if attributions.evidence is None:
        return pl.DataFrame(schema=EXAMPLES)
    node = pl.col("target").replace_strict(node_of, default=None, return_dtype=pl.String)
    placed = kept.with_columns(node).drop_nulls(["target", "item"])
    values = _values(attributions, attributions.evidence, placed)
    each = placed.select("id", "target", "model", "method").with_columns(
        pl.Series(name, of) for name, of in zip(MEASURES + SIZES, values.T, strict=True)
    )
    key = ["id", "target", "model"]
    known = each.filter(pl.col("concordance").is_not_nan() & pl.col("peak").is_not_nan())
    by_method = _means(known, [*key, "method"])
    pooled = _means(by_method, key).with_columns(method=pl.lit(None, pl.String))
    return pl.concat([by_method, pooled], how="diagonal").select(*EXAMPLES).sort(*key, "method")


def _values(attributions: Attributions, evidence: Evidence, placed: pl.DataFrame) -> FloatArray:
    """Measures and sizes of rows, shape (rows, measures and sizes), NaN where undefined."""
    rows, items = (placed[name].to_numpy().astype(np.int64) for name in ("row", "item"))
    lengths = attributions.scores.lengths[rows]
    found = np.full((len(rows), len(MEASURES + SIZES)), np.nan)
    for places in equal_lengths(lengths):
        n = int(lengths[places[0]])
        scores = np.abs(matrix(attributions.scores, rows[places], n))
        marks = matrix(evidence.marks, items[places], n)
        alike = scores.max(axis=1) == scores.min(axis=1)
        graded = ((marks > 0) & (marks < 1)).any(axis=1)
        found[places, 0] = np.where(alike, np.nan, concordance(scores, marks))
        found[places, 1] = np.where(alike, np.nan, peak(scores, marks))
        found[places, 2:] = np.column_stack([np.full(len(places), n), marks.sum(axis=1), graded])
    return found


def _means(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Means of each number in each group, in the order of the groups' keys."""
    means = [group_means(rows, key, name).sort(key) for name in MEASURES + SIZES]
    return pl.concat([means[0], *(one.select(pl.last()) for one in means[1:])], how="horizontal")


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples of one model and method as arrays of shape (examples,) each.

    Args:
        values: Concordance and peak, shape (examples, 2).
        sizes: Tokens, sum of the marks, and whether these are graded, shape (examples, 3).
        cluster: The number of the instance.
        bins: The number of what texts and evidence of one length, marked alike, have in common.
    """

    values: FloatArray
    sizes: FloatArray
    cluster: IntArray
    bins: IntArray

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Examples:
        """Those of some rows of `EXAMPLES`."""
        sizes = frame.select(SIZES).to_numpy()
        _, bins = np.unique(bin_of(sizes), axis=0, return_inverse=True)
        cluster = frame["id"].rank("dense").to_numpy().astype(np.int64)
        return cls(frame.select(MEASURES).to_numpy(), sizes, cluster, bins.reshape(-1))

    def only(self, rows: BoolArray) -> Examples:
        """Some of the examples."""
        return Examples(self.values[rows], self.sizes[rows], self.cluster[rows], self.bins[rows])


def bin_of(sizes: FloatArray) -> FloatArray:
    """What examples of one bin have in common, shape (examples, 3): lengths to half a doubling."""
    lengths = np.ceil(np.round(2 * np.log2(sizes[:, :2]), 9))
    return np.column_stack([lengths, sizes[:, 2] > 0])


@dataclass(frozen=True, eq=False)
class Compared:
    """Examples of a node beside all others; arrays have one number for each of `MEASURES`.

    Args:
        how: `WITHIN`, `BOTH` or `APART`.
        difference: From the others, within bins where these are compared.
        p: One-sided p values of its being 0 or more.
    """

    how: str
    mean: FloatArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray

    @property
    def p_value(self) -> float:
        """The p value of both measures; NaN where nothing can be compared."""
        if self.how == APART:
            return float("nan")
        return float(min(2 * self.p.min(), 1.0) if self.how == WITHIN else self.p.max())

    @property
    def is_low(self) -> bool:
        """Whether the intervals lie far enough below: of one measure that is low by itself, or,
        where lengths differ, of both."""
        if self.how == APART:
            return False
        far = self.high <= -np.array([LEAST_CONCORDANCE, LEAST_PEAK])
        if self.how == BOTH:
            return bool(far.all())
        return bool((far & (2 * self.p <= SURE)).any())


def compared(examples: Examples, inside: BoolArray) -> Compared | None:
    """Compare the examples of a node with all others.

    Within bins where eleven instances of the node, and half of its examples, share theirs with
    eleven other instances; else all with all, where lengths allow it.

    Args:
        inside: Which are of the node, shape (examples,).

    Returns:
        None with fewer than eleven instances on one side.
    """
    if min(_instances(examples, inside), _instances(examples, ~inside)) < LEAST_INSTANCES:
        return None
    own, every = np.bincount(examples.bins, inside), np.bincount(examples.bins)
    shared = ((own > 0) & (own < every))[examples.bins]
    sides = [_instances(examples, shared & side) for side in (inside, ~inside)]
    if min(sides) >= LEAST_INSTANCES and 2 * (shared & inside).sum() >= inside.sum():
        return _gap(examples.only(shared), inside[shared], WITHIN)
    whole = Examples(
        examples.values, examples.sizes, examples.cluster, np.zeros_like(examples.bins)
    )
    here, there = (examples.sizes[side] for side in (inside, ~inside))
    medians = np.median(here[:, 0]), np.median(there[:, 0])
    marked_alike = abs((here[:, 2] > 0).mean() - (there[:, 2] > 0).mean()) <= 1 / 2
    comparable = max(medians) <= LONGER * min(medians) and marked_alike
    return _gap(whole, inside, BOTH if comparable else APART)


def _instances(examples: Examples, rows: BoolArray) -> int:
    return len(np.unique(examples.cluster[rows]))


def _gap(examples: Examples, inside: BoolArray, how: str) -> Compared:
    """A regression of the measures on bins and node, robust against several labels an instance."""
    bins, values, x = examples.bins, examples.values, inside.astype(np.float64)
    size = np.maximum(np.bincount(bins), 1)
    x -= (np.bincount(bins, x) / size)[bins]
    means = np.column_stack([np.bincount(bins, column) for column in values.T]) / size[:, None]
    left, weight = values - means[bins], (x**2).sum()
    difference = x @ left / weight
    pull = x[:, None] * (left - x[:, None] * difference)
    of_instance = np.column_stack([np.bincount(examples.cluster, column) for column in pull.T])
    here, there = (_instances(examples, side) for side in (inside, ~inside))
    every, freedom = _instances(examples, np.ones_like(inside)), min(here, there) - 1
    error = np.sqrt((of_instance**2).sum(axis=0) * every / (every - 1)) / weight
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(difference == 0, 0.0, difference / error)
    mean = values[inside].mean(axis=0)
    return Compared(
        how, mean, difference, difference - reach, difference + reach, stdtr(freedom, t)
    )


def compare_evidence(examples: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """Compare the nodes of a hierarchy with all other examples, all methods together.

    Args:
        examples: Columns `EXAMPLES`; targets are nodes.

    Returns:
        Columns `EVIDENCE`, a row for each model and each node with eleven instances below it and
        elsewhere; ``p_value`` is null for nodes that are not comparable. ``_elsewhere`` is the mean
        below the node less the difference, and for ``marked``, the share of the tokens that is
        marked, and ``tokens`` the mean of all other examples. ``low`` is whether intervals lie far
        enough below; q values are those of `by_node`.
    """
    place = {node: index for index, node in enumerate(hierarchy.nodes)}
    rows: list[dict[str, Any]] = []
    pooled = examples.filter(pl.col("method").is_null())
    for (model,), own in pooled.group_by("model", maintain_order=True):
        target = own["target"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        below, arrays = csc_array(hierarchy.closure[target]), Examples.of(own)
        for node in np.flatnonzero(np.diff(below.indptr)).tolist():
            inside = np.zeros(len(own), np.bool_)
            inside[below.indices[below.indptr[node] : below.indptr[node + 1]]] = True
            found = compared(arrays, inside)
            if found is not None:
                named = {"node": hierarchy.nodes[node], "depth": int(hierarchy.depth[node])}
                rows.append(named | {"model": model} | _row(arrays, inside, found))
    table = pl.DataFrame(rows, schema=EVIDENCE).drop("q_value", "family")
    return adjusted(table).select(*EVIDENCE).cast(pl.Schema(EVIDENCE))


def _row(examples: Examples, inside: BoolArray, found: Compared) -> dict[str, Any]:
    tokens, marked = examples.sizes[:, 0], examples.sizes[:, 1] / examples.sizes[:, 0]
    row: dict[str, Any] = {
        "compared": found.how,
        "examples": int(inside.sum()),
        "instances": _instances(examples, inside),
        "p_value": None if found.how == APART else found.p_value,
        "low": found.is_low,
    }
    for place, name in enumerate(MEASURES):
        row |= {
            name: found.mean[place],
            f"{name}_elsewhere": found.mean[place] - found.difference[place],
            f"{name}_difference": found.difference[place],
            f"{name}_low": found.low[place],
            f"{name}_high": found.high[place],
        }
    for name, of in (("marked", marked), ("tokens", tokens)):
        row |= {name: of[inside].mean(), f"{name}_elsewhere": of[~inside].mean()}
    return row
