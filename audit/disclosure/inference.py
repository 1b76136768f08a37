"""What a reader can infer: linear programs over the possible instances of a release.

The number of instances of every kind (by the label sets they meet) is an unknown; every published
count is an equation or a bound on sums of unknowns. With a chain of earlier releases each kind has
an unknown for each of them, its instances that this one added, and one for those added since; the
counts of a release bound what it has added and what those before it have. A program uses
the label sets nearest to a cell, at most `TYPES` kinds of label, so it covers small hierarchies
completely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.disclosure.cells import Cell, LabelSet, Release, carried
from audit.disclosure.digits import Range
from audit.disclosure.known import Known

TYPES = 8
"""Largest number of kinds of label in one program, which has at most 2 ** TYPES unknowns."""
NEAR = 24
"""Number of label sets considered for one program, the nearest first."""
SETS = 60
"""Number of label sets considered if each label is a kind of its own."""
MANY = 1_000
"""Number of kinds of instance above which a program with a few of them is tried first."""
SLACK = 1e-6
AT_ONCE = 20
"""Number of kinds added in one step."""
TOLERANCE = 1e-9
"""Numerical tolerance, far below the feasibility tolerance of the solver."""

Counts: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

Part: TypeAlias = tuple[int, ...]
"""Whether the instances count that each release of a chain added, and those added since."""
Chain: TypeAlias = tuple[Known, ...]
"""Earlier releases, each of which can contain the one before, and the last one is contained."""

Left: TypeAlias = Callable[[Cell], Range]
"""The least and the greatest value that is left to a published count."""
Form: TypeAlias = tuple[tuple[int, Cell | None], ...]
"""A signed sum of cells; None stands for all labelled instances."""


@dataclass(frozen=True, eq=False)
class Inference:
    """The variables of one program: kinds of instances by the label sets nearest to a cell.

    Args:
        release: What readers know beside the counts.
        chain: What they know of earlier releases that it contains.
        sets: Bit of each label set; bit 1 is the set of all labels.
        kinds: Bits of the sets that each kind of instance meets, shape (n_kinds,); the first kind
            is unlabelled.
        cells: The published counts that depend on these sets only.
        before: The same of each earlier release.
        rests: Bit of the union of a node's other children, by these children.
    """

    release: Release
    chain: Chain
    sets: Mapping[LabelSet, int]
    kinds: Counts
    cells: tuple[Cell, ...]
    before: tuple[tuple[Cell, ...], ...]
    rests: Mapping[tuple[Cell, ...], int]

    @classmethod
    def of(
        cls, form: Form, release: Release, counts: Mapping[Cell, int], chain: Chain
    ) -> Inference:
        """Build the program around the label sets of a form."""
        then = [one.published for one in chain]
        every = {cell: n for its in (*then, counts) for cell, n in its.items()}
        sets, codes = _nearest(form, release, every)
        rests: dict[tuple[Cell, ...], int] = {}
        for children in _further(sets, release, counts):
            bit = 2 << (len(set(sets.values())) + len(rests))
            union = np.any([release.members(c.meets[0]) for c in children], axis=0)
            if len(np.unique(codes + bit * union)) <= TYPES + len(rests) + 1:
                rests[children], codes = bit, codes + bit * union

        def seen(cell: Cell) -> bool:
            return seen_whole(release) if cell.by_label else all(s in sets for s in cell.label_sets)

        cells, *before = (tuple(filter(seen, published)) for published in (counts, *then))
        return cls(release, chain, sets, _kinds(codes), cells, tuple(before), rests)

    def least(self, form: Form, part: Part, sign: int, left: Left) -> tuple[float, list[Cell]]:
        """Least (sign 1) or greatest (-1) value of a form, and the counts that force it.

        The value is NaN if no release has all these counts.
        """
        from scipy.optimize import linprog

        owners, rows = self._lines
        low, high = self._ends(left)
        exact = low == high
        solved = linprog(
            sign * self._sum(form, part),
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
        binding = [cell for i in np.flatnonzero(weight > SLACK) for cell in owners[i]]
        return sign * float(solved.fun or 0), binding

    def reaches(self, form: Form, part: Part, sign: int, wanted: int, left: Left) -> bool:
        """Whether a few kinds suffice to show that a form can reach ``wanted``.

        That is, be at most ``wanted`` (sign 1) or at least ``wanted`` (sign -1).

        False without a trial if there are few kinds.
        """
        if len(self.kinds) <= MANY:
            return False
        low, high = self._ends(left)
        rows = np.vstack([self._lines[1], sign * self._sum(form, part)])
        return is_possible(rows, np.append(low, -np.inf), np.append(high, sign * wanted))

    def _sum(self, form: Form, part: Part) -> Floats:
        """Contribution of an instance of each kind to a form."""
        whole = np.sum([weight * self._row(cell) for weight, cell in form], axis=0)
        return np.concatenate([weight * whole for weight in part])

    def _ends(self, left: Left) -> tuple[Floats, Floats]:
        """Least and most of each line."""
        ranges = [
            *self._totals(self.release),
            *map(left, self.cells),
            *((0, sum(left(cell)[1] for cell in cells)) for cells in self.rests),
        ]
        for known, cells in zip(self.chain, self.before, strict=True):
            ranges += [*self._totals(known), *(known.ranges[cell] for cell in cells)]
        low, high = np.array(ranges, np.float64).T
        return low, high

    @cached_property
    def _lines(self) -> tuple[list[tuple[Cell, ...]], Floats]:
        """The cells that publish each bound, and the contribution of each kind to it."""
        totals: list[tuple[Cell, ...]] = [()] * len(self._totals(self.release))
        owners = [*totals, *((cell,) for cell in self.cells), *self.rests]
        rests = [np.asarray(self.kinds & bit != 0, np.float64) for bit in self.rests.values()]
        rows = np.array([*self._rows(self.cells), *rests])
        size = len(self.chain) + 1
        lines = [np.hstack([rows] * size)]
        for place, cells in enumerate(self.before, 1):
            then = np.array(self._rows(cells))
            lines.append(np.hstack([then] * place + [np.zeros_like(then)] * (size - place)))
            owners += [()] * len(then)
        return owners, np.vstack(lines)

    def _rows(self, cells: tuple[Cell, ...]) -> list[Floats]:
        """Contributions of each kind to the totals and to cells."""
        every = np.ones(len(self.release.labels), np.bool_)
        labels = [self._labels_in(every)] if seen_whole(self.release) else []
        return [self._row(None), *labels, *map(self._row, cells)]

    def _totals(self, release: Release | Known) -> list[Range]:
        """Instances with labels, and their labels where every one is seen."""
        totals = [release.labelled, release.assertions][: 1 + seen_whole(self.release)]
        return [(total, total) for total in totals]

    def _labels_in(self, counted: NDArray[np.bool_]) -> Floats:
        """Labels of an instance of each kind that are counted, where every label is seen."""
        bits = [self.sets[self.release.at(label)] for label in self.release.labels]
        has = (self.kinds[:, None] & np.array(bits, np.int64)[None, :]) != 0
        return np.asarray(has @ counted.astype(np.float64), np.float64)

    def _row(self, cell: Cell | None) -> Floats:
        """Contribution of an instance of each kind to a cell; None: to all with labels."""
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

    def _meeting(self, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Floats:
        """Kinds with a label of each set and none of both, where every label is seen."""
        held, beside, shared = (self._labels_in(s) for s in (first, second, first & second))
        return np.asarray((held > 0) & (beside > 0) & (shared == 0), np.float64)


def seen_whole(release: Release) -> bool:
    """Whether a program distinguishes every label in use."""
    return len(release.labels) <= TYPES


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

    if seen_whole(release):
        own += [at for label in release.labels if (at := release.at(label)) not in own]
    others = {s for c in counts if not c.by_label for s in c.label_sets} - set(own)
    nearest = sorted(others, key=distance)[: SETS if seen_whole(release) else NEAR]
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


def is_possible(rows: Floats, low: Floats, high: Floats) -> bool:
    """Whether numbers of instances per kind exist whose sums lie in all ranges.

    Args:
        rows: Contribution of an instance of each kind to each sum, shape (n_sums, n_kinds).
        low: Lower bound of each sum, shape (n_sums,); infinite if there is none.
        high: Upper bound of each sum, same shape.

    Kinds of instance are added as needed ("A linear programming approach to the cutting-stock
    problem", Gilmore and Gomory 1961): a program over the kinds so far minimises the violation, and
    its dual variables say which further kinds would reduce it.

    Returns:
        True only if such non-negative numbers, not necessarily whole, were found; False also if
            the solver gives up.
    """
    taken = np.zeros(0, np.int64)
    while True:
        short, worth = _least_violation(rows[:, taken], low, high)
        if short <= TOLERANCE:
            return True
        gain = np.einsum("i,ij->j", worth, rows)  # on one core, with the same bytes on any number
        gain[taken] = 0
        further = np.argsort(-gain, kind="stable")[:AT_ONCE]
        further = further[gain[further] > TOLERANCE]
        if not len(further):
            return False
        taken = np.concatenate([taken, further])


def _least_violation(rows: Floats, low: Floats, high: Floats) -> tuple[float, Floats]:
    """Minimum total violation of the ranges, and its dual values; NaN where the solver gives up."""
    from scipy.optimize import linprog

    n_sums, n_kinds = rows.shape
    one = np.eye(n_sums)
    solved = linprog(
        np.repeat([1.0, 0.0], [2 * n_sums, n_sums + n_kinds]),
        A_eq=np.hstack([one, -one, -one, rows]),
        b_eq=np.zeros(n_sums),
        bounds=[(0, None)] * (2 * n_sums)
        + list(zip(low.tolist(), high.tolist(), strict=True))
        + [(0, None)] * n_kinds,
        method="highs",
    )
    if not solved.success:
        return np.nan, np.zeros(n_sums)
    return float(solved.fun or 0), np.asarray(solved.eqlin.marginals, np.float64)
