"""How often nodes are used in two runs that are looked at beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from audit.explorer.run.vocabulary import Row
from audit.results.result import AuditResult
from audit.runs.compare.causes import same_data
from audit.runs.compare.edits import Release
from audit.runs.compare.node_changes import judged_nodes
from audit.runs.compare.roll_up import common_nodes


@dataclass(frozen=True, eq=False)
class Differences:
    """Shares of a run less those of another, as ``audit compare OLD NEW`` computes them.

    Args:
        of: The run.
        less: The run whose shares are taken away.
        of_is_old: Whether the first is OLD, since it was made earlier; else it is NEW.
    """

    of: AuditResult
    less: AuditResult
    of_is_old: bool

    def at(self, node: str) -> Row | None:
        """As `audit.explorer.run.vocabulary.RunsBeside.difference`."""
        row = self._rows.get(node)
        if row is None:
            return None
        bounds = row["low"], row["high"]
        if self.of_is_old:
            low, high = (_negative(bound) for bound in reversed(bounds))
        else:
            low, high = bounds
        known = row["difference"] is not None
        restated = known and row["restated_low"] != row["support_old"]
        return {
            "difference": _negative(row["difference"]) if self.of_is_old else row["difference"],
            "low": low,
            "high": high,
            "q_value": row["q_value"],
            "changed": row["changed"],
            "same_data": same_data(self.of, self.less),
            "restated": row["restated_low"] if restated else None,
        }

    @cached_property
    def _rows(self) -> Mapping[str, Mapping[str, Any]]:
        """A row for each node that both hierarchies have."""
        runs = (self.of, self.less) if self.of_is_old else (self.less, self.of)
        old, new = map(Release, runs)
        same = same_data(self.of, self.less)
        table, _ = judged_nodes(old, new, common_nodes(old, new), same_data=same)
        return {row["node"]: row for row in table.iter_rows(named=True)}


def _negative(value: float | None) -> float | None:
    return None if value is None else -value
