"""Data in parts, with arrays in files: every number and finding is that of the data as a whole."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from fixtures import brute_force as plain
from fixtures.doors import audited_in_parts
from fixtures.planted_pairs import Planted, planted
from fixtures.small_worlds import World, label_worlds, tree_of

KINDS = {"instance": pl.String, "label": pl.String}


def same(found: audit.AuditResult, wanted: audit.AuditResult) -> None:
    """All tables, and all findings with the instances behind them."""
    for name in ("nodes", "edges", "residuals"):
        assert getattr(found, name).equals(getattr(wanted, name)), name
    assert found.pairs.collect().equals(wanted.pairs.collect())
    assert (found.ledger, found.checks) == (wanted.ledger, wanted.checks)
    assert found.cases is not None
    assert wanted.cases is not None
    assert found.cases.collect().equals(wanted.cases.collect())


@pytest.mark.slow
@given(label_worlds(), st.integers(1, 9), st.booleans(), st.data())
def test_in_parts_of_any_size_all_is_as_in_one(
    world: World, batch: int, listed: bool, data: st.DataObject
) -> None:
    lacking = data.draw(st.sampled_from([[], ["?"], ["?", "?", "!"]]))
    rows = {name: [*own, *lacking[: len(own)]] for name, own in world.rows.items()}
    policy = audit.Policy(residual_nodes=tuple(leaves_of(world)[::2]))
    frame = pl.DataFrame(
        [(name, label) for name, own in rows.items() for label in own or (None,)],
        KINDS,
        orient="row",
    )
    if listed:
        lists = {"instance": pl.String, "labels": pl.List(pl.String)}
        frame = pl.DataFrame({"instance": [*rows], "labels": [*rows.values()]}, lists)
    found = audited_in_parts(frame, world.hierarchy, batch, policy)

    wanted = audit.run_audit(in_memory(frame, world.hierarchy), policy)
    same(found, wanted)


def in_memory(rows: pl.DataFrame, hierarchy: audit.Hierarchy) -> audit.LabelDataset:
    label = rows.columns[-1]
    return audit.load_labels(rows, hierarchy, id="instance", label=label, unlisted="refuse")


def leaves_of(world: World) -> list[str]:
    return sorted(set(world.parents) - {p for own in world.parents.values() for p in own})


@pytest.mark.parametrize(("seed", "batch"), [(300243, 70), (300097, 999), (100117, 100)])
def test_pairs_counted_in_parts_are_judged_and_found_as_in_one(seed: int, batch: int) -> None:
    release = planted(seed, tree=seed % 3 == 0, nodes=30, records=400)
    rows, hierarchy = rows_of(release), release.dataset().hierarchy
    found = audited_in_parts(rows, hierarchy, batch)
    wanted = audit.run_audit(in_memory(rows, hierarchy))

    same(found, wanted)


def rows_of(release: Planted) -> pl.DataFrame:
    rows: list[tuple[str, str | None]] = [
        (name, label) for name, own in release.labels.items() for label in sorted(own)
    ]
    rows += [(name, None) for name, own in release.labels.items() if not own]
    return pl.DataFrame(rows, KINDS, orient="row")


@pytest.mark.slow
def test_instances_of_hundreds_of_labels_are_counted_as_a_few_are() -> None:
    random = Random(6)
    leaves = [f"{side}{n:03}" for side in "abcd" for n in range(65)]
    nodes, edges = [*leaves, *"abcd", "all"], [(leaf, leaf[0]) for leaf in leaves]
    edges += [(side, "all") for side in "abcd"]
    rows = {f"i{n}": random.sample(leaves, 200) for n in range(6)} | {"one": ["a000"], "no": []}
    world = World(nodes, edges, rows)
    found = {(r["a"], r["b"]): r for r in world.audited().pairs.collect().to_dicts()}
    joint = plain.joints(world.parents, world.labels)
    assert {pair: row["joint"] for pair, row in found.items()} == joint
    for pair in random.sample(sorted(joint), 200):
        a, b = (
            [len(own & plain.at_or_below(world.parents, end)) for own in world.labels.values()]
            for end in pair
        )
        bits = sum(plain.entropy(u, v) for u, v in zip(a, b, strict=True) if u and v)
        assert found[pair]["confusion"] * len(rows) == pytest.approx(bits, rel=1e-12)


def test_a_chain_of_many_nodes_carries_every_pair_of_them() -> None:
    nodes, edges = tree_of(*(f"n{n:02} < n{n - 1:02}" for n in range(1, 60)))
    world = World(nodes, edges, {"i": ["n59"], "j": ["n30"], "k": ["n00"]})
    found = world.audited().pairs.collect()
    wanted = [(a, b, (b <= "n30") + 1) for a, b in combinations(nodes, 2)]

    assert found.select("a", "b", "joint").rows() == wanted
    assert found["lca"].to_list() == [a for a, _ in combinations(nodes, 2)]


def test_an_audit_says_what_it_does_and_how_much_of_it_is_done() -> None:
    world = World(*tree_of("x y < a", "a < all"), {"i": ["x", "y"], "j": ["x"]})
    steps = list[tuple[Any, ...]]()
    audit.run_audit(world.dataset, progress=lambda *step: steps.append(step))
    done = [step for step in steps if step[0] != "applying checks"]

    assert done == [
        ("comparing titles of nodes",),
        ("propagating labels",),
        ("counting pairs", 0, 2, "instances"),
        ("counting pairs", 2, 2, "instances"),
        ("judging pairs",),
        ("judging pairs", 6, None, "pairs"),
        ("scanning pairs",),
    ]


def test_reading_says_how_many_rows_are_read() -> None:
    rows = pl.DataFrame({"instance": [*"aabbc"], "label": ["x"] * 5})
    steps = list[tuple[Any, ...]]()
    audited_in_parts(
        rows, audit.load_hierarchy({"x": "all"}), 2, progress=lambda *step: steps.append(step)
    )

    read = [step for step in steps if step[0] == "reading labels"]
    assert read == [("reading labels", done, None, "rows") for done in (2, 4, 5)]


@pytest.mark.slow
def test_just_as_many_pairs_are_counted_as_may_be() -> None:
    labels = [f"n{n:04}" for n in range(1_000)]
    tree = audit.load_hierarchy(dict.fromkeys([*labels, *"xyz"], "all"))
    rows = pl.DataFrame({"instance": ["i"] * 1_000, "label": labels})
    pairs = 1_000 * 999 // 2

    with audit.limits(pairs=pairs):
        assert audited_in_parts(rows, tree, 500).ledger["rows_mapped"] == 1_000
    with audit.limits(pairs=pairs - 1), pytest.raises(audit.AuditError):
        audited_in_parts(rows, tree, 500)
