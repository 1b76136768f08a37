"""What several published counts tell together, and what more to withhold so that they do not.

Every kind of instance (which sets of labels it meets) is an unknown number; every published count
is an equation or a bound on their sums. A linear program gives the least and the most that a small
cell can be under all of them; where that is not from 1 to ``min_cell - 1``, the counts that the
program's dual leans on are withheld, the smallest first, until it is. Programs look at the label
sets nearest to a cell, at most `TYPES` kinds of label: small hierarchies are seen whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import or_
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.disclosure.cells import Cell, LabelSet, Release, carried
from audit.disclosure.quantity import is_small, shown_count

TYPES = 8
"""Kinds of label that one program tells apart: it has at most 2 ** TYPES unknowns."""
NEAR = 24
"""Label sets that are tried, nearest first, to be among them."""
SETS = 60
"""Label sets that are tried where each label is a kind of its own."""
FEW = 3
"""Children without a published count, up to which their parent's count can tell of one."""
_SLACK = 1e-6

Counts: TypeAlias = NDArray[np.int64]

Form: TypeAlias = tuple[tuple[int, Cell | None], ...]
"""A sum of cells with their signs; None stands for all instances with labels."""


def protected(
    counts: Mapping[Cell, int],
    release: Release,
    min_cell: int,
    shares: Collection[tuple[Cell, Cell]] = (),
    beside: Mapping[Cell, Collection[int]] = MappingProxyType({}),
) -> dict[Cell, int | str]:
    """Published counts, each as it may be shown beside all the others.

    Protected are small counts, small remainders (of the instances with labels, of the sides of a
    pair, of the parent, of those with a label below), small counts of neither side, and the small
    counts of children that are not published, where they are `FEW`; with at most `TYPES` labels in
    use, those of every node and of what it has beyond each child.

    Args:
        counts: Each count that is to be published.
        release: What is known beside them.
        min_cell: Smallest count that may be shown, above 1.
        shares: Two of the counts each that no line shows: a share tells both, or neither.
        beside: Totals that a count is written with and is part of.

    Returns:
        Each count itself; ``<m`` where it is small; ``>n-m`` where all but few of n are in it, the
        instances with labels or a published count that it is part of; else, where it would tell a
        small cell, ``>m-1``, and ``>0`` where that tells too much. Of instances with labels below
        each of two nodes that share some, ``>0`` is all that is shown.

    What remains narrow is so by the release's totals, by which pairs never meet, and by which
    nodes are in use, alone.
    """
    same = {release.same(cell): count for cell, count in counts.items()}
    totals: dict[Cell, set[int]] = {}
    for cell, written in beside.items():
        totals.setdefault(release.same(cell), set()).update(written)
    return _Protection(release, min_cell, dict(sorted(same.items())), tuple(shares), totals).of(
        counts
    )


