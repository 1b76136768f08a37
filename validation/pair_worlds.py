"""Worlds to try a search for surprising pairs in: releases of which the truth is known.

`WORLDS` lists them; `release` makes one, always the same for the same world and number. Some have
nothing planted (null), some are shown and not scored: what is true in them cannot be seen in the
rows that they give, or lies where no method promises anything.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from validation.pair_codes import ROOT, Codes
from validation.pair_records import (
    MECHANISMS,
    Draft,
    Planted,
    both_drawn,
    bring_in,
    drawn,
    independent,
    of_traits,
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
        scored: Whether it counts for the goals.
    """

    name: str
    about: str
    draw: Draw
    null: bool
    scored: bool


@dataclass(frozen=True)
class Release:
    """A release and what is true of it.

    Args:
        name: The world and its number.
        about: What the world is, in a sentence.
        null: Whether nothing is planted.
        edges: Columns ``child, parent``.
        rows: Columns ``instance, label`` and, where there are any, ``group`` and the strata; an
            instance without labels has one row without one.
        strata: Names of the strata.
        planted: The pairs that are associated.
    """

    name: str
    about: str
    null: bool
    edges: pl.DataFrame
    rows: pl.DataFrame
    strata: tuple[str, ...]
    planted: tuple[Planted, ...]


WORLDS: list[World] = []


def release(world: World, number: int) -> Release:
    """The release of this number."""
    draft = world.draw(np.random.default_rng([zlib.crc32(world.name.encode()), number]))
    return release_of(draft, f"{world.name} {number}", world.about, null=world.null)


