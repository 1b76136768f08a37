"""What is told of a release and of earlier ones, and the label sets nearest to what is asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.disclosure.cells import Cell, LabelSet, Release, carried
from audit.disclosure.known import Known

TYPES = 8
"""Largest number of kinds of label in one program, which has at most 2 ** TYPES unknowns."""
NEAR = 24
"""Number of label sets considered for one program, the nearest first."""
SETS = 60
"""Number of label sets considered if each label is a kind of its own."""

Sets: TypeAlias = frozenset[LabelSet]
Counts: TypeAlias = NDArray[np.int64]
Chain: TypeAlias = tuple[Known, ...]
"""Earlier releases, each of which can contain the one before, and the last one is contained."""
Form: TypeAlias = tuple[tuple[int, Cell | None], ...]
"""A signed sum of cells; None stands for all labelled instances."""


@dataclass(frozen=True, eq=False)
class Told:
    """The counts that a release and earlier ones publish, and which label sets they are of.

    Args:
        release: What readers know beside the counts.
        counts: The counts of the release.
        chain: What readers know of earlier releases that it contains.
    """

    release: Release
    counts: Mapping[Cell, int]
    chain: Chain

    @cached_property
    def sets(self) -> dict[LabelSet, int]:
        """Each label set that is counted for itself or with others, the smallest first: its place.

        Sets that are counted by label are left out.
        """
        every = {cell: n for its in (*self._each[1:], self.counts) for cell, n in its.items()}
        sets = {one for cell in every if not cell.by_label for one in cell.label_sets}
        order = sorted(sets, key=lambda one: (every.get(Cell((one,)), 0), one))
        return {one: place for place, one in enumerate(order)}

    @cached_property
    def of_node(self) -> dict[str, list[LabelSet]]:
        """These by their node."""
        found: dict[str, list[LabelSet]] = {}
        for one in self.sets:
            found.setdefault(one[1], []).append(one)
        return found

    @cached_property
    def partners(self) -> dict[str, set[LabelSet]]:
        """The sets that are counted with one of a node."""
        found: dict[str, set[LabelSet]] = {}
        for cell in {cell for its in self._each for cell in its}:
            for _, node in cell.label_sets:
                found.setdefault(node, set()).update(cell.label_sets)
        return found

    def seen(
        self, sets: Collection[LabelSet]
    ) -> tuple[tuple[Cell, ...], tuple[tuple[Cell, ...], ...]]:
        """The counts of the release that depend on some sets only, and those of each earlier one.

        If a program distinguishes all labels, it sees what is counted by label too.
        """
        own, *then = (
            tuple(
                cell
                for _, cell in sorted(
                    {one for label_set in sets for one in places.get(label_set, ())}
                    | {*(by_label if seen_whole(self.release) else ())}
                )
                if cell.by_label or all(one in sets for one in cell.label_sets)
            )
            for places, by_label in self._places
        )
        return own, tuple(then)

    @property
    def _each(self) -> list[Mapping[Cell, int]]:
        return [self.counts, *(one.published for one in self.chain)]

    @cached_property
    def _places(self) -> list[tuple[dict[LabelSet, list[tuple[int, Cell]]], list[Any]]]:
        """The counts of each release with their places: those of each label set, and by label."""
        found = []
        for counts in self._each:
            of_set: dict[LabelSet, list[tuple[int, Cell]]] = {}
            for one in enumerate(counts):
                for label_set in () if one[1].by_label else one[1].label_sets:
                    of_set.setdefault(label_set, []).append(one)
            found.append((of_set, [one for one in enumerate(counts) if one[1].by_label]))
        return found


def seen_whole(release: Release) -> bool:
    """Whether a program distinguishes every label in use."""
    return len(release.labels) <= TYPES


def nearest(form: Form, told: Told) -> tuple[dict[LabelSet, int], Counts]:
    """Bit of each label set around a form, and the bits of each label in use."""
    release = told.release
    cells = [cell for _, cell in form if cell and not cell.by_label]
    own = list(dict.fromkeys(s for cell in cells for s in cell.label_sets))
    near = {node for _, node in own}
    partners = {s for node in near for s in told.partners.get(node, ())}
    around = near.union(*(_family(release, node) for node in near))
    beside = around.union(*(_family(release, node) for node in around))

    def distance(label_set: LabelSet) -> tuple[int, int]:
        node = label_set[1]
        far = 0 if node in near else 1 if label_set in partners or node in around else 2
        return far + (node not in beside), told.sets[label_set]

    if seen_whole(release):
        own += [at for label in release.labels if (at := release.at(label)) not in own]
    n_near = SETS if seen_whole(release) else NEAR
    close = {s for node in beside for s in told.of_node.get(node, ())} | partners
    far = islice((s for s in told.sets if s not in close), n_near)
    others = {*close, *far} & told.sets.keys() - {*own}
    sets: dict[LabelSet, int] = {}
    bits: dict[bytes, int] = {}
    codes = np.ones(len(release.labels), np.int64)
    for label_set in (*own, *sorted(others, key=distance)[:n_near]):
        held = release.members(label_set)
        bit = bits.get(held.tobytes(), 2 << len(bits))
        with_it = codes | bit * held
        if label_set in own or len(np.unique(with_it)) <= TYPES:
            sets[label_set], codes = bit, with_it
            bits[held.tobytes()] = bit
    return sets, codes


def _family(release: Release, node: str) -> set[str]:
    return {*release.parents.get(node, ()), *release.children.get(node, ())}


def with_rests(
    sets: Mapping[LabelSet, int], codes: Counts, told: Told
) -> tuple[dict[tuple[Cell, ...], int], Counts]:
    """Bits of unions of unseen children of the seen nodes, and the bits of each label with them.

    Each is of all children of a node that are not seen themselves, where all are published.
    """
    rests: dict[tuple[Cell, ...], int] = {}
    for node in sorted({node for _, node in sets}):
        children = [carried(child) for child in told.release.children.get(node, ())]
        unseen = tuple(child for child in children if child.meets[0] not in sets)
        if unseen and all(child in told.counts for child in unseen):
            bit = 2 << (len(set(sets.values())) + len(rests))
            union = np.any([told.release.members(c.meets[0]) for c in unseen], axis=0)
            if len(np.unique(codes + bit * union)) <= TYPES + len(rests) + 1:
                rests[unseen], codes = bit, codes + bit * union
    return rests, codes
