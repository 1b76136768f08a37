"""One program over all labels of a release, with kinds of instance as they are needed.

It begins with those of one label and of two. Where no such instances have all counts, the kind of
more labels is added that lowers a program most, as another in whole numbers finds it (Gilmore and
Gomory 1961), until none does: the program then says what it would with every set of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, vstack

from audit.disclosure.cells import Cell, LabelSet, Release
from audit.disclosure.feasibility import TOLERANCE, least_violations
from audit.disclosure.inference import SLACK, Bools, Floats, Inference, Left, Part
from audit.disclosure.told import Counts, Form, Told

ALL_KINDS = 10_000
"""Largest number of kinds of one label or two in a program."""
MOST_LABELS = 60
"""Largest number of classes of label of which kinds of three and more are taken in."""

Sum: TypeAlias = tuple[float, list[Bools], list[Bools]]
"""What an instance is worth that has a label in each of some sets, and none in others."""


@dataclass(eq=False)
class WholeInference(Inference):
    """A program over all labels.

    Args:
        most: Number of labels that an instance has at most, where kinds of more than two are taken
            in; 0 where all kinds are there.
    """

    most: int = 0

    @classmethod
    def of_all(cls, told: Told, forms: Iterable[Form]) -> WholeInference | None:
        """Build one program over all labels, with kinds of instance that have one or two.

        Labels that are in the same of all sets are one. None where instances of two labels would be
        of more than `ALL_KINDS` kinds.
        """
        release, counts, chain = told.release, told.counts, told.chain
        further = release.assertions - release.labelled
        asked = (cell for form in forms for _, cell in form if cell)
        then = (cell for one in chain for cell in one.published)
        sets = {one for cells in (counts, asked, then) for cell in cells for one in cell.label_sets}
        members = np.array([release.members(one) for one in sorted(sets)])
        in_sets = np.ascontiguousarray(members.T).view(f"S{len(sets)}")  # sorted fastest so
        _, first, sizes = np.unique(in_sets, return_index=True, return_counts=True)
        one, other = np.triu_indices(len(first) if further else 0)
        two = np.flatnonzero((one != other) | (sizes[one] > 1))
        if len(two) > ALL_KINDS or not release.labels:
            return None
        shape = len(first) + len(two), len(release.labels)
        kinds = np.concatenate([np.arange(shape[0]), len(first) + np.arange(len(two))])
        held = np.concatenate([first, first[one[two]], first[other[two]]])
        labels = csr_array((np.ones(len(held), np.int8), (kinds, held)), shape=shape)
        return cls(
            release,
            chain,
            np.zeros(0, np.int64),
            {},
            labels,
            np.ones(shape[0], np.bool_),
            tuple(counts),
            tuple(tuple(one.published) for one in chain),
            classes=list(zip(first.tolist(), sizes.tolist(), strict=True)),
            few=np.arange(len(first)),
        )

    @property
    def alone(self) -> Iterator[Form]:
        """Instances with each label that is in other sets than all others."""
        names = list(self.release.labels)
        for label, size in self.classes:
            if size == 1:
                yield ((1, Cell((self.release.at(names[label]),))),)

    def completed(self, left: Left) -> bool:
        """Whether instances have all these counts; of more than two labels as few as it takes.

        Kinds of more labels are then taken in as they are needed, of at most `MOST_LABELS`.
        """
        if self._has_instances(left):
            return True
        every = sum(size for _, size in self.classes)
        if len(self.classes) > MOST_LABELS or not replace(self, most=every)._has_instances(left):
            return False
        self.most = ceil(self.release.assertions / self.release.labelled)
        while not self._has_instances(left):
            self.most += 1
        return True

    def _has_instances(self, left: Left) -> bool:
        """Whether kinds of instance have all these counts, those that are taken in for it too."""
        ends, none = self._ends(left), (1,) * (len(self.chain) + 1)
        rows = self._lines[1].astype(np.float64)
        ((short, worth, _),) = least_violations([(rows, *ends)])
        while short > TOLERANCE and self._took(worth, (), none):
            rows = self._lines[1].astype(np.float64)
            ((short, worth, _),) = least_violations([(rows, *ends)])
        return short <= TOLERANCE

    def _took(self, worth: Floats, form: Form, part: Part) -> bool:
        """Take in kinds of instance that are worth more on the lines than they add to a form."""
        new = [self._worthiest(place, worth, form, own) for place, own in enumerate(part)]
        held = [labels for labels in new if labels is not None]
        if not held:
            return False
        more = np.zeros((len(held), len(self.release.labels)), np.int8)
        more[:, [first for first, _ in self.classes]] = held
        rows: list[Any] = [self.labels, csr_array(more)]
        self.labels = csr_array(vstack(rows))
        n_parts, n_more = len(part), ((0, 0), (0, len(held)))
        self.points = [np.pad(x.reshape(n_parts, -1), n_more).ravel() for x in self.points]
        self.labelled = np.ones(self.labels.shape[0], np.bool_)
        del self._lines
        return True

    def _worthiest(self, place: int, worth: Floats, form: Form, own: int) -> Counts | None:
        """Labels of each class that an instance of a part has that is worth most, if it gains."""
        if not self.most:
            return None
        n_now = 2 + len(self.cells) + len(self.classes)
        each = worth[n_now - len(self.classes) : n_now].copy()
        each += worth[1]
        asked = [(-float(sign * own), cell) for sign, cell in form]
        asked += [(worth[0], None), *zip(worth[2:], self.cells, strict=False)]
        start = n_now
        for release, cells in enumerate(self.before, 1):
            its = worth[start : (start := start + 2 + len(cells))]
            if release > place:
                each += its[1]
                asked += [(its[0], None), *zip(its[2:], cells, strict=True)]
        at_all, sums = 0.0, list[Sum]()
        for weight, cell in asked:
            if cell is None:
                at_all += weight
            elif cell.of_labels:
                each += weight * self._of_classes(cell.meets[0])
            elif weight:
                met, missed = (list(map(self._of_classes, s)) for s in (cell.meets, cell.misses))
                sums.append((weight, met, missed + [met[0] & met[-1]] * cell.differing))
        sizes = np.array([size for _, size in self.classes])
        most, labels = worthiest(each, sums, sizes, self.most)
        return labels if at_all + most > SLACK else None

    def _of_classes(self, label_set: LabelSet) -> Bools:
        return self.release.members(label_set)[[first for first, _ in self.classes]]

    def meets(self, labels: tuple[Any, ...]) -> Bools:
        """Kinds with a label of a set."""
        return self._labels_in(self.release.members(labels)) > 0


def worthiest(each: Floats, sums: Sequence[Sum], sizes: Counts, most: int) -> tuple[float, Counts]:
    """The labels of the instance that is worth most, found in whole numbers.

    Args:
        each: What a label of each class is worth, shape (n_classes,).
        sums: What labels are worth together; sets of classes are of the same shape.
        sizes: How many labels each class has, same shape.
        most: How many labels an instance has at most; it has one at least.

    Returns:
        What it is worth, and how many labels of each class it has.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    sets = {one.tobytes(): one for _, met, missed in sums for one in (*met, *missed)}
    place = {name: number for number, name in enumerate(sets)}
    held = np.array([*sets.values(), np.zeros(len(each))], np.float64)[:-1]
    n, n_sets, n_sums = len(each), len(sets), len(sums)
    ends = np.cumsum([0, n, n, n_sets, n_sums])
    unit = eye_array(ends[-1], format="csr")
    count, has, hit, whole = (unit[a:b] for a, b in pairwise(ends))
    label_of, label = np.nonzero(held)
    each_asked = [
        (number, place[one.tobytes()], sign)
        for number, (_, *both) in enumerate(sums)
        for sign, its in zip((1, -1), both, strict=True)
        for one in its
    ]
    sum_of, asked, sign = np.array(each_asked, np.int64).reshape(-1, 3).T
    signed = csr_array((sign, (sum_of, asked)), shape=(n_sums, n_sets))
    n_met = np.array([len(met) for _, met, _ in sums])
    rows: list[tuple[Any, Any]] = [
        (count - has, 0.0),
        (diags_array(sizes.astype(np.float64)) @ has - count, 0.0),
        (hit[label_of] - has[label], 0.0),
        (csr_array(held) @ has - hit, 0.0),
        (diags_array(sign.astype(np.float64)) @ hit[asked] - whole[sum_of], np.minimum(sign, 0)),
        (whole - signed @ hit, 1 - n_met),
    ]
    at_least = [LinearConstraint(matrix, low, np.inf) for matrix, low in rows]
    some = LinearConstraint(np.arange(ends[-1])[None] < n, 1, most)
    worth = np.concatenate([each, np.zeros(n + n_sets), [one for one, _, _ in sums]])
    solved = milp(
        -worth,
        integrality=np.ones(ends[-1]),
        bounds=Bounds(0, np.append(sizes, np.ones(ends[-1] - n))),
        constraints=[*at_least, some],
    )
    if not solved.success:
        return 0.0, np.zeros(n, np.int64)
    return -float(solved.fun), np.round(solved.x[:n]).astype(np.int64)


def rows_of(release: Release, held: Sequence[Collection[str]]) -> Callable[[Form], Floats]:
    """What instances with some labels each, all of a release's, contribute to a sum."""
    held_ = np.array([[name in own for name in release.labels] for own in held], np.int8)
    labels, labelled = csr_array(held_), np.asarray(held_.any(axis=1))
    kinds = WholeInference(release, (), np.zeros(0, np.int64), {}, labels, labelled, (), ())
    return lambda form: kinds._sum(form, (1,)).astype(np.float64)
