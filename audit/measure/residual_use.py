"""Residual use: how often instances carry only catch-all labels below a parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import schema
from audit.counting.counts import Counts
from audit.counting.dataset import Instances
from audit.counting.residual_nodes import Residual
from audit.engine.pairs.record_counts import RESIDUAL_KINDS, Records
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
        """The share as `Bins.at_limit` reads it, with what bins leave of its effective n there.

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
    return _shares(labelled, [residual], group_of)[0]


def _shares(
    labelled: IntArray, of_each: Sequence[IntArray], group_of: IntArray | None
) -> list[Share]:
    """The same of several sets of residual instances below one parent, all of them in the first."""
    n = len(labelled)
    if group_of is None or not n:
        return [alone(len(residual), n) for residual in of_each]
    groups, sizes = np.unique(group_of[labelled], return_counts=True)
    n_by_group, shares = sizes.astype(np.float64), list[Share]()
    for residual in of_each:
        if shares and len(residual) == shares[0].k:
            shares.append(shares[0])
            continue
        places = np.searchsorted(groups, group_of[residual])
        k_by_group = np.bincount(places, minlength=len(groups)).astype(np.float64)
        effective = effective_n(k_by_group, n_by_group)
        shares.append(Share(len(residual), n, effective, len(groups)))
    return shares


def judged_parents(hierarchy: Hierarchy, residual: Mapping[int, Any]) -> IntArray:
    """Nodes with a residual and a specific assignable node strictly below, shape (n_parents,)."""
    is_residual = np.zeros(len(hierarchy), np.int64)
    is_residual[list(residual)] = 1
    assignable = hierarchy.assignable.astype(np.int64)
    residual_below = hierarchy.below @ is_residual - is_residual
    assignable_below = hierarchy.below @ assignable - assignable
    return np.flatnonzero((residual_below > 0) & (assignable_below > residual_below))


def residual_use(
    counts: Counts, residual: Mapping[int, Residual], instances: Instances | None = None
) -> pl.DataFrame:
    """The residual share of every parent with residual and specific nodes below, by kind.

    Args:
        counts: The counts; their ``below`` and ``only_residual`` are used without instances.
        residual: Residual nodes by index.
        instances: The instances counted, whose groups give the effective sample size; None treats
            every instance as its own group.
    """
    hierarchy, labelled_at = counts.hierarchy, counts.direct_support
    parents = judged_parents(hierarchy, residual).tolist()
    if instances is None:
        shares = _shares_of_counts(counts.records, len(hierarchy), parents)
    else:
        shares = _shares_of_instances(instances, parents)
    every = [(parent, kind, share) for kind, of in shares.items() for parent, share in of.items()]
    worth = np.array([share.worth() for *_, share in every])
    ends = wilson(np.array([share.value for *_, share in every]) * worth, worth)
    rows = list[tuple[Any, ...]]()
    for (parent, kind, share), *own in zip(every, *(end.tolist() for end in ends), strict=True):
        counted = (share.k, share.n, int(labelled_at[parent]), share.groups, share.effective)
        rows.append((hierarchy.nodes[parent], kind, *counted, share.value, *own))
    return pl.DataFrame(rows, schema=RESIDUALS, orient="row").sort("parent", "residual")


_Shares = Mapping[str, Mapping[int, Share]]
"""Shares by kind of residual node and parent, for parents with an instance below."""


def _shares_of_counts(records: Records, n_nodes: int, parents: list[int]) -> _Shares:
    below = records.at("below", n_nodes).tolist()
    only = records.at("only_residual", len(RESIDUAL_KINDS) * n_nodes).reshape(-1, n_nodes)
    return {
        kind: {parent: alone(k[parent], below[parent]) for parent in parents if below[parent]}
        for kind, k in zip(RESIDUAL_KINDS, only.tolist(), strict=True)
    }


def _shares_of_instances(instances: Instances, parents: list[int]) -> _Shares:
    below, group_of = instances.below, instances.group_of
    n_below = np.diff(below.sums.indptr)
    shares: dict[str, dict[int, Share]] = {kind: {} for kind in RESIDUAL_KINDS}
    for parent in (one for one in parents if n_below[one]):
        of_each = [below.only_residual(parent, kind) for kind in range(len(RESIDUAL_KINDS))]
        of_parent = _shares(below.labelled(parent), of_each, group_of)
        for kind, share in zip(RESIDUAL_KINDS, of_parent, strict=True):
            shares[kind][parent] = share
    return shares
