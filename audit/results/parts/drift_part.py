"""The part of a result on how labels drift with the policy's columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import polars as pl

from audit.results.parts.part import ReadTable, Tables


@dataclass(frozen=True, eq=False)
class DriftPart:
    """Use of nodes by the values of drift columns; its overview is in ``coverage``.

    Args:
        values: One row per value of a drift column.
        nodes: One row per value and node tested.
    """

    values: pl.DataFrame
    nodes: pl.DataFrame

    def tables(self) -> Tables:
        """``drift_values`` and ``drift_nodes``."""
        return {"drift_values": self.values, "drift_nodes": self.nodes}

    @classmethod
    def read(cls, table: ReadTable, shared: Mapping[str, Any]) -> Self | None:
        """The part of a run with drift columns."""
        if not shared["overview"]["coverage"]["drift"]:
            return None
        return cls(table("drift_values").collect(), table("drift_nodes").collect())
