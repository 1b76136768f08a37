"""Sets of labels of a release, such as those below a node, and which sets others are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.disclosure.sums import Sums

LabelSet: TypeAlias = frozenset[int]
"""Numbers of labels."""
Numbers: TypeAlias = NDArray[np.int64]
Apart: TypeAlias = tuple[int, int, int]
"""Number of a pair of sets, and the places of the parts of a union that they lie in."""
Union: TypeAlias = tuple[int, tuple[int, ...]]
"""Number of a set, and of sets without a label in common that it is the union of."""


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Sets of labels, each label by itself first, and how sets make each other up.

    Args:
        number: Number of each set.
        unions: How sets are unions of others: enough ways that each set within another is a part
            of it in some.
    """

    number: Mapping[LabelSet, int]
    unions: Sequence[Union]

    @classmethod
    def of(cls, lines: Sequence[LabelSet], sets: Iterable[LabelSet]) -> LabelSets:
        """Sets of labels, and how they make each other up.

        Args:
            lines: Sets that have no label in common and hold all labels together.
            sets: Further sets. Labels that are in the same of all sets are a set too.
        """
        every = frozenset(chain.from_iterable(lines))
        singles = [frozenset({label}) for label in range(len(every))]
        several = [its for its in dict.fromkeys([every, *lines, *sets]) if len(its) > 1]
        several = list(dict.fromkeys([*several, *_alike(several, len(every))]))
        number = {its: number for number, its in enumerate([*singles, *several])}
        whole = [(number[every], tuple(number[line] for line in lines))] if len(lines) > 1 else []
        return cls(number, [*whole, *_unions(several, len(every))])

    @property
    def size(self) -> int:
        """Number of counts: three of each set, and one of each union."""
        return 3 * len(self.number) + len(self.unions)

    def instances(self, number: int) -> int:
        """Number of the count of instances with a label of a set.

        The set's own number is that of the count of their labels in it.
        """
        return len(self.number) + number

    def further(self, number: int) -> int:
        """Number of the count of labels of a set beyond the first of each instance."""
        return 2 * len(self.number) + number

    def shared(self, union: int) -> int:
        """Number of the count of parts of a union that instances have beyond their first."""
        return 3 * len(self.number) + union

    @cached_property
    def sums(self) -> Sums:
        """Labels are instances and further labels; those of a union are those of its parts.

        Of the further labels of a union only those beyond the first of each part are in its parts.
        """
        sums = [(one, [self.instances(one), self.further(one)]) for one in self.number.values()]
        at_most: list[tuple[int, int]] = []
        for place, (whole, parts) in enumerate(self.unions):
            at_most += [(self.instances(part), self.instances(whole)) for part in parts]
            beyond = [self.further(part) for part in parts]
            sums += [(whole, list(parts)), (self.further(whole), [*beyond, self.shared(place)])]
        return Sums.of(sums, at_most, self.size)

    def apart(self, pairs: Sequence[tuple[LabelSet, LabelSet]]) -> list[list[Apart]]:
        """Of each union the pairs of sets that lie in two of its parts.

        Each is the number of the pair, and the places of the two parts.
        """
        by_number = list(self.number)
        each = [(n, a, b, a | b) for n, (a, b) in enumerate(pairs) if a and b]
        return [
            list(_in_two([its for its in each if its[3] <= by_number[whole]], by_number, parts))
            for whole, parts in self.unions
        ]


def _in_two(
    pairs: Sequence[tuple[int, LabelSet, LabelSet, LabelSet]],
    by_number: Sequence[LabelSet],
    parts: Sequence[int],
) -> Iterator[Apart]:
    """The pairs of sets of which each lies in a part of its own."""
    for number, a, b, _ in pairs:
        first, second = (_place(labels, by_number, parts) for labels in (a, b))
        if first is not None and second is not None and first != second:
            yield number, first, second


def _place(labels: LabelSet, by_number: Sequence[LabelSet], parts: Sequence[int]) -> int | None:
    """Place of the part that holds labels; None where they lie in several."""
    return next((place for place, part in enumerate(parts) if labels <= by_number[part]), None)


def _alike(sets: Sequence[LabelSet], n_labels: int) -> list[LabelSet]:
    """Labels that are in the same sets, where there are several."""
    within: list[list[int]] = [[] for _ in range(n_labels)]
    for number, labels in enumerate(sets):
        for label in labels:
            within[label].append(number)
    alike: dict[tuple[int, ...], list[int]] = {}
    for label, numbers in enumerate(within):
        alike.setdefault(tuple(numbers), []).append(label)
    return [frozenset(its) for its in alike.values() if len(its) > 1]


def _unions(sets: Sequence[LabelSet], n_labels: int) -> list[Union]:
    """How each set is made of others and of labels, until each set within it was a part."""
    sizes = np.array([len(its) for its in sets], np.int64)
    common = _common(sets, sizes, n_labels)
    within = (common == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    order = np.lexsort((np.arange(len(sets)), -sizes))
    unions: list[Union] = []
    for whole in order.tolist():
        inner = order[within[order, whole]]
        unused = inner.tolist()
        while True:
            parts = _disjoint(inner, unused[:1], common)
            unused = [part for part in unused if part not in parts]
            single = sorted(sets[whole].difference(*(sets[part] for part in parts)))
            unions.append((n_labels + whole, (*(n_labels + part for part in parts), *single)))
            if not unused:
                break
    return unions


def _common(sets: Sequence[LabelSet], sizes: Numbers, n_labels: int) -> Numbers:
    """How many labels each two sets have in common."""
    held = np.fromiter(chain.from_iterable(sets), np.int64)
    rows = np.repeat(np.arange(len(sets)), sizes)
    has = csr_array((np.ones(len(rows), np.int64), (rows, held)), shape=(len(sets), n_labels))
    return np.asarray((has @ has.T).toarray(), np.int64)


def _disjoint(inner: Numbers, first: list[int], common: Numbers) -> list[int]:
    """Sets without a label in common: the given one if any, then the largest of the others."""
    taken: list[int] = []
    given, free = iter(first), np.ones(len(inner), np.bool_)
    while free.any():
        taken.append(next(given, int(inner[free.argmax()])))
        free &= common[taken[-1], inner] == 0
    return taken
