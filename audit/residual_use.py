"""How often only catch-alls are used below a parent: shares, drawn toward what is usual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from audit.dag import IntArray
from audit.dataset import LabelDataset
from audit.engine.below import LabelsBelow, labels_below
from audit.engine.intervals import effective_n, wilson
from audit.engine.pairs import support
from audit.engine.shrinkage import BetaPrior, beta_prior
from audit.hierarchy import Hierarchy
from audit.residuals import Residual

ResidualKind = Literal["all", "other", "unspecified"]
_KINDS: tuple[ResidualKind, ...] = ("all", "other", "unspecified")

RESIDUALS: dict[str, Any] = {
    "parent": pl.String,
    "residual": pl.String,
    "k": pl.Int64,
    "n": pl.Int64,
    "at_parent": pl.Int64,
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
    """

    k: int
    n: int
    effective: float

    @property
    def value(self) -> float:
        """k / n; 0 for no instance."""
        return self.k / self.n if self.n else 0.0

    def interval(self, prior: BetaPrior | None = None) -> tuple[float, float]:
        """Interval at 95 %: of the posterior where there is a prior, else Wilson's."""
        worth = self.value * self.effective
        if prior is None:
            return wilson(worth, self.effective)
        return prior.interval(worth, self.effective)

    def shrunk(self, prior: BetaPrior | None) -> float:
        """The share drawn toward the prior; itself without one."""
        if prior is None:
            return self.value
        return prior.shrunk(self.value * self.effective, self.effective)


def residual_share(labelled: IntArray, residual: IntArray, group_of: IntArray | None) -> Share:
    """The share of the instances below a parent that are residual throughout.

    Args:
        labelled: Instances below a parent.
        residual: Those of them that are residual throughout.
        group_of: Group number of each instance of the dataset; None without groups.
    """
    effective = float(len(labelled))
    if group_of is not None and len(labelled):
        n_by_group = np.bincount(group_of[labelled])
        k_by_group = np.bincount(group_of[residual], minlength=len(n_by_group))
        present = n_by_group > 0
        effective = effective_n(
            k_by_group[present].astype(np.float64), n_by_group[present].astype(np.float64)
        )
    return Share(len(residual), len(labelled), effective)


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
    prior: BetaPrior | None


def residual_use(
    dataset: LabelDataset,
    residual: Mapping[int, Residual],
    group_of: IntArray | None,
    least: float,
) -> ResidualUse:
    """Measure every parent with residual and specific nodes below, each kind apart.

    Args:
        dataset: The labels.
        residual: Residual nodes by index.
        group_of: Group number of each instance; None without groups.
        least: Instances below a parent from which its share is one that the prior is fitted to.
    """
    hierarchy, labelled_at = dataset.hierarchy, support(dataset.direct)
    parents = judged_parents(hierarchy, residual).tolist()
    rows, priors = list[tuple[Any, ...]](), dict[str, BetaPrior | None]()
    for kind in _KINDS:
        below = below_of(dataset, [i for i, r in residual.items() if kind in ("all", r.kind)])
        shares = {
            parent: residual_share(labelled, below.only_residual(parent), group_of)
            for parent in parents
            if len(labelled := below.labelled(parent))
        }
        prior = priors[kind] = _prior(list(shares.values()), least)
        for parent, share in shares.items():
            counted = (share.k, share.n, int(labelled_at[parent]), share.effective)
            drawn = (share.value, share.shrunk(prior), *share.interval(prior))
            rows.append((hierarchy.nodes[parent], kind, *counted, *drawn))
    table = pl.DataFrame(rows, schema=RESIDUALS, orient="row").sort("parent", "residual")
    return ResidualUse(table, priors["all"])


def below_of(dataset: LabelDataset, residual: list[int]) -> LabelsBelow:
    """Labels strictly below each node, some nodes counting as residual."""
    strict_closure = dataset.hierarchy.strict_closure
    return labels_below(dataset.direct, strict_closure, np.array(residual, np.int64))


def _prior(shares: list[Share], least: float) -> BetaPrior | None:
    judged = [share for share in shares if share.n >= least]
    worth = np.array([share.value * share.effective for share in judged], np.float64)
    effective = np.array([share.effective for share in judged], np.float64)
    return beta_prior(worth, effective)
