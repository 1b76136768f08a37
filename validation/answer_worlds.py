"""Worlds of a model's mistakes: which answers it leans to, known because they were planted.

A world draws which label is missed where which other is falsely given. What it says of an answer
is what it planted: it gives it in the place of others more often than it misses it for others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from audit import LabelDataset, Policy
from audit.base.dag import FloatArray, IntArray
from audit.checks.rules.model_confuses import answers_by_excess
from audit.measure.measure import measure
from fixtures.checked import CHECK_OF
from fixtures.labelled import tree
from fixtures.scored import scored_alone
from validation.truth_planted import as_predictions

CHECK = CHECK_OF["model_confuses"]

SEED = 31
LEANINGS = 5
"""Planted in each release of a world that has any."""
STRONG = (3.0, 8.0)
"""How many times as often as it is missed a planted answer is given beside."""


@dataclass
class Mistakes:
    """Labels that are missed, and those that are falsely given in their place.

    Args:
        rng: Source of all chance.
        weights: How often each of the labels is mistaken, shape (n_labels,); sums to one.
        missed: Index of the label missed in each exchange.
        falsely: Index of the label given.
        leans: Answers that the model leans to.
        swaps: Pairs that are exchanged beside.
    """

    rng: Generator
    weights: FloatArray
    missed: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    falsely: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    leans: list[int] = field(default_factory=list)
    swaps: list[tuple[int, int]] = field(default_factory=list)

    def add(self, missed: IntArray, falsely: IntArray) -> None:
        """Add exchanges; those of a label for itself are none."""
        kept = missed != falsely
        self.missed = np.concatenate([self.missed, missed[kept]])
        self.falsely = np.concatenate([self.falsely, falsely[kept]])

    def drawn(self, n: int) -> IntArray:
        """Labels by weight."""
        return self.rng.choice(len(self.weights), n, p=self.weights)

    def others(self, n: int, *than: int) -> list[int]:
        """So many different labels other than these."""
        left = np.setdiff1d(np.arange(len(self.weights)), than)
        return [int(label) for label in self.rng.choice(left, n, replace=False)]

    def exchange(self, a: int, b: int, n: int, forth: float = 0.5) -> None:
        """Exchange two labels; the second is the answer with this chance."""
        self.swaps.append((a, b))
        way = self.rng.random(n) < forth
        self.add(np.where(way, a, b), np.where(way, b, a))


@dataclass(frozen=True)
class World:
    """A law by which a model errs.

    Args:
        name: What it is called.
        what: What it is.
        err: Draws exchanges.
        branches: So many branches of one parent and five labels each.
        weights: How unequal the labels are: that of rank r weighs 1 / (r + 1) to this power.
        leanings: Whether some are planted beside.
        pairs: Whether findings on pairs are held against the exchanges, and not the answers.
        parents: Whether the parents are labels too, the last ones.
        several: How many exchanges stand on one instance, on average; one where this is 0.
        groups: How the instances are grouped, from the exchanges: each an index of a group, and how
            many instances repeat it; None without groups.
    """

    name: str
    what: str
    err: Callable[[Mistakes], None]
    branches: int = 8
    weights: float = 0.7
    leanings: bool = False
    pairs: bool = False
    parents: bool = False
    several: float = 0.0
    groups: Callable[[Mistakes], tuple[IntArray, IntArray]] | None = None


@dataclass(frozen=True)
class Told:
    """What the product made of one release.

    Args:
        world: Its name.
        planted: Answers that the model leans to, or pairs that are exchanged.
        found: Answers in the table of answers, or pairs of findings.
    """

    world: str
    planted: frozenset[str]
    found: frozenset[str]

    @property
    def false(self) -> frozenset[str]:
        """What is told and was not planted."""
        return self.found - self.planted


def told(name: str, number: int) -> Told:
    """Draw a release of a world, and see what the product tells of its answers."""
    world = next(one for one in WORLDS if one.name == name)
    rng = np.random.default_rng([SEED, *name.encode(), number])
    below = {f"b{i}.p": [f"b{i}.l{j}" for j in range(5)] for i in range(world.branches)}
    labels = [label for own in below.values() for label in own]
    weights = rng.permutation(1 / np.arange(1, len(labels) + 1) ** world.weights)
    if world.parents:
        labels += below
        weights = np.append(weights, np.full(len(below), weights.mean()))
    made = Mistakes(rng, weights / weights.sum())
    world.err(made)
    if world.leanings:
        _lean(made)
    names = np.array(labels, dtype=object)
    rows, answers = _rows_of(world, made, names)
    branches = (f"{parent} < {parent[:-2]}" for parent in below)
    leaves = (f"{' '.join(own)} < {parent}" for parent, own in below.items())
    tops = " ".join(parent[:-2] for parent in below)
    hierarchy = tree(f"{tops} < top", *branches, *leaves)
    dataset = LabelDataset.from_rows(rows if world.groups else rows.drop("group"), hierarchy)
    predictions = as_predictions(answers, dataset)
    measured = scored_alone(measure(dataset, Policy()), predictions)
    if world.pairs:
        pairs = (sorted((names[a], names[b])) for a, b in made.swaps)
        standing = (sorted(one.nodes) for one in CHECK.run(measured).standing)
        return Told(name, frozenset(map(" ".join, pairs)), frozenset(map(" ".join, standing)))
    found = frozenset(hierarchy.nodes[i] for i in answers_by_excess(measured)["node"])
    return Told(name, frozenset(names[made.leans]), found)


def _lean(made: Mistakes) -> None:
    """Let the model lean to answers: to a third of them in place of any label, else of a few."""
    for place, answer in enumerate(made.others(LEANINGS)):
        missed = int((made.missed == answer).sum())
        times = max(int(made.rng.uniform(*STRONG) * missed), 40)
        few = made.others(int(made.rng.integers(4, 9)), answer, *made.leans)
        instead = made.rng.choice(few, times) if place % 3 else made.drawn(times)
        made.add(instead, np.full(times, answer))
        made.leans.append(answer)


def _rows_of(
    world: World, made: Mistakes, names: NDArray[Any]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labels and answers: the exchanges, and as many instances that are answered rightly."""
    rng, n = made.rng, len(made.missed)
    order = rng.permutation(n)
    made.missed, made.falsely = made.missed[order], made.falsely[order]
    group, times = world.groups(made) if world.groups else (np.arange(n), np.ones(n, np.int64))
    at = np.repeat(np.arange(n), times)
    instance = np.arange(len(at))
    if world.several:
        instance = np.sort(rng.integers(0, int(n / world.several), len(at)))
    n = int(instance.max()) + 1
    right, alone = made.drawn(n), np.arange(n, 2 * n)

    def frame(errors: IntArray) -> pl.DataFrame:
        columns = ((instance, alone), (names[errors[at]], names[right]), (group[at], alone + n))
        every = [np.concatenate(column).astype(str) for column in columns]
        rows = pl.DataFrame(dict(zip(("instance", "label", "group"), every, strict=True)))
        return rows.unique(["instance", "label"], maintain_order=True)

    return frame(made.missed), frame(made.falsely).drop("group")


