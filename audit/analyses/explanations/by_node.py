"""Measures of explanations below each node, and how far scores follow people's evidence there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csc_array, csr_array
from scipy.special import stdtr, stdtrit

from audit.analyses.explanations.agreement import MAIN_K, Agreed
from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.importance import q_values
from audit.analyses.explanations.lists import equal_lengths, matrix
from audit.analyses.explanations.top_tokens import ranking
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import schema
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL
from audit.engine.statistics.means import clusters, group_means, instance_means, node_means
from audit.hierarchies.hierarchy import Hierarchy

LEAST_INSTANCES = 11
"""Instances with an example below a node, and with one elsewhere, from which it is tested."""
WITHIN, APART = "within equal lengths", "not comparable"
"""How a node is compared with the rest; `APART` where too few texts and evidence are as long."""
LEAST_CONCORDANCE = 0.05
"""How much lower concordance must be for sure, by the upper end of the 95 % interval."""
BRANCHES = schema(
    ("node", pl.String),
    ("depth", pl.Int64),
    ("model method measure", pl.String),
    ("examples instances", pl.Int64),
    (
        "mean low high rest difference difference_low difference_high smallest p_value q_value",
        pl.Float64,
    ),
    ("family", pl.Int64),
)
"""Columns of `by_node`."""
EXAMPLES = schema(
    ("id target model method", pl.String), ("concordance tokens marked graded", pl.Float64)
)
"""An example, an instance and label, by model and method, a mean over seeds; ``method`` is null for
the mean over methods. ``concordance`` is `concordance`; ``tokens`` the length of the text,
``marked`` the sum of the marks, ``graded`` 1 where a mark is neither 0 nor 1."""
EVIDENCE = schema(
    ("node", pl.String),
    ("depth", pl.Int64),
    ("model compared", pl.String),
    ("examples instances", pl.Int64),
    (
        "concordance concordance_elsewhere concordance_difference concordance_low concordance_high "
        "marked marked_elsewhere tokens tokens_elsewhere p_value q_value",
        pl.Float64,
    ),
    ("low", pl.Boolean),
    ("family", pl.Int64),
)
"""Columns of `compare_evidence`."""
NODE_RESULTS = schema(
    ("node", pl.String),
    ("depth", pl.Int64),
    ("model method other measure", pl.String),
    ("value low high", pl.Float64),
    ("instances values", pl.Int64),
)
"""Columns of `node_results`."""
_SLICE = ("model", "method", "measure")


def by_node(values: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """Means of every measure below each node, compared with the examples elsewhere.

    An example is an instance and a target; its value is the mean over seeds, and, where ``method``
    is null, over methods too. Instances are clusters: their examples are not independent.

    Args:
        values: ``id, target, model, method, measure, value``; null values are left out, and so are
            targets that are not nodes.
        hierarchy: Where the targets are.

    Returns:
        Columns `BRANCHES`, one row per node, model, method and measure with an example below the
        node. ``p_value`` is one-sided, for the node being lower than the rest; it is null below
        `LEAST_INSTANCES` and for nodes above all examples. ``q_value`` is adjusted by Benjamini and
        Hochberg over the ``family``: all nodes and models tested at one depth for one measure and
        method, times the number of depths.
    """
    known = values.filter(pl.col("value").is_not_nan(), pl.col("target").is_in(hierarchy.nodes))
    each = group_means(known, ["id", "target", *_SLICE], "value")
    pooled = group_means(each, ["id", "target", "model", "measure"], "value")
    both = pl.concat([each, pooled.with_columns(method=pl.lit(None, pl.String))], how="diagonal")
    tables, ordered = [pl.DataFrame(schema=BRANCHES)], both.sort("id", "target", *_SLICE)
    for key, rows in ordered.group_by(*_SLICE, maintain_order=True):
        cluster = np.unique(rows["id"].to_numpy(), return_inverse=True)[1]
        below = csr_array(hierarchy.closure[_places(rows["target"], hierarchy)])
        means = node_means(rows["value"].to_numpy(), cluster, below)
        tested = np.minimum(means.clusters, means.clusters_outside) >= LEAST_INSTANCES
        of_means = ("examples", "mean", "low", "high", "rest", "difference", "smallest")
        columns = {
            "node": hierarchy.nodes,
            "depth": hierarchy.depth,
            "instances": means.clusters,
            **{name: getattr(means, name) for name in of_means},
            **dict(zip(("difference_low", "difference_high"), means.interval, strict=True)),
            "p_value": np.where(tested, means.p_less, np.nan),
        }
        names = (pl.lit(one, pl.String).alias(of) for of, one in zip(_SLICE, key, strict=True))
        tables.append(pl.DataFrame(columns).filter(pl.col("examples") > 0).with_columns(names))
    table = pl.concat(tables, how="diagonal_relaxed").with_columns(
        pl.selectors.float().fill_nan(None)
    )
    return _adjusted(table, ["measure", "method"], BRANCHES)


def _places(nodes: pl.Series, hierarchy: Hierarchy) -> IntArray:
    return np.array([hierarchy.index(node) for node in nodes], np.int64)


def _adjusted(table: pl.DataFrame, by: list[str], columns: Mapping[str, Any]) -> pl.DataFrame:
    """With ``q_value`` and ``family``; a chain of nodes is tested once at each of its depths."""
    tested, family = pl.col("p_value").is_not_null(), [*by, "depth"]
    depths = pl.col("depth").filter(tested).n_unique()
    depths = depths.over(by) if by else depths
    q = pl.lit(q_values(table, family, "p_value")) * depths
    told = table.with_columns(
        q_value=q.clip(upper_bound=1.0), family=pl.when(tested).then(tested.sum().over(family))
    )
    return told.select(pl.col(name).cast(kind) for name, kind in columns.items())


def node_results(
    kept: pl.DataFrame, hierarchy: Hierarchy, measures: Mapping[str, pl.DataFrame], found: Agreed
) -> pl.DataFrame:
    """Means of all measures below each node, by model and method, or pair of methods.

    Args:
        kept: The rows of attributions that count, with their place as ``row`` and their ``node``,
            null where the target is none.
        hierarchy: Where the nodes are.
        measures: Frames of ``row, value`` by the name of a measure.
        found: Agreement by peaks and at the main k of each pair, and of all methods together.

    Returns:
        Columns `NODE_RESULTS`, a row for each node with a value: the mean over instances of the
        mean over an instance's values, its 95 % interval (null below two instances), the number of
        instances and of values. ``other`` is the second method of a pair, else null; ``method`` of
        all methods together is the name of their set.
    """
    own, unit = kept.drop_nulls("node"), ["id", "target", "model", "seed"]
    of_rows = [
        (
            {"measure": name},
            own.select("row").join(values, on="row", how="left", maintain_order="left")["value"],
        )
        for name, values in measures.items()
    ]
    placed = found.units.with_row_index("unit").join(
        own.select("node", *unit).unique(maintain_order=True), on=unit, maintain_order="left"
    )
    at = placed["unit"].to_numpy()
    of_units = [
        (
            {"method": one["first"] or one["together"], "other": one["second"]}
            | {"measure": f"agreement_{name}"},
            pl.Series(found.value[at, rule, place]),
        )
        for place, one in enumerate(found.sets.iter_rows(named=True))
        for name, rule in (("dynamic", 0), ("fixed", MAIN_K))
    ]
    return pl.concat(
        [
            _node_means(own, ["model", "method"], of_rows, hierarchy),
            _node_means(placed, ["model"], of_units, hierarchy),
        ]
    )


def _node_means(
    frame: pl.DataFrame,
    names: list[str],
    columns: Sequence[tuple[Mapping[str, str | None], pl.Series]],
    hierarchy: Hierarchy,
) -> pl.DataFrame:
    """Means of columns by node and names, and what names each column beside them."""
    kinds = frame.select(names).unique(maintain_order=True).with_row_index("kind")
    kind = frame.join(kinds, on=names, nulls_equal=True, maintain_order="left")["kind"]
    above = csr_array(hierarchy.closure[_places(frame["node"], hierarchy)])
    row = np.repeat(np.arange(len(frame)), np.diff(above.indptr))
    number = max(len(kinds), 1)
    part = above.indices.astype(np.int64) * number + kind.to_numpy()[row]
    keys, part = np.unique(part, return_inverse=True)
    grouped = clusters(part, frame["id"].rank("dense").to_numpy().astype(np.int64)[row])
    parts = kinds[keys % number].with_columns(
        node=pl.Series(
            [hierarchy.nodes[one] for one in (keys // number).tolist()], dtype=pl.String
        ),
        depth=pl.Series(hierarchy.depth[keys // number]),
    )
    told = [values.cast(pl.Float64).fill_null(np.nan).to_numpy() for _, values in columns]
    means = [instance_means(values[row, None], grouped) for values in told]
    of = {"value": "value", "low": "low", "high": "high", "instances": "n", "values": "units"}
    table = pl.concat([parts.clear(), *[parts] * len(columns)]).with_columns(
        pl.Series(name, np.concatenate([[], *(getattr(one, array).ravel() for one in means)]))
        for name, array in of.items()
    )
    lacking = [name for name in ("method", "other", "measure") if name not in names]
    table = table.with_columns(
        pl.Series(name, [named.get(name) for named, _ in columns for _ in keys], pl.String)
        for name in lacking
    )
    return (
        table.filter(pl.col("instances") > 0)
        .with_columns(pl.col("value", "low", "high").fill_nan(None))
        .select(pl.col(name).cast(kind) for name, kind in NODE_RESULTS.items())
    )


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


def evidence_examples(attributions: Attributions, kept: pl.DataFrame) -> pl.DataFrame:
    """Columns `EXAMPLES`, whose targets are nodes; rows whose marks or scores are all alike are
    left out.

    Args:
        attributions: Scores and evidence.
        kept: As in `node_results`.
    """
    if attributions.evidence is None:
        return pl.DataFrame(schema=EXAMPLES)
    placed = kept.drop_nulls(["node", "item"])
    rows, items = (placed[name].to_numpy() for name in ("row", "item"))
    lengths = attributions.scores.lengths[rows]
    found = np.full((4, len(rows)), np.nan)
    for places in equal_lengths(lengths):
        n = int(lengths[places[0]])
        scores = np.abs(matrix(attributions.scores, rows[places], n))
        marks = matrix(attributions.evidence.marks, items[places], n)
        alike = scores.max(axis=1) == scores.min(axis=1)
        graded = ((marks > 0) & (marks < 1)).any(axis=1)
        of = np.where(alike, np.nan, concordance(scores, marks))
        found[:, places] = of, np.full(len(places), n), marks.sum(axis=1), graded
    numbers, key = ("concordance", "tokens", "marked", "graded"), ["id", "target", "model"]
    each = placed.select("id", "model", "method", target="node").with_columns(
        pl.Series(name, of) for name, of in zip(numbers, found, strict=True)
    )

    def means(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
        of = [group_means(rows, by, name).sort(by, nulls_last=False) for name in numbers]
        return pl.concat([of[0], *(one.select(pl.last()) for one in of[1:])], how="horizontal")

    by_method = means(each.filter(pl.col("concordance").is_not_nan()), [*key, "method"])
    pooled = means(by_method, key).with_columns(method=pl.lit(None, pl.String))
    return pl.concat([by_method, pooled], how="diagonal").select(*EXAMPLES).sort(*key, "method")


class Examples(NamedTuple):
    """The examples of one model and method as arrays of shape (examples,) each.

    Args:
        value: Concordance.
        tokens: Length of the text.
        marked: Sum of the marks.
        cluster: The number of the instance.
        bins: The number of what texts and evidence of one length, to half a doubling, marked alike,
            have in common.
    """

    value: FloatArray
    tokens: FloatArray
    marked: FloatArray
    cluster: IntArray
    bins: IntArray


def examples_of(frame: pl.DataFrame) -> Examples:
    """Those of some rows of `EXAMPLES`."""
    value, tokens, marked, graded = (
        frame.select("concordance", "tokens", "marked", "graded").to_numpy().T
    )
    lengths = np.ceil(np.round(2 * np.log2([tokens, marked]), 9))
    _, bins = np.unique(np.vstack([lengths, graded > 0]), axis=1, return_inverse=True)
    cluster = frame["id"].rank("dense").to_numpy().astype(np.int64)
    return Examples(value, tokens, marked, cluster, bins.reshape(-1))


def compared(examples: Examples, inside: BoolArray) -> dict[str, Any] | None:
    """Compare the examples of a node with all others: columns of `EVIDENCE`.

    Within bins where eleven instances of the node, and half of its examples, share theirs with
    eleven other instances; else there is no p value. The regression of concordance on bins and node
    is robust against several labels an instance.

    Args:
        examples: Of one model.
        inside: Which are of the node, shape (examples,).

    Returns:
        None with fewer than eleven instances on one side. ``_elsewhere`` is the mean below the node
        less the difference, and for ``marked``, the share of the tokens that is marked, and
        ``tokens`` the mean of all other examples; ``low``, whether the interval lies far enough
        below.
    """
    value, tokens, marked, cluster, bins = examples

    def instances(rows: BoolArray) -> int:
        return int(np.count_nonzero(np.bincount(cluster[rows])))

    if min(instances(inside), instances(~inside)) < LEAST_INSTANCES:
        return None
    own, every = np.bincount(bins, inside), np.bincount(bins)
    kept = ((own > 0) & (own < every))[bins]
    enough = min(instances(kept & inside), instances(kept & ~inside)) >= LEAST_INSTANCES
    within = enough and 2 * (kept & inside).sum() >= inside.sum()
    if not within:
        kept, bins = np.ones_like(inside), np.zeros_like(bins)
    v, here, of, group = value[kept], inside[kept], bins[kept], cluster[kept]
    size, x = np.maximum(np.bincount(of), 1), here.astype(np.float64)
    x -= (np.bincount(of, x) / size)[of]
    left, weight = v - (np.bincount(of, v) / size)[of], (x**2).sum()
    difference = x @ left / weight
    of_instance = np.bincount(group, x * (left - x * difference))
    count = instances(kept)
    error = np.sqrt((of_instance**2).sum() * count / (count - 1)) / weight
    freedom = min(instances(kept & inside), instances(kept & ~inside)) - 1
    reach, mean = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error, v[here].mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        p = float(stdtr(freedom, difference / error if difference else 0.0))
    share = marked / tokens
    return {
        "compared": WITHIN if within else APART,
        "examples": int(inside.sum()),
        "instances": instances(inside),
        "concordance": mean,
        "concordance_elsewhere": mean - difference,
        "concordance_difference": difference,
        "concordance_low": difference - reach,
        "concordance_high": difference + reach,
        "marked": share[inside].mean(),
        "marked_elsewhere": share[~inside].mean(),
        "tokens": tokens[inside].mean(),
        "tokens_elsewhere": tokens[~inside].mean(),
        "p_value": p if within else None,
        "low": bool(within and difference + reach <= -LEAST_CONCORDANCE),
    }


def compare_evidence(examples: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """Compare the nodes of a hierarchy with all other examples, all methods together.

    Args:
        examples: Columns `EXAMPLES`; targets are nodes.
        hierarchy: Where they are.

    Returns:
        Columns `EVIDENCE`, a row for each model and each node with eleven instances below it and
        elsewhere; q values are those of `by_node`.
    """
    rows: list[dict[str, Any]] = []
    pooled = examples.filter(pl.col("method").is_null())
    for (model,), own in pooled.group_by("model", maintain_order=True):
        below = csc_array(hierarchy.closure[_places(own["target"], hierarchy)])
        arrays = examples_of(own)
        for node in np.flatnonzero(np.diff(below.indptr) >= LEAST_INSTANCES).tolist():
            inside = np.zeros(len(own), np.bool_)
            inside[below.indices[below.indptr[node] : below.indptr[node + 1]]] = True
            if found := compared(arrays, inside):
                named = {"node": hierarchy.nodes[node], "depth": int(hierarchy.depth[node])}
                rows.append(named | {"model": model} | found)
    return _adjusted(pl.DataFrame(rows, schema=EVIDENCE), [], EVIDENCE)
