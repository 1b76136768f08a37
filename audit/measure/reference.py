"""The tables of an earlier run that a release is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.result import AuditResult


@dataclass(frozen=True, eq=False)
class LabelDepths:
    """Labels by depth.

    Args:
        labels: Labels at depth 0, 1, 2 and so on, shape (greatest depth + 1,).
        units: Number of groups, or of instances with labels where there are no groups.
    """

    labels: IntArray
    units: int


@dataclass(frozen=True, eq=False)
class Reference:
    """An earlier run.

    Args:
        residuals: Its residual table.
        depths: How deep its labels lie; None where its hierarchy is another.
    """

    residuals: pl.DataFrame
    depths: LabelDepths | None = None

    @classmethod
    def of(cls, result: AuditResult, hierarchy: Hierarchy) -> Self:
        """What is compared of a run.

        Args:
            result: The run.
            hierarchy: That of the release that is held against it.
        """
        same = result.identity["hierarchy"]["sha256"] == hierarchy.sha256
        return cls(result.residuals, _depths(result) if same else None)


def _depths(result: AuditResult) -> LabelDepths:
    depth, direct = result.nodes.select("depth", "direct").to_numpy().T.astype(np.int64)
    ledger = result.ledger
    labelled = ledger["instances"] - ledger["instances_without_labels"]
    labels = np.bincount(depth, weights=direct).astype(np.int64)
    return LabelDepths(labels, int(ledger["groups"] or labelled))
