"""Worlds of representations: concepts that are there and concepts that are not, by n and d."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.concepts.classes import scaling_of
from audit.concepts.halves import Half, Units
from audit.concepts.node_controls import ENOUGH, made_up, on_grid
from audit.concepts.nodes import node_frame
from audit.concepts.nodes_below import instances_below
from audit.concepts.probes import quiet_fits
from fixtures.labelled import tree

LENGTH = 2.83
"""Mahalanobis length of a concept that is there: its best discriminant is right in .92."""
PRESENT, ABSENT = 8, 3
SIZES = (12, 16, 24, 32, 48, 64, 96, 128)
SEEDS = range(2)
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Representations of some kind.

    Args:
        name: What it is.
        n: Instances.
        d: Features.
        grouped: Whether instances come in groups of four that are alike and share concepts.
        pictures: Whether features are real: random rectified features of pictures of digits, whose
            classes are the concepts.
    """

    name: str
    n: int
    d: int
    grouped: bool = False
    pictures: bool = False


WORLDS = (
    World("200 instances, 16 features", 200, 16),
    World("200 instances, 64 features", 200, 64),
    World("200 instances, 192 features", 200, 192),
    World("600 instances, 64 features", 600, 64),
    World("600 instances, 512 features", 600, 512),
    World("1,000 instances, 768 features", 1000, 768),
    World("1,200 instances of 300 groups, 64 features", 1200, 64, grouped=True),
    World("500 pictures, 400 features", 500, 400, pictures=True),
)


@dataclass(frozen=True)
class Judged:
    """A node of a release: whether its concept is there, its state, and whether a control reads."""

    world: str
    present: bool
    size: int
    state: str
    reads: bool


def released(world: World, seed: int) -> tuple[Matrix, list[list[str]], list[str] | None]:
    """Representations, the labels of each instance, and its group: p are there, a are not."""
    rng = np.random.default_rng((seed, world.n, world.d))
    if world.pictures:
        return _pictures(world, rng)
    units = world.n // 4 if world.grouped else world.n
    of_row = np.arange(world.n) % units
    spread = np.arange(1, world.d + 1) ** -0.5
    turned = np.linalg.qr(rng.normal(size=(world.d, world.d)))[0]
    z = (
        rng.normal(size=(world.n, world.d))
        + 0.7 * world.grouped * rng.normal(size=(units, world.d))[of_row]
    )
    labels: list[list[str]] = [["rest"] for _ in range(world.n)]
    for number in range(PRESENT + ABSENT):
        size = min(int(rng.choice(SIZES)), units // 3)
        inside = np.isin(of_row, rng.choice(units, size, replace=False))
        if number < PRESENT:
            way = rng.normal(size=world.d)
            scale = np.sqrt(1 + 0.49 * world.grouped)
            z[inside] += LENGTH * scale * way / np.linalg.norm(way)
        for row in np.flatnonzero(inside).tolist():
            labels[row].append(f"{'p' if number < PRESENT else 'a'}{number}")
    groups = [f"g{unit}" for unit in of_row.tolist()] if world.grouped else None
    return (z * spread) @ turned, labels, groups


def _pictures(world: World, rng: np.random.Generator) -> tuple[Matrix, list[list[str]], None]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    rows = rng.permutation(len(digits.data))[: world.n]
    pixels = digits.data[rows] / 16 - 0.5
    z = np.maximum(pixels @ rng.normal(size=(pixels.shape[1], world.d)), 0)
    target, kept = digits.target[rows], np.ones(len(rows), np.bool_)
    for digit in range(PRESENT):
        own = np.flatnonzero(target == digit)
        kept[own[int(rng.choice(SIZES[1:])) :]] = False
    z = z[kept]
    labels = [[f"p{one}" if one < PRESENT else "rest"] for one in target[kept].tolist()]
    for number in range(PRESENT, PRESENT + ABSENT):
        for row in rng.choice(len(z), int(rng.choice(SIZES[:6])), replace=False).tolist():
            labels[row].append(f"a{number}")
    return z, labels, None


def judged(world: World, seed: int, *, blind: bool = False) -> list[Judged]:
    """The states of the nodes of one release; ``blind``: without looking at groups."""
    z, labels, groups = released(world, seed)
    groups = None if blind else groups
    hierarchy = tree(f"{' '.join(sorted(set(chain.from_iterable(labels))))} < top")
    below = instances_below(hierarchy, labels, None, 10, groups)
    ids = [f"i{row}" for row in range(len(z))]
    with quiet_fits():
        table = node_frame(below, {"layer": z}, "layer", ids, SEEDS, groups)
        table = table.filter(pl.col("node") != "rest")
        units = Units.of(ids, groups, SEEDS)
        scaled = scaling_of(z)(z)
        halves = [Half.of(scaled, fitted) for fitted in units.fitted]
        sizes = [on_grid(one) for one in table["groups" if groups else "instances"].to_list()]
        even = made_up(scaled, halves, units, sorted(set(sizes)), SEEDS[0])
    return [
        Judged(world.name, node[0] == "p", size, state, even[size].read >= ENOUGH or own)
        for node, state, size, own in zip(
            table["node"],
            table["state"],
            sizes,
            (table["cut_down"].fill_null(0) >= ENOUGH).to_list(),
            strict=True,
        )
    ]
