"""How far scores follow people's evidence below each node, and the check of it.

One measure, concordance, of examples that are compared with others of equal length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csc_array
from scipy.special import stdtr, stdtrit

from audit.analyses.explanations.declared import TABLES
from audit.analyses.explanations.rows import by_row, q_values, ranking
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import Columns, chance, count, estimate, mean, schema
from audit.checks.rows import Row, Rows, check_of_rows
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.results.findings import Part, times_limit

LEAST_INSTANCES = 11
"""Instances with an example below a node, and with one elsewhere, from which it is tested."""
WITHIN, APART = "within equal lengths", "not comparable"
"""How a node is compared with the rest; `APART` where too few texts and evidence are as long."""
LEAST_CONCORDANCE = 0.05
"""How much lower concordance must be for sure, by the upper end of the 95 % interval."""
EXAMPLES = schema(
    ("id target model method", pl.String), ("concordance tokens marked graded", pl.Float64)
)
"""An example, an instance and label, by model and method, a mean over seeds; ``method`` is null for
the mean over methods. ``concordance`` is `concordance`; ``tokens`` the length of the text,
``marked`` the sum of the marks, ``graded`` 1 where a mark is neither 0 nor 1."""
NUMBERS = ("concordance", "tokens", "marked", "graded")


def concordance(scores: FloatArray, marks: FloatArray) -> FloatArray:
    """How often, of two tokens, the one that is marked more has the higher score.

    ``sum (m_i - m_j)+ [s_i > s_j, ties half] / sum (m_i - m_j)+`` over all pairs of tokens: a pair
    counts by how far its marks differ. For marks of 0 and 1 it is the area under the curve.
    Summed over the levels of the marks, each pair is one of ranks, so that it takes one sort. Of
    arrays of shape (rows, tokens); NaN where all marks are alike.
    """
    n = marks.shape[1]
    places = np.arange(1, n + 1)
    above = marks - marks.min(axis=1, keepdims=True)
    ordered = -np.sort(-above, axis=1)
    won = (above * (n + 1 - ranking(scores).ranks) - ordered * places).sum(axis=1)
    return ratio(won, (ordered * (n + 1 - 2 * places)).sum(axis=1))


def evidence_examples(kept: pl.DataFrame) -> pl.DataFrame:
    """Columns `EXAMPLES` of rows with evidence, whose ``node``, null where there is none, becomes
    the target; rows whose marks or scores are all alike are left out."""

    def measured(scores: FloatArray, marks: FloatArray) -> dict[str, FloatArray]:
        size = np.abs(scores)
        graded = ((marks > 0) & (marks < 1)).any(axis=1)
        of = np.where(np.ptp(size, axis=1) == 0, np.nan, concordance(size, marks))
        values = of, np.full(len(of), float(marks.shape[1])), marks.sum(axis=1), graded
        return dict(zip(NUMBERS, np.array(values, np.float64), strict=True))

    placed = kept.drop_nulls(["node", "marks"])
    rows = placed.select("id", "model", "method", "scores", "marks", target="node")
    each = by_row(rows, ["scores", "marks"], measured).drop_nulls("concordance")
    key = ["id", "target", "model"]
    by_method = each.group_by(*key, "method", maintain_order=True).agg(pl.col(NUMBERS).mean())
    by_method = by_method.sort(*key, "method")
    pooled = by_method.group_by(key, maintain_order=True).agg(pl.col(NUMBERS).mean())
    both = pl.concat([by_method, pooled], how="diagonal").select(*EXAMPLES)
    return both.sort(*key, "method")


def compared(examples: pl.DataFrame, inside: BoolArray) -> dict[str, Any] | None:
    """Compare the examples of a node, those ``inside``, with all others of one model.

    Within bins of texts and evidence of one length, to half a doubling, marked alike, where eleven
    instances of the node, and half of its examples, share theirs with eleven other instances; else
    there is no p value. The regression of concordance on bins and node is robust against several
    labels an instance. ``_elsewhere`` is the mean below the node less the difference, and for
    ``marked``, the share of the tokens that is marked, and ``tokens`` the mean of all others;
    ``low``, whether the interval lies far enough below. None with fewer than eleven instances on
    one side.
    """
    value, tokens, marked, graded = examples.select(NUMBERS).to_numpy().T
    cluster = examples["id"].rank("dense").to_numpy().astype(np.int64)

    def instances(rows: BoolArray) -> int:
        return len(np.unique(cluster[rows]))

    if min(instances(inside), instances(~inside)) < LEAST_INSTANCES:
        return None
    lengths = np.ceil(np.round(2 * np.log2([tokens, marked]), 9))
    bins = np.unique(np.vstack([lengths, graded > 0]), axis=1, return_inverse=True)[1].reshape(-1)
    own, every = np.bincount(bins, inside), np.bincount(bins)
    kept = ((own > 0) & (own < every))[bins]
    enough = min(instances(kept & inside), instances(kept & ~inside)) >= LEAST_INSTANCES
    within = enough and 2 * (kept & inside).sum() >= inside.sum()
    if not within:
        kept, bins = np.ones_like(inside), np.zeros_like(bins)
    v, here, of = value[kept], inside[kept], bins[kept]
    size, x = np.maximum(np.bincount(of), 1), here.astype(np.float64)
    x -= (np.bincount(of, x) / size)[of]
    left, weight = v - (np.bincount(of, v) / size)[of], (x**2).sum()
    difference = x @ left / weight
    of_instance = np.bincount(cluster[kept], x * (left - x * difference))
    total, share = instances(kept), marked / tokens
    error = np.sqrt((of_instance**2).sum() * total / (total - 1)) / weight
    freedom = min(instances(kept & inside), instances(kept & ~inside)) - 1
    reach, mean = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error, v[here].mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        p = float(stdtr(freedom, difference / error if difference else 0.0))
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
    """The table ``evidence``, with a column ``low`` as `compared` has it; all methods together.

    A row for each model and each node with eleven instances below it and elsewhere. ``q_value`` is
    adjusted by Benjamini and Hochberg over the ``family``: all nodes and models tested at one
    depth, times the number of depths.
    """
    found: list[dict[str, Any]] = []
    pooled = examples.filter(pl.col("method").is_null())
    for (model,), own in pooled.group_by("model", maintain_order=True):
        below = csc_array(hierarchy.closure[[hierarchy.index(node) for node in own["target"]]])
        for node in np.flatnonzero(np.diff(below.indptr) >= LEAST_INSTANCES).tolist():
            inside = np.zeros(len(own), np.bool_)
            inside[below.indices[below.indptr[node] : below.indptr[node + 1]]] = True
            if told := compared(own, inside):
                named = {"node": hierarchy.nodes[node], "title": hierarchy.titles[node] or None}
                found.append(named | {"depth": int(hierarchy.depth[node]), "model": model} | told)
    table = pl.DataFrame(found, schema={**TABLES["evidence"].columns.types, "low": pl.Boolean})
    tested = pl.col("p_value").is_not_null()
    q = pl.lit(q_values(table, ["depth"], "p_value")) * pl.col("depth").filter(tested).n_unique()
    return table.with_columns(
        q_value=q.clip(upper_bound=1.0),
        family=pl.when(tested).then(tested.sum().over("depth").cast(pl.Int64)),
    )


def _tested(measured: Measurements) -> Rows:
    """Nodes where scores follow people's evidence less than elsewhere, one of each chain.

    *Concordance* says how often, of two tokens, the one that people marked more has the higher
    absolute score; 1/2 is guessing. The examples of a node, explained instances with a label at or
    below it, are compared with all others **of equal length**; both need 11. It is told where q is
    at most `false_discovery_rate` and the upper end of the difference's 95 % interval is at -.05 or
    below ([formulas](methods/explanations.md#explanations-by-node),
    [example](explanations.md#a-worked-example)). Of findings on a chain the upper one stands if it
    is still low without those below it, else those below. Where too few examples are as long as
    others a node is not comparable.

    **Severity.** Warning. **Limits.** Marks made in another way below a node, or noisier
    attributions there, look the same.
    """
    found, rows = measured.of("explanations"), list[Row]()
    table, examples = found.frames["evidence"], found.behind
    tested = table.filter(pl.col("p_value").is_not_null())
    rate = measured.policy.false_discovery_rate.value
    low = tested.filter(pl.col("q_value") <= rate, "low").sort("p_value", "node")
    for (model,), nodes in low.group_by("model", maintain_order=True):
        own = examples.filter(pl.col("model") == model)
        into = _folded(own.filter(pl.col("method").is_null()), nodes["node"], measured.hierarchy)
        of_model = f" of {model}" if examples["model"].n_unique() > 1 else ""
        for row in nodes.iter_rows(named=True):
            folded = [(str(model), one) for one in into.get(row["node"], ())]
            rows.append(_ignored(measured, row, own, of_model, folded))
    unit = "nodes with eleven explained instances below them, and as many elsewhere, by model"
    unit += "; others cannot be compared: other lengths or marks" * (len(table) > len(tested))
    without = "" if "plausibility" in found.frames else "no human evidence was given"
    return Rows(len(tested), unit, rows, without)


def _folded(
    examples: pl.DataFrame, nodes: pl.Series, hierarchy: Hierarchy
) -> dict[str, tuple[str, ...]]:
    """The nodes that explain each folded node: one that is low without the standing nodes below it,
    or that several leave hardly an instance of, explains them; else they explain it."""
    standing: list[str] = []
    into: dict[str, tuple[str, ...]] = {}
    for node in sorted(nodes, key=lambda one: -int(hierarchy.depth[hierarchy.index(one)])):
        below = [one for one in standing if one in hierarchy.descendants(node)]
        rest = examples.filter(
            ~pl.any_horizontal(False, *(_below(one, hierarchy) for one in below))
        )
        inside = rest.select(_below(node, hierarchy)).to_series()
        few = rest.filter(inside)["id"].n_unique() < LEAST_INSTANCES
        found = None if few else compared(rest, inside.to_numpy())
        if not below or (few and len(below) > 1) or (found is not None and found["low"]):
            into |= dict.fromkeys(below, (node,))
            standing = [one for one in standing if one not in below] + [node]
        else:
            into[node] = tuple(below)
    return into


def _below(node: str, hierarchy: Hierarchy) -> pl.Expr:
    """Whether the target of an example is the node or below it."""
    return pl.col("target").is_in([*hierarchy.descendants(node, with_self=True)])


_SIDES = ("concordance", "marked", "tokens")
_SHOWN = {name: name for one in _SIDES for name in (one, f"{one}_elsewhere")} | {
    f"concordance_difference{end}": f"concordance{end or '_difference'}"
    for end in ("", "_low", "_high")
}
"""Evidence by the columns of the table that hold it."""


def _ignored(
    measured: Measurements,
    row: Mapping[str, Any],
    examples: pl.DataFrame,
    of_model: str,
    folded_into: Sequence[Sequence[str]],
) -> Row:
    """The finding on a node whose scores follow evidence less than elsewhere."""
    node, tree = row["node"], measured.hierarchy

    def cases() -> IntArray:
        ids = measured.loaded.dataset.instances["instance"]
        own = examples.filter(pl.col("method").is_null() & _below(node, tree))
        return np.flatnonzero(ids.is_in(own["id"].unique().implode()).to_numpy())

    return Row(
        severity="warning",
        nodes=(node,),
        key=(row["model"], node),
        sentence=f"Below {tree.describe(tree.index(node))}, the explanations{of_model} follow "
        "people’s evidence less than those of other labels[. Of two tokens, the one that people "
        "mark more has the higher score in {concordance} of the cases, on {instances} instances "
        "with such a label][; among texts and evidence of equal length in {concordance_elsewhere}; "
        "guessing would give 0.5].",
        evidence={
            "instances": row["instances"],
            **{name: round(row[column], 3) for name, column in _SHOWN.items()},
            "q_value": float(f"{row['q_value']:.0e}"),
            "family": row["family"],
        },
        curator="Look at explained instances of this branch beside their evidence, and ask whether "
        "its marks were made in the same way: the model may use a word that goes with the label in "
        "this collection, such as one of a template, in place of the evidence. Take it out of the "
        "texts, or collect texts without it.",
        data_user="Do not rely on the model here for texts that may lack such words.",
        strength=-row["concordance_difference"],
        beyond=times_limit(-row["concordance_high"], LEAST_CONCORDANCE),
        parts=_split_by_method(examples, _below(node, tree)),
        folded_into=folded_into,
        cases=cases,
    )


def _split_by_method(examples: pl.DataFrame, below: pl.Expr) -> tuple[Part, ...]:
    """Mean concordance of each method, below and elsewhere; the largest shortfall below first."""
    value = pl.col("concordance")
    each = (
        examples.drop_nulls("method")
        .group_by("method", maintain_order=True)
        .agg(
            concordance=value.filter(below).mean(),
            concordance_elsewhere=value.filter(~below).mean(),
        )
        .drop_nulls()
    )
    ordered = each.sort(value - pl.col("concordance_elsewhere"), "method")
    return tuple(
        Part((name,), {"concordance": round(here, 3), "concordance_elsewhere": round(there, 3)})
        for name, here, there in ordered.iter_rows()
    )


EVIDENCE_IGNORED = check_of_rows(
    "evidence_ignored",
    "In which branches does the model look less at people's evidence than elsewhere?",
    _tested,
    reads="explanations",
    nodes="Node",
    evidence=Columns(
        chance(f"{' '.join(_SHOWN)} q_value family"),
        mean("concordance marked", "In the order of people’s marks", n="instances"),
        count("instances", "Instances"),
        estimate("tokens", n="instances", reason="they have no fixed bounds"),
    ),
    of_parts=Columns(chance("concordance concordance_elsewhere")),
    denominator="untold",
)
