"""Measure predictions: decide, propagate, count pairs, and compute metrics and behaviours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from audit.alignment.metrics.confusion import pair_confusions
from audit.alignment.metrics.measure import model_metrics
from audit.alignment.metrics.queries import Query
from audit.base.dag import IntArray, Sparse
from audit.base.progress import Progress, silent
from audit.counting.counts import counted_pairs
from audit.counting.pair_table import PairTable
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.engine.pairs.pair_counts import PairCounts, count_pairs, support
from audit.engine.pairs.propagation import aggregate
from audit.engine.scores.cuts import decide
from audit.engine.scores.exchanges import Exchanges, count_exchanges
from audit.engine.scores.score_pairs import count_score_pairs, support_at
from audit.engine.statistics.intervals import wilson
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values
from audit.policy.policy import Policy
from audit.policy.rules import PUBLISHED
from audit.results.model_overview import most_confused


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
        behaviours: ``name, title, instances, of, share, low, high``.
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
        single_label=predictions.single_label,
        set_valued=predictions.set_valued,
        decision_threshold=threshold,
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
        pairs=_with_intervals(pairs, dataset, predictions, units, policy, seed=seed),
        metrics=tuple(metrics.measured),
        metrics_absent=tuple({"name": name, "reason": why} for name, why in metrics.absent),
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
    pairs: PairTable,
    dataset: LabelDataset,
    predictions: Predictions,
    units: list[str],
    policy: Policy,
    *,
    seed: int,
) -> PairTable:
    """The pairs with bootstrap intervals of the pairs most confused, null elsewhere."""
    hierarchy = dataset.hierarchy
    labelled = pl.Series(
        [hierarchy.nodes[i] for i in np.unique(dataset.direct.indices)], dtype=pl.String
    )
    numbered = pairs.frame.with_row_index("row")
    top = most_confused(numbered, labelled).collect()
    found = pair_confusions(
        hierarchy,
        predictions.scores,
        list(top.select("a", "b").iter_rows()),
        units,
        threshold=policy.confusion_threshold.value,
        aggregation=policy.aggregation,
        seed=seed,
    )
    bounds = top.select("row").with_columns(
        pl.Series("confusion_low", [estimate.low for estimate in found], pl.Float64),
        pl.Series("confusion_high", [estimate.high for estimate in found], pl.Float64),
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
            "share": len(matched) / len(predictions) if len(predictions) else None,
            "low": low,
            "high": high,
        }