@dataclass(eq=False)
class _Protection:
    release: Release
    min_cell: int
    counts: dict[Cell, int]
    shares: tuple[tuple[Cell, Cell], ...]
    beside: Mapping[Cell, Collection[int]]
    told: dict[Cell, int | str] = field(default_factory=dict)

    def of(self, asked: Mapping[Cell, int]) -> dict[Cell, int | str]:
        self.told = {cell: self._alone(cell) for cell in self.counts}
        for form in self._small_forms():
            self._protect(form)
        for depth in sorted(set(self.release.labels.values())):
            self._hide_two_at(depth)
        for cell in self.counts:
            self._raise_sides(cell)
        return {cell: self.told[self.release.same(cell)] for cell in asked}

    def _alone(self, cell: Cell) -> int | str:
        """A count as it may be shown without the others."""
        count = self.counts[cell]
        if cell.differing and count:
            return ">0"
        return shown_count(count, self._totals_of(cell), self.min_cell)

    def _totals_of(self, cell: Cell) -> tuple[int, ...]:
        """Counts that a cell is part of: published ones, and those that it is written with."""
        if cell.of_labels:
            return ()
        sides = _sides(cell) if len(cell.label_sets) > 1 else []
        published = (self.counts[side] for side in sides if side in self.counts)
        return self.release.labelled, *published, *self.beside.get(cell, ())

    def _raise_sides(self, cell: Cell) -> None:
        """Let the bound of a count say what a published part of it says already.

        A bound that would read as "all but few of those with labels" is left as it is.
        """
        told = self.told[cell]
        implied = told - 1 if isinstance(told, int) else int(told[1:]) if told[0] == ">" else 0
        if implied == self.release.labelled - self.min_cell:
            return
        for side in _sides(cell) if len(cell.label_sets) > 1 else []:
            bound = self.told.get(side)
            if isinstance(bound, str) and bound[0] == ">" and int(bound[1:]) < implied:
                self.told[side] = f">{implied}"

    def _hide_two_at(self, depth: int) -> None:
        """Withhold the smallest label of a depth where one alone is hidden: the sum is known."""
        labels = [label for label, its in self.release.labels.items() if its == depth]
        cells = [Cell((self.release.at(label),)) for label in labels]
        shown = [cell for cell in cells if isinstance(self.told.get(cell), int)]
        if len(cells) - len(shown) == 1 and shown:
            chosen = min(shown, key=lambda cell: (self.counts[cell], cell))
            self.told[chosen] = f">{self.min_cell - 1}"

    def _small_forms(self) -> list[Form]:
        """What must stay possible from 1 to ``min_cell - 1``, without what is so trivially."""
        every = map(carried, self.release.supports) if _whole(self.release) else ()
        forms = dict.fromkeys(
            form
            for cell in (*self.counts, *every)
            for form in (*self._of_cell(cell), *self._of_children(cell))
        )
        return [form for form in forms if is_small(self._value(form), self.min_cell)]

    def _of_cell(self, cell: Cell) -> Iterator[Form]:
        if not cell.by_label or _whole(self.release):
            yield ((1, cell),)
        if cell.by_label:
            return
        yield (1, None), (-1, cell)
        sides = _sides(cell)
        if len(cell.label_sets) > 1:
            for side in sides:
                if side in self.counts:
                    yield (1, side), (-1, cell)
        if len(sides) == 2 and all(side in self.counts for side in sides):
            yield (1, None), (-1, sides[0]), (-1, sides[1]), (1, cell)

    def _of_children(self, cell: Cell) -> Iterator[Form]:
        """Differences of a node and what is right below it."""
        if cell.misses or len(cell.meets) != 1 or cell.meets[0][0] != "below":
            return
        node = cell.meets[0][1]
        within = Cell((("strictly_below", node),))
        if within in self.counts:
            yield (1, cell), (-1, within)
        children = [carried(child) for child in self.release.children.get(node, ())]
        unpublished = [child for child in children if child not in self.counts]
        if len(unpublished) > FEW and not _whole(self.release):
            children = [child for child in children if child in self.counts]
        for child in children:
            yield (1, cell), (-1, child)
            yield ((1, child),)

    def _value(self, form: Form) -> int:
        return sum(sign * self._counted(cell) for sign, cell in form)

    def _counted(self, cell: Cell | None) -> int:
        if cell is None:
            return self.release.labelled
        if cell in self.counts:
            return self.counts[cell]
        return self.release.supports[cell.meets[0][1]]

    def _protect(self, form: Form) -> None:
        sight = _Sight.of(form, self.release, self.counts)
        for sign, wanted in ((1, 1), (-1, self.min_cell - 1)):
            while True:
                found, leaning = sight.least(form, sign, self._read(self.told), self.min_cell)
                if np.isnan(found) or sign * (found - wanted) <= _SLACK:
                    break
                chosen = self._to_withhold(leaning) or self._further(sight, form, sign, found)
                if not chosen:
                    break
                self.told[chosen] = self._withheld(chosen)

    def _further(self, sight: _Sight, form: Form, sign: int, found: float) -> Cell | None:
        """A count to withhold where the dual names none; None where totals alone are as narrow."""
        seen = [cell for cell in sight.cells if self.counts[cell]]
        least = self._read(self.told | dict.fromkeys(seen, ">0"))
        free, _ = sight.least(form, sign, least, self.min_cell)
        return None if sign * (found - free) <= _SLACK else self._to_withhold(seen)

    def _read(self, told: Mapping[Cell, int | str]) -> dict[Cell, int | str]:
        """What is told, without counts that a withheld share alone would tell."""
        withheld = [share for share in self.shares if any(isinstance(told[c], str) for c in share)]
        hidden = {cell for share in withheld for cell in share}
        return {cell: value for cell, value in told.items() if cell not in hidden}

    def _to_withhold(self, leaning: list[Cell]) -> Cell | None:
        """An exact count before a bound, and the smallest first; None where all is withheld."""
        open_ = [c for c in leaning if self.counts[c] and self.told[c] != ">0"]
        return min(
            open_, key=lambda c: (isinstance(self.told[c], str), self.counts[c], c), default=None
        )

    def _withheld(self, cell: Cell) -> str:
        floor = f">{self.min_cell - 1}"
        enough = self.counts[cell] >= self.min_cell and self.told[cell] != floor
        return floor if enough else ">0"