def release_of(draft: Draft, name: str, about: str = "", *, null: bool = False) -> Release:
    """The release that a draft has become."""
    return Release(
        name=name,
        about=about,
        null=null,
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


def _world(
    name: str, about: str, *, null: bool = False, scored: bool = True
) -> Callable[[Draw], Draw]:
    def listed(draw: Draw) -> Draw:
        WORLDS.append(World(name, about, draw, null, scored))
        return draw

    return listed


# Trees in which pairs are planted


@dataclass(frozen=True)
class Wish:
    """A pair to plant: its ratio, its expected joint count, each label's part of its parent."""

    ratio: float
    expected: float
    part_a: float
    part_b: float


def _wishes(
    rng: np.random.Generator,
    count: int,
    n: int,
    *,
    ratios: Sequence[float] = RATIOS,
    expected: Sequence[float] = EXPECTED,
    parts: Sequence[float] = SHARES,
) -> list[Wish]:
    """So many pairs that can be had among n records; both labels of one have the same part."""
    found = []
    for _ in range(count):
        ratio, joint = float(rng.choice(ratios)), float(rng.choice(expected))
        share = np.sqrt(joint / n)
        fit = [part for part in parts if share / part < 0.55] or [max(parts)]
        part = float(rng.choice(fit))
        found.append(Wish(ratio, joint, part, part))
    return found


def _families(
    codes: Codes,
    groups: Sequence[str],
    wishes: Sequence[Wish],
    n: int,
    shape: float | None,
    *,
    tilt: float = 2.0,
) -> list[tuple[int, int]]:
    """The two labels of each wish, each in a family of its own below one of the groups.

    Supports of a pair differ by up to the square of the tilt. Records of unequal length bring all
    labels together more often, so that supports are smaller there.
    """
    pairs, rng = [], codes.rng
    for k, wish in enumerate(wishes):
        share = np.sqrt(wish.expected / n / (1 if shape is None else 1 + 1 / shape))
        room = max(1.0, min(tilt, 0.55 * min(wish.part_a, wish.part_b) / share))
        by = room ** rng.uniform(-1, 1)
        ends = []
        for place, (s, part) in enumerate(((share * by, wish.part_a), (share / by, wish.part_b))):
            part = max(part, min(0.95, s / 0.6))
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
    mechanisms: Sequence[str] = MECHANISMS,
    second: float = 0.0,
    shallow: bool = False,
) -> Draft:
    """Pairs planted in families of their own, beside a crowd of independent labels."""
    codes = Codes(rng)
    if shallow:
        groups = [codes.node() for _ in range(2 * len(wishes) + 6)]
    else:
        groups = codes.groups(branches, -(-(2 * len(wishes) + 6) // branches))
    pairs = _families(codes, groups, wishes, n, shape)
    codes.crowd(groups[2 * len(wishes) :], *crowd)
    if second:
        count = len(codes.labels)
        codes.second_parents(rng.choice(count, int(second * count), replace=False), groups)
    draft = independent(codes, n, shape=shape)
    for (a, b), wish in zip(pairs, wishes, strict=True):
        plant(draft, a, b, wish.ratio, str(rng.choice(mechanisms)))
    return draft


@_world("one pair", "20,000 records, one pair at 3 to 5 times, each label .3 to .9 of its parent.")
def _one_pair(rng: np.random.Generator) -> Draft:
    wishes = _wishes(rng, 1, 20_000, ratios=(3, 5), expected=(20, 50, 100, 300), parts=SHARES[1:])
    return _planted_tree(rng, 20_000, wishes, shape=LENGTHS[rng.integers(3)], crowd=(40, 3.0))


@_world("shares of the parent", "20,000 records, 10 pairs whose labels are .1 to .9 of the parent.")
def _shares(rng: np.random.Generator) -> Draft:
    wishes = _wishes(rng, 10, 20_000)
    return _planted_tree(rng, 20_000, wishes, shape=LENGTHS[rng.integers(3)])


@_world(
    "parents are branches",
    "The same in a hierarchy of two levels: parents of the labels are the children of the root.",
)
def _shallow(rng: np.random.Generator) -> Draft:
    wishes = _wishes(rng, 8, 20_000)
    return _planted_tree(rng, 20_000, wishes, shape=LENGTHS[rng.integers(3)], shallow=True)


@_world("unequal shares", "One label of each pair is .1 of its parent, the other .9 of its own.")
def _unequal(rng: np.random.Generator) -> Draft:
    wishes = [
        Wish(w.ratio, w.expected, 0.1, 0.9)
        for w in _wishes(rng, 8, 20_000, expected=(10, 20, 50), parts=(0.1,))
    ]
    return _planted_tree(rng, 20_000, wishes)


@_world(
    "supports", "20,000 records, supports of 30 to 3,000 that differ up to a hundredfold in a pair."
)
def _supports(rng: np.random.Generator) -> Draft:
    n, codes = 20_000, Codes(rng)
    groups, pairs = codes.groups(6, 4), []
    for k in range(9):
        joint = float(rng.choice((10, 20, 50, 100)))
        large = float(np.exp(rng.uniform(np.log(max(joint * n / 3_000, 500)), np.log(3_000))))
        ends = [
            codes.family(groups[2 * k + i], s / n, float(rng.choice((0.3, 0.5, 0.7, 0.9))), 5)
            for i, s in enumerate((large, joint * n / large))
        ]
        pairs.append((ends[0], ends[1], float(rng.choice(RATIOS))))
    codes.crowd(groups[18:], 60, 2.5)
    draft = independent(codes, n)
    for a, b, ratio in pairs:
        plant(draft, a, b, ratio, str(rng.choice(MECHANISMS)))
    return draft


@_world(
    "rare pairs",
    "20,000 records, both labels on 30 to 150 of them, 12 or more records with both where less "
    "than one or two are expected.",
)
def _rare(rng: np.random.Generator) -> Draft:
    n, codes = 20_000, Codes(rng)
    groups, pairs = codes.groups(6, 4), []
    for k in range(8):
        supports = np.exp(rng.uniform(np.log(30), np.log(150), 2))
        a, b = (
            codes.family(groups[2 * k + i], float(s) / n, float(rng.choice(SHARES)), 5)
            for i, s in enumerate(supports)
        )
        joint = rng.uniform(12, 0.6 * supports.min())
        pairs.append((a, b, float(joint / (supports.prod() / n))))
    codes.crowd(groups[16:], 80, 4.0, 1.5)
    draft = independent(codes, n)
    for a, b, ratio in pairs:
        plant(draft, a, b, ratio, ("scaled", "added", "syndrome")[rng.integers(3)])
    return draft


def _of_size(n: int, count: int, expected: Sequence[float], ratios: Sequence[float]) -> Draw:
    def draw(rng: np.random.Generator) -> Draft:
        parts = SHARES if n > 1_000 else (0.5, 0.7, 0.9)
        wishes = _wishes(rng, count, n, ratios=ratios, expected=expected, parts=parts)
        crowd = (200, 4.0) if n > 10_000 else (90, 3.0) if n > 1_000 else (20, 2.5)
        shape = LENGTHS[rng.integers(2)]
        branches = 4 if n < 1_000 else 7
        return _planted_tree(rng, n, wishes, shape=shape, crowd=crowd, branches=branches)

    return draw


_SIZES = (
    ("129 records", 129, 1, (10, 15), (2, 3)),
    ("500 records", 500, 2, (10, 20), (2, 3, 5)),
    ("5,000 records", 5_000, 5, (10, 20, 50, 100), RATIOS),
    ("50,000 records", 50_000, 10, (10, 20, 50, 100, 400), RATIOS),
)
for _name, _n, _count, _expected, _ratios in _SIZES:
    _world(_name, f"{_name}, pairs of all ratios, shares and mechanisms that fit.")(
        _of_size(_n, _count, _expected, _ratios)
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


@_world("fixed lengths", "Every record has 6 labels drawn by weight; pairs take others' places.")
def _fixed(rng: np.random.Generator) -> Draft:
    n, length, codes = 20_000, 6, Codes(rng)
    groups = codes.groups(7, 3)
    wishes = _wishes(rng, 6, n, parts=(0.3, 0.5, 0.7, 0.9))
    pairs = _families(codes, groups, wishes, n, None)
    codes.crowd(groups[12:], 80, max(length - codes.shares.sum(), 2.0))
    weights, lengths = -np.log1p(-codes.shares), np.full(n, length)
    draft = Draft(codes, np.zeros((n, 0)), drawn(rng, weights, lengths))
    for (a, b), wish in zip(pairs, wishes, strict=True):
        apart = both_drawn(rng, weights, lengths, a, b)
        bring_in(draft, a, b, wish.ratio, apart, range(len(weights)))
    return draft


# Diagonals, diffuse associations, siblings


@_world("diagonals", "Eight labels a_i and b_i below two parents, each a_i planted with its b_i.")
def _diagonals(rng: np.random.Generator) -> Draft:
    n, codes = 20_000, Codes(rng)
    groups = codes.groups(5, 4)
    below = [[codes.label(group, float(rng.uniform(0.025, 0.06))) for _ in range(8)]
             for group in groups[:2]]  # fmt: skip
    codes.crowd(groups[2:], 90, 3.0)
    draft = independent(codes, n, shape=LENGTHS[rng.integers(2)])
    ratio, mechanism = float(rng.choice((2, 3, 5))), str(rng.choice(MECHANISMS))
    for a, b in zip(*below, strict=True):
        plant(draft, a, b, ratio, mechanism)
    return draft


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
    apart = whole.ratio * draft.apart(draft.chance[:, a], draft.chance[:, b])
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


def _bursts(rng: np.random.Generator, local: bool) -> Draft:
    n, codes = 20_000, Codes(rng)
    groups = codes.groups(5, 4)
    family = [codes.label(groups[0], float(rng.uniform(0.04, 0.06))) for _ in range(6)]
    codes.crowd(groups[1:], 90, 3.0)
    draft = independent(codes, n)
    burst, often = float(rng.uniform(0.25, 0.35)), float(rng.uniform(0.035, 0.06))
    state = rng.random(n) < often
    shares = codes.shares[family]
    outside = (shares - often * burst) / (1 - often)
    for column, p in zip(family, outside, strict=True):
        draft.has[:, column] = rng.random(n) < np.where(state, burst, p)
    for i, a in enumerate(family):
        for j in range(i + 1, len(family)):
            joint = n * (often * burst**2 + (1 - often) * outside[i] * outside[j])
            if local and (i, j) == (0, 1):
                bring_in(draft, a, family[j], 2.0, float(joint))
            else:
                draft.note(a, family[j], joint, n * shares[i] * shares[j], "syndrome")
    return draft


_world("siblings that attract each other", "A hidden state brings six children of one parent.")(
    partial(_bursts, local=False)
)
_world("siblings that attract each other and a pair", "The same, and two of them beyond that.")(
    partial(_bursts, local=True)
)


@_world(
    "two branches and a local pair",
    "Two whole branches go together, and one pair of labels beyond them. The branches need not be "
    "found, because a map of branches tells them; what is told below them is as false as below any "
    "planted pair.",
)
def _branches(rng: np.random.Generator) -> Draft:
    n, codes = 20_000, Codes(rng)
    groups = codes.groups(6, 4)
    branches = [codes.node(), codes.node()]
    members: list[list[int]] = []
    for branch in branches:
        sections = [codes.node(branch) for _ in range(3)]
        members.append(
            [codes.label(s, float(rng.uniform(0.01, 0.025))) for s in sections for _ in range(4)]
        )
    codes.crowd(groups, 90, 3.0)
    draft = independent(codes, n)
    plant(draft, branches[0], branches[1], 1.8, ("scaled", "copula", "long")[rng.integers(3)])
    a, b = int(rng.choice(members[0])), int(rng.choice(members[1]))
    _plant_beyond(draft, a, b, (branches[0], branches[1]))
    draft.planted[0] = replace(draft.planted[0], asked=False)
    return draft


# Records filled by facets or from two code sets


def _facets(
    rng: np.random.Generator,
    count: int,
    levels: int,
    *,
    n: int = 10_000,
    used: int | None = None,
    free: bool = False,
    pairs: int = 0,
) -> Draft:
    """Exactly one label of each facet, or of so many of the facets drawn anew a record."""
    codes = Codes(rng)
    facets = []
    for _ in range(count):
        facet = codes.node()
        groups = [codes.node(facet) for _ in range(4)]
        shares = rng.dirichlet(np.full(levels, 2.0))
        facets.append([codes.label(groups[rng.integers(4)], float(s)) for s in shares])
    crowd = codes.crowd(codes.groups(4, 3), 60, 3.0) if free else []
    has = np.zeros((n, len(codes.labels)), bool)
    has[:, crowd] = rng.random((n, len(crowd)), np.float32) < codes.shares[crowd]
    in_use = rng.random((n, count)).argsort(axis=1) < (used or count)
    for k, members in enumerate(facets):
        shares = codes.shares[members]
        level = rng.choice(members, n, p=shares / shares.sum())
        has[np.arange(n)[in_use[:, k]], level[in_use[:, k]]] = True
    draft = Draft(codes, np.zeros((n, 0)), has)
    order = rng.permutation(count).tolist()
    for one, other in zip(order[:pairs], order[pairs : 2 * pairs], strict=True):
        some = [label for label in facets[one] if 0.02 < codes.share[label] < 0.15]
        others = [label for label in facets[other] if 0.02 < codes.share[label] < 0.15]
        a, b = int(rng.choice(some)), int(rng.choice(others))
        both = float(has[:, a].mean() * has[:, b].sum())
        if used:
            both *= (used - 1) / (count - 1) * count / used
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
_world("facets and free labels", "One label from each of 5 facets, and 3 of 60 free labels.")(
    partial(_facets, count=5, levels=20, free=True, pairs=2)
)
_world("facets and free labels, null", "The same with nothing planted.", null=True)(
    partial(_facets, count=5, levels=20, free=True)
)
_world(
    "three of eight facets, null",
    "One label from each of three facets drawn from eight.",
    null=True,
)(partial(_facets, count=8, levels=12, used=3))


def _code_sets(rng: np.random.Generator, planted: bool) -> Draft:
    """Diagnoses and procedures of one record, each with a number of labels of its own."""
    n, codes, sets, weights, lengths = 15_000, Codes(rng), [], [], []
    for count, least, mean in ((120, 1, 4.0), (60, 0, 2.0)):
        first = len(codes.labels)
        top = codes.node()
        groups = [codes.node(codes.node(top)) for _ in range(10)]
        codes.crowd(groups, count, mean + least, 1.0)
        sets.append(list(range(first, len(codes.labels))))
        weights.append(-np.log1p(-codes.shares[sets[-1]]))
        lengths.append(np.minimum(least + rng.negative_binomial(2, 2 / (2 + mean), n), 20))
    has = np.hstack([drawn(rng, w, size) for w, size in zip(weights, lengths, strict=True)])
    draft = Draft(codes, np.zeros((n, 0)), has)
    if not planted:
        return draft
    usual = [[c for c in columns if 0.015 < has[:, c].mean() < 0.12] for columns in sets]
    a, b, c = rng.choice(usual[0], 3, replace=False).tolist()
    procedure = int(rng.choice(usual[1]))
    across = float(has[:, a].sum() * has[:, procedure].mean())
    bring_in(draft, a, procedure, 3.0, across, sets[1])
    inside = both_drawn(rng, weights[0], lengths[0], b, c)
    bring_in(draft, b, c, 3.0, inside, sets[0])
    return draft


_world("two code sets", "Diagnoses and procedures with lengths of their own; two pairs.")(
    partial(_code_sets, planted=True)
)
_world("two code sets, null", "The same with nothing planted.", null=True)(
    partial(_code_sets, planted=False)
)


# Sites, subpopulations, patients, very frequent nodes


def _at_sites(rng: np.random.Generator, *, planted: bool, told: bool) -> Draft:
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
    if told:
        draft.columns["site"] = site
    return draft


_world("sites", "Five sites with habits of their own, given as a stratum; 6 pairs.")(
    partial(_at_sites, planted=True, told=True)
)
_world("sites, null", "Five sites with habits of their own, given as a stratum.", null=True)(
    partial(_at_sites, planted=False, told=True)
)
_world(
    "sites without their column, null",
    "The same; the rows do not tell the site.",
    null=True,
    scored=False,
)(partial(_at_sites, planted=False, told=False))


def _with_ward(rng: np.random.Generator, *, planted: bool, told: bool) -> Draft:
    """A tenth of the records carry a dozen labels eight times as often, and are longer."""
    n, codes = 15_000, Codes(rng)
    groups = codes.groups(6, 4)
    wishes = _wishes(rng, 5 if planted else 0, n, parts=SHARES[1:])
    pairs = _families(codes, groups, wishes, n, None)
    own = codes.crowd(groups[10:], 12, 0.4, 0.5)
    codes.crowd(groups[10:], 80, 3.0)
    ward = (rng.random(n) < 0.1).astype(np.int64)
    factor = np.ones((n, len(codes.labels)))
    factor[:, own] = np.where(ward == 1, 8.0, 1.0)[:, None]
    draft = independent(codes, n, factor=factor)
    for (a, b), wish in zip(pairs, wishes, strict=True):
        plant(draft, a, b, wish.ratio, str(rng.choice(MECHANISMS)))
    if told:
        draft.columns["ward"] = ward
    return draft


_world("subpopulation", "A tenth of the records have a dozen labels eight times as often; told.")(
    partial(_with_ward, planted=True, told=True)
)
_world("subpopulation, null", "The same with nothing planted.", null=True)(
    partial(_with_ward, planted=False, told=True)
)
_world(
    "subpopulation without its column, null",
    "The same; the rows do not tell who is in it.",
    null=True,
    scored=False,
)(partial(_with_ward, planted=False, told=False))


def _patients(rng: np.random.Generator, pairs: int) -> Draft:
    codes = Codes(rng)
    groups, ends = codes.groups(5, 4), []
    for k in range(pairs):
        shares = rng.uniform(0.05, 0.1, 2)
        a, b = (
            codes.family(groups[2 * k + i], float(s), float(rng.choice((0.3, 0.5, 0.7))), 5)
            for i, s in enumerate(shares)
        )
        ends.append((a, b))
    codes.crowd(groups[2 * pairs :], 100, 4.0)
    draft = of_traits(codes, 3_000, float(rng.choice((0.05, 0.1, 0.2))), 4.0)
    for a, b in ends:
        plant(draft, a, b, float(rng.choice((2, 3, 5))), ("added", "syndrome")[rng.integers(2)])
    return draft


_world("patients", "3,000 patients with strong traits, four stays each; 3 pairs planted by stay.")(
    partial(_patients, pairs=3)
)
_world("patients, null", "3,000 patients with strong traits that are independent.", null=True)(
    partial(_patients, pairs=0)
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


def _repeating(
    rng: np.random.Generator,
    stays: NDArray[np.int64],
    copied: float,
    pairs: int,
    ratio: float = 3.0,
    shares: tuple[float, float] = (0.02, 0.055),
    habits: float = 0.0,
) -> Draft:
    """Stays of patients, each label of the stay before carried on with a chance.

    Both labels of a planted pair are carried on together, so that later stays hold the ratio too.
    """
    codes, of_stay = Codes(rng), np.repeat(np.arange(len(stays)), stays)
    groups, ends = codes.groups(5, 4), []
    for k in range(pairs):
        own = rng.uniform(*shares, 2)
        ends.append([codes.family(groups[2 * k + i], float(s), 0.5, 5) for i, s in enumerate(own)])
    codes.crowd(groups[2 * pairs :], 100, 4.0)
    habit = np.exp(rng.normal(0, habits, (len(stays), len(codes.labels))))
    habit /= (habit * stays[:, None]).sum(axis=0) / len(of_stay)
    draft = independent(codes, len(of_stay), shape=4.0, factor=habit[of_stay])
    for a, b in ends:
        plant(draft, a, b, ratio, ("added", "syndrome")[rng.integers(2)])
    with_first = np.arange(len(codes.labels))
    for a, b in ends:
        with_first[b] = a
    again = (rng.random(draft.has.shape, np.float32) < copied)[:, with_first]
    place = np.arange(len(of_stay)) - np.repeat(np.cumsum(stays) - stays, stays)
    for number in range(1, int(stays.max())):
        later = np.flatnonzero(place == number)
        draft.has[later] = np.where(again[later], draft.has[later - 1], draft.has[later])
    draft.columns["group"] = of_stay
    return draft


def _pareto(rng: np.random.Generator, patients: int) -> NDArray[np.int64]:
    return np.minimum(rng.pareto(1.5, patients) + 1, 300).astype(np.int64)


_COPIED: dict[str, tuple[str, Callable[[np.random.Generator], NDArray[np.int64]], float]] = {
    "copied stays": ("three stays on average", lambda rng: rng.geometric(1 / 3, 6_000), 0.85),
    "copied stays, a hospital's": ("most with one stay", lambda rng: rng.zipf(3, 8_000), 0.85),
    "copied stays, up to 300": ("few with up to 300", lambda rng: _pareto(rng, 6_000), 0.85),
    "stays that share a third": ("three stays on average", lambda rng: rng.geometric(1 / 3, 6_000),
                                 0.3),
}  # fmt: skip


def _of_copied(name: str) -> None:
    sizes, draw_stays, copied = _COPIED[name]
    about = f"Patients, {sizes}; a label of a stay is on the next with a chance of {copied:g}"

    @_world(name, f"{about}; 8 pairs at a ratio of 3.", scored=False)
    def _(rng: np.random.Generator) -> Draft:
        return _repeating(rng, draw_stays(rng), copied, 8)

    @_world(f"{name}, null", f"{about}.", null=True)
    def _(rng: np.random.Generator) -> Draft:
        return _repeating(rng, draw_stays(rng), copied, 0)


for _name in _COPIED:
    _of_copied(_name)


@_world("large groups", "100 groups of about 150 records each; 8 pairs at a ratio of 2.")
def _large_groups(rng: np.random.Generator) -> Draft:
    return _repeating(rng, rng.poisson(150, 100), 0.0, 8, 2.0, (0.03, 0.08))


@_world("large groups with habits, null", "100 groups of 150, each with habits.", null=True)
def _large_habits(rng: np.random.Generator) -> Draft:
    return _repeating(rng, rng.poisson(150, 100), 0.0, 0, habits=0.5)


def _frequent(rng: np.random.Generator, planted: bool) -> Draft:
    n, codes = 10_000, Codes(rng)
    groups = codes.groups(4, 4)
    pairs = []
    for k, (a, b, ratio) in enumerate(
        ((0.3, 0.1, 2.0), (0.35, 0.3, 1.8), (0.55, 0.05, 1.7), (0.55, 0.5, 1.45), (0.8, 0.3, 1.2))
    ):
        ends = [codes.label(groups[2 * k + i], share) for i, share in enumerate((a, b))]
        for i in range(2):
            codes.crowd([groups[2 * k + i]], 3, 0.06, 0.3)
        pairs.append((ends[0], ends[1], ratio))
    codes.crowd(groups[10:], 60, 2.5)
    draft = independent(codes, n)
    for a, b, ratio in pairs if planted else ():
        plant(draft, a, b, ratio, ("copula", "scaled")[rng.integers(2)])
    return draft


_world("very frequent nodes", "Labels on .3 to .8 of the records, five pairs among them.")(
    partial(_frequent, planted=True)
)
_world(
    "very frequent nodes, null", "Labels on .3 to .8 of the records, all independent.", null=True
)(partial(_frequent, planted=False))


# Nothing planted


def _null_codes(rng: np.random.Generator, count: int, length: float, tail: float) -> Codes:
    """A DAG: 15 of 100 labels have two parents, and so have some groups."""
    codes = Codes(rng)
    groups = codes.groups(8, 5)
    for group in groups[:4]:
        elsewhere = [up for down, up in codes.edges if up != ROOT and down != group]
        codes.edges.append((group, str(rng.choice(elsewhere))))
    codes.crowd(groups, count, length, tail)
    codes.second_parents(rng.choice(count, int(0.15 * count), replace=False), groups)
    return codes


def _null_dag(n: int, count: int, length: float, tail: float, shape: float | None) -> Draw:
    def draw(rng: np.random.Generator) -> Draft:
        return independent(_null_codes(rng, count, length, tail), n, shape=shape)

    return draw


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
    )(_null_dag(_n, _count, _length, _tail, _shape))


@_world("null DAG, fixed lengths", "20,000 records of exactly 5 labels drawn by weight over a DAG.",
        null=True)  # fmt: skip
def _null_fixed(rng: np.random.Generator) -> Draft:
    codes = _null_codes(rng, 150, 5.0, 1.0)
    has = drawn(rng, -np.log1p(-codes.shares), np.full(20_000, 5))
    return Draft(codes, np.zeros((20_000, 0)), has)


# Worlds in which one would expect such a search to fail


@_world(
    "two populations, null",
    "Two halves of the records prefer different labels, and nothing tells them apart: labels of "
    "one half are truly associated, so that nothing here is wrong to tell.",
    null=True,
    scored=False,
)
def _two_populations(rng: np.random.Generator) -> Draft:
    codes = Codes(rng)
    codes.crowd(codes.groups(6, 4), 120, 5.0)
    habits = np.exp(rng.normal(0, 0.7, (2, 120)))
    habits /= habits.mean(axis=0)
    return independent(codes, 10_000, factor=habits[rng.integers(0, 2, 10_000)])


@_world(
    "severity, null",
    "Labels grow with an unseen severity at different speeds: beyond the number of labels they "
    "are truly associated a little, so that nothing here is wrong to tell.",
    null=True,
    scored=False,
)
def _severity(rng: np.random.Generator) -> Draft:
    codes = Codes(rng)
    codes.crowd(codes.groups(6, 4), 120, 5.0)
    severity = np.exp(rng.normal(0, 0.7, (10_000, 1)))
    factor = severity ** rng.choice((0.0, 1.0, 2.0), 120)
    return independent(codes, 10_000, factor=factor / factor.mean(axis=0))


@_world(
    "templates",
    "Four of ten records start from one of 20 templates of three to five labels and have free "
    "labels beside; every pair of one template is planted.",
)
def _templates(rng: np.random.Generator) -> Draft:
    n, codes = 10_000, Codes(rng)
    codes.crowd(codes.groups(6, 4), 160, 3.0)
    draft = independent(codes, n)
    kept, often, start = 0.8, 0.4 / 20, rng.random(n) / 0.4 * 20
    deck = iter(rng.permutation(160).tolist())
    for k in range(20):
        labels = [next(deck) for _ in range(rng.integers(3, 6))]
        of_it = np.floor(start) == k
        for label in labels:
            draft.has[:, label] |= of_it & (rng.random(n) < kept)
        p = codes.shares[labels]
        given, new = p + kept * (1 - p), p + often * kept * (1 - p)
        for i, a in enumerate(labels):
            for j in range(i + 1, len(labels)):
                joint = often * given[i] * given[j] + (1 - often) * p[i] * p[j]
                draft.note(a, labels[j], n * joint, n * new[i] * new[j], "template")
    return draft


def _exclusive(rng: np.random.Generator, pairs: int) -> Draft:
    """Labels of six parents shut each other out, as stages of a disease do."""
    n, codes = 15_000, Codes(rng)
    groups = codes.groups(4, 6)
    wishes = _wishes(rng, pairs, n, parts=SHARES[1:])
    ends = _families(codes, groups, wishes, n, None)
    codes.crowd(groups[2 * pairs : 18], 70, 2.5)
    draft = independent(codes, n)
    for (a, b), wish in zip(ends, wishes, strict=True):
        plant(draft, a, b, wish.ratio, ("scaled", "added", "syndrome")[rng.integers(3)])
    for group in groups[18:]:
        stages = [codes.label(group, 0.1) for _ in range(4)]
        stage = rng.choice([*stages, -1], n, p=(0.12, 0.12, 0.08, 0.08, 0.6))
        more = np.zeros((n, 4), bool)
        for place, label in enumerate(stages):
            more[:, place] = stage == label
        draft.has = np.hstack([draft.has, more])
    return draft


_world(
    "labels that shut each other out, null",
    "Six parents of four labels of which a record has one at most; all else is independent. "
    "Scored: no pair meets more often than it should.",
    null=True,
)(partial(_exclusive, pairs=0))
_world("labels that shut each other out", "The same, and five pairs planted beside them.")(
    partial(_exclusive, pairs=5)
)


@_world(
    "sections that exclude each other, null",
    "Records with a label of one section lose nine of ten labels of a section of another branch; "
    "the rest of both branches is independent. Labels of the second section meet at most 1.35 "
    "times as often as independent ones, and no other pair more often. Scored: what is kept away "
    "in one place must not become an excess beside it.",
    null=True,
)
def _excluding(rng: np.random.Generator) -> Draft:
    n, codes = 20_000, Codes(rng)
    codes.crowd(codes.groups(4, 4), 60, 2.0)
    parts = []
    for _ in range(2):
        branch = codes.node()
        parts.append([[codes.label(codes.node(section), float(rng.uniform(0.02, 0.05)))
                       for _ in range(6)] for section in (codes.node(branch), codes.node(branch))
                      ])  # fmt: skip
    draft = independent(codes, n)
    first, second = parts[0][0], parts[1][0]
    loses = draft.has[:, first].any(axis=1) & (rng.random(n) < 0.9)
    draft.has[np.ix_(loses, np.array(second))] = False
    return draft


@_world(
    "one large branch and 250 tiny ones",
    "Half of the labels stand in one branch, the others are branches of one label or two each; "
    "pairs within the large one, between it and tiny ones, and between tiny ones.",
)
def _giant(rng: np.random.Generator) -> Draft:
    n, codes = 15_000, Codes(rng)
    giant = codes.node()
    groups = [codes.node(giant) for _ in range(20)]
    wishes = _wishes(rng, 3, n, parts=SHARES[1:])
    ends = _families(codes, groups, wishes, n, None)
    codes.crowd(groups[6:], 120, 3.0)
    shares = np.minimum(rng.lognormal(-5.2, 0.7, 250), 0.1)
    tiny = []
    for share in shares:
        branch = codes.node()
        tiny.append(codes.label(branch, float(share)))
        if rng.random() < 0.5:
            codes.label(branch, float(share) / 15)
    chosen = [codes.label(codes.node(), float(rng.uniform(0.04, 0.08))) for _ in range(6)]
    inside = [codes.label(group, float(rng.uniform(0.04, 0.08))) for group in groups[6:9]]
    draft = independent(codes, n)
    pairs = [*ends, *zip(chosen[:3], inside, strict=True), (chosen[3], chosen[4])]
    pairs.append((chosen[5], tiny[int(np.argmax(shares))]))
    for a, b in pairs:
        plant(draft, a, b, float(rng.choice((2, 3, 5))), ("scaled", "added")[rng.integers(2)])
    return draft


@_world("no hierarchy", "Every label is a child of the root; 6 pairs.")
def _flat(rng: np.random.Generator) -> Draft:
    n, codes = 10_000, Codes(rng)
    codes.crowd([ROOT], 100, 4.0)
    ends = [codes.label(ROOT, float(rng.uniform(0.04, 0.1))) for _ in range(12)]
    draft = independent(codes, n, shape=LENGTHS[rng.integers(3)])
    for a, b in zip(ends[:6], ends[6:], strict=True):
        plant(draft, a, b, float(rng.choice(RATIOS)), str(rng.choice(MECHANISMS)))
    return draft


@_world(
    "labels that come in threes",
    "Four times three labels of different branches always stand together, and nowhere else.",
)
def _threes(rng: np.random.Generator) -> Draft:
    n, codes = 10_000, Codes(rng)
    groups = codes.groups(6, 4)
    shares = (0.004, 0.01, 0.03, 0.06)
    sets = [[codes.label(groups[3 * k + i], share) for i in range(3)]
            for k, share in enumerate(shares)]  # fmt: skip
    codes.crowd(groups, 110, 4.0)
    draft = independent(codes, n, shape=4.0)
    for a, b, c in sets:
        draft.has[:, b] = draft.has[:, c] = draft.has[:, a]
        for one, other in ((a, b), (a, c), (b, c)):
            chance = draft.chance[:, a]
            draft.note(one, other, float(chance.sum()), draft.apart(chance, chance), "always")
    return draft


@_world(
    "chains of single children", "Six pairs of labels each of which is all of several ancestors."
)
def _chains(rng: np.random.Generator) -> Draft:
    n, codes = 10_000, Codes(rng)
    groups, ends = codes.groups(5, 4), []
    for k in range(12):
        node = groups[k]
        for _ in range(rng.integers(2, 5)):
            node = codes.node(node)
        ends.append(codes.label(node, float(rng.uniform(0.04, 0.1))))
        codes.crowd([groups[k]], 3, 0.15)
    codes.crowd(groups[12:], 70, 2.5)
    draft = independent(codes, n)
    for a, b in zip(ends[:6], ends[6:], strict=True):
        plant(draft, a, b, float(rng.choice((2, 3, 5))), str(rng.choice(MECHANISMS)))
    return draft


def _inner(rng: np.random.Generator, pairs: int) -> Draft:
    """Groups are labels themselves: alone, or beside a child of theirs on half of its records."""
    n, codes = 15_000, Codes(rng)
    groups = codes.groups(5, 5)
    own = [codes.use(group, float(rng.uniform(0.02, 0.06))) for group in groups[:14]]
    children = [codes.crowd([group], 4, float(rng.uniform(0.1, 0.25)), 0.5) for group in groups]
    draft = independent(codes, n)
    used = rng.permutation(14)
    for k in range(pairs):
        parent, other = used[2 * k], used[2 * k + 1]
        if k % 2:
            a: int | str = groups[parent]
            b: int | str = groups[other]
            mechanism = "scaled"
        else:
            a, b, mechanism = children[parent][0], children[other][0], "added"
        plant(draft, a, b, float(rng.choice((2, 3))), mechanism)
    for label, below in zip(own, children[:14], strict=True):
        draft.has[:, label] |= draft.has[:, below].any(axis=1) & (rng.random(n) < 0.5)
    return draft


_world(
    "groups used as labels",
    "Groups are labels themselves, alone or beside their children; pairs of groups, whichever "
    "label they come by, and of children.",
)(partial(_inner, pairs=5))
_world("groups used as labels, null", "The same with nothing planted.", null=True)(
    partial(_inner, pairs=0)
)