def _by_chance(made: Mistakes, n: int = 2500) -> None:
    made.add(made.drawn(n), made.drawn(n))


def _alike(made: Mistakes) -> None:
    _by_chance(made)
    for _ in range(12):
        a, b = made.others(2)
        made.exchange(a, b, int(made.rng.integers(15, 60)))


def _stars(made: Mistakes, *, hubs: int = 6, least: int = 10, beside: int = 2500) -> None:
    _by_chance(made, beside)
    for hub in made.others(hubs):
        for other in made.others(7, hub):
            made.exchange(other, hub, int(made.rng.integers(least, 3 * least)))


def _rings(made: Mistakes) -> None:
    """Each label of a ring is missed for the next, so that it is given as often as missed."""
    _by_chance(made)
    for _ in range(24):
        ring, mean = made.others(8), made.rng.integers(12, 30)
        for label, answer in zip(ring, [*ring[1:], ring[0]], strict=True):
            made.exchange(label, answer, int(made.rng.poisson(mean)), 1.0)


def _stars_of_parents(made: Mistakes) -> None:
    """Parents are exchanged with labels elsewhere, and given for those below them."""
    _by_chance(made)
    leaves = len(made.weights) // 6 * 5
    for place, parent in enumerate(range(leaves, len(made.weights))):
        own = list(range(5 * place, 5 * place + 5))
        for other in made.others(7, *own, *range(leaves, len(made.weights))):
            made.exchange(other, parent, int(made.rng.integers(10, 30)))
        made.add(made.rng.choice(own, 300), np.full(300, parent))