@dataclass(frozen=True, eq=False)
class _Sight:
    """The instances as one program sees them: kinds by the label sets nearest to a cell.

    Args:
        release: What is known beside the counts.
        sets: Bit of each label set; bit 1 is that of all labels.
        kinds: Bits of the sets that each kind of instance meets, shape (n_kinds,); the first is
            that of the unlabelled.
        cells: The published counts that depend on these sets alone.
        rests: Bit of the union of the further children of a node, by these children.
    """

    release: Release
    sets: Mapping[LabelSet, int]
    kinds: Counts
    cells: tuple[Cell, ...]
    rests: Mapping[tuple[Cell, ...], int]

    @classmethod
    def of(cls, form: Form, release: Release, counts: Mapping[Cell, int]) -> _Sight:
        """The sight around the label sets of a form."""
        sets, codes = _nearest(form, release, counts)
        rests: dict[tuple[Cell, ...], int] = {}
        for children in _further(sets, release, counts):
            bit = 2 << (len(set(sets.values())) + len(rests))
            union = np.any([release.members(c.meets[0]) for c in children], axis=0)
            if len(np.unique(codes + bit * union)) <= TYPES + len(rests) + 1:
                rests[children], codes = bit, codes + bit * union
        cells = tuple(
            cell
            for cell in counts
            if (_whole(release) if cell.by_label else all(s in sets for s in cell.label_sets))
        )
        return cls(release, sets, _kinds(codes), cells, rests)

    def least(
        self, form: Form, sign: int, told: Mapping[Cell, int | str], min_cell: int
    ) -> tuple[float, list[Cell]]:
        """The least (sign 1) or most (-1) that a form can be, and the counts that make it so.

        Not a number where no release has all these counts, so that they tell nothing.
        """
        from scipy.optimize import linprog

        n, owners, rows = self.release.labelled, *self._lines
        ranges = [
            _range(told.get(cell), self.release.assertions if cell.of_labels else n, min_cell)
            for cell in self.cells
        ]
        rests = [(0, _most_together(told, cells, n, min_cell)) for cells in self.rests]
        low, high = np.array([*self._totals, *ranges, *rests], np.float64).T
        exact = low == high
        solved = linprog(
            sign * np.sum([weight * self._row(cell) for weight, cell in form], axis=0),
            A_ub=np.vstack([rows[~exact], -rows[~exact]]),
            b_ub=np.concatenate([high[~exact], -low[~exact]]),
            A_eq=rows[exact],
            b_eq=low[exact],
            method="highs",
        )
        if not solved.success:
            return np.nan, []
        weight = np.zeros(len(rows))
        weight[exact] = np.abs(solved.eqlin.marginals)
        weight[~exact] = np.abs(solved.ineqlin.marginals).reshape(2, -1).sum(axis=0)
        leaning = [cell for i in np.flatnonzero(weight > _SLACK) for cell in owners[i]]
        return sign * float(solved.fun or 0), leaning

    @cached_property
    def _lines(self) -> tuple[list[tuple[Cell, ...]], NDArray[np.float64]]:
        """Who publishes each bound, and how often each kind of instance counts in it."""
        lines: list[tuple[tuple[Cell, ...], NDArray[np.float64]]] = [((), self._row(None))]
        if _whole(self.release):
            lines.append(((), self._labels_in(np.ones(len(self.release.labels), np.bool_))))
        lines += [((cell,), self._row(cell)) for cell in self.cells]
        lines += [
            (cells, np.asarray(self.kinds & bit != 0, np.float64))
            for cells, bit in self.rests.items()
        ]
        return [owner for owner, _ in lines], np.array([row for _, row in lines])

    @property
    def _totals(self) -> list[tuple[int, int]]:
        release = self.release
        totals = [release.labelled]
        if _whole(release):
            totals.append(release.assertions)
        return [(total, total) for total in totals]

    def _labels_in(self, counted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Labels of an instance of each kind that are counted, where every label is seen."""
        bits = [self.sets[self.release.at(label)] for label in self.release.labels]
        has = (self.kinds[:, None] & np.array(bits, np.int64)[None, :]) != 0
        return np.asarray(has @ counted.astype(np.float64), np.float64)

    def _row(self, cell: Cell | None) -> NDArray[np.float64]:
        """What an instance of each kind adds to a cell; None: to those with labels."""
        if cell is None:
            return np.asarray(self.kinds != 0, np.float64)
        if cell.of_labels:
            return self._labels_in(self.release.members(cell.meets[0]))
        if cell.differing:
            return self._meeting(*(self.release.members(side) for side in cell.meets))
        met, missed = (
            reduce(or_, (self.sets[s] for s in some), 0) for some in (cell.meets, cell.misses)
        )
        inside: NDArray[np.bool_] = (self.kinds & met == met) & (self.kinds & missed == 0)
        return inside.astype(np.float64)

    def _meeting(self, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Kinds with two different labels, one of each set, where every label is seen."""
        held, beside, either = (self._labels_in(s) for s in (first, second, first | second))
        return np.asarray((held > 0) & (beside > 0) & (either > 1), np.float64)


def _whole(release: Release) -> bool:
    """Whether programs tell every label in use apart."""
    return len(release.labels) <= TYPES


def _sides(cell: Cell) -> list[Cell]:
    """The cells of each label set that a cell meets; it is part of each."""
    return [Cell((side,)) for side in cell.meets]


def _range(told: int | str | None, instances: int, min_cell: int) -> tuple[int, int]:
    """The counts that a published value leaves possible; all, where there is none."""
    if told is None:
        return 0, instances
    if isinstance(told, int):
        return told, told
    bound = int(told[1:])
    if told[0] == "<":
        return 1, bound - 1
    nearly_all = bound == instances - min_cell and bound >= min_cell
    return bound + 1, instances - nearly_all


def _most_together(
    told: Mapping[Cell, int | str], cells: tuple[Cell, ...], instances: int, min_cell: int
) -> int:
    return sum(_range(told.get(cell), instances, min_cell)[1] for cell in cells)


def _nearest(
    form: Form, release: Release, counts: Mapping[Cell, int]
) -> tuple[dict[LabelSet, int], Counts]:
    """Bit of each label set around a form, and the bits of each label in use."""
    cells = [cell for _, cell in form if cell and not cell.by_label]
    own = list(dict.fromkeys(s for cell in cells for s in cell.label_sets))
    near = {node for _, node in own}
    partners = {s for c in counts if len(c.meets) > 1 and near & _nodes(c) for s in c.label_sets}
    around = near.union(*(_family(release, node) for node in near))
    beside = around.union(*(_family(release, node) for node in around))

    def distance(label_set: LabelSet) -> tuple[int, int, LabelSet]:
        node = label_set[1]
        far = 0 if node in near else 1 if label_set in partners or node in around else 2
        return far + (node not in beside), counts.get(Cell((label_set,)), 0), label_set

    if _whole(release):
        own += [at for label in release.labels if (at := release.at(label)) not in own]
    others = {s for c in counts if not c.by_label for s in c.label_sets} - set(own)
    nearest = sorted(others, key=distance)[: SETS if _whole(release) else NEAR]
    sets: dict[LabelSet, int] = {}
    bits: dict[bytes, int] = {}
    codes = np.ones(len(release.labels), np.int64)
    for label_set in (*own, *nearest):
        held = release.members(label_set)
        bit = bits.get(held.tobytes(), 2 << len(bits))
        with_it = codes | bit * held
        if label_set in own or len(np.unique(with_it)) <= TYPES:
            sets[label_set], codes = bit, with_it
            bits[held.tobytes()] = bit
    return sets, codes


def _nodes(cell: Cell) -> set[str]:
    return {node for _, node in cell.label_sets}


def _family(release: Release, node: str) -> set[str]:
    return {*release.parents.get(node, ()), *release.children.get(node, ())}


def _further(
    sets: Mapping[LabelSet, int], release: Release, counts: Mapping[Cell, int]
) -> Iterator[tuple[Cell, ...]]:
    """Children of the seen nodes beyond those seen themselves, where all of them are published."""
    for node in sorted({node for _, node in sets}):
        children = [carried(child) for child in release.children.get(node, ())]
        unseen = tuple(child for child in children if child.meets[0] not in sets)
        if unseen and all(child in counts for child in unseen):
            yield unseen


def _kinds(codes: Counts) -> Counts:
    """Bits that some set of labels meets, the empty one included, ascending."""
    kinds = {0}
    for code in np.unique(codes).tolist():
        kinds |= {kind | code for kind in kinds}
    return np.array(sorted(kinds), np.int64)
