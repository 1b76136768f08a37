"""What is told of the values of columns: counts of drift and of findings, protected together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias
from urllib.parse import unquote

import numpy as np

from audit.base.dag import FloatArray
from audit.disclosure import (
    WITHOUT,
    Before,
    Cell,
    Known,
    Protection,
    Quantity,
    Shown,
    Told,
    Value,
    carried,
    is_small,
    shown_count,
    shown_within,
    values_shown,
)
from audit.results.drift_lines import lines_of, named_nodes
from audit.results.findings import Finding
from audit.results.parts import DriftPart, ValueCells
from audit.results.reference_changes import Remembered
from audit.results.value_cells import ELSEWHERE, LABELS, WITH, Cells, extremes, with_others

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
_OTHER_SIDE = {"instances": "elsewhere", "of": "of_elsewhere", "less_instances": "less_elsewhere"}
"""The same count of all others."""


def shown_by_values(
    findings: Sequence[Finding],
    part: ValueCells,
    drift: DriftPart | None,
    min_cell: int,
    earlier: Sequence[Remembered] = (),
    tree: Protection | None = None,
) -> tuple[Told, set[Cell]]:
    """Counts of findings and of drift, as they are shown together, and beside earlier releases.

    One program protects all of them. Where instances differ in too much for one, those of values
    have one and those below each parent; where one of values is withheld, no count of nodes is
    told.

    Args:
        tree: The counts of nodes and pairs, which the same readers know. Where a node is withheld,
            those of a value and of all others would tell it.

    Returns:
        By column and value, where more than instances is meant with `LABELS`, or with `WITH` or
            `ELSEWHERE` and a node; by id of a finding and name. And which counts of ``tree`` are
            withheld too.
    """
    earlier = sorted(earlier, key=lambda one: int(one["instances"]))
    lines = {} if drift is None else lines_of(drift, min_cell, earlier)
    named = named_nodes(drift, findings, min_cell) if tree else ()
    withheld = {node for node in named if isinstance(tree and tree.shown.get(carried(node)), str)}
    lines = {of: None if of[3] in withheld else n for of, n in lines.items()}
    counted = {_Counted.of(one.check, one.id, one.nodes): one.evidence for one in findings}
    told, gone = dict[Value, Shown](), set[Cell]()
    whole = not part.cells["nodes"].null_count()
    for (parent,), cells in part.cells.partition_by("parent", as_dict=True).items():
        own = {one: its for one, its in counted.items() if whole or one.parent == parent}
        values = [] if drift is None or parent else drift.values.select("column", "value").rows()
        asked = _Asked(
            Cells(with_others(extremes(cells))),
            own,
            values,
            lines if whole else {},
            min_cell,
            earlier,
            frozenset(withheld),
            tree,
        )
        its, further = asked.shown()
        told, gone = {**told, **its}, gone | further
    below = {one.id for one in counted if one.parent}
    if whole:
        return told, gone
    if all(isinstance(n, int) for of, n in told.items() if of[0] not in below):
        return told | lines, gone
    floor = f">{min_cell - 1}"
    floored = {of: floor if of[0] in below and isinstance(n, int) else n for of, n in told.items()}
    return floored, gone


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


@dataclass(frozen=True, eq=False)
class _Asked:
    """What one program protects.

    Args:
        values: Columns and values that drift tells.
        lines: Counts of nodes that drift names, as far as they may be told alone.
    """

    cells: Cells
    findings: Mapping[_Counted, Mapping[str, Quantity]]
    values: Sequence[Value]
    lines: Mapping[Value, int | None]
    min_cell: int
    earlier: Sequence[Remembered]
    withheld: frozenset[str]
    tree: Protection | None

    def shown(self) -> tuple[Told, set[Cell]]:
        """All of them, as they are shown together, and the nodes that are withheld for it."""
        cells, least = self.cells, self.min_cell
        values = {value: cells.row(value) for value in self.values}
        labels = {(*value, LABELS): cells.row((*value, LABELS)) for value in values}
        has, before = dict[Value, FloatArray](), list[Before]()
        for one in self.earlier:
            known = self._known_of(one)
            then = {of: its for told in self._told_of(one, known) for of, its in told}
            has |= {of: row for of, (row, *_) in then.items() if row is not None}
            counts = {of: n for of, (_, n, _) in then.items() if n is not None}
            all_ = [*self._all(one, known)]
            before.append(Before(counts, {of: n for of, (*_, n) in then.items()}, all_))
        further = (*((*value, WITHOUT) for value in values), *self.lines)
        has |= {**values, **labels, **{of: cells.row(of) for of in further}, **self._tree}
        alone = dict[Value, Shown]()
        for found, evidence in self.findings.items():
            for name in _COUNTS[found.check]:
                has[found.id, name] = self._row(found, name)
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
            there = {value: ">0" for value in values if told[value] is None}
            return told | there | dict(self._left(withheld))

        beyond = cells.frame["beyond"].to_numpy()
        told = shown_within(has, cells.sizes, show, least, [*self._totals()], before, beyond)
        alone |= show(())
        gone = {of for of in self._tree if told[of] != alone[of]}
        values_ = {of: None if of in values and n == ">0" else n for of, n in told.items() if of[0]}
        return values_, {cell for _, form in gone for _, cell in form}

    @cached_property
    def _tree(self) -> dict[Value, FloatArray]:
        """Sums of counts of nodes and pairs."""
        if self.tree is None:
            return {}
        before = (cell for known in self.tree.known.earlier for cell in known.ranges)
        own = self.tree.forms.every if self.cells.whole else self.tree.forms.protected
        forms = [*own, *(((1, cell),) for cell in before)]
        rows = self.cells.rows(dict.fromkeys(forms), self.tree.release)
        return {(None, form): row for form, row in rows.items()}

    def _left(self, withheld: Collection[Value]) -> Iterator[tuple[Value, Any]]:
        """What is told of each count of nodes and pairs."""
        if self.tree is not None:
            gone = {cell for of in withheld if of[0] is None for _, cell in of[1]}
            yield from self._ends(self.tree.left(gone))

    def _ends(self, ranges: Mapping[Cell, tuple[float, float]]) -> Iterator[tuple[Value, Any]]:
        for cell, (low, high) in ranges.items():
            if (of := (None, ((1, cell),))) in self._tree:
                yield of, low if low == high else (low, high)

    def _known_of(self, one: Remembered) -> Known | None:
        """What readers know of the nodes of an earlier release."""
        tree = {carried(node): n for node, n in one["tree"].items()}
        return next(
            (
                known
                for known in (self.tree.known.earlier if self.tree else ())
                if known.assertions == one["labels"]
                and all(known.exact(cell) == n for cell, n in tree.items())
            ),
            None,
        )

    def _row(self, one: _Counted, name: str) -> FloatArray:
        """What a finding counts; what lies below a parent once for each child of it."""
        here, node = _COUNTS[one.check][name]
        held = self.cells.within(one.column, one.value, here=here)
        if one.parent is None:
            return held * (self.cells.labels > 0)
        if node is not None:
            return held * self.cells.carrying(one.nodes[node])
        return held * self.cells.children(one.parent)

    def _tells(self, found: _Counted, name: str) -> bool:
        """Whether a count tells, with that of the other side, a node that is withheld."""
        here, node = _COUNTS[found.check][name]
        evidence = self.findings[found]
        nodes = found.nodes if node is None else found.nodes[node : node + 1]
        whole = here and evidence[_OTHER_SIDE[name]].value if found.parent else True
        large = int(evidence[name].value or 0) >= self.min_cell
        return large and not whole and not self.withheld.isdisjoint(nodes)

    def _totals(self) -> Iterator[FloatArray]:
        """What readers are told anyway of all, and may be of nodes outside the programs."""
        for node in () if self.cells.whole else sorted(self.cells.nodes):
            carrying = self.cells.carrying(node)
            if not is_small(round(float(self.cells.sizes @ carrying)), self.min_cell):
                yield carrying
        if self.cells.of_all:
            yield from (self.cells.labels, (self.cells.labels > 0).astype(np.float64))
        yield from (self.cells.within(column) for column in {column for column, _ in self.values})

    def _all(self, one: Remembered, known: Known | None) -> Iterator[tuple[FloatArray, int]]:
        """The same of an earlier release."""
        labels, rows = self.cells.labels, one["drift"]["values"]
        if not self.cells.of_all:
            return
        yield from ((np.ones_like(labels), one["instances"]), (labels, one["labels"]))
        if known is not None:
            yield (labels > 0).astype(np.float64), known.labelled
        for column in {row["column"] for row in rows}.intersection(self.cells.columns):
            n = sum(row["instances"] for row in rows if row["column"] == column)
            yield self.cells.within(column), n

    def _told_of(
        self, one: Remembered, known: Known | None
    ) -> Iterator[Iterable[tuple[Value, _Then]]]:
        """What an earlier release counts and tells: of values, in findings, and of nodes."""
        yield self._drift_of(one)
        yield self._findings_of(one)
        if known is not None and self.tree is not None:
            then, tree = dict(self._ends(known.ranges)), self.tree
            for of, row in self._tree.items():
                yield [(of, (row, tree.sum_of(of[1], known), then.get(of)))]

    def _drift_of(self, one: Remembered) -> Iterator[tuple[Value, _Then]]:
        """Values and nodes of an earlier release; a value that it does not have is none there."""
        rows = {(row["column"], row["value"]): row for row in one["drift"]["values"]}
        columns, none = {column for column, _ in rows}, (None, 0, 0)
        for value in self.values:
            if value[0] in columns and value not in rows:
                yield from ((value, none), ((*value, LABELS), none), ((*value, WITHOUT), none))
        for value, row in rows.items() if self.values else ():
            yield value, (None, row["instances"], row["instances_shown"] or ">0")
            yield (*value, LABELS), (None, row["labels"], row["labels_shown"])
            yield (*value, WITHOUT), (None, row["without"], None)
        for row in one["drift"]["nodes"]:
            for kind, name in ((WITH, "instances"), (ELSEWHERE, "elsewhere")):
                of = row["column"], row["value"], kind, row["node"]
                if self.cells.tell(*of[::3]):
                    yield of, (self.cells.row(of), row[name], row[name])
        for row in one["drift"]["others"]:
            for kind in (WITH, ELSEWHERE):
                of = row["column"], row["value"], kind, row["node"]
                if of in self.lines:
                    yield of, (None, row[kind], None)

    def _findings_of(self, one: Remembered) -> Iterator[tuple[Value, _Then]]:
        for check in one["checks"]:
            for finding in check["findings"] if check["name"] in SHIFTS else ():
                nodes = tuple(one["id"] for one in finding["nodes"])
                counted = _Counted.of(check["name"], finding["id"], nodes)
                names = (*counted.nodes, counted.parent) if counted.parent else ()
                if (names or self.cells.of_all) and self.cells.tell(counted.column, *names):
                    own = () if counted in self.findings else nodes
                    for name in _COUNTS[counted.check]:
                        shown = finding["counts"].get(name)
                        count = shown if isinstance(shown, int) else None
                        of = " ".join((counted.id, *own)), name
                        yield of, (self._row(counted, name), count, shown)


_Then: TypeAlias = tuple[FloatArray | None, int | None, Shown]
"""Which cells a count of an earlier release counts, if they are known, the count, if that is, and
what is shown of it there."""