def _copied(made: Mistakes) -> tuple[IntArray, IntArray]:
    n = len(made.missed)
    return np.arange(n), 1 + made.rng.geometric(0.3, n).clip(max=19)


def _by_site(made: Mistakes) -> tuple[IntArray, IntArray]:
    """Sixty sites; what a site has a habit of, it does on half of its mistakes."""
    n, sites = len(made.missed), 60
    site = made.rng.integers(0, sites, n)
    habit, is_given = made.drawn(sites)[site], (made.rng.random(sites) < 0.5)[site]
    own = (made.rng.random(n) < 0.5) & (made.missed != habit) & (made.falsely != habit)
    made.falsely = np.where(own & is_given, habit, made.falsely)
    made.missed = np.where(own & ~is_given, habit, made.missed)
    return site, np.ones(n, np.int64)


_LAWS = (
    World("mistakes by chance", "Missed and given labels are drawn alike.", _by_chance),
    World("labels that are alike", "Twelve pairs are exchanged beside, either way.", _alike),
    World("labels like several others", "Six labels are exchanged with seven others each, either "
          "way.", _stars),
    World("one way in rings", "Each of eight labels is missed for the next one, the last for the "
          "first: 24 such rings.", _rings),
    World("rings on several labels", "The same, three exchanges an instance on average.", _rings,
          several=3.0),
    World("several labels", "Labels like several others, three exchanges an instance on "
          "average.", _stars, several=3.0),
    World("mistakes copied in groups", "The same on one label; a patient's mistake stands on "
          "up to 20 stays.", _stars, groups=_copied),
    World("habits of sites", "Each of 60 sites gives a label of its own, or misses it, on half of "
          "its mistakes.", _alike, groups=_by_site),
)  # fmt: skip
WORLDS = (
    *(replace(one, name=f"{one.name}, null") for one in _LAWS),
    World("many rare labels, null", "200 labels, 1,500 mistakes.", partial(_by_chance, n=1500),
          branches=40, weights=1.0),
    World("few mistakes, null", "Of 80 labels 16 are exchanged with seven others each, 4 to 12 "
          "times either way, and 150 mistakes are by chance.",
          partial(_stars, hubs=16, least=4, beside=150), branches=16),
    World("answers above the label, null", "Parents are exchanged with labels elsewhere either "
          "way, and given 300 times for labels below them.", _stars_of_parents, parents=True),
    World("patients answered alike, null", "A patient's mistake stands on up to 20 stays; pairs "
          "are by chance.", _by_chance, groups=_copied, pairs=True),
    *(replace(one, leanings=True) for one in _LAWS),
    World("patients answered alike, and pairs", "The same, and twelve pairs beside, 15 to 60 "
          "times.", _alike, groups=_copied, pairs=True),
)  # fmt: skip
"""Worlds without a planted answer or pair, and with five answers, or twelve pairs, a release."""
