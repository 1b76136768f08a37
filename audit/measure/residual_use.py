"""How often only catch-alls are used below a parent: shares, drawn toward what is usual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.counting.counts import Counts
from audit.counting.dataset import Instances
from audit.counting.residual_nodes import Residual
from audit.engine.pairs.below import LabelsBelow, count_below
from audit.engine.pairs.record_counts import RESIDUAL_KINDS, Records
from audit.engine.statistics.intervals import LEVEL, at_freedom, effective_n, p_above, wilson
from audit.engine.statistics.shrinkage import SharePrior, share_prior
from audit.hierarchies.hierarchy import Hierarchy

RESIDUALS: dict[str, Any] = {
    "parent": pl.String,
    "residual": pl.String,
    "k": pl.Int64,
    "n": pl.Int64,
    "at_parent": pl.Int64,
    "groups": pl.Int64,
    "n_effective": pl.Float64,
    "share": pl.Float64,
    "shrunk": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
"""Columns of the residual table: a row a parent and kind of residual node."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of instances below a parent.

    Args:
        k: Instances that are residual throughout.
        n: Instances with a label below the parent.
        effective: What the n are worth: less where instances of one group repeat each other.
        groups: How many groups the n are of; n where every instance stands alone.
    """

    k: int
    n: int
    effective: float
    groups: int

    @property
    def value(self) -> float:
        """k / n; 0 for no instance."""
        return self.k / self.n if self.n else 0.0

    def worth(self, level: float = LEVEL) -> float:
        """The effective n for an interval at a level: less where the groups are few."""
        return at_freedom(self.effective, self.n, self.groups, level)

    def p_above(self, limit: float) -> float:
        """p value of the share if the true one were at a limit, or below it."""
        return p_above(self.value, self.effective, self.n, self.groups, limit)

    def interval(self, prior: SharePrior | None = None) -> tuple[float, float]:
        """Interval at 95 %: of the posterior where there is a prior, else Wilson's."""
        worth = self.worth()
        if prior is None:
            return wilson(self.value * worth, worth)
        return prior.interval(self.value * worth, worth)

    def shrunk(self, prior: SharePrior | None) -> float:
        """The share drawn toward the prior; itself without one."""
        if prior is None:
            return self.value
        worth = self.worth()
        return prior.shrunk(self.value * worth, worth)


def alone(k: int, n: int) -> Share:
    """The share k / n of instances each of which is its own group."""
    return Share(k, n, float(n), n)


def residual_share(labelled: IntArray, residual: IntArray, group_of: IntArray | None) -> Share:
    """The share of the instances below a parent that are residual throughout.

    Args:
        labelled: Instances below a parent.
        residual: Those of them that are residual throughout.
        group_of: Group number of each instance of the dataset; None without groups.
    """
    k, n = len(residual), len(labelled)
    if group_of is None or not n:
        return alone(k, n)
    groups, n_by_group = np.unique(group_of[labelled], return_counts=True)
    k_by_group = np.bincount(np.searchsorted(groups, group_of[residual]), minlength=len(groups))
    effective = effective_n(k_by_group.astype(np.float64), n_by_group.astype(np.float64))
    return Share(k, n, effective, len(groups))


def judged_parents(hierarchy: Hierarchy, residual: Mapping[int, Any]) -> IntArray:
    """Nodes with a residual and a specific assignable node strictly below, shape (n_parents,)."""
    is_residual = np.zeros(len(hierarchy), np.int64)
    is_residual[list(residual)] = 1
    assignable = hierarchy.assignable.astype(np.int64)
    residual_below = hierarchy.below @ is_residual - is_residual
    assignable_below = hierarchy.below @ assignable - assignable
    return np.flatnonzero((residual_below > 0) & (assignable_below > residual_below))


@dataclass(frozen=True, eq=False)
class ResidualUse:
    """What was measured of residual use.

    Args:
        table: Columns `RESIDUALS`.
        prior: What the shares of all kinds together are drawn toward; None where they are not.
    """

    table: pl.DataFrame
    prior: SharePrior | None


def residual_use(
    counts: Counts,
    residual: Mapping[int, Residual],
    least: float,
    instances: Instances | None = None,
) -> ResidualUse:
    """Measure every parent with residual and specific nodes below, each kind apart.

    Args:
        counts: The counts; their ``below`` and ``only_residual`` are used without instances.
        residual: Residual nodes by index.
        least: Instances below a parent from which its share is one that the prior is fitted to.
        instances: Those that were counted, whose groups say what a share is worth; None: every
            instance is its own group.
    """
    hierarchy, labelled_at = counts.hierarchy, counts.direct_support
    parents = judged_parents(hierarchy, residual).tolist()
    if instances is None:
        shares = _shares_of_counts(counts.records, len(hierarchy), parents)
    else:
        shares = _shares_of_instances(instances, parents)
    rows, priors = list[tuple[Any, ...]](), dict[str, SharePrior | None]()
    for kind, by_parent in shares.items():
        prior = priors[kind] = _prior(list(by_parent.values()), least)
        for parent, share in by_parent.items():
            counted = (share.k, share.n, int(labelled_at[parent]), share.groups, share.effective)
            drawn = (share.value, share.shrunk(prior), *share.interval(prior))
            rows.append((hierarchy.nodes[parent], kind, *counted, *drawn))
    table = pl.DataFrame(rows, schema=RESIDUALS, orient="row").sort("parent", "residual")
    return ResidualUse(table, priors["all"])


_Shares = Mapping[str, Mapping[int, Share]]
"""Shares by kind of residual node and by parent, of those with an instance below."""


def _shares_of_counts(records: Records, n_nodes: int, parents: list[int]) -> _Shares:
    below = records.at("below", n_nodes).tolist()
    only = records.at("only_residual", len(RESIDUAL_KINDS) * n_nodes).reshape(-1, n_nodes)
    return {
        kind: {parent: alone(k[parent], below[parent]) for parent in parents if below[parent]}
        for kind, k in zip(RESIDUAL_KINDS, only.tolist(), strict=True)
    }


def _shares_of_instances(instances: Instances, parents: list[int]) -> _Shares:
    group_of = instances.group_of
    return {
        kind: {
            parent: residual_share(labelled, below.only_residual(parent), group_of)
            for parent in parents
            if len(labelled := below.labelled(parent))
        }
        for kind, below in _below_by_kind(instances).items()
    }


def _below_by_kind(instances: Instances) -> dict[str, LabelsBelow]:
    """Labels strictly below each node, once for each kind of residual node."""
    every, strict_closure = instances.below, instances.hierarchy.strict_closure
    other, unspecified = (
        count_below(instances.dataset.direct, strict_closure, np.array(nodes, np.int64))
        for nodes in (
            [i for i, found in instances.residual.items() if found.kind == kind]
            for kind in ("other", "unspecified")
        )
    )
    return {
        "all": every,
        "other": replace(every, specific=every.specific + unspecified),
        "unspecified": replace(every, specific=every.specific + other),
    }


def _prior(shares: list[Share], least: float) -> SharePrior | None:
    judged = [share for share in shares if share.n >= least]
    worth = np.array([share.value * share.effective for share in judged], np.float64)
    effective = np.array([share.effective for share in judged], np.float64)
    return share_prior(worth, effective)
