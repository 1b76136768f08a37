"""Counts of nodes, of pairs and of catch-alls in whole audits, against plain Python over sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from fixtures import brute_force as plain
from fixtures import brute_force_counts as counts
from fixtures import brute_force_metrics as places
from fixtures.brute_force import Pair, Parents, carried
from fixtures.examples import examples
from fixtures.planted_pairs import planted
from fixtures.small_worlds import ODD, ROOT, World, label_worlds, shuffled

TO_1E12 = {"rel": 1e-12, "abs": 1e-12}
COUNTED = ("support_a", "support_b", "joint", "joint_entailed")
SHARES = ("rate", "confusion", "expected", "lift")


def pairs_of(result: audit.AuditResult) -> dict[Pair, dict[str, Any]]:
    rows = result.pairs.collect().to_dicts()
    found = {(row["a"], row["b"]): row for row in rows}
    assert list(found) == sorted(found)
    assert len(found) == len(rows)
    return found


def column(found: Mapping[Pair, Mapping[str, Any]], name: str) -> dict[Pair, Any]:
    return {pair: row[name] for pair, row in found.items()}


def relation(parents: Parents, a: str, b: str) -> str:
    if counts.in_line(parents, a, b):
        return "ancestor"
    if parents[a] & parents[b]:
        return "sibling"
    if plain.at_or_below(parents, a) & plain.at_or_below(parents, b):
        return "overlap"
    return "cross_branch" if places.meeting(parents, a, b) == top_of(parents) else "same_branch"


def top_of(parents: Parents) -> str:
    return places.root(parents)


@given(label_worlds())
def test_every_pair_that_an_instance_carries_has_the_counts_of_plain_python(world: World) -> None:
    found, supports = pairs_of(world.audited()), plain.supports(world.parents, world.labels)
    joint = plain.joints(world.parents, world.labels)
    entailed = counts.entailed(world.parents, world.labels)

    assert column(found, "joint") == joint
    for (a, b), row in found.items():
        explained = joint[a, b] if counts.in_line(world.parents, a, b) else entailed.get((a, b), 0)
        assert [row[name] for name in COUNTED] == [
            supports[a], supports[b], joint[a, b], explained
        ]  # fmt: skip


@given(label_worlds())
def test_the_shares_of_every_pair_are_those_of_plain_python(world: World) -> None:
    found, own = pairs_of(world.audited()), (world.parents, world.labels)
    for name, of in zip(
        SHARES, (plain.rates, plain.confusions, plain.expectations, plain.lifts), strict=True
    ):
        assert column(found, name) == pytest.approx(of(*own), **TO_1E12)
    assert all(0 < row["confusion"] <= row["rate"] <= 1 for row in found.values())


@given(label_worlds())
def test_every_pair_has_its_relation_and_lowest_common_ancestor(world: World) -> None:
    for (a, b), row in pairs_of(world.audited()).items():
        assert row["relation"] == relation(world.parents, a, b)
        assert row["lca"] == places.meeting(world.parents, a, b)


@given(label_worlds())
def test_confusion_is_the_rate_to_the_last_bit_where_each_instance_has_one_label(
    world: World,
) -> None:
    single = replace(world, rows={instance: own[:1] for instance, own in world.rows.items()})
    found = pairs_of(single.audited())

    assert column(found, "confusion") == column(found, "rate")
    assert all(row["p_value"] is row["expected_length"] is None for row in found.values())


@given(label_worlds())
def test_every_node_stands_where_plain_python_finds_it_with_its_counts(world: World) -> None:
    result, parents = world.audited(), world.parents
    rows = {row["node"]: row for row in result.nodes.to_dicts()}
    tops = {node for node in parents if top_of(parents) in parents[node]}
    supports, direct = plain.supports(parents, world.labels), [*world.labels.values()]

    assert list(rows) == list(parents)
    for node, row in rows.items():
        branches = sorted(tops & carried(parents, {node}))
        leaf = not places.children(parents, node)
        assert row["depth"] == places.depth(parents, node)
        assert row["height"] == places.height(parents, node)
        assert row["level"] == places.level(parents, node)
        assert (row["branches"], row["branch"]) == (branches, branches[0] if branches else None)
        assert (row["assignable"], row["support"]) == (leaf, supports[node])
        assert row["direct"] == sum(node in own for own in direct)
        assert row["group_sum"] == row["group_squares"] == supports[node]
    assert set(result.edges.rows()) == {(c, p) for c, own in parents.items() for p in own}
    assert len(result.edges) == len(set(result.edges.rows()))


def shares_of_groups(world: World, carried: set[str]) -> list[float]:
    """The share of each group's labelled instances that are among some."""
    groups = world.groups or {}
    members: dict[str, list[str]] = {}
    for instance, own in world.labels.items():
        members.setdefault(f"group {groups[instance]}" if instance in groups else instance, [])
        if own:
            members[f"group {groups[instance]}" if instance in groups else instance] += [instance]
    return [len(carried & {*own}) / len(own) for own in members.values() if own]


