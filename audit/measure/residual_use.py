"""Residual use: how often instances carry only catch-all labels below a parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import schema
from audit.counting.counts import Counts
from audit.counting.dataset import Instances
from audit.counting.residual_nodes import Residual
from audit.engine.pairs.record_counts import RESIDUAL_KINDS
from audit.engine.statistics.intervals import (
    at_freedom,
    effective_n,
    left_by_bins,
    p_above,
    wilson,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.sharing.told import Rounding

RESIDUALS = schema(
    ("parent residual", pl.String),
    ("k n at_parent groups", pl.Int64),
    ("n_effective share low high", pl.Float64),
)
"""Columns of the residual table: one row per parent and kind of residual node."""


@dataclass(frozen=True, slots=True)
class Share:
    """The share of instances below a parent that are residual throughout.

    Args:
        k: Number of instances whose labels below the parent are all residual.
        n: Number of instances with a label below the parent.
        effective: Effective sample size: below n if instances of a group resemble each other.
        groups: Number of groups of the n instances; n if every instance is its own group.
    """

    k: int
    n: int
    effective: float
    groups: int

    @property
    def value(self) -> float:
        """k / n; 0 if n is 0."""
        return self.k / self.n if self.n else 0.0

    def worth(self) -> float:
        """The effective n for an interval at 95 %; smaller if there are few groups."""
        return at_freedom(self.effective, self.n, self.groups)

    def p_above(self, limit: float) -> float:
        """p value of the hypothesis that the true share is at most a limit."""
        return p_above(self.value, self.effective, self.n, self.groups, limit)

    def at_limit(self, limit: float, rounding: Rounding) -> Share:
        """The share as `Bins.at_limit` reads it, with the effective n that bins leave at a limit.

        Itself where counts are told as they are; of none where they are not told at all.
        """
        if not rounding.width:
            return self
        bins, groups = rounding.bins("instances"), rounding.count(self.groups, "groups")
        effective = bins.told(int(self.effective + 0.5))
        if effective is None or groups is None:
            return alone(0, 0)
        k, n = map(int, bins.at_limit(self.k, self.n))
        return Share(k, n, left_by_bins(limit, n, bins.width, effective), min(groups, n))

    def interval(self) -> tuple[float, float]:
        """Wilson's interval at 95 %."""
        worth = self.worth()
        return wilson(self.value * worth, worth)


def alone(k: int, n: int) -> Share:
    """The share k / n of independent instances: each is its own group."""
    return Share(k, n, float(n), n)


def residual_share(labelled: IntArray, residual: IntArray, group_of: IntArray | None) -> Share:
    """The share of the instances below a parent that are residual throughout.

    Args:
        labelled: Instances with a label below the parent.
        residual: Those of them whose labels below it are all residual.
        group_of: Group number of each instance of the dataset; None without groups.
    """
    if group_of is None or not len(labelled):
        return alone(len(residual), len(labelled))
    groups, sizes = np.unique(group_of[labelled], return_counts=True)
    k = np.bincount(np.searchsorted(groups, group_of[residual]), minlength=len(groups))
    effective = effective_n(k.astype(np.float64), sizes.astype(np.float64))
    return Share(len(residual), len(labelled), effective, len(groups))


def judged_parents(hierarchy: Hierarchy, residual: Mapping[int, Any]) -> IntArray:
    """Nodes with a residual and a specific assignable node strictly below, shape (n_parents,)."""
    is_residual = np.zeros(len(hierarchy), np.int64)
    is_residual[list(residual)] = 1
    assignable = hierarchy.assignable.astype(np.int64)
    residual_below = hierarchy.below @ is_residual - is_residual
    assignable_below = hierarchy.below @ assignable - assignable
    return np.flatnonzero((residual_below > 0) & (assignable_below > residual_below))


def residual_use(counts: Counts, residual: Mapping[int, Residual]) -> pl.DataFrame:
    """The residual share of every parent with residual and specific nodes below, by kind.

    Args:
        counts: The counts; groups of their instances, where there are any, give effective sizes.
        residual: Residual nodes by index.
    """
    hierarchy, records = counts.hierarchy, counts.records
    below = records.at("below", len(hierarchy))
    only = records.at("only_residual", len(RESIDUAL_KINDS) * len(hierarchy))
    by_kind = only.reshape(-1, len(hierarchy)).tolist()
    shares, rows = list[Share](), list[tuple[Any, ...]]()
    for parent in judged_parents(hierarchy, residual).tolist():
        for kind, (word, k) in enumerate(zip(RESIDUAL_KINDS, by_kind, strict=True)):
            if not below[parent]:
                continue
            if kind and k[parent] == by_kind[0][parent]:
                shares.append(shares[-kind])
            else:
                shares.append(_share_of(counts, parent, kind, k[parent], int(below[parent])))
            rows.append((hierarchy.nodes[parent], word, int(counts.direct_support[parent])))
    worth = np.array([share.worth() for share in shares])
    low, high = wilson(np.array([share.value for share in shares]) * worth, worth)
    each = zip(rows, shares, low.tolist(), high.tolist(), strict=True)
    lines = [
        (node, kind, of.k, of.n, direct, of.groups, of.effective, of.value, *ends)
        for (node, kind, direct), of, *ends in each
    ]
    return pl.DataFrame(lines, schema=RESIDUALS, orient="row").sort("parent", "residual")


def _share_of(counts: Counts, parent: int, kind: int, k: int, n: int) -> Share:
    """The share k / n of a parent; its effective n by groups if ``counts`` hold instances."""
    if not isinstance(counts, Instances) or counts.group_of is None:
        return alone(k, n)
    at_nodes = counts.at_nodes
    labelled, only = at_nodes.labelled_below(parent), at_nodes.only_residual(parent, kind)
    return residual_share(labelled, only, counts.group_of)
