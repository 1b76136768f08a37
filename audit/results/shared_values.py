"""Findings on values of columns in the shared view: values that lie within each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from audit.base.dag import BoolArray
from audit.disclosure import (
    Before,
    Shown,
    Told,
    Value,
    is_small,
    shown_count,
    shown_within,
    values_shown,
)
from audit.results.findings import Finding
from audit.results.parts import DriftPart, ValueCells
from audit.results.reference_changes import Remembered

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


class ByValues(NamedTuple):
    """What is shown of the values of columns.

    Args:
        counts: Instances by column and value, and counts of findings by id and name.
        labels: Labels of these instances, by column and value.
        changed: Columns and nodes whose counts differ by a small cell from an earlier release.
    """

    counts: Told
    labels: Told
    changed: Collection[tuple[str, str]]

    @property
    def told(self) -> dict[tuple[str | int, ...], Shown]:
        """All of them."""
        both = {"counts": self.counts, "labels": self.labels}
        return {(of, *value): n for of, told in both.items() for value, n in told.items()}

    def tells(self, tested: Mapping[str, Any], min_cell: int) -> bool:
        """Whether the shares of a tested node of a known value may be shown."""
        changed = (tested["column"], tested["node"]) in self.changed
        return not changed and not is_small(tested["smallest"], min_cell)


NOTHING = ByValues({}, {}, ())
"""What is shown without any such column."""


def kept_values(shown: Sequence[Mapping[str, Any]], drift: DriftPart | None) -> dict[str, Any]:
    """What a release counts and tells of drift, as later ones remember it."""
    if drift is None:
        return {"values": [], "nodes": []}
    counts, told = drift.values.to_dicts(), list[dict[str, Any]]()
    for own, row in zip(counts, shown, strict=True):
        own["instances_shown"] = row["instances"]
        own["labels_shown"] = None if row["labels_per_instance"] is None else own["labels"]
        named = [one["node"] for one in row["nodes"] if one["share"] is not None]
        tested = drift.nodes.filter(column=row["column"], value=row["value"])
        told += tested.filter(pl.col("node").is_in(named)).select(_TESTED).to_dicts()
    return {"values": counts, "nodes": told}


_TESTED = ("column", "value", "node", "instances", "of", "elsewhere", "of_elsewhere")


def shown_by_values(
    findings: Sequence[Finding],
    part: ValueCells,
    drift: DriftPart | None,
    min_cell: int,
    earlier: Sequence[Remembered] = (),
) -> ByValues:
    """Counts of findings and of drift, as they are shown together, and beside earlier releases.

    Those of instances are protected in one program, those below a parent in one of each.
    """
    told: dict[Value, Shown] = {}
    labels: Told = {}
    earlier = sorted(earlier, key=lambda one: int(one["instances"]))
    for (parent,), cells in part.cells.partition_by("parent", as_dict=True).items():
        own = [
            one for one in findings if (one.key[2] if one.check == SHIFTS[1] else None) == parent
        ]
        values = {} if drift is None or parent else dict(_values(cells, drift))
        told |= _together(own, cells, values, min_cell, earlier)
        if values:
            depths = [one for one in own if isinstance(told[one.id, "instances"], int)]
            labels = _labels(cells, values, told, depths, min_cell, earlier)
    changed = frozenset[tuple[str, str]]() if drift is None else _changed(drift, earlier, min_cell)
    return ByValues(told, labels, changed)


def _together(
    findings: Sequence[Finding],
    cells: pl.DataFrame,
    values: Mapping[Value, BoolArray],
    min_cell: int,
    earlier: Sequence[Remembered],
) -> Told:
    sizes = cells["instances"].to_numpy()
    counted: dict[Value, Finding] = {
        (one.id, name): one for one in findings for name in _COUNTS[one.check]
    }
    has: dict[Value, BoolArray] = {
        place: _held(cells, one, place[1]) for place, one in counted.items()
    }
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
    before = [
        _then(one, "instances", values, counted, one["instances"] if not children else None)
        for one in earlier
    ]
    return shown_within({**values, **has}, sizes, show, min_cell, totals, before)


def _labels(
    cells: pl.DataFrame,
    values: Mapping[Value, BoolArray],
    told: Told,
    depths: Iterable[Finding],
    min_cell: int,
    earlier: Sequence[Remembered],
) -> Told:
    """Labels of the instances of each value; withheld where these are.

    If no instance has two, these are the labelled ones, which findings on depth may tell, and at
    most as many as instances.
    """
    sizes, labelled = cells["labels"].to_numpy(), cells["labelled"].to_numpy()
    single = sizes.sum() == cells["instances"].filter(labelled).sum()
    counts = [(values[v], n) for v in values if isinstance(n := told[v], int)] if single else []
    known = [_held(cells, one, "instances") for one in depths] if single else []
    hidden = {value for value in values if not isinstance(told[value], int)}

    def show(withheld: Collection[Value]) -> Told:
        return values_shown(values, sizes, min_cell, {*hidden, *withheld})

    before = [_then(one, "labels", values, (), one["labels"]) for one in earlier]
    return shown_within(values, sizes, show, min_cell, [~labelled, *known], before, counts)


def _then(
    one: Remembered,
    name: str,
    values: Collection[Value],
    counted: Iterable[Value],
    total: int | None,
) -> Before:
    """What an earlier release counts, and tells, of values and by findings."""
    rows = {(row["column"], row["value"]): row for row in one["drift"]["values"] if values}
    columns = {column for column, _ in rows}
    counts: dict[Value, int] = {v: 0 for v in values if v[0] in columns and v not in rows}
    told: dict[Value, Shown] = dict(counts)
    for value, row in rows.items():
        counts[value], told[value] = row[name], row[f"{name}_shown"]
    found = {
        finding["id"]: finding["counts"] for check in one["checks"] for finding in check["findings"]
    }
    for place in counted:
        if isinstance(n := found.get(str(place[0]), {}).get(place[1]), int):
            counts[place] = told[place] = n
    return Before(counts, told, total)


def _changed(
    drift: DriftPart, earlier: Sequence[Remembered], min_cell: int
) -> frozenset[tuple[str, str]]:
    """Columns and nodes of which a value, or all that no line tells, has changed little.

    What a line tells are the instances with and without the node, of the value and of all others.
    """
    now = {tuple(row[:3]): row[3:] for row in drift.nodes.select(_TESTED).iter_rows()}
    found = set[tuple[str, str]]()
    for one in earlier:
        lines: dict[tuple[str, str], list[tuple[Sequence[int], Sequence[int] | None]]] = {}
        for row in one["drift"]["nodes"]:
            names, then = [row[name] for name in _TESTED[:3]], [row[name] for name in _TESTED[3:]]
            lines.setdefault((row["column"], row["node"]), []).append((then, now.get((*names,))))
        found |= {place for place, own in lines.items() if _little(own, min_cell)}
    return frozenset(found)


def _little(lines: Sequence[tuple[Sequence[int], Sequence[int] | None]], min_cell: int) -> bool:
    came = [
        [new - old for old, new in zip(then, now, strict=True)]
        for then, now in lines
        if now is not None
    ]
    if len(came) < len(lines):
        return True
    k, of, elsewhere, of_elsewhere = came[0]
    rest = [
        k + elsewhere - sum(one[0] for one in came),
        of + of_elsewhere - sum(one[1] for one in came),
    ]
    pairs = [*((one[0], one[1]) for one in came), *((one[2], one[3]) for one in came), rest]
    return any(is_small(abs(n), min_cell) for own, all_ in pairs for n in (own, all_ - own))


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
