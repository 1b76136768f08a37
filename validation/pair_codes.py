"""Hierarchies of the pair worlds, and how frequent each of their labels is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

ROOT = "top"
NUMBERS = 10_000
"""Ids end in a number from here, drawn at random, so that their order says nothing."""


class Codes:
    """A hierarchy being written down; labels are numbered from 0 in the order they are made."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.edges: list[tuple[str, str]] = []
        self.labels: list[str] = []
        self.share: list[float] = []
        self._numbers = iter(rng.permutation(NUMBERS).tolist())

    def node(self, parent: str = ROOT, letter: str = "n") -> str:
        """A new node below a parent."""
        name = f"{letter}{next(self._numbers):04d}"
        self.edges.append((name, parent))
        return name

    def groups(self, branches: int, each: int, nested: float = 0.4) -> list[str]:
        """So many branches with so many groups each, some a level deeper, in random order."""
        found = []
        for _ in range(branches):
            branch = self.node()
            section = self.node(branch)
            for _ in range(each):
                found.append(self.node(section if self.rng.random() < nested else branch))
        return [found[i] for i in self.rng.permutation(len(found))]

    def label(self, parent: str, share: float) -> int:
        """A new label below a parent that this share of the records is to carry; its number."""
        self.labels.append(self.node(parent, "x"))
        self.share.append(share)
        return len(self.labels) - 1

    def family(self, parent: str, share: float, part: float, size: int) -> int:
        """A label and its siblings, so many in all, of which it has this part of the records.

        Returns:
            The number of the label; where it stands among its siblings is drawn.
        """
        others = np.log((1 - share) / (1 - share / part)) if part < 1 else 0.0
        hazards = self.rng.dirichlet(np.full(size - 1, 3.0)) * others if size > 1 else np.zeros(0)
        shares = [*(1 - np.exp(-hazards)), share]
        order = self.rng.permutation(size)
        first = len(self.labels)
        for place in order:
            self.label(parent, float(shares[place]))
        return first + int(np.flatnonzero(order == size - 1)[0])

    def crowd(self, parents: Sequence[str], count: int, length: float, tail: float = 1.0) -> None:
        """So many labels below random parents, together so many a record, lognormal with a tail."""
        weight = np.exp(self.rng.normal(0, tail, count))
        shares = np.minimum(weight / weight.sum() * length, 0.4)
        for share in shares.tolist():
            self.label(parents[int(self.rng.integers(len(parents)))], share)

    def second_parents(self, labels: Iterable[int], parents: Sequence[str]) -> None:
        """Each of these labels hangs below one more of the parents."""
        for label in labels:
            own = {up for down, up in self.edges if down == self.labels[label]}
            free = [parent for parent in parents if parent not in own]
            self.edges.append((self.labels[label], free[self.rng.integers(len(free))]))

    def below(self, node: str) -> list[int]:
        """Numbers of the labels at or below a node."""
        down = descendants(self.edges)[node]
        return [i for i, name in enumerate(self.labels) if name in down]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of the records that each label is to have."""
        return np.array(self.share)


def descendants(edges: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """For every node the nodes at or below it."""
    children: dict[str, list[str]] = defaultdict(list)
    for child, parent in edges:
        children[parent].append(child)
        children[child]
    found: dict[str, set[str]] = {}

    def reach(node: str) -> set[str]:
        if node not in found:
            found[node] = {node}.union(*(reach(child) for child in children[node]))
        return found[node]

    for node in list(children):
        reach(node)
    return found
