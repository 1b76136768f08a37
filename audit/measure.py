"""From a dataset to its tables: propagate, count, and describe nodes, pairs and residual use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from audit.dag import IntArray, Sparse
from audit.dataset import LabelDataset
from audit.engine.below import LabelsBelow, labels_below
from audit.engine.intervals import effective_n, wilson
from audit.engine.pairs import count_pairs, support
from audit.engine.propagation import aggregate
from audit.hierarchy import Hierarchy
from audit.measure_model import ModelMeasurements, measure_model
from audit.pair_table import pair_table
from audit.policy import Policy
from audit.predictions import Predictions
from audit.residuals import Residual, residual_nodes

ResidualKind = Literal["all", "other", "unspecified"]
_KINDS: tuple[ResidualKind, ...] = ("all", "other", "unspecified")


@dataclass(frozen=True, eq=False)
class Measurements:
    """All that checks may look at: the dataset, the policy, and what was counted."""

    dataset: LabelDataset
    policy: Policy
    labelled_ancestors: Literal["fault", "allowed"]
    """As the policy decides, else the hierarchy."""
    aggregated: Sparse
    """Aggregated values of labels, shape (n_instances, n_nodes), int64."""
    residual: Mapping[int, Residual]
    """Residual nodes by index."""
    pairs: pl.DataFrame
    """Every pair with a joint instance, as `pair_table` counts it."""
    residuals: pl.DataFrame
    """``parent, residual, k, n, at_parent, share, low, high``: a row a parent and kind."""
    model: ModelMeasurements | None
    """What was measured of a model; None without predictions."""

    @property
    def hierarchy(self) -> Hierarchy:
        """The dataset's hierarchy."""
        return self.dataset.hierarchy

    @cached_property
    def support(self) -> IntArray:
        """Instances carrying each node, shape (n_nodes,)."""
        return support(self.aggregated)

    @cached_property
    def direct_support(self) -> IntArray:
        """Instances with each node as a label, shape (n_nodes,)."""
        return support(self.dataset.direct)

    @cached_property
    def below(self) -> LabelsBelow:
        """Labels strictly below each node, residual ones apart."""
        return _below(self.dataset, list(self.residual))

    @cached_property
    def group_of(self) -> IntArray | None:
        """Number of each instance's group, shape (n_instances,); None without groups."""
        return _group_numbers(self.dataset)

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """The hierarchy's nodes with ``direct, support, residual, residual_rule``."""
        kinds = [self.residual.get(i) for i in range(len(self.hierarchy))]
        return self.hierarchy.node_frame().with_columns(
            pl.Series("direct", self.direct_support),
            pl.Series("support", self.support),
            pl.Series("residual", [r.kind if r else None for r in kinds], pl.String),
            pl.Series("residual_rule", [r.rule if r else None for r in kinds], pl.String),
        )


def measure(
    dataset: LabelDataset,
    policy: Policy,
    predictions: Predictions | None = None,
    *,
    seed: int = 0,
) -> Measurements:
    """Propagate labels, count every pair, and measure residual use; and the model, if any."""
    hierarchy = dataset.hierarchy
    aggregated = aggregate(dataset.direct, hierarchy.closure)
    residual = residual_nodes(hierarchy, policy)
    return Measurements(
        dataset=dataset,
        policy=policy,
        labelled_ancestors=policy.labelled_ancestors or hierarchy.labelled_ancestors,
        aggregated=aggregated,
        residual=residual,
        pairs=pair_table(hierarchy, count_pairs(aggregated), support(aggregated)),
        residuals=_residual_frame(dataset, residual),
        model=None
        if predictions is None
        else measure_model(dataset, predictions, policy, seed=seed),
    )


def judged_parents(hierarchy: Hierarchy, residual: Mapping[int, Any]) -> IntArray:
    """Nodes with a residual and a specific assignable node strictly below, shape (n_parents,)."""
    is_residual = np.zeros(len(hierarchy), np.int64)
    is_residual[list(residual)] = 1
    assignable = hierarchy.assignable.astype(np.int64)
    residual_below = hierarchy.below @ is_residual - is_residual
    assignable_below = hierarchy.below @ assignable - assignable
    return np.flatnonzero((residual_below > 0) & (assignable_below > residual_below))


def residual_share(
    labelled: IntArray, residual: IntArray, group_of: IntArray | None
) -> tuple[float, float, float]:
    """Share and Wilson interval; with groups, at the effective number of instances.

    Args:
        labelled: Instances below a parent.
        residual: Those of them that are residual throughout.
        group_of: Group number of each instance of the dataset.

    Returns:
        Share, lower and upper bound; (0, 0, 1) for no instance.
    """
    k, n = len(residual), len(labelled)
    share = k / n if n else 0.0
    worth = float(n)
    if group_of is not None and n:
        n_by_group = np.bincount(group_of[labelled])
        k_by_group = np.bincount(group_of[residual], minlength=len(n_by_group))
        present = n_by_group > 0
        worth = effective_n(k_by_group[present].astype(float), n_by_group[present].astype(float))
    return share, *wilson(share * worth, worth)


def _residual_frame(dataset: LabelDataset, residual: Mapping[int, Residual]) -> pl.DataFrame:
    hierarchy, group_of = dataset.hierarchy, _group_numbers(dataset)
    parents = judged_parents(hierarchy, residual)
    labelled_at = support(dataset.direct)
    rows: list[tuple[Any, ...]] = []
    for kind in _KINDS:
        nodes = [i for i, found in residual.items() if kind in ("all", found.kind)]
        below = _below(dataset, nodes)
        for parent in parents.tolist():
            labelled = below.labelled(parent)
            if len(labelled):
                only = below.only_residual(parent)
                share, low, high = residual_share(labelled, only, group_of)
                counted = (len(only), len(labelled), int(labelled_at[parent]))
                rows.append((hierarchy.nodes[parent], kind, *counted, share, low, high))
    return pl.DataFrame(rows, schema=RESIDUALS, orient="row").sort("parent", "residual")


RESIDUALS: dict[str, Any] = {
    "parent": pl.String,
    "residual": pl.String,
    "k": pl.Int64,
    "n": pl.Int64,
    "at_parent": pl.Int64,
    "share": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
"""Columns of the residual table."""


def _below(dataset: LabelDataset, residual: list[int]) -> LabelsBelow:
    strict_closure = dataset.hierarchy.strict_closure
    return labels_below(dataset.direct, strict_closure, np.array(residual, np.int64))


def _group_numbers(dataset: LabelDataset) -> IntArray | None:
    groups = dataset.instances["group"]
    if groups.null_count() == len(groups):
        return None
    alone = pl.concat_str(pl.lit("alone:"), "instance")
    named = pl.coalesce(pl.concat_str(pl.lit("group:"), "group"), alone)
    numbers = dataset.instances.select(named.rank("dense")).to_series()
    return numbers.to_numpy().astype(np.int64) - 1
