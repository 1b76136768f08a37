"""The chapter on coverage: how much of the hierarchy is in use, and where its use drifts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from audit._reports.words.parts import Table
from audit._reports.words.shown_numbers import Rows
from audit._reports.words.table_specs import (
    nodes,
    numbers,
    optional_table,
    spans,
    table,
    texts,
    written,
)
from audit._reports.words.words import UNDEFINED, counted, decimal, number, percent, points
from audit.results.printed import Rounded


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
    found, rounding = shared["overview"]["coverage"], shared["rounding"]
    return Coverage(
        sentences=tuple(_sentences(found["tail"], rounding)),
        branches=_branches(found["branches"], rounding),
        depths=_depths(found["depths"], rounding),
        values=_values(found["drift"], rounding),
        drift=_drift(found["drift"]),
    )


def _sentences(tail: Mapping[str, Any], rounding: Rounded) -> Iterator[str]:
    in_use = tail["in_use"]
    often = f" on {rounding['bin'] + 1} instances or more" if rounding else ""
    yield (
        f"{number(in_use)} {'node is' if in_use == 1 else 'nodes are'} in use as labels{often}; "
        f"the hierarchy has {counted(tail['assignable'], 'assignable node')}."
    )
    if in_use and tail["rare"] is not None:
        below = tail["rare_below"]
        times = "only one instance" if below == 2 else f"fewer than {below} instances"
        verb = "is" if tail["rare"] == 1 else "are"
        yield f"{number(tail['rare'])} of those in use {verb} used on {times}."
    if in_use and tail["most_used_share"] is not None:
        most = f"The {tail['most_used']} most used nodes" if tail["most_used"] > 1 else "One node"
        takes = "take" if tail["most_used"] > 1 else "takes"
        yield f"{most} {takes} {percent(tail['most_used_share'])} of all labels."


def _in_use(rounding: Rounded) -> str:
    """What nodes in use are called in a column."""
    return f"With {rounding['bin'] + 1} or more" if rounding else "In use"


def _branches(rows: Rows, rounding: Rounded) -> Table | None:
    return optional_table(
        "coverage-table",
        "Assignable nodes in use, by branch",
        rows,
        nodes("Branch"),
        numbers("Assignable", "assignable"),
        numbers(_in_use(rounding), "in_use"),
        written("Share", lambda row: percent(row["in_use"] / row["assignable"])),
    )


def _depths(rows: Rows, rounding: Rounded) -> Table:
    return table(
        "depth-table",
        "Depth of labels",
        rows,
        texts("Depth", lambda row: number(row["depth"])),
        numbers("Nodes", "nodes"),
        numbers(_in_use(rounding), "in_use"),
        numbers("Labels", "labels"),
        written(
            "Share of labels", lambda row: percent(row["share"]) if row["labels"] else UNDEFINED
        ),
    )


def _values(rows: Rows, rounding: Rounded) -> Table | None:
    return optional_table(
        "drift-values-table",
        "Values that the policy compares",
        rows,
        texts("Column", "column"),
        texts("Value", "value"),
        numbers("Instances", "instances"),
        numbers("Labels per instance", "labels_per_instance", lambda mean: decimal(mean, 2)),
        numbers("Nodes that differ", "differing", absent=UNDEFINED if rounding else "not compared"),
    )


def _drift(rows: Rows) -> Table | None:
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
