"""Measure predictions: decide labels, propagate, count pairs, compute metrics and behaviours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from audit.alignment.metrics.confusion import pair_confusions
from audit.alignment.metrics.measure import model_metrics
from audit.alignment.metrics.queries import QUERIES, Stated
from audit.base.dag import IntArray, Sparse
from audit.base.progress import Progress, silent
from audit.counting.pair_table import described, pair_table
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.engine.pairs.amplified import Carried
from audit.engine.pairs.pair_counts import PairCounts, count_pairs, support
from audit.engine.pairs.propagation import aggregate
from audit.engine.scores.decisions import decide
from audit.engine.scores.exchanges import Exchanges, count_exchanges
from audit.engine.scores.score_pairs import count_score_pairs, support_at
from audit.engine.statistics.intervals import wilson
from audit.hierarchies.aggregation import aggregated_values
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.results.model_overview import most_confused

EXAMPLES = 5
"""Number of instances listed as examples of a behaviour."""


@dataclass(frozen=True, eq=False)
class ModelMeasurements:
    """Everything about a model that checks may read.

    Args:
        predictions: The predictions.
        gold: Labels of the instances that have predictions, 0/1, shape (n_instances, n_nodes).
        decided: Predicted labels of the same instances, 0/1, same shape.
        pairs: The pair table of the predictions, with ``co_predicted`` and, for the most confused
            pairs, ``confusion_low, confusion_high``.
        metrics: ``name, scope, value, low, high, n, parameters``.
        metrics_absent: ``name, reason``.
        metrics_beside: Tied answers, and mass that is under no node of a cut.
        behaviours: ``name, title, instances, of, low, high, examples``.
    """

    predictions: Predictions
    gold: Sparse
    decided: Sparse
    pairs: pl.DataFrame
    metrics: tuple[Mapping[str, Any], ...]
    metrics_absent: tuple[Mapping[str, str], ...]
    metrics_beside: tuple[Mapping[str, Any], ...]
    behaviours: tuple[Mapping[str, Any], ...]

    @cached_property
    def exchanges(self) -> Exchanges:
        """Exchanges between direct labels; their ancestors do not count."""
        return count_exchanges(self.gold, self.decided)

    @cached_property
    def carried(self) -> Carried:
        """Nodes that instances carry by their labels and by their predictions."""
        return Carried.of(self.gold, self.decided, self.predictions.hierarchy.closure)

    def described(self) -> pl.LazyFrame:
        """The pair table as it is published."""
        lazy = described(self.pairs.lazy(), len(self.predictions))
        further = self.pairs.lazy().select("co_predicted", "confusion_low", "confusion_high")
        return pl.concat([lazy, further], how="horizontal")


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
    gold = dataset.direct[predictions.rows]
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
    progress("resampling the most confused pairs")
    return ModelMeasurements(
        predictions=predictions,
        gold=gold,
        decided=decided,
        pairs=_with_intervals(pairs, dataset, predictions, units, policy, seed=seed),
        metrics=tuple(metrics.measured),
        metrics_absent=tuple({"name": name, "reason": why} for name, why in metrics.absent),
        metrics_beside=tuple(metrics.beside),
        behaviours=() if predictions.set_valued else _behaviours(predictions, policy),
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
) -> pl.DataFrame:
    carried = aggregate(decided, hierarchy.closure)
    together = count_pairs(carried, progress)
    if predictions.set_valued:
        counts, supports = together, support(carried)
    else:
        threshold = policy.confusion_threshold.value
        counts = count_score_pairs(aggregated, threshold, progress, device=device)
        supports = support_at(aggregated, threshold)
    co_predicted = _joint_of(together, counts, len(hierarchy))
    return pair_table(hierarchy, counts, supports).with_columns(
        pl.Series("co_predicted", co_predicted, pl.Int64)
    )


def _with_intervals(
    pairs: pl.DataFrame,
    dataset: LabelDataset,
    predictions: Predictions,
    units: list[str],
    policy: Policy,
    *,
    seed: int,
) -> pl.DataFrame:
    """The pair table with bootstrap intervals of the pairs most confused, null elsewhere."""
    hierarchy = dataset.hierarchy
    labelled = pl.Series(
        [hierarchy.nodes[i] for i in np.unique(dataset.direct.indices)], dtype=pl.String
    )
    numbered = described(pairs.lazy(), len(predictions)).with_row_index("row")
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
    placed = pairs.with_row_index("row").join(bounds, on="row", how="left", maintain_order="left")
    return placed.drop("row")


def _joint_of(counted: PairCounts, wanted: PairCounts, n_nodes: int) -> IntArray:
    """Joint counts of one list of pairs, for the pairs of another; 0 where it lacks one."""
    if len(counted.a) == 0:
        return np.zeros(len(wanted.a), np.int64)
    keys, asked = counted.a * n_nodes + counted.b, wanted.a * n_nodes + wanted.b
    at = np.searchsorted(keys, asked).clip(max=len(keys) - 1)
    return np.where(keys[at] == asked, counted.joint[at], 0)


def _behaviours(predictions: Predictions, policy: Policy) -> tuple[dict[str, Any], ...]:
    asked = []
    for query in (*QUERIES, *map(Stated, policy.queries)):
        matched = np.flatnonzero(query.matches(predictions.scores, predictions.hierarchy))
        low, high = wilson(len(matched), len(predictions))
        asked.append(
            {
                "name": query.name,
                "title": query.words.format(**query.parameters),
                "instances": len(matched),
                "of": len(predictions),
                "low": low,
                "high": high,
                "examples": [predictions.instances[i] for i in matched[:EXAMPLES].tolist()],
            }
        )
    return tuple(asked)
