"""Statistics that reach a table or a finding, against their textbook form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from scipy.stats import t as student

import audit
from fixtures import brute_force as plain
from fixtures.brute_force_metrics import depth
from fixtures.doors import Bins
from fixtures.plain_statistics import Share, adjusted, newcombe, p_of_difference
from fixtures.small_worlds import World, label_worlds, tree_of

RATE = 0.05
KINDS = {"all": {"other", "unspecified"}, "other": {"other"}, "unspecified": {"unspecified"}}


def stated(**values: float) -> dict[str, Any]:
    return {name: {"value": value, "reason": "drawn"} for name, value in values.items()}


def shares_of(
    world: World, residual: Mapping[str, str], among: set[str] | None = None
) -> dict[tuple[str, str], Share]:
    """The residual share of every parent and kind."""
    parents, found = world.parents, {}
    inner = {parent for own in parents.values() for parent in own}
    for node in inner:
        below = plain.at_or_below(parents, node) - {node}
        assignable = below - inner
        if not below & {*residual} or not assignable - {*residual}:
            continue
        labelled = {i for i, own in world.labels.items() if own & below}
        labelled &= world.labels.keys() if among is None else among
        for kind, kinds in KINDS.items():
            only = {
                i for i in labelled
                if {residual.get(label) for label in world.labels[i] & below} <= kinds
            }  # fmt: skip
            if labelled:
                found[node, kind] = Share.of(labelled, only, world.groups)
    return found


def residual_rows(result: audit.AuditResult) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["parent"], row["residual"]): row for row in result.residuals.to_dicts()}


def same_counts(world: World, result: audit.AuditResult, shares: Mapping[Any, Share]) -> None:
    found = residual_rows(result)
    assert set(found) == set(shares)
    for (parent, kind), share in shares.items():
        row = found[parent, kind]
        assert (row["k"], row["n"], row["groups"]) == (share.k, share.n, share.groups)
        assert row["at_parent"] == sum(parent in own for own in world.labels.values())
        assert row["n_effective"] == pytest.approx(share.effective, rel=1e-9)
        assert row["share"] == pytest.approx(share.value, rel=1e-12)


@given(label_worlds(grouped=True))
def test_residual_use_below_every_parent_is_that_of_a_plain_search(world: World) -> None:
    inner = {parent for own in world.parents.values() for parent in own}
    leaves = sorted(set(world.parents) - inner)
    residual = dict.fromkeys(leaves[::2], "other")
    result = world.audited(audit.Policy(residual_nodes=tuple(residual)))
    shares = shares_of(world, residual)

    same_counts(world, result, shares)
    for key, row in residual_rows(result).items():
        own = shares[key]
        assert (row["low"], row["high"]) == pytest.approx(own.interval, abs=1e-12)


NAMES = ("gout", "flu", "burn", "cyst", "rash", "ache", "boil", "wart", "scab", "corn")


def gouts(seed: int, sizes: Sequence[int], *, spread: bool, groups: int = 0) -> World:
    """Parents of two specific codes and two catch-alls, each with so many instances below it."""
    random, rows, group = Random(seed), dict[str, list[str]](), dict[str, str]()
    titles = dict[str, str]()
    for number, size in enumerate(sizes):
        p, name = f"p{number:02}", f"{NAMES[number % 10]}{'xyz'[number // 10]}"
        kinds = (name, f"Acute {name}", f"Other {name}", f"Unspecified {name}", f"Severe {name}")
        titles |= dict(zip((p, *(f"{p}.{i}" for i in range(4))), kinds, strict=True))
        share = random.choice((0.1, 0.35, 0.6, 0.9)) if spread else 0.5
        for n in range(size):
            record, own = f"{p}-{n:03}", random.random()
            if groups:
                group[record] = f"{p}-g{random.randrange(groups)}"
                own = Random(group[record] * (n % 3 > 0) or record).random()
            last = random.choice("12") if own < share else random.choice("03")
            rows[record] = [f"{p}.{last}"] + [f"{p}.{random.choice('0123')}"] * (n % 6 == 0)
    nodes, edges = tree_of(*(f"p{n:02}.{i} < p{n:02}" for n in range(len(sizes)) for i in range(4)))
    tops = [(f"p{n:02}", "all") for n in range(len(sizes))]
    return World(
        [*nodes, "all"], [*edges, *tops], rows, groups=group if groups else None, titles=titles
    )


def residual_of(world: World) -> dict[str, str]:
    kinds = {"Other": "other", "Unspecified": "unspecified"}
    first = {node: title.split()[0] for node, title in world.titles.items()}
    return {node: kinds[word] for node, word in first.items() if word in kinds}


MANY = [30, 29, 31, 60, 45, 80, 33, 52, 38, 41, 36, 30]


@pytest.mark.parametrize("groups", [0, 12])
def test_shares_of_many_parents_stand_as_they_are_with_wilsons_interval(groups: int) -> None:
    world = gouts(3, MANY, spread=True, groups=groups)
    result, shares = world.audited(), shares_of(world, residual_of(world))
    same_counts(world, result, shares)
    for key, row in residual_rows(result).items():
        assert (row["low"], row["high"]) == pytest.approx(shares[key].interval, abs=1e-12)


def overuse(result: audit.AuditResult) -> list[dict[str, Any]]:
    return result.findings.filter(pl.col("check") == "residual_overuse").to_dicts()


@pytest.mark.parametrize("groups", [0, 12])
@pytest.mark.parametrize("limit", [0.2, 0.5])
def test_a_share_is_high_where_its_interval_and_its_test_say_so_from_thirty_instances(
    groups: int, limit: float
) -> None:
    world = gouts(3, MANY, spread=True, groups=groups)
    result = world.audited(audit.Policy(**stated(residual_share=limit)))
    rows, shares = residual_rows(result), shares_of(world, residual_of(world))
    judged = {p: s for (p, kind), s in shares.items() if kind == "all" and s.n >= 30}
    q = dict(zip(judged, adjusted([s.p_above(limit) for s in judged.values()]), strict=True))
    high = {p for p in judged if rows[p, "all"]["low"] > limit and q[p] <= RATE}
    found = {row["nodes"][0]: row["evidence"] for row in overuse(result)}

    assert set(found) == high
    assert high or limit == 0.5
    for parent in high:
        assert found[parent]["instances"] == judged[parent].k
        assert found[parent]["of"] == judged[parent].n
        assert found[parent]["q_value"] == pytest.approx(q[parent], rel=1e-7)


def told_share(share: Share, limit: float, width: int, total: int, grouped: int) -> Share:
    """A share by its told numbers, at what the bins leave of its weight at the limit.

    One of the first class, and two of one class, are at the ends that speak against it.
    """
    bins = Bins(width, total)
    k, n, worth = (bins.told(int(each + 0.5)) or 0 for each in (share.k, share.n, share.effective))
    (least, _), (fewest, most) = bins.ends(k), bins.ends(n)
    k, n = max(least, 1) if not least or k == n else k, most if not fewest or k == n else n
    groups = min(Bins(width, grouped or total).told(share.groups) or 0, n)
    within = limit * (1 - limit)
    left = within / (within / min(worth, n) + width**2 / 12 * (1 + limit**2) / n**2)
    return Share([(k, n), *[(0, 0)] * (groups - 1)], share.alone, left)


@pytest.mark.parametrize("groups", [0, 12])
@pytest.mark.parametrize("limit", [0.2, 0.5])
@pytest.mark.parametrize("min_cell", [5, 11])
def test_in_bins_a_share_is_high_where_its_told_numbers_say_so(
    groups: int, limit: float, min_cell: int
) -> None:
    world = gouts(3, MANY, spread=True, groups=groups)
    result = world.audited(audit.Policy(min_cell=min_cell, **stated(residual_share=limit)))
    shares = {
        p: s for (p, kind), s in shares_of(world, residual_of(world)).items() if kind == "all"
    }
    total, grouped = len(world.rows), len(set((world.groups or {}).values()))
    told = {p: told_share(s, limit, min_cell - 1, total, grouped) for p, s in shares.items()}
    enough = {p for p, s in shares.items() if (Bins(min_cell - 1, total).told(s.n) or 0) >= 30}
    judged = {p: s for p, s in told.items() if p in enough}
    q = dict(zip(judged, adjusted([s.p_above(limit) for s in judged.values()]), strict=True))
    high = {p for p, s in judged.items() if s.interval[0] > limit and q[p] <= RATE}

    assert {row["nodes"][0] for row in overuse(result)} == high
    assert high or limit == 0.5


EVERY = stated(false_discovery_rate=1.0, residual_difference=0.0, residual_share=1.0)


def same_differences(
    result: audit.AuditResult, wanted: Mapping[tuple[str, str, str], tuple[float, ...]]
) -> None:
    q = dict(zip(wanted, adjusted([one[-1] for one in wanted.values()]), strict=True))
    found = {tuple(row["key"]): row["evidence"] for row in overuse(result) if row["key"]}
    assert set(found) == {key for key, one in wanted.items() if one[0]}
    for key, said in found.items():
        names = ("difference", "difference_low", "difference_high", "q_value")
        told = [said[name] for name in names]
        assert told == pytest.approx([*wanted[key][:3], q[key]], rel=1e-7, abs=1e-10)


@pytest.mark.parametrize(("values", "groups"), [(2, 0), (3, 9)])
def test_shares_of_the_values_of_a_column_are_compared_as_stated(values: int, groups: int) -> None:
    world = gouts(7, [60, 45, 30, 22], spread=True, groups=groups)
    random = Random(values)
    sites = {name: random.choice("abc"[:values]) for name in world.rows if random.random() < 0.95}
    divided = World(
        world.nodes, world.edges, world.rows, {"site": sites}, world.groups, titles=world.titles
    )
    result = divided.audited(audit.Policy(strata=("site",), **EVERY))
    residual, wanted = residual_of(world), {}
    every = shares_of(divided, residual)
    for value in "abc"[values == 2 : values]:
        here, there = (
            shares_of(divided, residual, {i for i, own in sites.items() if (own == value) is same})
            for same in (True, False)
        )
        for parent, kind in every:
            if kind == "all" and every[parent, kind].n >= 30:
                none = Share([], not groups)
                sides = [side.get((parent, kind), none) for side in (here, there)]
                if (one := sides[0].less(sides[1])) is not None:
                    wanted[parent, "site", value] = one
    assert len(wanted) > 2
    same_differences(result, wanted)


@pytest.mark.parametrize(("seeds", "groups"), [((5, 6), 0), ((9, 10), 0), ((9, 10), 8)])
def test_shares_are_compared_with_those_of_a_reference_where_enough_are_expected(
    seeds: tuple[int, int], groups: int
) -> None:
    sizes = [60, 45, 30, 22, 40]
    before, after = (gouts(seed, sizes, spread=True, groups=groups) for seed in seeds)
    result = audit.run_audit(
        after.dataset, audit.Policy(**EVERY), reference=before.audited(audit.Policy(**EVERY))
    )
    then, now = (shares_of(one, residual_of(one)) for one in (before, after))
    pairs = {
        (parent, "reference", ""): own.less(then[parent, kind])
        for (parent, kind), own in now.items()
        if kind == "all" and own.n >= 30
    }
    assert len(pairs) == 5
    same_differences(result, {key: one for key, one in pairs.items() if one is not None})


def drifting(seed: int, *, values: str, groups: int, instances: int = 150) -> World:
    """Labels whose frequencies differ between the values of a column; some have no value."""
    random = Random(seed)
    nodes, edges = tree_of("a0 a1 < a", "b0 b1 < b", "c0 < c", "a b c < all", "a1 < b")
    rows, site, group = dict[str, list[str]](), dict[str, str](), dict[str, str]()
    for n in range(instances):
        name, value = f"i{n:03}", random.choice(values)
        rare = 0.6 if value == values[0] else 0.3
        rows[name] = [x for x in ("a0", "a1", "b0", "b1", "c0") if random.random() < rare / 2]
        rows[name] += ["a0"] * (value == values[-1])
        if random.random() < 0.95:
            site[name] = value
        if groups and random.random() < 0.9:
            group[name] = f"g{random.randrange(groups)}"
    return World(nodes, edges, rows, {"site": site}, group or None)


def drift_rows(world: World, values: str) -> dict[tuple[str, str], dict[str, Any]]:
    sites, parents, group = world.columns["site"], world.parents, world.groups or {}
    carrying = {
        node: {i for i, own in world.labels.items() if node in plain.carried(parents, own)}
        for node in parents
    }
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for value in values[len(values) == 2 :]:
        sides = [
            {i for i, own in sites.items() if (own == value) is same} for same in (True, False)
        ]
        by_group: list[dict[str, set[str]]] = [{}, {}]
        for members, side in zip(by_group, sides, strict=True):
            for name in side:
                members.setdefault(f"of {group[name]}" if name in group else name, set()).add(name)
        if min(map(len, by_group)) < 11:
            continue
        for node in parents:
            row = drift_row(carrying[node], sides, by_group, alone=not group)
            kin = [c for c in parents if node in parents[c]]
            covered = any(carrying[child] == carrying[node] for child in kin)
            if row is not None and parents[node] and not covered:
                found[value, node] = row
    return found


def drift_row(
    carrying: set[str], sides: list[set[str]], by_group: list[dict[str, set[str]]], *, alone: bool
) -> dict[str, Any] | None:
    (k, n), (other_k, other_n) = ((len(side & carrying), len(side)) for side in sides)
    shares = [[len(own & carrying) / len(own) for own in g.values()] for g in by_group]
    every = [*shares[0], *shares[1]]
    q = math.fsum(every) / len(every)
    variance = max(math.fsum(s**2 for s in every) / len(every) - q**2, 0.0)
    sizes = [
        len(own) if variance <= 1e-12
        else max(1, min(len(side), round(len(own) * q * (1 - q) / variance)))
        for own, side in zip(shares, sides, strict=True)
    ]  # fmt: skip
    counted = [
        round(math.fsum(own) / len(own) * size) for own, size in zip(shares, sizes, strict=True)
    ]
    total = sum(sizes)
    if min(sum(counted), total - sum(counted)) * min(sizes) / total < 5:
        return None
    freedom = None if alone else min(map(len, shares)) - 1
    p = p_of_difference(*zip(counted, sizes, strict=True), freedom)
    difference = k / n - other_k / other_n
    if (counted[0] / sizes[0] - counted[1] / sizes[1]) * difference < 0:
        p = 1.0
    worth = min(1.0, total / (n + other_n))
    low, high = newcombe(k / n, sizes[0], other_k / other_n, sizes[1])
    return {
        "instances": k, "of": n, "elsewhere": other_k, "of_elsewhere": other_n, "low": low,
        "difference": difference, "high": high, "p_value": p, "worth": worth,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "groups", "instances"),
    [("ab", 0, 150), ("ab", 40, 150), ("abc", 60, 150), ("abc", 12, 60), ("abcdefg", 0, 75)],
)
def test_the_use_of_nodes_by_the_values_of_a_column_is_compared_as_stated(
    values: str, groups: int, instances: int
) -> None:
    world = drifting(11, values=values, groups=groups, instances=instances)
    result = world.audited(audit.Policy(drift=("site",)))
    drift: Any = next(part for part in result.parts if "drift_nodes" in part.tables())
    found = {(row["value"], row["node"]): row for row in drift.nodes.to_dicts()}
    wanted = drift_rows(world, values)
    assert set(found) == set(wanted)
    for key, q in zip(wanted, adjusted([r["p_value"] for r in wanted.values()]), strict=True):
        row = found[key]
        for name, value in wanted[key].items():
            assert row[name] == pytest.approx(value, rel=1e-8, abs=1e-10), (key, name)
        assert row["q_value"] == pytest.approx(q, rel=1e-8)
        assert row["differs"] == (q <= RATE)
    for row in drift.values.to_dicts():
        own = {i for i, value in world.columns["site"].items() if value == row["value"]}
        labels = sum(len(world.labels[i]) for i in own)
        assert (row["instances"], row["labels"]) == (len(own), labels)


def depths(random: Random, instances: int, cut: float, groups: int) -> World:
    """Labels of a chain of three, so many of them cut to their parents."""
    nodes, edges = tree_of("x2 < x1", "x1 < x", "y2 < y1", "y1 < y", "x y < all")
    rows, group = dict[str, list[str]](), dict[str, str]()
    for n in range(instances):
        name = f"i{n:03}"
        rows[name] = [
            f"{side}{random.choice((1, 2)) if random.random() > cut else 1}"
            for side in ("x", "y")[: 1 + n % 2]
        ]
        if groups:
            group[name] = f"g{n % groups}"
    return World(nodes, edges, rows, groups=group or None)


@pytest.mark.parametrize(("groups", "cut"), [(0, 0.9), (20, 0.9), (0, 0.3)])
def test_a_loss_of_depth_against_a_reference_is_that_of_the_mean_over_labels(
    groups: int, cut: float
) -> None:
    random = Random(4)
    before, after = depths(random, 120, 0.0, groups), depths(random, 110, cut, groups)
    result = audit.run_audit(after.dataset, reference=before.audited())
    sides = []
    for world in (after, before):
        by: dict[str, list[int]] = {}
        for name, own in world.labels.items():
            at = (world.groups or {}).get(name, name)
            by.setdefault(at, []).extend(depth(world.parents, label) for label in own)
        every = [d for own in by.values() for d in own]
        mean, n = math.fsum(every) / len(every), len(every)
        chance = math.fsum((d - mean) ** 2 for d in every) / n**2
        g = len(by)
        spread = math.fsum((sum(own) - mean * len(own)) ** 2 for own in by.values())
        sides.append((mean, chance, g, g / (g - 1) * spread / n**2))
    (now, chance, g, grouped), (then, chance_then, g_then, _) = sides
    error = math.sqrt(max(grouped / chance, 1) * (chance + chance_then))
    lost, freedom = then - now, min(g, g_then) - 1
    reach = float(student.ppf(0.975, freedom)) * error
    p = 2 * float(student.sf(abs(lost) / error, freedom))
    rows = result.findings.filter(pl.col("check") == "not_specific").to_dicts()
    said = [row["evidence"] for row in rows if row["evidence"].get("lost") is not None]

    assert len(said) == (lost > 0.25 and p <= RATE) == (cut > 0.5)
    if said:
        found = [said[0][name] for name in ("lost", "lost_low", "lost_high")]
        assert found == pytest.approx([lost, lost - reach, lost + reach], rel=1e-9)
