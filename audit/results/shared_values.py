"""Findings on values of columns in the shared view: values that lie within each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from audit.base.dag import BoolArray
from audit.disclosure import Shown, Told, Value, shown_count, shown_within, values_shown
from audit.results.findings import Finding
from audit.results.parts import DriftPart, ValueCells

SHIFTS = ("depth_shift", "sibling_shift")
"""Checks whose findings count instances of a value, and what lies below a parent in it."""
_COUNTS: Mapping[str, Mapping[str, tuple[bool, int | None]]] = {
    "depth_shift": {"instances": (True, None)},
    "sibling_shift": {
        "instances": (True, 0),
        "of": (True, None),
        "elsewhere": (False, 0),
        "of_elsewhere": (False, None),
        "less_instances": (True, 1),
        "less_elsewhere": (False, 1),
    },
}
"""Of each count whether it is of the value or of all others, and of which of the nodes."""


def shown_by_values(
    findings: Sequence[Finding], part: ValueCells, drift: DriftPart | None, min_cell: int
) -> dict[Value, Shown]:
    """Counts of findings, by id and name, and of drift, by column and value, as shown together.

    Those of instances are protected in one program, those below a parent in one of each.
    """
    told = dict[Value, Shown]()
    for (parent,), cells in part.cells.partition_by("parent", as_dict=True).items():
        own = [
            one for one in findings if (one.key[2] if one.check == SHIFTS[1] else None) == parent
        ]
        told |= _together(own, cells, None if parent else drift, min_cell)
    return told


def _together(
    findings: Sequence[Finding], cells: pl.DataFrame, drift: DriftPart | None, min_cell: int
) -> Told:
    sizes = cells["instances"].to_numpy()
    counted: dict[Value, Finding] = {
        (one.id, name): one for one in findings for name in _COUNTS[one.check]
    }
    has: dict[Value, BoolArray] = {
        place: _held(cells, one, place[1]) for place, one in counted.items()
    }
    values = {} if drift is None else dict(_values(cells, drift))
    alone: dict[Value, Shown] = {
        place: shown_count(int(quantity.value or 0), quantity.totals, min_cell)
        for place, one in counted.items()
        for quantity in (one.evidence[place[1]],)
    }

    def show(withheld: Collection[Value]) -> Told:
        floor = f">{min_cell - 1}"
        told: dict[Value, Shown] = dict(values_shown(values, sizes, min_cell, withheld))
        return told | {at: floor if at in withheld else one for at, one in alone.items()}

    children = {node for one in findings if one.check == SHIFTS[1] for node in one.nodes}
    totals = [(cells["child"] == node).to_numpy() for node in sorted(children)]
    totals += [] if children else [cells["labelled"].to_numpy()]
    return shown_within({**values, **has}, sizes, show, min_cell, totals)


def _held(cells: pl.DataFrame, finding: Finding, name: str) -> BoolArray:
    """Cells that a count of a finding counts."""
    column, value, _ = finding.key
    found = _of(cells, column)
    here, node = _COUNTS[finding.check][name]
    held = (found == value if here else found != value).fill_null(False).to_numpy()
    if finding.check == SHIFTS[0]:
        return np.asarray(held & cells["labelled"].to_numpy(), np.bool_)
    return held if node is None else held & (cells["child"] == finding.nodes[node]).to_numpy()


def _values(cells: pl.DataFrame, drift: DriftPart) -> Iterator[tuple[Value, BoolArray]]:
    for column, value in drift.values.select("column", "value").iter_rows():
        yield (column, value), (_of(cells, column) == value).fill_null(False).to_numpy()


def _of(cells: pl.DataFrame, column: str) -> pl.Series:
    return cells["values"].list.get(cells["columns"][0].to_list().index(column))
