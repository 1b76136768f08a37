"""Measure predictions: decide, propagate, count pairs, and compute metrics and behaviours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.measures import pair_confusion
from audit.alignment.metrics.model import Predicted, model_metrics
from audit.alignment.metrics.queries import Query
from audit.alignment.metrics.streaming import Stream
from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.base.progress import Progress, silent
from audit.counting.counts import counted_pairs
from audit.counting.pair_table import PairTable
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.engine.pairs.pair_counts import PairCounts, count_pairs, support
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.rows import row_numbers
from audit.engine.scores.cuts import decide
from audit.engine.scores.exchanges import Exchanges, count_exchanges, least_margin
from audit.engine.scores.score_pairs import count_score_pairs, support_at
from audit.engine.statistics.intervals import wilson
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import RELATIONS, aggregated_values, relate
from audit.policy.policy import Policy
from audit.policy.rules import PUBLISHED
from audit.results.model_overview import most_confused

MOST_BRANCHES = 15
"""Number of branches compared with each other: those with the most missed and false labels."""


def branch_exchanges(hierarchy: Hierarchy, found: Exchanges) -> tuple[dict[str, Any], ...]:
    """Count exchanges by the relation of their two labels, and between each pair of branches.

    Returns:
        ``kind, a, b, observed, margin, expected``. Three rows, of ``kind`` and ``observed`` alone,
        cover all exchanges: ``related`` (one label is an ancestor of the other), ``within`` (they
            share a branch)
        and ``across`` (they share no branch). Each row of kind ``branches`` is a pair of branches,
        ``a`` before ``b`` in node order, with at least one exchange of labels that share no branch.
        An exchange whose label is in several branches counts in the row of each. Without
        exchanges there are no rows.
    """
    if not len(found.a):
        return ()
    below = csr_array(hierarchy.closure[:, hierarchy.branches])
    relation, _ = relate(hierarchy, found.a, found.b)
    related = relation == RELATIONS.index("ancestor")
    apart = ~related & (np.diff(_in_both(below, found.a, found.b).indptr) == 0)
    kinds = (("related", related), ("within", ~related & ~apart), ("across", apart))
    totals = (_row(kind, None, None, int(found.observed[at].sum())) for kind, at in kinds)
    return (*totals, *_between(hierarchy, found, below, apart))


def _in_both(below: Sparse, a: IntArray, b: IntArray) -> Sparse:
    both = csr_array(below[a].multiply(below[b]))
    both.eliminate_zeros()
    return both


def _row(
    kind: str,
    a: str | None,
    b: str | None,
    observed: int,
    margin: int | None = None,
    expected: float | None = None,
) -> dict[str, Any]:
    beside = {"observed": observed, "margin": margin, "expected": expected}
    return {"kind": kind, "a": a, "b": b, **beside}


def _between(
    hierarchy: Hierarchy, found: Exchanges, below: Sparse, apart: BoolArray
) -> Iterator[dict[str, Any]]:
    missed, false = found.missed @ below, found.false @ below
    largest = np.sort(np.argsort(-(missed + false), kind="stable")[:MOST_BRANCHES])
    sets, place = _branch_sets(below, np.flatnonzero(found.missed + found.false), largest)
    observed = np.zeros((len(sets), len(sets)))
    kept = apart & (place[found.a] >= 0) & (place[found.b] >= 0)
    np.add.at(observed, (place[found.a[kept]], place[found.b[kept]]), found.observed[kept])
    expected = _summed(found.rows, place, len(sets)).T @ _summed(found.columns, place, len(sets))
    disjoint = np.array([[one.isdisjoint(other) for other in sets] for one in sets], np.bool_)
    for a, b in combinations(largest.tolist(), 2):
        here = np.ix_([a in one for one in sets], [b in one for one in sets])
        total = int((observed + observed.T)[here].sum())
        if total:
            first, second = (hierarchy.nodes[hierarchy.branches[branch]] for branch in (a, b))
            by_chance = float((expected + expected.T)[here][disjoint[here]].sum())
            (margin,) = least_margin(missed, false, np.array([a]), np.array([b])).tolist()
            yield _row("branches", first, second, total, margin, by_chance)


def _branch_sets(
    below: Sparse, labels: IntArray, largest: IntArray
) -> tuple[list[frozenset[int]], IntArray]:
    """The different sets of branches of labels in one of the largest, and the place of each node's.

    Other nodes have -1.
    """
    places: dict[frozenset[int], int] = {}
    place = np.full(below.shape[0], -1, np.int64)
    for label in labels.tolist():
        branches = frozenset(row(below, label).tolist())
        if not branches.isdisjoint(largest.tolist()):
            place[label] = places.setdefault(branches, len(places))
    return list(places), place


def _summed(terms: Sparse, place: IntArray, n_sets: int) -> FloatArray:
    """Terms of labels summed over each set of branches, shape (n_terms, n_sets)."""
    summed = np.zeros((terms.shape[0], n_sets))
    kept = place[terms.indices] >= 0
    at = row_numbers(terms)[kept], place[terms.indices[kept]]
    np.add.at(summed, at, terms.data[kept])
    return summed


EXAMPLES = 5
"""Number of instances listed as examples of a behaviour."""


@dataclass(frozen=True, eq=False)
class ModelMeasurements:
    """Everything about a model that checks may read.

    Args:
        gold: Labels of the instances that have predictions, 0/1, shape (n_instances, n_nodes).
        decided: Predicted labels of the same instances, 0/1, same shape.
        pairs: The pairs of the predictions, with ``co_predicted`` and, for the most confused pairs,
            ``confusion_low, confusion_high``.
        metrics: ``name, scope, value, low, high, n, parameters``.
        metrics_absent: ``name, reason``.
        metrics_beside: Tied answers, and mass that is under no node of a cut.
        behaviours: ``name, title, instances, of, low, high, examples``.
        behaving: Indices into the dataset of the instances of each behaviour, by its name.
    """

    predictions: Predictions
    gold: Sparse
    decided: Sparse
    pairs: PairTable
    metrics: tuple[Mapping[str, Any], ...]
    metrics_absent: tuple[Mapping[str, str], ...]
    metrics_beside: tuple[Mapping[str, Any], ...]
    behaviours: tuple[Mapping[str, Any], ...]
    behaving: Mapping[str, IntArray]

    @cached_property
    def exchanges(self) -> Exchanges:
        """Exchanges between direct labels; their ancestors do not count."""
        return count_exchanges(self.gold, self.decided)


def measure_model(
    dataset: LabelDataset,
    predictions: Predictions,
    policy: Policy,
    *,
    seed: int,
    device: str | None = None,
    progress: Progress = silent,
) -> ModelMeasurements:
    """Decide and propagate the predictions of a dataset's instances, and measure them.

    ``device`` is the PyTorch device that counts pairs of scores; with None, NumPy counts them.
    """
    progress("propagating predictions")
    hierarchy = dataset.hierarchy
    gold = predictions.gold(dataset)
    threshold = policy.decision_threshold.value
    decided = decide(predictions.scores, threshold, single_label=predictions.single_label)
    aggregated = aggregated_values(hierarchy, predictions.scores, policy.aggregation)
    units = _units(dataset, predictions.rows)
    metrics = model_metrics(
        hierarchy,
        gold,
        predictions.scores,
        units,
        Predicted(predictions.single_label, predictions.set_valued, threshold),
        levels=policy.levels,
        aggregation=policy.aggregation,
        subgraphs=policy.subgraphs,
        seed=seed,
        progress=progress,
    )
    pairs = _pairs(hierarchy, predictions, decided, aggregated, policy, device, progress)
    behaving = [] if predictions.set_valued else _behaving(predictions, policy)
    progress("resampling the most confused pairs")
    return ModelMeasurements(
        predictions=predictions,
        gold=gold,
        decided=decided,
        pairs=_with_intervals(
            pairs,
            dataset,
            Batch(hierarchy, gold, predictions.scores, units, policy.aggregation),
            policy.confusion_threshold.value,
            seed,
        ),
        metrics=tuple(metrics.measured),
        metrics_absent=tuple(metrics.absent),
        metrics_beside=tuple(metrics.beside),
        behaviours=tuple(_behaviours(predictions, behaving)),
        behaving={query.stated.name: np.sort(predictions.rows[found]) for query, found in behaving},
    )


def _units(dataset: LabelDataset, rows: IntArray) -> list[str]:
    """What is resampled: the group where there is one, else the instance."""
    units = dataset.instances.select(pl.coalesce("group", "instance")).to_series()
    return units.gather(rows).to_list()


def _pairs(
    hierarchy: Hierarchy,
    predictions: Predictions,
    decided: Sparse,
    aggregated: Sparse,
    policy: Policy,
    device: str | None,
    progress: Progress,
) -> PairTable:
    carried = aggregate(decided, hierarchy.closure)
    together = count_pairs(carried, progress)
    if predictions.set_valued:
        counts, supports = together, support(carried)
    else:
        threshold = policy.confusion_threshold.value
        counts = count_score_pairs(aggregated, threshold, progress, device=device)
        supports = support_at(aggregated, threshold)
    co_predicted = _joint_of(together, counts, len(hierarchy))
    both = pl.Series("co_predicted", co_predicted, pl.Int64)
    counted = counted_pairs(counts, len(predictions)).with_columns(both)
    return PairTable(counted.lazy(), lambda: hierarchy, supports, len(predictions))


def _with_intervals(
    pairs: PairTable, dataset: LabelDataset, batch: Batch, threshold: float, seed: int
) -> PairTable:
    """The pairs with bootstrap intervals of the pairs most confused, null elsewhere."""
    hierarchy = dataset.hierarchy
    labelled = pl.Series(
        [hierarchy.nodes[i] for i in np.unique(dataset.direct.indices)], dtype=pl.String
    )
    top = most_confused(pairs.frame.with_row_index("row"), labelled).collect()
    found: list[Mapping[str, Any]] = []
    if len(top):
        ends = top.select("a", "b").iter_rows()
        each = [pair_confusion(a, b, threshold) for a, b in ends]
        stream = Stream(hierarchy, each, seed=seed)
        stream.update(batch)
        found = list(stream.compute())
    bounds = top.select("row").with_columns(
        pl.Series(f"confusion_{end}", [row[end] for row in found], pl.Float64)
        for end in ("low", "high")
    )
    rows = pairs.counted.with_row_index("row")
    placed = rows.join(bounds.lazy(), on="row", how="left", maintain_order="left").drop("row")
    return replace(pairs, counted=placed.collect().lazy())


def _joint_of(counted: PairCounts, wanted: PairCounts, n_nodes: int) -> IntArray:
    """Joint counts of one list of pairs, for the pairs of another; 0 where it lacks one."""
    if len(counted.a) == 0:
        return np.zeros(len(wanted.a), np.int64)
    keys, asked = counted.keys(n_nodes), wanted.keys(n_nodes)
    at = np.searchsorted(keys, asked).clip(max=len(keys) - 1)
    return np.where(keys[at] == asked, counted.joint[at], 0)


def _behaving(predictions: Predictions, policy: Policy) -> list[tuple[Query, IntArray]]:
    """Each kind of behaviour, and the predictions that show it, ascending.

    These are the published ones, and those that the policy states further or otherwise.
    """
    further = {query.name: query.as_published for query in policy.queries}
    asked = map(Query, {**PUBLISHED, **further}.values())
    scores, hierarchy = predictions.scores, predictions.hierarchy
    return [(query, np.flatnonzero(query.matches(scores, hierarchy))) for query in asked]


def _behaviours(
    predictions: Predictions, behaving: Sequence[tuple[Query, IntArray]]
) -> Iterator[dict[str, Any]]:
    for query, matched in behaving:
        low, high = wilson(len(matched), len(predictions))
        yield {
            "name": query.stated.name,
            "title": query.words,
            "instances": len(matched),
            "of": len(predictions),
            "low": low,
            "high": high,
            "examples": [predictions.instances[i] for i in matched[:EXAMPLES].tolist()],
        }
