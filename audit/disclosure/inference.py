"""What a reader can infer: linear programs over the possible instances of a release.

The number of instances of every kind (by the label sets they meet) is an unknown; every published
count is an equation or a bound on sums of unknowns. With a chain of earlier releases each kind has
an unknown for each of them, its instances that this one added, and one for those added since; the
counts of a release bound what it has added and what those before it have. A program uses
the label sets nearest to a cell, at most `TYPES` kinds of label, so it covers small hierarchies
completely.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, vstack

from audit.disclosure.cells import Cell, LabelSet, Release, carried
from audit.disclosure.digits import Range
from audit.disclosure.feasibility import is_possible
from audit.disclosure.known import Known

TYPES = 8
"""Largest number of kinds of label in one program, which has at most 2 ** TYPES unknowns."""
NEAR = 24
"""Number of label sets considered for one program, the nearest first."""
SETS = 60
"""Number of label sets considered if each label is a kind of its own."""
TOGETHER = 256
"""Number of kinds of instance up to which programs are tried as one."""
MANY = 1_000
"""Number of kinds of instance above which a program with a few of them is tried first."""
SLACK = 1e-6

Counts: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Small: TypeAlias = NDArray[np.int8]
Bools: TypeAlias = NDArray[np.bool_]

Part: TypeAlias = tuple[int, ...]
"""Whether the instances count that each release of a chain added, and those added since."""
Chain: TypeAlias = tuple[Known, ...]
"""Earlier releases, each of which can contain the one before, and the last one is contained."""

Left: TypeAlias = Callable[[Cell], Range]
"""The least and the greatest value that is left to a published count."""
Form: TypeAlias = tuple[tuple[int, Cell | None], ...]
"""A signed sum of cells; None stands for all labelled instances."""


def parts_of(chain: Chain) -> Iterator[Part]:
    """All instances, those of each release of a chain, and those that came since."""
    yield (1,) * (len(chain) + 1)
    for place in range(1, len(chain) + 1):
        own = (1,) * place + (0,) * (len(chain) + 1 - place)
        yield from (own, tuple(1 - one for one in own))


@dataclass(eq=False)
class Inference:
    """The variables of one program: kinds of instances by the label sets that they meet.

    Args:
        release: What readers know beside the counts.
        chain: What they know of earlier releases that it contains.
        codes: Bits of each kind of instance, shape (n_kinds,).
        bits: The bit of each set of labels, and of each union that `rests` has, of which a kind has
            a label.
        labels: Labels of each kind, shape (n_kinds, n_labels); None if not every label is seen.
        labelled: Whether a kind has labels, shape (n_kinds,).
        cells: The published counts that depend on these sets only.
        before: The same of each earlier release.
        rests: Further children of a node, whose union a program sees.
        classes: A label of each class of those in the same sets, and how many it has in use; empty
            but in a program over all labels.
        points: Numbers of kinds that were possible, from when perhaps more was told.
        few: The kinds by which `reaches` saw it last.
    """

    release: Release
    chain: Chain
    codes: Counts
    bits: Mapping[tuple[Any, ...], int]
    labels: csr_array | None
    labelled: Bools
    cells: tuple[Cell, ...]
    before: tuple[tuple[Cell, ...], ...]
    rests: Collection[tuple[Cell, ...]] = ()
    classes: Sequence[tuple[int, int]] = ()
    points: list[Floats] = field(default_factory=list)
    few: Counts = field(default_factory=lambda: np.zeros(0, np.int64))

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
        kinds, whole = _kinds(codes), seen_whole(release)
        bits: dict[tuple[Any, ...], int] = {**sets, **rests}

        def seen(cell: Cell) -> bool:
            return whole if cell.by_label else all(s in sets for s in cell.label_sets)

        each = [sets[release.at(label)] for label in release.labels] if whole else []
        labels = kinds[:, None] & np.array(each, np.int64) != 0
        return cls(
            release,
            chain,
            kinds,
            bits,
            csr_array(labels.astype(np.int8)) if whole else None,
            kinds != 0,
            *counts_seen(seen, counts, chain),
            rests,
        )

    def least(
        self,
        form: Form,
        part: Part,
        sign: int,
        left: Left,
        *,
        wanted: float | None = None,
        told: bool = True,
    ) -> tuple[float, list[Cell]]:
        """Least (sign 1) or greatest (-1) value of a form, and the counts that force it.

        Further kinds of instance are taken in while they lead beyond ``wanted``.

        The value is NaN if no release has all these counts. Where these are not all that is told,
        `reaches` does not go by it.
        """
        from scipy.optimize import linprog

        owners, rows = self._lines
        low, high = self._ends(left)
        exact = low == high
        bounds = csr_array(rows[~exact])
        both: Any = vstack([bounds, -bounds])
        equal: Any = csr_array(rows[exact])
        solved = linprog(
            sign * self._sum(form, part).astype(np.float64),
            A_ub=both,
            b_ub=np.concatenate([high[~exact], -low[~exact]]),
            A_eq=equal,
            b_eq=low[exact],
            method="highs",
        )
        if not solved.success:
            return np.nan, []
        if told:
            self.points.append(np.asarray(solved.x, np.float64))
        weight, above = np.zeros(len(rows)), solved.ineqlin.marginals.reshape(2, -1)
        weight[exact], weight[~exact] = solved.eqlin.marginals, above[0] - above[1]
        found = sign * float(solved.fun or 0)
        if wanted is None or sign * (found - wanted) > SLACK:
            signed = tuple((sign * own, cell) for own, cell in form)
            if self._took(weight, signed, part):
                return self.least(form, part, sign, left, wanted=wanted, told=told)
        binding = [cell for i in np.flatnonzero(np.abs(weight) > SLACK) for cell in owners[i]]
        return found, binding

    def _took(self, worth: Floats, form: Form, part: Part) -> bool:
        """Whether kinds were taken in that are worth more on the lines than they add to a form."""
        return False

    def reaches(self, form: Form, part: Part, sign: int, wanted: int, left: Left) -> bool:
        """Whether a form is seen without a whole program to reach ``wanted``.

        That is, be at most ``wanted`` (sign 1) or at least ``wanted`` (sign -1): where it did
        before, or with a few kinds of many.
        """
        goal = sign * self._sum(form, part)
        if any(goal @ point <= sign * wanted + SLACK for point in self.points):
            return True
        if len(self.labelled) <= MANY:
            return False
        low, high = self._ends(left)
        rows = self._lines[1], goal[None]
        ends = np.append(low, -np.inf), np.append(high, sign * wanted)
        found, self.few = is_possible(rows, *ends, self.few)
        return found

    def _sum(self, form: Form, part: Part) -> Small:
        """Contribution of an instance of each kind to a form."""
        whole = np.sum([weight * self._row(cell) for weight, cell in form], axis=0, dtype=np.int8)
        return np.concatenate([np.int8(weight) * whole for weight in part])

    def _ends(self, left: Left) -> tuple[Floats, Floats]:
        """Least and most of each line."""
        ranges = [
            *self._totals(self.release),
            *map(left, self.cells),
            *((0, sum(left(cell)[1] for cell in cells)) for cells in self.rests),
            *((in_use, self.release.assertions) for _, in_use in self.classes),
        ]
        for known, cells in zip(self.chain, self.before, strict=True):
            ranges += [*self._totals(known), *(known.ranges[cell] for cell in cells)]
        low, high = np.array(ranges, np.float64).T
        return low, high

    @cached_property
    def _lines(self) -> tuple[list[tuple[Cell, ...]], Small]:
        """The cells that publish each bound, and the contribution of each kind to it."""
        totals: list[tuple[Cell, ...]] = [()] * len(self._totals(self.release))
        owners = [*totals, *((cell,) for cell in self.cells), *self.rests]
        owners += [()] * len(self.classes)
        n_now, n_kinds = len(owners), len(self.labelled)
        owners += [()] * sum(len(self._totals(self.release)) + len(its) for its in self.before)
        rows = np.zeros((len(owners), n_kinds * (len(self.chain) + 1)), np.int8)
        for row, counts in zip(rows, self._rows_now(), strict=False):
            row.reshape(-1, n_kinds)[:] = counts
        then = ((n, row) for n, cells in enumerate(self.before, 1) for row in self._rows(cells))
        for row, (place, counts) in zip(rows[n_now:], then, strict=True):
            row.reshape(-1, n_kinds)[:place] = counts
        return owners, rows

    def _rows_now(self) -> Iterator[NDArray[np.generic]]:
        yield from self._rows(self.cells)
        yield from map(self.meets, self.rests)
        for label, _ in self.classes:
            yield self._labels_in(np.arange(len(self.release.labels)) == label)

    def _rows(self, cells: tuple[Cell, ...]) -> Iterator[Small]:
        """Contributions of each kind to the totals and to cells."""
        yield self._row(None)
        if self.labels is not None:
            yield self._labels_in(np.ones(len(self.release.labels), np.bool_))
        yield from map(self._row, cells)

    def _totals(self, release: Release | Known) -> list[Range]:
        """Instances with labels, and their labels where every one is seen."""
        totals = [release.labelled, release.assertions][: 1 + (self.labels is not None)]
        return [(total, total) for total in totals]

    def _labels_in(self, counted: Bools) -> Small:
        """Labels of an instance of each kind that are counted, where every label is seen."""
        assert self.labels is not None
        return np.asarray(self.labels @ counted.astype(np.int8), np.int8)

    def _row(self, cell: Cell | None) -> Small:
        """Contribution of an instance of each kind to a cell; None: to all with labels."""
        if cell is None:
            return self.labelled.astype(np.int8)
        if cell.of_labels:
            return self._labels_in(self.release.members(cell.meets[0]))
        if cell.differing:
            return self._meeting(*(self.release.members(side) for side in cell.meets))
        inside = np.ones(len(self.labelled), np.bool_)
        for met in cell.meets:
            inside &= self.meets(met)
        for missed in cell.misses:
            inside &= ~self.meets(missed)
        return inside.astype(np.int8)

    def meets(self, labels: tuple[Any, ...]) -> Bools:
        """Kinds with a label of a set, or of a union that `rests` has."""
        return np.asarray(self.codes & self.bits[labels] != 0)

    def _meeting(self, first: Bools, second: Bools) -> Small:
        """Kinds with a label of each set and none of both, where every label is seen."""
        held, beside, shared = (self._labels_in(s) for s in (first, second, first & second))
        return np.asarray((held > 0) & (beside > 0) & (shared == 0), np.int8)


def reached(
    programs: Sequence[tuple[Form, Inference]], part: Part, sign: int, wanted: int, left: Left
) -> set[int]:
    """Numbers of small programs in which a form reaches ``wanted``, as `Inference.reaches` says.

    Those of at most `TOGETHER` kinds are solved as parts of one program that have nothing in
    common; alone, they take six times as long. Where one has no solution, none is told to reach it.
    """
    from scipy.optimize import LinearConstraint, milp

    small = [n for n, (_, program) in enumerate(programs) if len(program.labelled) <= TOGETHER]
    if not small:
        return set()
    some = [programs[n] for n in small]
    goals = [sign * program._sum(form, part).astype(np.float64) for form, program in some]
    ends = [program._ends(left) for _, program in some]
    low, high = (np.concatenate(each) for each in zip(*ends, strict=True))
    lines = block_diag([csr_array(program._lines[1]) for _, program in some], format="csr")
    solved = milp(np.concatenate(goals), constraints=LinearConstraint(lines, low, high))
    if not solved.success:
        return set()
    points = np.split(solved.x, np.cumsum([len(goal) for goal in goals])[:-1])
    found = zip(small, goals, points, strict=True)
    return {n for n, goal, point in found if goal @ point <= sign * wanted + SLACK}


def counts_seen(
    seen: Callable[[Cell], bool], counts: Mapping[Cell, int], chain: Chain
) -> tuple[tuple[Cell, ...], tuple[tuple[Cell, ...], ...]]:
    """The published counts of a release that a program sees, and those of each earlier one."""
    then = tuple(tuple(filter(seen, one.published)) for one in chain)
    return tuple(filter(seen, counts)), then


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
    partners = {s for c in counts if near & _nodes(c) for s in c.label_sets}
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
    kinds = np.array([0], np.int64)
    for code in np.unique(codes):
        kinds = np.sort(np.concatenate([kinds, kinds | code]))  # hashes would take more memory
        kinds = kinds[np.append(True, kinds[1:] != kinds[:-1])]
    return kinds
