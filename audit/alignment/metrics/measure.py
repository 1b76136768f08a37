"""All metrics of one model on one dataset, for all instances and for subtrees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from audit.alignment.metrics import METRICS
from audit.alignment.metrics.accuracy import Accuracy, AccuracyAlignment
from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.hierarchical import HierarchicalScores
from audit.alignment.metrics.metric import Needs
from audit.alignment.metrics.severity import MistakeSeverity
from audit.alignment.metrics.streaming import ALL, Estimate, Measure, Stream
from audit.alignment.metrics.uncertainty import UncertaintyAlignment
from audit.base.dag import Sparse
from audit.base.progress import Progress, silent
from audit.engine.scores.cuts import Cut, depth_cut
from audit.engine.statistics.resampling import REPLICATES
from audit.hierarchies.hierarchy import Hierarchy

SCOPE_INSTANCES = 30
"""Least number of instances with a direct label at or below a node for it to be a scope."""
MAX_SCOPES = 50
"""Largest number of scopes; the nodes with the highest support are taken."""
ENTRIES_PER_BATCH = 1_000_000
"""Largest number of stored scores in one batch."""

Row: TypeAlias = dict[str, Any]
"""``name, scope, value, low, high, n, parameters``, as ``result.json`` spells them."""


@dataclass(frozen=True)
class ModelMetrics:
    """Metrics that were measured, those that could not be, and numbers that help to read them."""

    measured: list[Row]
    """One row per metric, scope and set of parameters, in report order."""
    absent: list[tuple[str, str]]
    """Name of each metric that could not be measured, and the reason."""
    beside: list[Row]
    """Tied answers (``ties``) and mean mass under no cut node (``residual_from, residual_to``).
    """


def model_metrics(
    hierarchy: Hierarchy,
    gold: Sparse,
    scores: Sparse,
    units: Sequence[str],
    *,
    single_label: bool,
    set_valued: bool,
    decision_threshold: float = 0.5,
    seed: int = 0,
    scopes: Sequence[str] | None = None,
    replicates: int = REPLICATES,
    progress: Progress = silent,
) -> ModelMetrics:
    """Measure a model against a hierarchy, between adjacent depths and from the leaves up.

    Args:
        hierarchy: The hierarchy; its nodes are the columns of labels and scores.
        gold: Direct labels, 0/1, shape (n_instances, n_nodes), canonical CSR.
        scores: Scores in [0, 1], shape (n_instances, n_nodes), canonical CSR; 1 for each node of a
            set-valued prediction.
        units: Resampling unit of each instance: its group, else its id.
        single_label: Whether each instance has a single answer, the node with the highest score.
        set_valued: Whether predictions are sets of nodes without scores.
        decision_threshold: Smallest score of a predicted node, unless ``single_label``.
        seed: Seed of the bootstrap.
        scopes: Ids of nodes whose subtrees are measured too; None for `default_scopes`.
        replicates: Number of bootstrap replicates.
        progress: Progress callback.

    Returns:
        Numbers with 95 % intervals; no instances give nulls, not errors.

    Raises:
        SchemaError: If shapes do not match, or a scope is not a node of the hierarchy.
    """
    measures = list(_measures(hierarchy, single_label, set_valued, decision_threshold))
    chosen = default_scopes(hierarchy, gold) if scopes is None else scopes
    stream = Stream(hierarchy, measures, (ALL, *chosen), seed=seed, replicates=replicates)
    for rows in _batches(scores):
        progress("measuring the model", rows.start, scores.shape[0], "instances")
        stream.update(Batch(hierarchy, gold[rows], scores[rows], units[rows]))
    progress("measuring the model", scores.shape[0], scores.shape[0], "instances")
    found = stream.compute()
    order = {metric.name: place for place, metric in enumerate(METRICS)}
    named = sorted((e for e in found if e.name in order), key=lambda e: order[e.name])
    present = {estimate.name for estimate in named}
    return ModelMetrics(
        measured=[_as_row(estimate) for estimate in named],
        absent=[
            (metric.name, _why_absent(metric.needs, single_label, set_valued))
            for metric in METRICS
            if metric.name not in present
        ],
        beside=[_as_row(estimate) for estimate in found if estimate.name not in order],
    )


def default_scopes(hierarchy: Hierarchy, gold: Sparse) -> tuple[str, ...]:
    """Inner nodes except the root with enough instances at or below them, in node order.

    A node needs `SCOPE_INSTANCES` instances. At most `MAX_SCOPES` nodes are returned: those with
    the highest support, ties by node order.
    """
    carried = csr_array(gold @ hierarchy.closure)
    support = np.bincount(carried.indices, minlength=len(hierarchy))
    fit = ~hierarchy.leaf & (support >= SCOPE_INSTANCES)
    fit[hierarchy.root] = False
    candidates = np.flatnonzero(fit)
    best = candidates[np.argsort(-support[candidates], kind="stable")][:MAX_SCOPES]
    return tuple(hierarchy.nodes[i] for i in np.sort(best).tolist())


def depth_pairs(deepest: int) -> list[tuple[int, int]]:
    """Pairs of depths to compare: each with the one above, the deepest with all; never the root.

    >>> depth_pairs(3)
    [(2, 1), (3, 1), (3, 2)]
    """
    adjacent = {(depth + 1, depth) for depth in range(1, deepest)}
    return sorted(adjacent | {(deepest, depth) for depth in range(1, deepest)})


def _measures(
    hierarchy: Hierarchy, single_label: bool, set_valued: bool, threshold: float
) -> Iterator[Measure]:
    deepest = int(hierarchy.depth.max())
    cuts = {depth: _cut(hierarchy, depth) for depth in range(1, deepest + 1)}
    if single_label:
        for depth, cut in cuts.items():
            yield Accuracy(cut, _with_aggregation(depth_to=depth))
    for start, end in depth_pairs(deepest):
        parameters = _with_aggregation(depth_from=start, depth_to=end)
        if single_label:
            yield AccuracyAlignment(cuts[start], cuts[end], parameters)
        if not set_valued:
            yield UncertaintyAlignment(cuts[start], cuts[end], parameters)
    yield HierarchicalScores("micro", *_decision(single_label, threshold, "micro"))
    yield HierarchicalScores("macro", *_decision(single_label, threshold, "macro"))
    if single_label:
        yield MistakeSeverity()


def _cut(hierarchy: Hierarchy, depth: int) -> Cut:
    return depth_cut(hierarchy.closure, hierarchy.depth, hierarchy.leaf, depth)


def _with_aggregation(**depths: int) -> Mapping[str, object]:
    return {"aggregation": "descendants", **depths}


def _decision(
    single_label: bool, threshold: float, average: str
) -> tuple[float | None, Mapping[str, object]]:
    if single_label:
        return None, {"average": average}
    return threshold, {"average": average, "threshold": threshold}


def _batches(scores: Sparse) -> Iterator[slice]:
    """Rows with at most `ENTRIES_PER_BATCH` stored scores together, or one row."""
    start, n = 0, scores.shape[0]
    while start < n:
        limit = int(scores.indptr[start]) + ENTRIES_PER_BATCH
        end = max(int(np.searchsorted(scores.indptr, limit, "right")) - 1, start + 1)
        yield slice(start, end)
        start = end


def _why_absent(needs: Needs, single_label: bool, set_valued: bool) -> str:
    if needs == "subgraphs":
        return "needs two subgraphs to compare; none are named"
    if needs == "scores" and set_valued:
        return "needs scores; the predictions are sets"
    if needs == "answer" and not single_label:
        return "needs one answer an instance; the predictions are multi-label"
    return "the hierarchy has no depth between its root and its leaves"


def _as_row(estimate: Estimate) -> Row:
    return {
        "name": estimate.name,
        "scope": estimate.scope,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "parameters": dict(estimate.parameters),
    }
