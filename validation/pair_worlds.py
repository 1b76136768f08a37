"""Worlds to try a search for surprising pairs in: releases of which the truth is known.

`WORLDS` lists them; `release` makes one, always the same for the same world and number. Some have
nothing planted (null).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from validation.pair_codes import ROOT, Codes
from validation.pair_records import (
    MECHANISMS,
    Draft,
    Planted,
    bring_in,
    independent,
    plant,
)

RATIOS = (1.5, 2.0, 3.0, 5.0)
EXPECTED = (10.0, 20.0, 50.0, 100.0)
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
LENGTHS = (None, 4.0, 1.5)
"""Shapes of the gamma law of the records' lengths; None: they are Poisson."""
QUICK = ("null DAG", "one pair", "shares of the parent", "5,000 records", "facets, null")
"""Worlds that a test runs: small, and each with a different thing to get wrong."""

Draw = Callable[[np.random.Generator], Draft]


@dataclass(frozen=True)
class World:
    """A law that releases are drawn from.

    Args:
        name: What it is called.
        about: What it is, in a sentence.
        draw: Makes a release from a source of chance.
        null: Whether nothing is planted, so that every finding is false.
    """

    name: str
    about: str
    draw: Draw
    null: bool


@dataclass(frozen=True)
class Release:
    """A release and what is true of it.

    Args:
        name: The world and its number.
        edges: Columns ``child, parent``.
        rows: Columns ``instance, label`` and, where there are any, ``group`` and the strata; an
            instance without labels has one row without one.
        strata: Names of the strata.
        planted: The pairs that are associated.
    """

    name: str
    edges: pl.DataFrame
    rows: pl.DataFrame
    strata: tuple[str, ...]
    planted: tuple[Planted, ...]


WORLDS: list[World] = []


def release(world: World, number: int) -> Release:
    """The release of this number."""
    draft = world.draw(np.random.default_rng([zlib.crc32(world.name.encode()), number]))
    return Release(
        name=f"{world.name} {number}",
        edges=pl.DataFrame(draft.codes.edges, schema=["child", "parent"], orient="row"),
        rows=_rows(draft),
        strata=tuple(name for name in draft.columns if name != "group"),
        planted=tuple(draft.planted),
    )


def world(name: str) -> World:
    """The world of this name."""
    return next(one for one in WORLDS if one.name == name)


def quick_worlds() -> list[World]:
    """The few small worlds that a test runs."""
    return [world(name) for name in QUICK]


def _rows(draft: Draft) -> pl.DataFrame:
    record, column = np.nonzero(draft.has)
    empty = np.flatnonzero(~draft.has.any(axis=1))
    record = np.concatenate([record, empty])
    column = np.concatenate([column, np.full(len(empty), len(draft.codes.labels))])
    names = pl.Series([*draft.codes.labels, None], dtype=pl.String)
    frame = pl.DataFrame({"instance": record}).with_columns(label=names.gather(column))
    further = [
        (pl.lit(name[0]) + pl.Series(values[record]).cast(pl.String)).alias(name)
        for name, values in draft.columns.items()
    ]
    return frame.with_columns(pl.col("instance").cast(pl.String).str.zfill(6), *further)


def _world(name: str, about: str, *, null: bool = False) -> Callable[[Draw], Draw]:
    def listed(draw: Draw) -> Draw:
        WORLDS.append(World(name, about, draw, null))
        return draw

    return listed


@dataclass(frozen=True)
class Wish:
    """A pair to plant: its ratio, its expected joint count, both labels' part of their parents."""

    ratio: float
    expected: float
    part: float


def _wishes(
    rng: np.random.Generator,
    count: int,
    n: int,
    *,
    ratios: Sequence[float] = RATIOS,
    expected: Sequence[float] = EXPECTED,
    parts: Sequence[float] = SHARES,
) -> list[Wish]:
    """So many pairs that can be had among n records."""
    found = []
    for _ in range(count):
        ratio, joint = float(rng.choice(ratios)), float(rng.choice(expected))
        share = np.sqrt(joint / n)
        fit = [part for part in parts if share / part < 0.55] or [max(parts)]
        part = float(rng.choice(fit))
        found.append(Wish(ratio, joint, part))
    return found


