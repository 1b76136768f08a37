"""The chapter on coverage: how much of the hierarchy is in use, and where its use drifts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.words.parts import Cell, Node, Table, column
from reports.words.words import counted, decimal, number, percent, points, span


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
    if not rows:
        return None
    return Table(
        id="coverage-table",
        caption="Assignable nodes in use, by branch",
        columns=column("Branch", "Assignable", "In use", "Share in use", numeric=" nnn"),
        rows=tuple(
            (
                Node(row["node"], row["title"] or ""),
                number(row["assignable"]),
                number(row["in_use"]),
                percent(row["in_use"] / row["assignable"]),
            )
            for row in rows
        ),
    )


def _depths(rows: Sequence[Mapping[str, Any]]) -> Table:
    return Table(
        id="depth-table",
        caption="Depth of labels",
        columns=column("Depth", "Nodes", "In use", "Labels", "Share of labels", numeric=" nnnn"),
        rows=tuple(
            (
                number(row["depth"]),
                number(row["nodes"]),
                number(row["in_use"]),
                number(row["labels"]),
                percent(row["share"]) if row["labels"] else "–",
            )
            for row in rows
        ),
    )


def _values(rows: Sequence[Mapping[str, Any]]) -> Table | None:
    if not rows:
        return None
    return Table(
        id="drift-values-table",
        caption="Values that the policy compares",
        columns=column(
            "Column", "Value", "Instances", "Labels per instance", "Nodes that differ",
            numeric="  nnn",
        ),
        rows=tuple(
            (
                row["column"],
                row["value"],
                number(row["instances"]),
                decimal(row["labels_per_instance"], 2),
                "not compared" if row["differing"] is None else number(row["differing"]),
            )
            for row in rows
        ),
    )  # fmt: skip


def _drift(rows: Sequence[Mapping[str, Any]]) -> Table | None:
    lines = [(row, node) for row in rows for node in row["nodes"]]
    if not lines:
        return None
    return Table(
        id="drift-table",
        caption="Nodes whose share differs most from the rest",
        columns=column(
            "Column", "Value", "Node", "Share there", "Elsewhere", "Difference", "Interval",
            numeric="   nnnn",
        ),
        rows=tuple(_drift_row(row, node) for row, node in lines),
    )  # fmt: skip


def _drift_row(row: Mapping[str, Any], node: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        row["column"],
        row["value"],
        Node(node["node"], node["title"] or ""),
        percent(node["share"]),
        percent(node["elsewhere_share"]),
        points(node["difference"]),
        span(points(node["low"]), points(node["high"])),
    )
