"""Scenes of two releases: what a comparison tells of pairs of them, and with a guard switched off.

The worlds have patients who come again, with habits of their own; some patients, or all, are in
both releases. What is planted is counted while the records are made.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from unittest.mock import patch

import numpy as np
import polars as pl
from numpy.random import Generator

import audit.runs.compare.node_changes
import audit.runs.compare.node_folding
from audit import LabelDataset, compare_runs, run_audit
from audit.engine.statistics.intervals import wilson
from audit.engine.statistics.two_rates import GroupSums
from audit.runs.compare.counts import Counts
from audit.runs.compare.node_folding import Changed, Folded
from validation.scene import dataset, tree

TREE = tree(8, 5, 6)
LEAVES = [node for node in TREE.nodes if node.count(".") == 2]
SEED = 31

Records = list[list[str]]
Sizes = Callable[[Generator, int], "np.ndarray[tuple[int], np.dtype[np.int64]]"]

SIZES: dict[str, Sizes] = {
    "Pareto": lambda rng, n: np.minimum(1 + (2 * rng.pareto(1.5, n)).astype(int), 300),
    "mild": lambda rng, n: rng.integers(1, 4, n),
    "as in MIMIC": lambda rng, n: np.minimum(rng.zipf(3.0, n), 40),
    "geometric": lambda rng, n: rng.geometric(1 / 3, n),
    "alone": lambda rng, n: np.ones(n, np.int64),
}
"""How many stays patients have in a release."""


@dataclass(frozen=True)
class World:
    """Patients with habits, and what is planted in the later of two releases.

    Args:
        sizes: The law of the number of stays.
        shared: Part of the patients that are in both releases; 2: the later holds the earlier.
        patients: How many each release has.
        habit: How many lasting labels a patient has on average; each is on four in five stays.
    """

    sizes: str
    shared: float
    patients: int = 2500
    habit: float = 3.0

    def drawn(self, rng: Generator) -> tuple[Stays, Stays]:
        """Two releases without a change."""
        use = 1 / (np.arange(len(LEAVES)) + 5.0)
        use = rng.permutation(use / use.sum())
        n = round(self.patients * min(self.shared, 1))
        both = self._habits(rng, n, use)
        old = [*both, *self._habits(rng, self.patients - n, use)]
        new = [*both, *self._habits(rng, self.patients - n, use)]
        first, second = (self._stays(rng, people, use) for people in (old, new))
        if self.shared > 1:
            second = Stays([*first.records, *second.records], [*first.group, *second.group])
        return first, second

    def _habits(self, rng: Generator, n: int, use: np.ndarray) -> list[np.ndarray]:
        sizes = rng.poisson(self.habit, n)
        return [rng.choice(len(LEAVES), k, p=use) for k in sizes.tolist()]

    def _stays(self, rng: Generator, people: list[np.ndarray], use: np.ndarray) -> Stays:
        sizes, records, group = SIZES[self.sizes](rng, len(people)), list[list[str]](), list[int]()
        fresh = iter(rng.choice(len(LEAVES), 8 * int(sizes.sum()), p=use).tolist())
        for person, (habits, n) in enumerate(zip(people, sizes.tolist(), strict=True)):
            for k in (1 + rng.poisson(2, n)).tolist():
                own = {*habits[rng.random(len(habits)) < 0.8].tolist()}
                own |= {next(fresh) for _ in range(min(k, 7))}
                records.append([LEAVES[label] for label in sorted(own)])
                group.append(person)
        return Stays(records, group)


@dataclass(frozen=True)
class Stays:
    """The records of a release, and the number of the patient of each."""

    records: Records
    group: list[int]

    @cached_property
    def support(self) -> dict[str, int]:
        """Records with each leaf."""
        counted = pl.DataFrame({"leaf": [x for own in self.records for x in own]})
        return dict(counted.group_by("leaf").len().iter_rows())

    def frequent(self, rng: Generator, n: int, parents: bool = False) -> list[str]:
        """Some leaves that at least 6 records in 100 have, or their parents, in any order."""
        often = sorted(x for x, k in self.support.items() if k >= 0.06 * len(self.records))
        if parents:
            above = [leaf.rpartition(".")[0] for leaf in often]
            often = sorted({one for one in above if above.count(one) > 0})
        return [often[i] for i in rng.permutation(len(often))[:n].tolist()]

    def labels(self) -> LabelDataset:
        """The release as it is audited."""
        return dataset(TREE, self.records, group=[f"p{one}" for one in self.group])


@dataclass(frozen=True)
class Planted:
    """A change, and the nodes whose use it changes.

    Args:
        name: What is told of it: a node, or the parent of an exchange.
        nodes: Nodes that it changes, those above them left out.
        exchange: Whether it is to be told as an exchange.
    """

    name: str
    nodes: frozenset[str]
    exchange: bool = False


Plant = Callable[[Generator, Stays], tuple[Stays, list[Planted]]]


def nothing(rng: Generator, stays: Stays) -> tuple[Stays, list[Planted]]:
    """No change."""
    return stays, []


def exchanges(
    rng: Generator, stays: Stays, n: int = 6, part: float = 0.3
) -> tuple[Stays, list[Planted]]:
    """Of a frequent leaf a part is written as its next sibling, below so many parents."""
    records, told = [[*own] for own in stays.records], list[Planted]()
    for parent in stays.frequent(rng, n, parents=True):
        below = sorted((leaf for leaf in LEAVES if leaf.startswith(f"{parent}.")),
                       key=lambda leaf: -stays.support.get(leaf, 0))  # fmt: skip
        one, other = below[:2]
        for own in records:
            if one in own and rng.random() < part:
                own[:] = {*own, other} - {one}
        told.append(Planted(parent, frozenset((one, other)), exchange=True))
    return replace(stays, records=records), told


def unrelated(rng: Generator, stays: Stays, n: int = 6) -> tuple[Stays, list[Planted]]:
    """Of two siblings one falls by a third and the other rises, by chance of its own each."""
    records, told = [[*own] for own in stays.records], list[Planted]()
    for parent in stays.frequent(rng, n, parents=True):
        below = sorted((leaf for leaf in LEAVES if leaf.startswith(f"{parent}.")),
                       key=lambda leaf: -stays.support.get(leaf, 0))  # fmt: skip
        falls, rises = (below[i] for i in rng.permutation(2))
        factor = 1.6 + 2.4 * rng.random()
        more = factor * stays.support[rises] / len(records)
        for own in records:
            if falls in own and rng.random() < 0.35:
                own.remove(falls)
            if rises not in own and rng.random() < more:
                own.append(rises)
        told += [Planted(node, frozenset((node,))) for node in (falls, rises)]
    return replace(stays, records=records), told


def branch(
    rng: Generator, stays: Stays, factor: float = 1.5, more: float = 1.0
) -> tuple[Stays, list[Planted]]:
    """All of a branch is used that many times as often, one parent below it more times again."""
    top = f"b{rng.integers(8)}"
    child = f"{top}.p{rng.integers(5)}"
    records = list[list[str]]()
    rates = {leaf: stays.support.get(leaf, 0) / len(stays.records) for leaf in LEAVES
             if leaf.startswith(f"{top}.")}  # fmt: skip
    gain = {leaf: factor * (more if leaf.startswith(f"{child}.") else 1) for leaf in rates}
    drawn = rng.random((len(stays.records), len(rates)))
    for own, chances in zip(stays.records, drawn, strict=True):
        kept = [leaf for leaf in own if rng.random() < gain.get(leaf, 1.0)]
        added = (
            leaf
            for (leaf, rate), u in zip(rates.items(), chances.tolist(), strict=True)
            if u < rate * (gain[leaf] - 1) and leaf not in kept
        )
        records.append([*kept, *added])
    nodes = frozenset((top, *rates, *(leaf.rpartition(".")[0] for leaf in rates)))
    told = [Planted(top, nodes)]
    if more != 1:
        told.append(Planted(child, frozenset((child,))))
    return replace(stays, records=records), told


@dataclass(frozen=True)
class Scene:
    """A law of two releases.

    Args:
        name: What it is called.
        what: What it is.
        plant: Makes the later release of one without a change.
        worlds: Which take turns.
    """

    name: str
    what: str
    plant: Plant
    worlds: tuple[World, ...]


_SHARED = (0.0, 0.5, 1.0, 2.0)
_MANY = tuple(World(sizes, shared) for sizes in SIZES for shared in _SHARED)
_FEW = tuple(World(sizes, 0.5, patients=4000) for sizes in ("alone", "Pareto", "geometric"))

SCENES = (
    Scene("no change", "Patients of five laws of stays; none, half or all come again, or "
          "the later release holds the earlier.", nothing, _MANY),
    Scene("exchanges", "Six codes are written as a sibling on 30 % of their records.",
          exchanges, _FEW),
    Scene("unrelated siblings", "Six times a code falls by 35 %, and a sibling rises on its own "
          "account.", unrelated, _FEW),
    Scene("a branch", "All 36 nodes of a branch are used 1.5 times as often.", branch, _FEW),
    Scene("a branch and more", "The same, and one parent below it twice as often again.",
          partial(branch, more=2.0), _FEW),
    Scene("a branch of many records", "All nodes of a branch are used 1.5 times as often; 10,000 "
          "records of patients who come once.", branch, (World("alone", 0.0, patients=10000),)),
    Scene("a branch falls", "All of a branch is used .6 times as often.",
          partial(branch, factor=0.6), _FEW),
)  # fmt: skip


@dataclass(frozen=True)
class Guard:
    """A guard of the comparison: the scene it is switched off on, and what takes its place."""

    name: str
    scene: str
    off: Callable[[], AbstractContextManager[object]]


def _each_alone(old: GroupSums, new: GroupSums, *, same_data: bool) -> Counts:
    n = old.instances, new.instances
    k = (np.rint(one.sums / one.groups * one.instances).astype(np.int64) for one in (old, new))
    return Counts(next(k), n[0], next(k), n[1], same_data)


def _not_folded(of: Changed) -> Folded:
    return Folded({}, {}, frozenset())


def _as_corrected(table: pl.DataFrame, folded: Folded, family: int) -> dict[int, float]:
    q = table["q_value"].to_list()
    changed = np.flatnonzero(table["changed"].to_numpy()).tolist()
    return {node: q[node] for node in changed if node not in folded.into}


_NODES = audit.runs.compare.node_changes
GUARDS = (
    Guard("groups count once", "no change", partial(patch.object, _NODES, "by_group", _each_alone)),
    Guard("exchanges are one finding", "exchanges",
          partial(patch.object, audit.runs.compare.node_folding, "_exchanges", lambda of: ())),
    Guard("the parent did not change", "unrelated siblings",
          partial(patch.object, audit.runs.compare.node_folding, "EXCHANGED", 100.0)),
    Guard("nothing is folded", "a branch",
          partial(patch.object, _NODES, "fold_nodes", _not_folded)),
    Guard("second correction", "a branch of many records",
          partial(patch.object, _NODES, "_standing", _as_corrected)),
)  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """What a comparison told of one pair of releases.

    Args:
        changed: Nodes that changed before any is folded.
        told: Findings on nodes.
        pairs: Findings on pairs.
        findings: Findings of checks that are new or gone.
        planted: What was planted.
        exchanges: Findings that siblings stand for each other.
        as_one: How much of that is told as the one thing that it is.
        false: Findings on nodes that name no planted node and none above one.
    """

    changed: int
    told: int
    pairs: int
    findings: int
    planted: int
    exchanges: int
    as_one: int
    false: int


def seen(scene: Scene, number: int) -> Seen:
    """Draw a pair of releases, audit and compare them."""
    rng = np.random.default_rng([SEED, *scene.name.encode(), number])
    old, later = scene.worlds[number % len(scene.worlds)].drawn(rng)
    new, planted = scene.plant(rng, later)
    found = compare_runs(*(run_audit(one.labels(), anyway=True) for one in (old, new)))
    alone = pl.col("folded_into").is_null()
    nodes = found.nodes.filter("changed")
    told = {row["node"]: row for row in nodes.filter(alone).iter_rows(named=True)}
    true = {at for one in planted for node in one.nodes for at in _line(node)}
    exchanged = {row["parent"] for row in told.values() if row["kind"] == "exchange"}
    return Seen(
        changed=len(nodes),
        told=len(told),
        pairs=len(found.pairs.filter(pl.col("changed") & pl.col("folded_a").is_null())),
        findings=sum(check.count(kind) for check in found.checks for kind in ("new", "gone")),
        planted=len(planted),
        exchanges=len(exchanged),
        as_one=sum(one.name in (exchanged if one.exchange else told) for one in planted),
        false=len(told.keys() - true),
    )


def _line(node: str) -> Iterator[str]:
    while node:
        yield node
        node = node.rpartition(".")[0]


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line for each scene, and for each guard with and without it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=8, help="pairs of releases of each world")
    parser.add_argument("--scene", nargs="*", default=[scene.name for scene in SCENES])
    parser.add_argument("--guards", action="store_true", help="switch each guard off in turn")
    args = parser.parse_args(argv)
    for scene in SCENES:
        for guard in (None, *(g for g in GUARDS if args.guards and g.scene == scene.name)):
            if scene.name in args.scene:
                with nullcontext() if guard is None else guard.off():
                    every = [seen(scene, i) for i in range(args.pairs * len(scene.worlds))]
                print(_line_of(scene.name, guard.name if guard else "", every), flush=True)


def _line_of(scene: str, off: str, every: list[Seen]) -> str:
    sums = {name: sum(getattr(one, name) for one in every) for name in Seen.__dataclass_fields__}
    some = sum(bool(one.told) for one in every)
    low, high = wilson(some, len(every))
    return json.dumps({"scene": scene, "off": off, "releases": len(every), "with a change": some,
                       "interval": [round(low, 2), round(high, 2)], **sums})  # fmt: skip


if __name__ == "__main__":
    main()
