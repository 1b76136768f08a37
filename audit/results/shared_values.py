"""What is told of the values of columns: counts of drift and of findings, protected together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias
from urllib.parse import unquote

import numpy as np
import polars as pl

from audit.base.dag import FloatArray
from audit.disclosure import (
    Before,
    Quantity,
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
LABELS, WITHOUT, WITH, ELSEWHERE = "labels", "without", "with", "elsewhere"
"""What is counted of a value: its labels; its instances without any, which nothing tells; those
that carry a node; all others that do."""
NODES_A_VALUE = 5
"""Number of nodes shown for each value of a drift column."""
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
_OTHER_SIDE = {"instances": "elsewhere", "of": "of_elsewhere", "less_instances": "less_elsewhere"}
"""The same count of all others."""


def kept_values(
    shown: Sequence[Mapping[str, Any]], drift: DriftPart | None, part: ValueCells | None
) -> dict[str, Any]:
    """What a release counts and tells of drift, as later ones remember it."""
    if drift is None or part is None:
        return {"values": [], "nodes": []}
    counts, told = drift.values.to_dicts(), list[dict[str, Any]]()
    cells = _Cells(part.cells.filter(pl.col("parent").is_null()))
    bare = cells.sizes * (cells.labels == 0)
    for own, row in zip(counts, shown, strict=True):
        own["instances_shown"] = row["instances"]
        own["labels_shown"] = None if row["labels_per_instance"] is None else own["labels"]
        own["without"] = round(float(bare @ cells.within(own["column"], own["value"])))
        named = [one["node"] for one in row["nodes"] if one["share"] is not None]
        tested = drift.nodes.filter(column=row["column"], value=row["value"])
        told += tested.filter(pl.col("node").is_in(named)).select(_TESTED).to_dicts()
    return {"values": counts, "nodes": told}


_TESTED = ("column", "value", "node", "instances", "of", "elsewhere", "of_elsewhere")


def differing(drift: DriftPart, min_cell: int) -> pl.DataFrame:
    """The nodes that differ, those first whose shares differ most, as far as these may be told."""
    withheld = pl.col("smallest").is_between(1, min_cell - 1)
    size = pl.when(~withheld).then(pl.col("difference").abs()).otherwise(-1.0)
    return drift.nodes.filter("differs").sort([size, "node"], descending=[True, False])


def named_nodes(drift: DriftPart | None, findings: Sequence[Finding], min_cell: int) -> set[str]:
    """The nodes that lines of drift, and findings on values, name."""
    nodes = {node for finding in findings for node in finding.nodes}
    return nodes if drift is None else nodes | {*_first(drift, min_cell)["node"]}


def _first(drift: DriftPart, min_cell: int) -> pl.DataFrame:
    """The lines of nodes of each value."""
    each = differing(drift, min_cell).group_by("column", "value", maintain_order=True)
    return each.head(NODES_A_VALUE)


def shown_by_values(
    findings: Sequence[Finding],
    part: ValueCells,
    drift: DriftPart | None,
    min_cell: int,
    earlier: Sequence[Remembered] = (),
    withheld: Collection[str] = (),
) -> Told:
    """Counts of findings and of drift, as they are shown together, and beside earlier releases.

    One program protects all of them. Where instances differ in too much for one, those of values
    have one and those below each parent; where one of values is withheld, no count of nodes is
    told.

    Args:
        withheld: Nodes whose instances are not told exactly: those of a value and of all others
            would tell them.

    Returns:
        By column and value, where more than instances is meant with `LABELS`, or with `WITH` or
            `ELSEWHERE` and a node; by id of a finding and name.
    """
    earlier = sorted(earlier, key=lambda one: int(one["instances"]))
    lines = {} if drift is None else _lines(drift, min_cell, earlier)
    lines = {of: None if of[3] in withheld else n for of, n in lines.items()}
    counted = {_Counted.of(one.check, one.id, one.nodes): one.evidence for one in findings}
    told = dict[Value, Shown]()
    whole = not part.cells["nodes"].null_count()
    for (parent,), cells in part.cells.partition_by("parent", as_dict=True).items():
        own = {one: its for one, its in counted.items() if whole or one.parent == parent}
        values = [] if drift is None or parent else drift.values.select("column", "value").rows()
        asked = _Asked(
            _Cells(_extremes(cells)),
            own,
            values,
            lines if whole else {},
            min_cell,
            earlier,
            frozenset(withheld),
        )
        told |= asked.shown()
    below = {one.id for one in counted if one.parent}
    if whole:
        return told
    if all(isinstance(n, int) for of, n in told.items() if of[0] not in below):
        return told | lines
    floor = f">{min_cell - 1}"
    return {of: floor if of[0] in below and isinstance(n, int) else n for of, n in told.items()}


class _Counted(NamedTuple):
    """A finding whose counts are told: of a value, and for some of two nodes below a parent."""

    id: str
    check: str
    column: str
    value: str
    parent: str | None
    nodes: tuple[str, ...]

    @classmethod
    def of(cls, check: str, id_: str, nodes: tuple[str, ...]) -> Self:
        """A finding of this release, or of an earlier one."""
        column, value, last = map(unquote, id_.split(":")[1:])
        return cls(id_, check, column, value, last if check == SHIFTS[1] else None, nodes)


def _extremes(cells: pl.DataFrame) -> pl.DataFrame:
    """Cells with the fewest and the most labels, of which a program makes up those between."""
    labels, n = pl.col("labels"), pl.col("instances")
    low, high = labels.min(), labels.max()
    more = (n * (labels - low)).sum() / pl.max_horizontal(high - low, 1)
    by = ["parent", "columns", "values", "nodes", "parents", (labels > 0).alias("labelled")]
    each = cells.group_by(by, maintain_order=True)
    ends = ((low, n.sum() - more), (high, more))
    return pl.concat(each.agg(labels=at, instances=of) for at, of in ends).filter(n > 0)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a program, and which of them a number counts, with how much of an instance."""

    frame: pl.DataFrame

    @cached_property
    def sizes(self) -> FloatArray:
        return self.frame["instances"].to_numpy()

    @cached_property
    def labels(self) -> FloatArray:
        return self.frame["labels"].to_numpy().astype(np.float64)

    @cached_property
    def named(self) -> frozenset[str]:
        """The nodes, and parents, that some cell is counted by."""
        lists = (self.frame[name].drop_nulls().explode() for name in ("nodes", "parents"))
        return frozenset(name for one in lists for name in one.drop_nulls().to_list())

    def tell(self, column: str, *names: str) -> bool:
        """Whether cells are told apart by a column, and by nodes and parents."""
        return column in self.columns and self.named.issuperset(names)

    @cached_property
    def columns(self) -> list[str]:
        return list(self.frame["columns"][0])

    def within(self, column: str, value: str | None = None, *, here: bool = True) -> FloatArray:
        """Instances of a value, or of all others; without one, those of any."""
        found = self.frame["values"].list.get(self.columns.index(column))
        held = found.is_not_null() if value is None else (found == value) == here
        return held.fill_null(False).to_numpy().astype(np.float64)

    def carrying(self, node: str) -> FloatArray:
        return self.frame["nodes"].list.contains(node).to_numpy().astype(np.float64)

    def row(self, of: Value) -> FloatArray:
        """What drift counts."""
        column, value, *rest = of
        held = self.within(column, value, here=rest[:1] != [ELSEWHERE])
        return held * (self.carrying(rest[1]) if rest[1:] else self.labels if rest else 1.0)

    def counts(self, one: _Counted, name: str) -> FloatArray:
        """What a finding counts; what lies below a parent once for each child of it."""
        here, node = _COUNTS[one.check][name]
        held = self.within(one.column, one.value, here=here)
        if one.parent is None:
            return held * (self.labels > 0)
        if node is not None:
            return held * self.carrying(one.nodes[node])
        children = self.frame["parents"].list.count_matches(one.parent)
        return np.asarray(held * children.to_numpy(), np.float64)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What one program protects.

    Args:
        values: Columns and values that drift tells.
        lines: Counts of nodes that drift names, as far as they may be told alone.
    """

    cells: _Cells
    findings: Mapping[_Counted, Mapping[str, Quantity]]
    values: Sequence[Value]
    lines: Mapping[Value, int | None]
    min_cell: int
    earlier: Sequence[Remembered]
    withheld: frozenset[str]

    def shown(self) -> Told:
        """All of them, as they are shown together."""
        cells, least = self.cells, self.min_cell
        values = {value: cells.row(value) for value in self.values}
        labels = {(*value, LABELS): cells.row((*value, LABELS)) for value in values}
        has, before = dict[Value, FloatArray](), list[Before]()
        for one in self.earlier:
            then = {**dict(self._drift_of(one)), **dict(self._findings_of(one))}
            has |= {of: row for of, (row, *_) in then.items() if row is not None}
            counts = {of: n for of, (_, n, _) in then.items() if n is not None}
            before.append(Before(counts, {of: n for of, (*_, n) in then.items()}, self._all(one)))
        has |= {(*value, WITHOUT): row * (cells.labels == 0) for value, row in values.items()}
        has |= {**values, **labels, **{of: cells.row(of) for of in self.lines}}
        alone = dict[Value, Shown]()
        for found, evidence in self.findings.items():
            for name in _COUNTS[found.check]:
                has[found.id, name] = cells.counts(found, name)
                n, totals = int(evidence[name].value or 0), evidence[name].totals
                shown = shown_count(n, totals, least)
                alone[found.id, name] = f">{least - 1}" if self._tells(found, name) else shown

        def show(withheld: Collection[Value]) -> Told:
            told = {**dict.fromkeys(has), **values_shown(values, cells.sizes, least, withheld)}
            hidden = {(*value, LABELS) for value in values if not isinstance(told[value], int)}
            told |= values_shown(labels, cells.sizes, least, {*hidden, *withheld})
            gone = {(*of[:2], of[3]) for of in withheld if of[3:]}
            for of, n in self.lines.items():
                if isinstance(told[of[:2]], int) and (*of[:2], of[3]) not in gone:
                    told[of] = n
            for of, shown in alone.items():
                bound = ">0" if str(shown).startswith("<") else f">{least - 1}"
                told[of] = bound if of in withheld else shown
            return told

        return shown_within(has, cells.sizes, show, least, [*self._totals()], before)

    def _tells(self, found: _Counted, name: str) -> bool:
        """Whether a count tells, with that of the other side, a node that is withheld."""
        here, node = _COUNTS[found.check][name]
        evidence = self.findings[found]
        nodes = found.nodes if node is None else found.nodes[node : node + 1]
        whole = here and evidence[_OTHER_SIDE[name]].value if found.parent else True
        large = int(evidence[name].value or 0) >= self.min_cell
        return large and not whole and not self.withheld.isdisjoint(nodes)

    def _totals(self) -> Iterator[FloatArray]:
        """What readers are told anyway: of all, and of each node that is not small."""
        for node in sorted(self.cells.named):
            carrying = self.cells.carrying(node)
            if not is_small(round(float(self.cells.sizes @ carrying)), self.min_cell):
                yield carrying
        if self._of_all:
            yield from (self.cells.labels, (self.cells.labels > 0).astype(np.float64))
        yield from (self.cells.within(column) for column in {column for column, _ in self.values})

    @property
    def _of_all(self) -> bool:
        """Whether the cells are of all instances, not of those below a parent."""
        return self.cells.frame["parent"].null_count() > 0

    def _all(self, one: Remembered) -> list[tuple[FloatArray, int]]:
        labels = self.cells.labels
        every = (np.ones_like(labels), one["instances"]), (labels, one["labels"])
        tree, named = one["tree"].items(), self.cells.named
        nodes = [(self.cells.carrying(node), n) for node, n in tree if node in named]
        return [*every, *nodes] if self._of_all else nodes

    def _drift_of(self, one: Remembered) -> Iterator[tuple[Value, _Then]]:
        """Values and nodes of an earlier release; a value that it does not have is none there."""
        rows = {(row["column"], row["value"]): row for row in one["drift"]["values"]}
        columns, none = {column for column, _ in rows}, (None, 0, 0)
        for value in self.values:
            if value[0] in columns and value not in rows:
                yield from ((value, none), ((*value, LABELS), none), ((*value, WITHOUT), none))
        for value, row in rows.items() if self.values else ():
            yield value, (None, row["instances"], row["instances_shown"])
            yield (*value, LABELS), (None, row["labels"], row["labels_shown"])
            yield (*value, WITHOUT), (None, row["without"], None)
        for row in one["drift"]["nodes"]:
            for kind, name in ((WITH, "instances"), (ELSEWHERE, "elsewhere")):
                of = row["column"], row["value"], kind, row["node"]
                if self.cells.tell(*of[::3]):
                    yield of, (self.cells.row(of), row[name], row[name])

    def _findings_of(self, one: Remembered) -> Iterator[tuple[Value, _Then]]:
        for check in one["checks"]:
            for finding in check["findings"] if check["name"] in SHIFTS else ():
                nodes = tuple(one["id"] for one in finding["nodes"])
                counted = _Counted.of(check["name"], finding["id"], nodes)
                names = (*counted.nodes, counted.parent) if counted.parent else ()
                if (names or self._of_all) and self.cells.tell(counted.column, *names):
                    for name in _COUNTS[counted.check]:
                        shown = finding["counts"].get(name)
                        count = shown if isinstance(shown, int) else None
                        yield (counted.id, name), (self.cells.counts(counted, name), count, shown)


_Then: TypeAlias = tuple[FloatArray | None, int | None, Shown]
"""Which cells a count of an earlier release counts, if they are known, the count, if that is, and
what is shown of it there."""


def _lines(
    drift: DriftPart, min_cell: int, earlier: Sequence[Remembered]
) -> dict[Value, int | None]:
    """Counts of the nodes that drift names; None where one is small, or changed little."""
    changed = _changed(drift, earlier, min_cell)
    found = dict[Value, int | None]()
    for row in _first(drift, min_cell).iter_rows(named=True):
        of = row["column"], row["value"]
        told = (of[0], row["node"]) not in changed and not is_small(row["smallest"], min_cell)
        found[*of, WITH, row["node"]] = row["instances"] if told else None
        found[*of, ELSEWHERE, row["node"]] = row["elsewhere"] if told else None
    return found


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
    pairs.append((k + elsewhere, of + of_elsewhere))
    return any(is_small(abs(n), min_cell) for own, all_ in pairs for n in (own, all_ - own))
