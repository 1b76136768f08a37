"""The chapter on coverage: how much of the hierarchy is in use, and where its use drifts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.words.parts import Table
from audit._reports.words.shown_numbers import UNDEFINED
from audit._reports.words.table_specs import (
    nodes,
    numbers,
    optional_table,
    spans,
    table,
    texts,
    written,
)
from audit._reports.words.words import counted, decimal, number, percent, points


@dataclass(frozen=True, slots=True)
class Coverage:
    """Content of the chapter on coverage."""

    sentences: tuple[str, ...]
    branches: Table | None
    depths: Table
    values: Table | None
    drift: Table | None


def coverage(shared: Mapping[str, Any]) -> Coverage:
    """Make the chapter from the overview's ``coverage``."""
    found = shared["overview"]["coverage"]
    return Coverage(
        sentences=tuple(_sentences(found["tail"])),
        branches=_branches(found["branches"]),
        depths=_depths(found["depths"]),
        values=_values(found["drift"]),
        drift=_drift(found["drift"]),
    )


def _sentences(tail: Mapping[str, Any]) -> list[str]:
    in_use, below = tail["in_use"], tail["rare_below"]
    times = "used on only one instance" if below == 2 else f"used on fewer than {below} instances"
    sentences = [
        f"{number(in_use)} {'node is' if in_use == 1 else 'nodes are'} in use as labels; the "
        "hierarchy has "
        f"{counted(tail['assignable'], 'assignable node')}."
    ]
    if in_use:
        verb = "is" if tail["rare"] == 1 else "are"
        sentences.append(f"{number(tail['rare'])} of those in use {verb} {times}.")
    if in_use and tail["most_used_share"] is not None:
        most = f"The {tail['most_used']} most used nodes" if tail["most_used"] > 1 else "One node"
        takes = "take" if tail["most_used"] > 1 else "takes"
        sentences.append(f"{most} {takes} {percent(tail['most_used_share'])} of all labels.")
    return sentences


def _branches(rows: Sequence[Mapping[str, Any]]) -> Table | None:
    return optional_table(
        "coverage-table",
        "Assignable nodes in use, by branch",
        rows,
        nodes("Branch"),
        numbers("Assignable", "assignable"),
        numbers("In use", "in_use"),
        written("Share in use", lambda row: percent(row["in_use"] / row["assignable"])),
    )


def _depths(rows: Sequence[Mapping[str, Any]]) -> Table:
    return table(
        "depth-table",
        "Depth of labels",
        rows,
        texts("Depth", lambda row: number(row["depth"])),
        numbers("Nodes", "nodes"),
        numbers("In use", "in_use"),
        numbers("Labels", "labels"),
        written(
            "Share of labels", lambda row: percent(row["share"]) if row["labels"] else UNDEFINED
        ),
    )


def _values(rows: Sequence[Mapping[str, Any]]) -> Table | None:
    return optional_table(
        "drift-values-table",
        "Values that the policy compares",
        rows,
        texts("Column", "column"),
        texts("Value", "value"),
        numbers("Instances", "instances"),
        numbers("Labels per instance", "labels_per_instance", lambda mean: decimal(mean, 2)),
        numbers("Nodes that differ", "differing", absent="not compared"),
    )


def _drift(rows: Sequence[Mapping[str, Any]]) -> Table | None:
    return optional_table(
        "drift-table",
        "Nodes whose share differs most from the rest",
        [{**row, **node} for row in rows for node in row["nodes"]],
        texts("Column", "column"),
        texts("Value", "value"),
        nodes("Node"),
        numbers("Share there", "share", percent),
        numbers("Elsewhere", "elsewhere_share", percent),
        numbers("Difference", "difference", points),
        spans("Interval", points),
    )
