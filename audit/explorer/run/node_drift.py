"""The use of a node by the values of the columns that the run's policy compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl

from audit.engine.statistics.intervals import wilson
from audit.explorer.run.vocabulary import Row
from audit.results.parts.drift_part import DriftPart

Tested: TypeAlias = Mapping[tuple[str, str], Row]
"""Rows of the table of comparisons of one node, by column and value."""
_CHANGE = {
    "difference": "difference",
    "difference_low": "low",
    "difference_high": "high",
    "q_value": "q_value",
    "differs": "differs",
}
"""What is shown of a comparison, and its column in the table."""


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
    values: Sequence[Row]
    tests: int


class NodeDrift:
    """The drift tables of a run, read by node.

    Args:
        part: The tables; None where the policy names no column.
    """

    def __init__(self, part: DriftPart | None) -> None:
        self._tested = None if part is None else part.nodes
        self._values: dict[str, list[Row]] = {}
        for row in () if part is None else part.values.iter_rows(named=True):
            self._values.setdefault(row["column"], []).append(row)

    def of(self, node: str) -> Sequence[DriftView]:
        """A view for each column in the policy's order; empty where the run compares none."""
        if self._tested is None:
            return ()
        rows = self._tested.filter(pl.col("node") == node).to_dicts()
        tested = {(row["column"], row["value"]): row for row in rows}
        return [
            DriftView(column, _rows(column, in_order(values), tested), len(self._tested))
            for column, values in self._values.items()
        ]


def _rows(column: str, values: Sequence[Row], tested: Tested) -> list[Row]:
    there = [tested.get((column, row["value"])) for row in values]
    rest = there[::-1] if len(values) == 2 else [None] * len(values)
    return [_row(*one) for one in zip(values, there, rest, strict=True)]


def _row(value: Row, own: Row | None, rest: Row | None) -> Row:
    """A value by its own comparison; of two values, one is only compared with by the other's."""
    share = dict[str, Any].fromkeys(("instances", "share", "low", "high"))
    if own is not None:
        share = _share(own["instances"], own["of"], own.get("worth"))
    elif rest is not None:
        share = _share(rest["elsewhere"], rest["of_elsewhere"], rest.get("worth"))
    change = {name: None if own is None else own[was] for name, was in _CHANGE.items()}
    return {"value": value["value"], "of": value["instances"], **share, **change}


def _share(k: int, n: int, worth: float | None) -> dict[str, Any]:
    """A share with its interval at the effective number of instances; without that, none."""
    low, high = (None, None) if worth is None else wilson(k * worth, n * worth)
    return {"instances": k, "share": k / n, "low": low, "high": high}


def in_order(values: Sequence[Row]) -> Sequence[Row]:
    """Rows by their ``value``: by number where all are numbers, else by text.

    >>> [row["value"] for row in in_order([{"value": "10"}, {"value": "9"}])]
    ['9', '10']
    """
    if all(row["value"].isascii() and row["value"].isdigit() for row in values):
        return sorted(values, key=lambda row: (int(row["value"]), row["value"]))
    return sorted(values, key=lambda row: row["value"])
