"""All metrics of one model on one dataset, for all instances and for subtrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from audit.alignment.metrics import METRICS, Needs
from audit.alignment.metrics.accuracy import (
    Accuracy,
    AccuracyAlignment,
    HierarchicalScores,
    MistakeSeverity,
    SetF1,
    UncertaintyAlignment,
    generalised,
)
from audit.alignment.metrics.batch import Batch, Moves, moves_of
from audit.alignment.metrics.preference import SubgraphPreference
from audit.alignment.metrics.streaming import ALL, Estimate, Measure, Stream
from audit.base.dag import IntArray, Sparse
from audit.base.progress import Progress, silent
from audit.base.settings import Aggregation, Levels
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.rules import Subgraph

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
    """Tied answers (``ties``) and mean mass under no cut node (``residual_from, residual_to``)."""


def model_metrics(
    hierarchy: Hierarchy,
    gold: Sparse,
    scores: Sparse,
    units: Sequence[str],
    *,
    single_label: bool,
    set_valued: bool,
    decision_threshold: float = 0.5,
    levels: Levels = "depth",
    aggregation: Aggregation = "descendants",
    subgraphs: Sequence[Subgraph] = (),
    seed: int = 0,
    scopes: Sequence[str] | None = None,
    progress: Progress = silent,
) -> ModelMetrics:
    """Measure a model against a hierarchy, between adjacent cuts and from the leaves up.

    Args:
        hierarchy: The hierarchy; its nodes are the columns of labels and scores.
        gold: Direct labels, 0/1, shape (n_instances, n_nodes), canonical CSR.
        scores: Scores in [0, 1], shape (n_instances, n_nodes), canonical CSR; 1 for each node of a
            set-valued prediction.
        units: Resampling unit of each instance: its group, else its id.
        single_label: Whether each instance has a single answer, the node with the highest score.
        set_valued: Whether predictions are sets of nodes without scores.
        decision_threshold: Smallest score of a predicted node, unless ``single_label``.
        subgraphs: Parts of the hierarchy; each two are compared, in either order.
        scopes: Ids of nodes whose subtrees are measured too; None for `default_scopes`.

    Returns:
        Numbers with 95 % intervals; no instances give nulls, not errors.

    Raises:
        SchemaError: If shapes do not match, or a scope is not a node of the hierarchy.
    """
    kind, moves = (single_label, set_valued), moves_of(hierarchy, levels, aggregation)
    measures = measures_of(hierarchy, moves, subgraphs, *kind, decision_threshold)
    chosen = default_scopes(hierarchy, gold) if scopes is None else scopes
    stream = Stream(hierarchy, measures, (ALL, *chosen), seed=seed)
    add_all(stream, gold, scores, units, aggregation, progress)
    return _in_order(stream.compute(), partial(_why_absent, *kind, len(subgraphs)))


def _in_order(found: Sequence[Estimate], why_absent: Callable[[Needs], str]) -> ModelMetrics:
    order = {metric.name: place for place, metric in enumerate(METRICS)}
    named = sorted((e for e in found if e.name in order), key=lambda e: order[e.name])
    present = {estimate.name for estimate in named}
    return ModelMetrics(
        measured=[_as_row(estimate) for estimate in named],
        absent=[
            (metric.name, why_absent(metric.needs))
            for metric in METRICS
            if metric.name not in present
        ],
        beside=[_as_row(estimate) for estimate in found if estimate.name not in order],
    )


def add_all(
    stream: Stream,
    gold: Sparse,
    scores: Sparse,
    units: Sequence[str],
    aggregation: Aggregation = "descendants",
    progress: Progress = silent,
) -> None:
    """Add instances to a stream, so many at a time that memory is bounded.

    Arguments are those of `model_metrics`.
    """
    n = scores.shape[0]
    for rows in _batches(scores):
        progress("measuring the model", rows.start, n, "instances")
        batch = Batch(stream.hierarchy, gold[rows], scores[rows], units[rows], aggregation)
        stream.update(batch)
    progress("measuring the model", n, n, "instances")


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


def measures_of(
    hierarchy: Hierarchy,
    moves: Moves,
    subgraphs: Sequence[Subgraph],
    single_label: bool,
    set_valued: bool,
    threshold: float,
) -> Iterator[Measure]:
    """The metrics that predictions of a kind allow; arguments are those of `model_metrics`."""
    if single_label:
        for number, cut in moves.cuts.items():
            yield Accuracy(cut, moves.at(number))
    else:
        for parameters, stands_for in generalised(hierarchy):
            yield SetF1(stands_for, threshold, {**parameters, "threshold": threshold})
    for start, end in moves.pairs:
        fine, coarse, parameters = moves.cuts[start], moves.cuts[end], moves.between(start, end)
        if single_label:
            yield AccuracyAlignment(fine, coarse, parameters)
        if not set_valued:
            yield UncertaintyAlignment(fine, coarse, parameters)
    if not set_valued:
        yield from _preferences(hierarchy, subgraphs)
    yield HierarchicalScores("micro", *_decision(single_label, threshold, "micro"))
    yield HierarchicalScores("macro", *_decision(single_label, threshold, "macro"))
    if single_label:
        yield MistakeSeverity()


def _preferences(
    hierarchy: Hierarchy, subgraphs: Sequence[Subgraph]
) -> Iterator[SubgraphPreference]:
    """Equation 3 for each two subgraphs, in either order; the values of nodes are compared."""
    nodes = {part.name: nodes_of(part.nodes, part.below, hierarchy) for part in subgraphs}
    for first, second in permutations(nodes, 2):
        yield SubgraphPreference(
            nodes[first], nodes[second], parameters={"subgraphs": [[first], [second]]}
        )


def nodes_of(nodes: Sequence[str], below: bool, hierarchy: Hierarchy) -> IntArray:
    """Indices of the nodes of a part of the hierarchy, ascending, with all below if asked for."""
    named = np.array([hierarchy.index(node) for node in nodes], np.int64)
    if not below:
        return np.unique(named)
    return np.unique(csr_array(hierarchy.below[named]).indices).astype(np.int64)


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


def _why_absent(single_label: bool, set_valued: bool, subgraphs: int, needs: Needs) -> str:
    if needs == "subgraphs" and subgraphs < 2:
        return f"needs two subgraphs to compare; {('none are', 'one is')[subgraphs]} named"
    if needs in ("scores", "subgraphs") and set_valued:
        return "needs scores; the predictions are sets"
    if needs == "answers" and single_label:
        return "each instance has one answer; accuracy says the same"
    if needs == "answer" and not single_label:
        return "needs one answer per instance; the predictions are multi-label"
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
