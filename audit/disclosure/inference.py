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

from audit.disclosure.cells import Cell, Release
from audit.disclosure.digits import Range
from audit.disclosure.feasibility import are_possible, worth_most
from audit.disclosure.known import Known
from audit.disclosure.told import Chain, Counts, Form, Told, nearest, seen_whole, with_rests

TOGETHER = 256
"""Number of kinds of instance up to which programs are tried as one."""
MANY = 1_000
"""Number of kinds of instance above which a program with a few of them is tried first."""
SLACK = 1e-6

Floats: TypeAlias = NDArray[np.float64]
Small: TypeAlias = NDArray[np.int8]
Bools: TypeAlias = NDArray[np.bool_]

Part: TypeAlias = tuple[int, ...]
"""Whether the instances count that each release of a chain added, and those added since."""

Left: TypeAlias = Callable[[Cell], Range]
"""The least and the greatest value that is left to a published count."""


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
        few: The kinds that `find` and `least` begin with, where there are many.
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
    def of(cls, form: Form, told: Told) -> Inference:
        """Build the program around the label sets of a form."""
        release, (sets, codes) = told.release, nearest(form, told)
        rests, codes = with_rests(sets, codes, told)
        kinds, whole = _kinds(codes), seen_whole(release)
        bits: dict[tuple[Any, ...], int] = {**sets, **rests}
        each = [sets[release.at(label)] for label in release.labels] if whole else []
        labels = kinds[:, None] & np.array(each, np.int64) != 0
        return cls(
            release,
            told.chain,
            kinds,
            bits,
            csr_array(labels.astype(np.int8)) if whole else None,
            kinds != 0,
            *told.seen(sets),
            rests,
            few=np.flatnonzero(np.isin(kinds, np.bitwise_or.outer(*[np.unique(codes)] * 2))),
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
        `reached` does not go by it.
        """
        owners, rows = self._lines
        ends, goal = self._ends(left), sign * self._sum(form, part)
        taken = self.few if len(self.labelled) > MANY else np.arange(len(goal))
        found, weight, sizes = _solved(goal, rows, ends, taken)
        while len(taken) < len(goal) and not (
            wanted is not None and found - sign * wanted <= SLACK
        ):
            priced = (rows, goal[None]), np.append(weight, -1)
            more = np.arange(len(goal)) if np.isnan(found) else worth_most(*priced, taken)
            if not len(more):
                break
            taken = more if np.isnan(found) else np.concatenate([taken, more])
            found, weight, sizes = _solved(goal, rows, ends, taken)
        if np.isnan(found):
            return np.nan, []
        if told:
            self.points.append(np.zeros(len(goal)))
            self.points[-1][taken] = sizes
        found *= sign
        if wanted is None or sign * (found - wanted) > SLACK:
            signed = tuple((sign * own, cell) for own, cell in form)
            if self._took(weight, signed, part):
                return self.least(form, part, sign, left, wanted=wanted, told=told)
        binding = [cell for i in np.flatnonzero(np.abs(weight) > SLACK) for cell in owners[i]]
        return found, binding

    def _took(self, worth: Floats, form: Form, part: Part) -> bool:
        """Whether kinds were taken in that are worth more on the lines than they add to a form."""
        return False

    def reached(self, form: Form, part: Part, sign: int, wanted: int) -> bool:
        """Whether a form was found to be at most ``wanted`` (sign 1), or at least (sign -1)."""
        goal = sign * self._sum(form, part)
        return any(goal @ point <= sign * wanted + SLACK for point in self.points)

    @staticmethod
    def find(
        programs: Sequence[tuple[Form, Inference]], part: Part, sign: int, wanted: int, left: Left
    ) -> None:
        """Look for numbers of a few kinds of many by which forms reach ``wanted``."""
        asked = []
        for form, program in programs:
            low, high = program._ends(left)
            rows = program._lines[1], sign * program._sum(form, part)[None]
            ends = np.append(low, -np.inf), np.append(high, sign * wanted)
            asked.append((rows, *ends, program.few))
        for (_, program), (is_, few, sizes) in zip(programs, are_possible(asked), strict=True):
            program.few = few
            if is_:
                program.points.append(np.zeros(program._lines[1].shape[1]))
                program.points[-1][few] = sizes

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


def _solved(
    goal: Small, rows: Small, ends: tuple[Floats, Floats], taken: Counts
) -> tuple[float, Floats, Floats]:
    """Least sum of some kinds, what each line adds to it, and how many there are of each kind.

    The sum is NaN where no numbers of these kinds are within the ends of all lines.
    """
    from scipy.optimize import linprog

    low, high = ends
    exact = low == high
    bounds = csr_array(rows[~exact][:, taken])
    both: Any = vstack([bounds, -bounds])
    equal: Any = csr_array(rows[exact][:, taken])
    solved = linprog(
        goal[taken].astype(np.float64),
        A_ub=both,
        b_ub=np.concatenate([high[~exact], -low[~exact]]),
        A_eq=equal,
        b_eq=low[exact],
        method="highs",
    )
    weight = np.zeros(len(rows))
    if not solved.success:
        return np.nan, weight, weight
    above = solved.ineqlin.marginals.reshape(2, -1)
    weight[exact], weight[~exact] = solved.eqlin.marginals, above[0] - above[1]
    return float(solved.fun or 0), weight, np.asarray(solved.x, np.float64)


def reached(
    programs: Sequence[tuple[Form, Inference]], part: Part, sign: int, wanted: int, left: Left
) -> set[int]:
    """Numbers of programs in which a form reaches ``wanted``, as `Inference.reached` says.

    Those of at most `TOGETHER` kinds, and those of more than `MANY`, are solved as parts of one
    program that have nothing in common; alone, they take six times as long. Where one has no
    solution, none is told to reach it.
    """
    from scipy.optimize import LinearConstraint, milp

    def open_(few: int, many: float) -> list[tuple[Form, Inference]]:
        return [
            (form, program)
            for form, program in programs
            if few < len(program.labelled) <= many and not program.reached(form, part, sign, wanted)
        ]

    if some := open_(0, TOGETHER):
        goals = [sign * program._sum(form, part).astype(np.float64) for form, program in some]
        ends = [program._ends(left) for _, program in some]
        low, high = (np.concatenate(each) for each in zip(*ends, strict=True))
        lines = block_diag([csr_array(program._lines[1]) for _, program in some], format="csr")
        solved = milp(np.concatenate(goals), constraints=LinearConstraint(lines, low, high))
        if solved.success:
            places = np.cumsum([len(goal) for goal in goals])[:-1]
            for (_, program), point in zip(some, np.split(solved.x, places), strict=True):
                program.points.append(point)
    Inference.find(open_(MANY, np.inf), part, sign, wanted, left)
    each = enumerate(programs)
    return {n for n, (form, program) in each if program.reached(form, part, sign, wanted)}


def _kinds(codes: Counts) -> Counts:
    """Bits that some set of labels meets, the empty one included, ascending."""
    kinds = np.array([0], np.int64)
    for code in np.unique(codes):
        kinds = np.sort(np.concatenate([kinds, kinds | code]))  # hashes would take more memory
        kinds = kinds[np.append(True, kinds[1:] != kinds[:-1])]
    return kinds