def _families(
    codes: Codes, groups: Sequence[str], wishes: Sequence[Wish], n: int, shape: float | None
) -> list[tuple[int, int]]:
    """The two labels of each wish, each in a family of its own below one of the groups.

    Supports of a pair differ up to fourfold. Records of unequal length bring all labels together
    more often, so that supports are smaller there.
    """
    pairs, rng = [], codes.rng
    for k, wish in enumerate(wishes):
        share = np.sqrt(wish.expected / n / (1 if shape is None else 1 + 1 / shape))
        room = max(1.0, min(2.0, 0.55 * wish.part / share))
        by = room ** rng.uniform(-1, 1)
        ends = []
        for place, s in enumerate((share * by, share / by)):
            part = max(wish.part, min(0.95, s / 0.6))
            ends.append(codes.family(groups[2 * k + place], s, part, int(rng.integers(3, 10))))
        pairs.append((ends[0], ends[1]))
    return pairs


def _planted_tree(
    rng: np.random.Generator,
    n: int,
    wishes: Sequence[Wish],
    *,
    shape: float | None = None,
    branches: int = 7,
    crowd: tuple[int, float] = (90, 3.0),
    second: float = 0.0,
) -> Draft:
    """Pairs planted in families of their own, beside a crowd of independent labels."""
    codes = Codes(rng)
    groups = codes.groups(branches, -(-(2 * len(wishes) + 6) // branches))
    pairs = _families(codes, groups, wishes, n, shape)
    codes.crowd(groups[2 * len(wishes) :], *crowd)
    if second:
        count = len(codes.labels)
        codes.second_parents(rng.choice(count, int(second * count), replace=False), groups)
    draft = independent(codes, n, shape=shape)
    for (a, b), wish in zip(pairs, wishes, strict=True):
        plant(draft, a, b, wish.ratio, str(rng.choice(MECHANISMS)))
    return draft


@_world("one pair", "20,000 records, one pair at 3 to 5 times, each label .3 to .9 of its parent.")
def _one_pair(rng: np.random.Generator) -> Draft:
    wishes = _wishes(rng, 1, 20_000, ratios=(3, 5), expected=(20, 50, 100, 300), parts=SHARES[1:])
    return _planted_tree(rng, 20_000, wishes, shape=LENGTHS[rng.integers(3)], crowd=(40, 3.0))


@_world("shares of the parent", "20,000 records, 10 pairs whose labels are .1 to .9 of the parent.")
def _shares(rng: np.random.Generator) -> Draft:
    wishes = _wishes(rng, 10, 20_000)
    return _planted_tree(rng, 20_000, wishes, shape=LENGTHS[rng.integers(3)])


def _of_size(
    rng: np.random.Generator, n: int, count: int, expected: Sequence[float], ratios: Sequence[float]
) -> Draft:
    parts = SHARES if n > 1_000 else (0.5, 0.7, 0.9)
    wishes = _wishes(rng, count, n, ratios=ratios, expected=expected, parts=parts)
    crowd = (200, 4.0) if n > 10_000 else (90, 3.0) if n > 1_000 else (20, 2.5)
    shape = LENGTHS[rng.integers(2)]
    branches = 4 if n < 1_000 else 7
    return _planted_tree(rng, n, wishes, shape=shape, crowd=crowd, branches=branches)


_SIZES = (
    ("129 records", 129, 1, (10, 15), (2, 3)),
    ("500 records", 500, 2, (10, 20), (2, 3, 5)),
    ("5,000 records", 5_000, 5, (10, 20, 50, 100), RATIOS),
    ("50,000 records", 50_000, 10, (10, 20, 50, 100, 400), RATIOS),
)
for _name, _n, _count, _expected, _ratios in _SIZES:
    _world(_name, f"{_name}, pairs of all ratios, shares and mechanisms that fit.")(
        partial(_of_size, n=_n, count=_count, expected=_expected, ratios=_ratios)
    )


@_world("second parents", "15 of 100 labels hang below a second parent; 8 pairs are planted.")
def _second(rng: np.random.Generator) -> Draft:
    return _planted_tree(rng, 20_000, _wishes(rng, 8, 20_000), shape=4.0, second=0.15)


def _sharing(rng: np.random.Generator, count: int) -> Draft:
    """Parents of the two labels of a pair share one or two frequent labels."""
    n, codes = 20_000, Codes(rng)
    groups = codes.groups(6, 4)
    wishes = _wishes(rng, 6, n)
    pairs = _families(codes, groups, wishes, n, None)
    for k in range(6):
        for _ in range(rng.integers(1, 3)):
            shared = codes.label(groups[2 * k], float(rng.uniform(0.03, 0.2)))
            codes.edges.append((codes.labels[shared], groups[2 * k + 1]))
    codes.crowd(groups[12:], 60, 2.0)
    draft = independent(codes, n)
    for (a, b), wish in list(zip(pairs, wishes, strict=True))[:count]:
        plant(draft, a, b, wish.ratio, str(rng.choice(MECHANISMS)))
    return draft


_world("parents that share labels", "Six pairs of parents share frequent labels and hold a pair.")(
    partial(_sharing, count=6)
)
_world(
    "parents that share labels, null",
    "The same with nothing planted: labels are independent.",
    null=True,
)(partial(_sharing, count=0))


def _parent_pair(rng: np.random.Generator, *, within: bool, local: bool) -> Draft:
    """Two parents planted as a whole; their children are independent given the parents."""
    n, codes = 20_000, Codes(rng)
    groups = codes.groups(6, 4)
    if within:
        above = codes.node(groups[0])
        p, q = codes.node(above), codes.node(above)
        codes.crowd([above], 4, 0.1)
    else:
        p, q = groups[0], groups[1]
    size = int(rng.integers(5, 9))
    first, second = (
        [codes.label(end, float(rng.uniform(0.02, 0.045))) for _ in range(size)] for end in (p, q)
    )
    codes.crowd(groups[2:], 90, 3.0)
    draft = independent(codes, n)
    ratio = float(rng.choice((1.8, 2.0, 2.5)))
    plant(draft, p, q, ratio, ("scaled", "copula", "long")[rng.integers(3)])
    if local:
        _plant_beyond(draft, int(rng.choice(first)), int(rng.choice(second)), (p, q))
    return draft


def _plant_beyond(draft: Draft, a: int, b: int, above: tuple[str, str]) -> None:
    """Plant labels beyond the pair of nodes above them, which was planted last."""
    p, q = (draft.columns_of(end) for end in above)

    def joint() -> int:
        return int((draft.has[:, p].any(axis=1) & draft.has[:, q].any(axis=1)).sum())

    whole, before = draft.planted.pop(), joint()
    apart = whole.ratio * float((draft.chance[:, a] * draft.chance[:, b]).sum())
    bring_in(draft, a, b, float(draft.rng.choice((3, 4))), apart)
    larger = whole.ratio * joint() / max(before, 1)
    draft.planted.insert(0, replace(whole, ratio=larger))


_world("two parents", "Two parents go together; their children are independent given them.")(
    partial(_parent_pair, within=False, local=False)
)
_world("two parents and a local pair", "The same, and one pair of children beyond their parents.")(
    partial(_parent_pair, within=False, local=True)
)
_world("two siblings with children", "Two children of one parent go together as a whole.")(
    partial(_parent_pair, within=True, local=False)
)
_world("two siblings with children and a local pair", "The same, and one pair of their children.")(
    partial(_parent_pair, within=True, local=True)
)


@_world("sibling labels", "Six pairs of labels below one parent each, 4 to 8 siblings.")
def _sibling_labels(rng: np.random.Generator) -> Draft:
    n, codes = 20_000, Codes(rng)
    groups, pairs = codes.groups(5, 3), []
    for group, wish in zip(groups, _wishes(rng, 6, n), strict=False):
        share = float(np.sqrt(wish.expected / n))
        family = [codes.label(group, share) for _ in range(2)]
        codes.crowd([group], int(rng.integers(2, 7)), float(rng.choice((0.05, 0.3))), 0.3)
        pairs.append((family[0], family[1], wish.ratio))
    codes.crowd(groups[6:], 90, 3.0)
    draft = independent(codes, n, shape=LENGTHS[rng.integers(2)])
    for a, b, ratio in pairs:
        plant(draft, a, b, ratio, str(rng.choice(MECHANISMS)))
    return draft


def _facets(rng: np.random.Generator, count: int, levels: int, *, pairs: int = 0) -> Draft:
    """Exactly one label of each facet."""
    n, codes = 10_000, Codes(rng)
    facets = []
    for _ in range(count):
        facet = codes.node()
        groups = [codes.node(facet) for _ in range(4)]
        shares = rng.dirichlet(np.full(levels, 2.0))
        facets.append([codes.label(groups[rng.integers(4)], float(s)) for s in shares])
    has = np.zeros((n, len(codes.labels)), bool)
    for members in facets:
        shares = codes.shares[members]
        has[np.arange(n), rng.choice(members, n, p=shares / shares.sum())] = True
    draft = Draft(codes, np.zeros((n, 0)), has)
    order = rng.permutation(count).tolist()
    for one, other in zip(order[:pairs], order[pairs : 2 * pairs], strict=True):
        some = [label for label in facets[one] if 0.02 < codes.share[label] < 0.15]
        others = [label for label in facets[other] if 0.02 < codes.share[label] < 0.15]
        a, b = int(rng.choice(some)), int(rng.choice(others))
        both = float(has[:, a].mean() * has[:, b].sum())
        bring_in(draft, a, b, float(rng.choice((2, 3, 5))), both, facets[other])
    return draft


_world("facets", "10,000 records, one label from each of 5 facets of 20; two pairs of levels.")(
    partial(_facets, count=5, levels=20, pairs=2)
)
_world(
    "facets, null",
    "10,000 records, one label from each of 5 facets of 20, all independent.",
    null=True,
)(partial(_facets, count=5, levels=20))
_world("small facets, null", "One label from each of 3 facets of 10 levels.", null=True)(
    partial(_facets, count=3, levels=10)
)


def _at_sites(rng: np.random.Generator, *, planted: bool) -> Draft:
    n, codes = 20_000, Codes(rng)
    groups = codes.groups(6, 4)
    wishes = _wishes(rng, 6 if planted else 0, n, parts=SHARES[1:])
    pairs = _families(codes, groups, wishes, n, None)
    codes.crowd(groups[len(pairs) * 2 :], 90, 3.0)
    site = rng.choice(5, n, p=(0.4, 0.25, 0.2, 0.1, 0.05))
    habits = np.exp(rng.normal(0, 0.8, (5, len(codes.labels))))
    habits /= (habits * np.bincount(site)[:, None] / n).sum(axis=0)
    draft = independent(codes, n, factor=habits[site])
    for (a, b), wish in zip(pairs, wishes, strict=True):
        plant(draft, a, b, wish.ratio, str(rng.choice(MECHANISMS)))
    draft.columns["site"] = site
    return draft


_world("sites", "Five sites with habits of their own, given as a stratum; 6 pairs.")(
    partial(_at_sites, planted=True)
)
_world("sites, null", "Five sites with habits of their own, given as a stratum.", null=True)(
    partial(_at_sites, planted=False)
)


@_world(
    "copied records, null",
    "1,500 patients, each with one record copied over up to 30 stays with few changes; told.",
    null=True,
)
def _copied(rng: np.random.Generator) -> Draft:
    codes = Codes(rng)
    codes.crowd(codes.groups(6, 4), 120, 6.0)
    once = independent(codes, 1_500, shape=4.0)
    stays = np.minimum(rng.geometric(0.25, 1_500), 30)
    stays[rng.random(1_500) < 0.02] = 30
    of_stay = np.repeat(np.arange(1_500), stays)
    has = once.has[of_stay] & (rng.random((len(of_stay), 120), np.float32) < 0.93)
    return Draft(codes, once.chance[of_stay], has, columns={"group": of_stay})


def _null_dag(
    rng: np.random.Generator, n: int, count: int, length: float, tail: float, shape: float | None
) -> Draft:
    """A DAG: 15 of 100 labels have two parents, and so have some groups."""
    codes = Codes(rng)
    groups = codes.groups(8, 5)
    for group in groups[:4]:
        elsewhere = [up for down, up in codes.edges if up != ROOT and down != group]
        codes.edges.append((group, str(rng.choice(elsewhere))))
    codes.crowd(groups, count, length, tail)
    codes.second_parents(rng.choice(count, int(0.15 * count), replace=False), groups)
    return independent(codes, n, shape=shape)


for _name, _n, _count, _length, _tail, _shape in (
    ("null DAG", 10_000, 150, 5.0, 0.5, None),
    ("null DAG, unequal lengths", 10_000, 150, 6.0, 1.0, 1.5),
    ("null DAG, heavy-tailed", 20_000, 300, 6.0, 2.2, 4.0),
    ("129 records, null", 129, 40, 6.0, 0.7, 4.0),
    ("500 records, null", 500, 80, 6.0, 1.0, 4.0),
    ("5,000 records, null", 5_000, 150, 6.0, 1.0, 4.0),
    ("50,000 records, null", 50_000, 300, 6.0, 1.2, 4.0),
):
    _world(
        _name,
        f"{_n:,} records of independent labels, about {_length:g} a record, over a DAG.",
        null=True,
    )(partial(_null_dag, n=_n, count=_count, length=_length, tail=_tail, shape=_shape))


@_world("no hierarchy", "Every label is a child of the root; 6 pairs.")
def _flat(rng: np.random.Generator) -> Draft:
    n, codes = 10_000, Codes(rng)
    codes.crowd([ROOT], 100, 4.0)
    ends = [codes.label(ROOT, float(rng.uniform(0.04, 0.1))) for _ in range(12)]
    draft = independent(codes, n, shape=LENGTHS[rng.integers(3)])
    for a, b in zip(ends[:6], ends[6:], strict=True):
        plant(draft, a, b, float(rng.choice(RATIOS)), str(rng.choice(MECHANISMS)))
    return draft