@given(label_worlds(grouped=True))
def test_sums_over_groups_count_each_group_once_however_many_instances_it_has(world: World) -> None:
    result, parents = world.audited(), world.parents
    if result.ledger["groups"] is None:
        return
    for row in result.nodes.iter_rows(named=True):
        carrying = {
            i for i, own in world.labels.items() if row["node"] in plain.carried(parents, own)
        }
        shares = shares_of_groups(world, carrying)
        assert row["group_sum"] == pytest.approx(math.fsum(shares), rel=1e-9)
        squares = math.fsum(share**2 for share in shares)
        assert row["group_squares"] == pytest.approx(squares, rel=1e-9)
    groups = [*(world.groups or {}).values()]
    shared = len({*groups}) < len(groups)
    for (a, b), pair in pairs_of(result).items():
        if pair["relation"] != "ancestor":
            apart = shares_of_groups(world, plain.carrying_apart(parents, world.labels, a, b))
            wanted = math.fsum(apart) if shared else 0
            assert pair["group_sum"] == (pytest.approx(wanted, rel=1e-9) if wanted else None)


@pytest.mark.parametrize("reading", ["paths", "mimic"])
@given(world=label_worlds())
def test_in_each_reading_of_an_aggregated_value_confusion_is_of_these_values(
    reading: Any, world: World
) -> None:
    found = pairs_of(world.audited(audit.Policy(aggregation=reading)))
    values = [
        plain.reaching(world.parents, dict.fromkeys(own, 1), reading)
        for own in world.labels.values()
    ]
    assert column(found, "joint") == plain.joints(world.parents, world.labels)
    for (a, b), row in found.items():
        terms = [plain.entropy(line[a], line[b]) for line in values if line[a] and line[b]]
        assert row["confusion"] * len(values) == pytest.approx(math.fsum(terms), **TO_1E12)


@examples(25)
@given(label_worlds(), st.randoms(use_true_random=False))
def test_other_names_and_another_order_permute_all_counts(world: World, random: Random) -> None:
    node, instance = shuffled(random, world.nodes), shuffled(random, world.rows)
    before, after = world.audited(), world.renamed(node, instance).audited()
    new, found = {**node, ROOT: ROOT}, pairs_of(after)
    unordered = {frozenset(pair): row for pair, row in found.items()}
    assert len(unordered) == len(pairs_of(before))
    for (a, b), row in pairs_of(before).items():
        own = unordered[frozenset((new[a], new[b]))]
        for name in ("joint", "joint_entailed", "relation"):
            assert own[name] == row[name]
        for name in SHARES:
            assert own[name] == pytest.approx(row[name], **TO_1E12)
    moved = {new[row["node"]]: row for row in before.nodes.to_dicts()}
    for row in after.nodes.to_dicts():
        for name in ("depth", "height", "level", "direct", "support"):
            assert row[name] == moved[row["node"]][name]


@examples(25)
@given(label_worlds(), st.data())
def test_an_unused_leaf_changes_no_count_of_another_node(world: World, data: st.DataObject) -> None:
    leaf = data.draw(st.sampled_from(sorted({*ODD, "!"} - {*world.nodes})))
    edge = (leaf, data.draw(st.sampled_from(world.nodes)))
    wider = replace(world, nodes=[*world.nodes, leaf], edges=[*world.edges, edge])
    before, after = world.audited(), wider.audited()
    found = pairs_of(after)

    for name in (*COUNTED, *SHARES, "expected_length", "p_value", "q_value", "found_rank"):
        assert column(found, name) == column(pairs_of(before), name)
    numbers = ("node", "direct", "support", "group_sum", "group_squares")
    kept = after.nodes.filter(pl.col("node") != leaf)
    assert kept.select(numbers).equals(before.nodes.select(numbers))


ASKED: tuple[Callable[[pl.LazyFrame | pl.DataFrame], Any], ...] = (
    lambda pairs: pairs.filter(pl.col("support_a") > 2).select("a", "b", "lift"),
    lambda pairs: pairs.filter(pl.col("relation") == "sibling"),
    lambda pairs: pairs.filter(pl.col("joint") > 1).head(3),
    lambda pairs: pairs.head(2),
    lambda pairs: pairs.select("lca", "confusion"),
    lambda pairs: pairs.filter(pl.col("a") == "").select("p_value"),
)


@pytest.mark.parametrize("grouped", [False, True])
def test_what_is_asked_of_pairs_is_the_same_of_a_run_that_was_read_back(
    grouped: bool, tmp_path: Path
) -> None:
    release = planted(1, tree=False, grouped=grouped)
    result = audit.run_audit(release.dataset())
    read = audit.read_run(audit.write_run(result, tmp_path / "run"))
    whole = result.pairs.collect()

    assert read.pairs.collect().equals(whole)
    assert read.nodes.equals(result.nodes)
    for ask in ASKED:
        for pairs in (result.pairs, read.pairs):
            assert ask(pairs).collect().equals(ask(whole))


def test_frequent_pairs_are_of_the_first_eight_depths_below_the_root() -> None:
    tree = dict[str, Any]()
    for depth in range(12, 0, -1):
        tree = {f"n{depth}": tree, f"m{depth}": {}}
    labels = [["n12", "m12", "m6", "m1"]] * 30
    pairs = audit.run_audit(audit.load_labels(labels, {"top": tree})).exact()["overview"]

    assert [one["depth"] for one in pairs["frequent_pairs"]] == [1, 6]
