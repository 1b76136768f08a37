"""The use of a node by the values of a column, as a window shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DriftView:
    """A node's share of the instances by the values of a column.

    Args:
        column: Name of the column.
        values: Rows ``value, of, instances, share, low, high``, the values in their order: ``of``
            instances have the value, ``instances`` of them carry the node; and ``difference,
            difference_low, difference_high, q_value, differs``: against all other values. None
            where the run does not compare the node.
        tests: Number of comparisons of all nodes and columns, which are judged together.
    """

    column: str
    values: Sequence[Mapping[str, Any]]
    tests: int
