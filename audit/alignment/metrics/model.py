"""All metrics of one model on one dataset, for all instances and for subtrees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.measures import (
    Measure,
    accuracy,
    accuracy_alignment,
    generalised,
    hierarchical_scores,
    mistake_severity,
    set_f1,
    subgraph_preference,
    uncertainty_alignment,
)
from audit.alignment.metrics.streaming import Row, Stream
from audit.base.dag import IntArray, Sparse
from audit.base.progress import Progress, silent
from audit.base.settings import Aggregation, Levels
from audit.engine.scores.cuts import Cut, depth_cut, level_cut
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.rules import Subgraph
from audit.results.metric_list import ALL, METRICS, Needs

SCOPE_INSTANCES = 30
"""Least number of instances with a direct label at or below a node for it to be a scope."""
MAX_SCOPES = 50
"""Largest number of scopes; the nodes with the highest support are taken."""
ENTRIES_PER_BATCH = 1_000_000
"""Largest number of stored scores in one batch."""


@dataclass(frozen=True)
class Predicted:
    """What predictions are: whether each instance has one answer, and whether they are only sets.

    Args:
        threshold: Smallest score of a predicted node, unless there is one answer.
    """

    single_label: bool
    set_valued: bool
    threshold: float = 0.5


@dataclass(frozen=True)
class ModelMetrics:
    """Metrics that were measured, those that could not be, and numbers that help to read them.

    Args:
        measured: One row per metric, scope and set of parameters, in report order.
        absent: ``name`` of each metric that could not be measured, and the ``reason``.
        beside: Tied answers, and mean mass under no cut node.
    """

    measured: list[Row]
    absent: list[dict[str, str]]
    beside: list[Row]


def model_metrics(
    every: Batch,
    predicted: Predicted,
    *,
    levels: Levels = "depth",
    subgraphs: Sequence[Subgraph] = (),
    seed: int = 0,
    progress: Progress = silent,
) -> ModelMetrics:
    """Measure a model against a hierarchy, between adjacent cuts and from the leaves up.

    Args:
        every: All instances; the scores are 1 for each node of a set-valued prediction.
        subgraphs: Parts of the hierarchy; each two are compared, in either order.

    Returns:
        Numbers with 95 % intervals; no instances give nulls, not errors.
    """
    hierarchy, n = every.hierarchy, len(every)
    measures = measures_of(hierarchy, predicted, levels, every.aggregation, subgraphs)
    stream = Stream(hierarchy, measures, (ALL, *scopes_of(hierarchy, every.gold)), seed=seed)
    for rows in _batches(every.scores):
        progress("measuring the model", rows.start, n, "instances")
        stream.update(every.part(rows))
    progress("measuring the model", n, n, "instances")
    found, order = stream.compute(), {metric.name: i for i, metric in enumerate(METRICS)}
    measured = [row for row in found if row["name"] in order]
    present = {row["name"] for row in measured}
    return ModelMetrics(
        measured=sorted(measured, key=lambda row: order[row["name"]]),
        absent=[
            {"name": metric.name, "reason": _why_absent(predicted, len(subgraphs), metric.needs)}
            for metric in METRICS
            if metric.name not in present
        ],
        beside=[row for row in found if row["name"] not in order],
    )


def scopes_of(hierarchy: Hierarchy, gold: Sparse) -> tuple[str, ...]:
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
    predicted: Predicted,
    levels: Levels = "depth",
    aggregation: Aggregation = "descendants",
    subgraphs: Sequence[Subgraph] = (),
) -> Iterator[Measure]:
    """The metrics that predictions allow; arguments are those of `model_metrics`."""
    kind, cuts, moves = moves_of(hierarchy, levels)
    single_label, threshold = predicted.single_label, predicted.threshold
    decided = {} if single_label else {"threshold": threshold}
    if single_label:
        for number, cut in cuts.items():
            yield accuracy(cut, {"aggregation": aggregation, f"{kind}_to": number})
    else:
        for parameters, stands_for in generalised(hierarchy):
            yield set_f1(stands_for, threshold, {**parameters, **decided})
    for start, end in moves:
        ends = {"aggregation": aggregation, f"{kind}_from": start, f"{kind}_to": end}
        if single_label:
            yield accuracy_alignment(cuts[start], cuts[end], ends)
        if not predicted.set_valued:
            yield uncertainty_alignment(cuts[start], cuts[end], ends)
    if not predicted.set_valued:
        parts = {part.name: nodes_of(part.nodes, part.below, hierarchy) for part in subgraphs}
        for first, second in permutations(parts, 2):
            named = {"subgraphs": [[first], [second]]}
            yield subgraph_preference(parts[first], parts[second], named)
    yield from hierarchical_scores(None if single_label else threshold, decided).values()
    if single_label:
        yield mistake_severity()


def moves_of(
    hierarchy: Hierarchy, levels: Levels
) -> tuple[str, Mapping[int, Cut], list[tuple[int, int]]]:
    """What cuts are numbered by, the cuts, and which two are compared, the fine one first.

    Compared are each with the one above, and the leaves with all. ``depth`` takes the nodes at each
    depth with the leaves above it, without the root; ``level``, if the paper's are asked for, those
    whose shortest path to a leaf has so many nodes (*Abstraction Alignment*, section 3.1), of
    nested ones the topmost, and without the root, in which everything would agree.
    """
    if levels == "paper":
        level = hierarchy.level.copy()
        level[hierarchy.root] = 0
        numbers = range(1, int(level.max()) + 1)
        cuts = {at: level_cut(hierarchy.closure, level, at) for at in numbers}
        return "level", cuts, [(a, b) for a in cuts for b in cuts if b == a + 1 or a == 1 < b]
    deepest = int(hierarchy.depth.max())
    closure, depth, leaf = hierarchy.closure, hierarchy.depth, hierarchy.leaf
    cuts = {at: depth_cut(closure, depth, leaf, at) for at in range(1, deepest + 1)}
    return "depth", cuts, [(a, b) for a in cuts for b in cuts if b == a - 1 or b < a == deepest]


def nodes_of(nodes: Sequence[str], below: bool, hierarchy: Hierarchy) -> IntArray:
    """Indices of the nodes of a part of the hierarchy, ascending, with all below if asked for."""
    named = np.array([hierarchy.index(node) for node in nodes], np.int64)
    return np.unique(csr_array(hierarchy.below[named]).indices if below else named).astype(np.int64)


def _batches(scores: Sparse) -> Iterator[slice]:
    """Rows with at most `ENTRIES_PER_BATCH` stored scores together, or one row; never no batch."""
    start, n = 0, scores.shape[0]
    while start == 0 or start < n:
        limit = int(scores.indptr[start]) + ENTRIES_PER_BATCH
        end = max(int(np.searchsorted(scores.indptr, limit, "right")) - 1, start + 1)
        yield slice(start, end)
        start = end


def _why_absent(predicted: Predicted, n_subgraphs: int, needs: Needs) -> str:
    if needs == "subgraphs" and n_subgraphs < 2:
        return f"needs two subgraphs to compare; {('none are', 'one is')[n_subgraphs]} named"
    if needs in ("scores", "subgraphs") and predicted.set_valued:
        return "needs scores; the predictions are sets"
    if needs == "answers" and predicted.single_label:
        return "each instance has one answer; accuracy says the same"
    if needs == "answer" and not predicted.single_label:
        return "needs one answer per instance; the predictions are multi-label"
    return "the hierarchy has no depth between its root and its leaves"
