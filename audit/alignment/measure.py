"""Measure predictions: decide, propagate, count pairs, and compute metrics and behaviours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.measures import pair_confusions
from audit.alignment.metrics.model import Predicted, model_metrics
from audit.alignment.metrics.streaming import Stream
from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.progress import Progress, silent
from audit.counting.counts import counted_pairs
from audit.counting.pair_table import PairTable
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.engine.pairs.pair_counts import count_pairs, support
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.rows import row_numbers, row_sums
from audit.engine.scores.cuts import decide, normalised
from audit.engine.scores.exchanges import Exchanges, count_exchanges
from audit.engine.scores.score_pairs import count_score_pairs, support_at
from audit.engine.statistics.intervals import wilson
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.policy.rules import MANY, PUBLISHED, BehaviourQuery
from audit.results.overview import most_confused

_WORDS = {
    "leaves": "leaves that count: {}",
    "nodes": "nodes at depth {depth}: {}",
    "largest_leaf": "the largest leaf in {}",
    "largest_node": "the largest node at depth {depth} in {}",
}


@dataclass(frozen=True)
class Query:
    """A yes-or-no question about one instance, as a policy states it (*Abstraction Alignment*,
    section 4.1 and figure 2).

    It looks at the instance's mass, its scores divided by their sum; without mass none is matched.
    A node counts from ``at_least`` of the mass. Nodes at a depth have the aggregated value, each
    descendant once.
    """

    stated: BehaviourQuery

    @property
    def words(self) -> str:
        """The question as worded in reports."""
        asked = self.stated
        conditions = ", ".join(
            _WORDS[name].format(_span(*bounds), depth=asked.depth)
            for name, bounds in asked.conditions.items()
        )
        return f"{asked.name.capitalize()}: {conditions} (a node counts from {asked.at_least:g})"

    def matches(self, values: Sparse, hierarchy: Hierarchy) -> BoolArray:
        """Whether each instance meets every condition, shape (n_instances,); not without mass.

        Args:
            values: Non-negative scores, shape (n_instances, n_nodes), canonical CSR.
        """
        own = normalised(values)
        above, at_depth = csr_array(own @ hierarchy.closure), hierarchy.depth == self.stated.depth
        measured: dict[str, IntArray | FloatArray] = {}
        for plural, one, shares, among in (
            ("leaves", "leaf", own, hierarchy.leaf),
            ("nodes", "node", above, at_depth),
        ):
            kept = among[shares.indices] & (shares.data >= self.stated.at_least)
            rows, largest = row_numbers(shares)[kept], np.zeros(values.shape[0])
            np.maximum.at(largest, rows, shares.data[kept])
            measured[plural] = np.bincount(rows, minlength=values.shape[0])
            measured[f"largest_{one}"] = largest
        matching = row_sums(own) > 0
        for name, (least, greatest) in self.stated.conditions.items():
            matching &= (measured[name] >= least) & (measured[name] <= greatest)
        return matching


def _span(least: float, greatest: float) -> str:
    """A range in words: ``at least 2``, ``2``, or ``2 to 3``."""
    if greatest >= MANY:
        return f"at least {least:g}"
    return f"{least:g}" if least == greatest else f"{least:g} to {greatest:g}"


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
    hierarchy, scores = dataset.hierarchy, predictions.scores
    threshold = policy.decision_threshold.value
    decided = decide(scores, threshold, single_label=predictions.single_label)
    units = dataset.instances.select(pl.coalesce("group", "instance")).to_series()
    batch = Batch(
        hierarchy,
        predictions.gold(dataset),
        scores,
        units.gather(predictions.rows).to_list(),
        policy.aggregation,
    )
    metrics = model_metrics(
        batch,
        Predicted(predictions.single_label, predictions.set_valued, threshold),
        levels=policy.levels,
        subgraphs=policy.subgraphs,
        seed=seed,
        progress=progress,
    )
    least = policy.confusion_threshold.value
    pairs = _pairs(batch, decided, predictions.set_valued, least, device, progress)
    others = {query.name: query.as_published for query in policy.queries}
    asked = [] if predictions.set_valued else map(Query, {**PUBLISHED, **others}.values())
    behaving = {query: np.flatnonzero(query.matches(scores, hierarchy)) for query in asked}
    progress("resampling the most confused pairs")
    return ModelMeasurements(
        predictions=predictions,
        gold=batch.gold,
        decided=decided,
        pairs=_with_intervals(pairs, batch, np.unique(dataset.direct.indices), least, seed),
        metrics=tuple(metrics.measured),
        metrics_absent=tuple(metrics.absent),
        metrics_beside=tuple(metrics.beside),
        behaviours=tuple(_behaviour(*shown, len(predictions)) for shown in behaving.items()),
        behaving={q.stated.name: np.sort(predictions.rows[at]) for q, at in behaving.items()},
    )


def _pairs(
    batch: Batch,
    decided: Sparse,
    set_valued: bool,
    least: float,
    device: str | None,
    progress: Progress,
) -> PairTable:
    """The pairs of scores from ``least`` up, or of sets, with how often both are predicted."""
    carried = aggregate(decided, batch.hierarchy.closure)
    counts, supports = count_pairs(carried, progress), support(carried)
    co_predicted = pl.col("joint").cast(pl.Int64).alias("co_predicted")
    predicted_pairs = counted_pairs(counts, len(batch)).select("a", "b", co_predicted)
    if not set_valued:
        counts = count_score_pairs(batch.aggregated, least, progress, device=device)
        supports = support_at(batch.aggregated, least)
    counted = counted_pairs(counts, len(batch)).lazy()
    joined = counted.join(predicted_pairs.lazy(), on=["a", "b"], how="left", maintain_order="left")
    filled = joined.with_columns(pl.col("co_predicted").fill_null(0))
    return PairTable(filled.collect().lazy(), lambda: batch.hierarchy, supports, len(batch))


def _with_intervals(
    pairs: PairTable, batch: Batch, labels: IntArray, least: float, seed: int
) -> PairTable:
    """The pairs with bootstrap intervals of the pairs most confused, null elsewhere."""
    labelled = pl.Series([batch.hierarchy.nodes[label] for label in labels], dtype=pl.String)
    top = most_confused(pairs.frame.with_row_index("row"), labelled).collect()
    stream = Stream(
        batch.hierarchy,
        [pair_confusions(list(top.select("a", "b").iter_rows()), least)],
        seed=seed,
    )
    stream.update(batch)
    found = stream.compute()
    bounds = top.select("row").with_columns(
        pl.Series(f"confusion_{end}", [row[end] for row in found], pl.Float64)
        for end in ("low", "high")
    )
    rows = pairs.counted.with_row_index("row")
    placed = rows.join(bounds.lazy(), on="row", how="left", maintain_order="left").drop("row")
    return replace(pairs, counted=placed.collect().lazy())


def _behaviour(query: Query, matched: IntArray, n: int) -> dict[str, Any]:
    """The share of the n instances that match a query, with the ends of its interval."""
    low, high = wilson(len(matched), n)
    return {
        "name": query.stated.name,
        "title": query.words,
        "instances": len(matched),
        "of": n,
        "share": len(matched) / n if n else None,
        "low": low,
        "high": high,
    }
