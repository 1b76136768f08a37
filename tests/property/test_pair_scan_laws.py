"""The scan over pairs, against plain Python, and in worlds of which it is known what is in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from audit.counting.pair_verdicts import CHANCES, TOLD
from audit.data.dataset import LabelDataset
from audit.engine.statistics import expectation
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from fixtures import brute_force_scan as oracle
from fixtures.brute_force import Pair
from fixtures.examples import examples
from fixtures.labelled import labelled
from fixtures.planted_pairs import COLUMNS, NAMES, Planted, planted


def close(value: float | None) -> object:
    return None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)


def same(value: float | None) -> object:
    """The same number but for the order in which its terms were added."""
    return None if value is None else pytest.approx(value, rel=1e-12, abs=1e-300)


def policy(limits: oracle.Limits, **further: object) -> Policy:
    stated = {
        "least_joint": limits.least_joint,
        "excess_ratio": limits.excess_ratio,
        "false_discovery_rate": limits.rate,
    }
    thresholds = {name: Threshold(value=own, reason="drawn") for name, own in stated.items()}
    return Policy(**thresholds, **further)  # type: ignore[arg-type]


def table(measured: Measurements) -> pl.DataFrame:
    return measured.pairs.frame.collect()


def found(measured: Measurements) -> list[Pair]:
    ranked = table(measured).drop_nulls("found_rank").sort("found_rank")
    assert ranked["found_rank"].to_list() == list(range(1, len(ranked) + 1))
    return ranked.select("a", "b").rows()


def compared(release: Planted, limits: oracle.Limits) -> tuple[oracle.Scanned, Measurements]:
    """A release scanned by both; whether they agree is asserted."""
    further = {"strata": COLUMNS} if release.categories else {}
    measured = measure(release.dataset(), policy(limits, **further))
    wanted = oracle.scan(
        oracle.Release(release.parents, release.labels, release.groups, release.categories), limits
    )
    decided = wanted.narrowest > 1e-9  # else the last bit of some number decides
    assert measured.excess.family == len(wanted.family)
    assert measured.excess.left_out == wanted.left_out
    if decided:
        assert (measured.excess.threshold or None) == close(wanted.threshold)
    for row in table(measured).iter_rows(named=True):
        own = wanted.family.get((row["a"], row["b"]))
        grouped = measured.excess.alike is not None
        shares = wanted.release.shares_of_groups(row["a"], row["b"]) if grouped else []
        assert row["group_sum"] == (close(math.fsum(shares)) if shares else None)
        if own is None:
            assert {name for name in (*CHANCES, *TOLD) if row[name] is not None} <= {"group_sum"}
            continue
        assert row["joint"] - row["joint_entailed"] == own.records
        assert row["observed"] == (close(own.observed) if grouped else None)
        assert row["expected_length"] == close(own.expected)
        assert row["ratio"] == (close(own.observed / own.expected) if own.expected else None)
        if decided:
            assert row["p_value"] == close(own.p_value)
            assert row["q_value"] == close(own.q_value)
            assert row["explained"] == close(own.explained)
            scaled = grouped and own.scale is not None
            assert row["groups"] == (own.groups if scaled else None)
            squares = math.fsum(share**2 for share in shares)
            assert row["group_squares"] == (pytest.approx(squares, rel=1e-8) if scaled else None)
            assert row["effective"] == (close(own.observed / own.scale) if scaled else None)
            assert row["shrunk_ratio"] == close(shrunk(own, own.explained))
    if decided:
        ids, told = measured.hierarchy.nodes, measured.excess.found
        assert found(measured) == wanted.reported
        assert [(ids[a], ids[b]) for a, b in told.select("a", "b").rows()] == wanted.reported
        parents = {pair: wanted.together.get(pair) for pair in wanted.reported}
        named = [None if parent is None else ids[parent] for parent in told["parent"]]
        assert named == list(parents.values())
        reported = [one for one in wanted.found if one.reported]
        for line, one in zip(told.iter_rows(named=True), reported, strict=True):
            own = wanted.family[one.pair]
            assert (line["instances"], line["groups"]) == (own.records, own.groups * grouped)
            assert line["strength"] == close(one.strength)
            assert line["explained"] == close(one.explained)
            assert line["shrunk_ratio"] == close(shrunk(own, one.explained))
    return wanted, measured


def shrunk(own: oracle.Judged, explained: float | None) -> float | None:
    """How many times as many effective records a pair has as are explained, drawn to 1."""
    each = own.scale or 1.0
    return None if explained is None else (own.observed / each + 0.5) / (explained / each + 0.5)


@st.composite
def releases(draw: st.DrawFn, tree: bool | None = None, further: bool = True) -> Planted:
    """Releases in which pairs were planted, some of them with groups or further columns."""
    return planted(
        draw(st.integers(0, 2**32)),
        tree=draw(st.booleans()) if tree is None else tree,
        grouped=further and draw(st.booleans()),
        crossed=further and draw(st.booleans()),
    )


limits = st.builds(
    oracle.Limits,
    least_joint=st.sampled_from([2, 3, 5]),
    excess_ratio=st.sampled_from([1.05, 1.5, 3.0]),
    rate=st.sampled_from([0.05, 0.3, 0.9]),
)


@given(releases(), limits)
@examples(60)
def test_every_pair_is_judged_and_found_as_in_plain_python(
    release: Planted, stated: oracle.Limits
) -> None:
    compared(release, stated)


LARGE = {"nodes": 30, "records": 1500}


@pytest.mark.parametrize(
    ("seed", "drawn", "stated"),
    [
        pytest.param(400154, LARGE, (3, 1.5, 0.3), id="nodes meet where most records are"),
        pytest.param(100117, {}, (2, 1.5, 0.9), id="a tenth of the smaller support is entailed"),
        pytest.param(300097, LARGE, (2, 1.5, 0.9), id="the odds of a frequent node"),
        pytest.param(300243, LARGE, (2, 3.0, 0.9), id="what others explain is not reported"),
        pytest.param(11, {"crossed": True}, (2, 3.0, 0.9), id="a stratum of one record"),
        pytest.param(
            1, {"grouped": True, "crossed": True}, (2, 1.5, 0.9), id="records of a group weigh less"
        ),
        pytest.param(24, {"grouped": True}, (2, 3.0, 0.9), id="groups say that it is no excess"),
    ],
)
def test_a_release_on_which_one_rule_decides_is_scanned_as_in_plain_python(
    seed: int, drawn: dict[str, int], stated: tuple[int, float, float]
) -> None:
    release = planted(seed, tree=seed % 3 == 0, **drawn)  # type: ignore[arg-type]
    compared(release, oracle.Limits(*stated))


@given(releases(tree=False), st.randoms(use_true_random=False))
@examples(20)
def test_names_that_keep_their_order_and_another_order_of_records_change_nothing(
    release: Planted, random: Random
) -> None:
    shuffled = random.sample(sorted(release.labels), len(release.labels))
    record = {name: f"j{place:03}" for place, name in enumerate(shuffled)}
    node = {name: f"n{place:03}" for place, name in enumerate(release.nodes)}
    renamed = release.renamed(node, record)

    assert_same_but_for_names(release, renamed, node)


@given(releases(tree=True), st.randoms(use_true_random=False))
@examples(20)
def test_other_names_of_a_tree_permute_all_that_no_tie_decides(
    release: Planted, random: Random
) -> None:
    limits = oracle.Limits(2, 1.5, 0.3)
    given = oracle.Release(release.parents, release.labels, release.groups, release.categories)
    assume(not oracle.scan(given, limits).tied)
    shuffled = random.sample(release.nodes, len(release.nodes))
    node = {name: f"n{place:03}" for place, name in enumerate(shuffled)}

    assert_same_but_for_names(release, release.renamed(node, {r: r for r in release.labels}), node)


def assert_same_but_for_names(before: Planted, after: Planted, node: Mapping[str, str]) -> None:
    stated = policy(oracle.Limits(2, 1.5, 0.3), strata=COLUMNS if before.categories else ())
    first, second = (measure(one.dataset(), stated) for one in (before, after))
    wanted = {frozenset({node[r["a"]], node[r["b"]]}): r for r in table(first).to_dicts()}
    assert second.excess.family == first.excess.family
    assert len(table(second)) == len(wanted)
    for row in table(second).iter_rows(named=True):
        own = wanted[frozenset({row["a"], row["b"]})]
        by_node = {node[own["a"]]: own["support_a"], node[own["b"]]: own["support_b"]}
        assert {row["a"]: row["support_a"], row["b"]: row["support_b"]} == by_node
        assert node[own["lca"]] == row["lca"]
        for name in ("joint", "joint_entailed", "found_rank", "relation"):
            assert row[name] == own[name]
        for name in ("rate", "confusion", "expected", "lift", *CHANCES, *TOLD):
            assert row[name] == same(own[name])


@given(releases(), st.data())
@examples(20)
def test_an_unused_leaf_changes_no_other_node(release: Planted, data: st.DataObject) -> None:
    parent = data.draw(st.sampled_from(release.nodes))
    leaf = data.draw(st.sampled_from(["a0", "d0", "z0"]))
    grown = replace(release, edges=release.edges | {(leaf, parent)})
    stated = policy(oracle.Limits(2, 1.5, 0.3), strata=COLUMNS if release.categories else ())
    before, after = measure(release.dataset(), stated), measure(grown.dataset(), stated)
    columns = [name for name in table(before).columns if name not in ("relation", "lca")]
    assert after.excess.family == before.excess.family
    for row, own in zip(
        table(after).select(columns).rows(), table(before).select(columns).rows(), strict=True
    ):
        assert row == tuple(same(value) if isinstance(value, float) else value for value in own)


@given(releases(), limits)
@examples(20)
def test_comparable_pairs_are_never_judged(release: Planted, stated: oracle.Limits) -> None:
    further = {"strata": COLUMNS} if release.categories else {}
    pairs = table(measure(release.dataset(), policy(stated, **further)))
    comparable = pairs.filter(pl.col("relation") == "ancestor")

    assert all(comparable[name].null_count() == len(comparable) for name in (*CHANCES, *TOLD))
    assert comparable["joint_entailed"].equals(comparable["joint"])


@pytest.mark.parametrize("seed", range(6))
def test_of_many_branches_the_smallest_are_one(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    assert expectation.MOST_BRANCHES == oracle.MOST_BRANCHES == 200
    monkeypatch.setattr(expectation, "MOST_BRANCHES", 4)
    monkeypatch.setattr(oracle, "MOST_BRANCHES", 4)
    rng = Random(seed)
    branches = rng.sample(NAMES, 9)
    edges = {(branch, "root") for branch in branches}
    edges |= {(f"{x}.{leaf}", x) for x in branches for leaf in range(rng.randint(1, 4))}
    leaves = sorted({child for child, parent in edges if parent != "root"})
    labels = {f"i{n:03}": frozenset(rng.sample(leaves, rng.randint(1, 4))) for n in range(160)}
    pair = rng.sample(leaves, 2)
    labels |= {f"j{n:03}": frozenset([*pair, rng.choice(leaves)]) for n in range(15)}
    release = Planted(frozenset(edges), labels)
    own = oracle.Release(release.parents, release.labels).labels_of_branch

    assert sum(len(labels) >= 2 for labels in own.values()) == 4
    compared(release, oracle.Limits(2, 1.5, 0.3))


def two_level(codes: int, parents: int) -> Hierarchy:
    """Codes dealt out to parents below one root."""
    edges = [(f"c{i:03}", f"p{i % parents:02}") for i in range(codes)]
    edges += [(f"p{i:02}", "root") for i in range(parents)]
    return built(edges)


def built(edges: list[tuple[str, str]]) -> Hierarchy:
    frame = pl.DataFrame(sorted(edges), schema=["child", "parent"], orient="row")
    return Hierarchy.build(frame, name="built")


def independent(
    rng: np.random.Generator, instances: int, codes: int, lengths: np.ndarray
) -> dict[str, list[str]]:
    """Codes drawn by Zipf weights without regard to each other, as many as each length says."""
    weight = rng.permutation(1 / np.arange(1, codes + 1))
    order = np.argsort(-(rng.gumbel(size=(instances, codes)) + np.log(weight)), axis=1)
    return {
        f"i{n:05}": [f"c{code:03}" for code in row[:length].tolist()]
        for n, (row, length) in enumerate(zip(order, lengths.tolist(), strict=True))
    }


def unequal_lengths(rng: np.random.Generator, instances: int) -> np.ndarray:
    return np.minimum(1 + rng.negative_binomial(1, 0.1, instances), 60)


def audited(
    hierarchy: Hierarchy,
    labels: Mapping[str, list[str]],
    groups: Mapping[str, str] | None = None,
) -> Measurements:
    dataset: LabelDataset = labelled(hierarchy, labels, groups=groups)
    return measure(dataset, Policy())


def test_without_an_effect_nothing_is_found_and_without_strata_much_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(7)
    labels = independent(rng, 5000, 200, unequal_lengths(rng, 5000))
    measured = audited(two_level(200, 15), labels)
    monkeypatch.setattr(
        "audit.counting.dataset.length_cuts", lambda histogram: np.array([], np.int64)
    )
    blind = audited(two_level(200, 15), labels)
    common = table(measured).filter(pl.col("expected_length") > 20)

    assert measured.excess.family > 10_000
    assert found(measured) == []
    assert measured.excess.threshold == 0 or measured.excess.threshold is None
    assert common["ratio"].median() == pytest.approx(1, abs=0.02)
    assert len(found(blind)) > 10


def test_traits_repeated_over_a_patients_stays_are_found_only_without_groups() -> None:
    rng = np.random.default_rng(11)
    patients, codes = 500, 150
    traits = independent(rng, patients, codes, np.full(patients, 4))
    labels: dict[str, list[str]] = {}
    groups: dict[str, str] = {}
    for patient, own in traits.items():
        for stay in range(1 + int(rng.geometric(0.15))):
            name = f"{patient}-{stay:02}"
            extra = rng.choice(codes, 3, replace=False).tolist()
            labels[name] = sorted({*own, *(f"c{code:03}" for code in extra)})
            groups[name] = patient

    assert len(found(audited(two_level(codes, 12), labels))) > 50
    assert found(audited(two_level(codes, 12), labels, groups)) == []


CHILDREN = 8


def world(
    rng: np.random.Generator, instances: int, largest: float
) -> tuple[Hierarchy, dict[str, set[str]]]:
    """Independent labels of many parents, the first child of a parent a given part of it.

    Two chapters with nine parents each, eight children a parent: ``A1.1`` to ``B9.8``.
    """
    parents = [f"{chapter}{number}" for chapter in "AB" for number in range(1, 10)]
    edges = [(chapter, "root") for chapter in "AB"] + [(parent, parent[0]) for parent in parents]
    edges += [(f"{parent}.{i}", parent) for parent in parents for i in range(1, CHILDREN + 1)]
    share = [largest, *[(1 - largest) / (CHILDREN - 1)] * (CHILDREN - 1)]
    labels: dict[str, set[str]] = {f"i{n:05}": set() for n in range(instances)}
    for parent in parents:
        for child, part in enumerate(share, start=1):
            for record in np.flatnonzero(rng.random(instances) < 0.12 * part):
                labels[f"i{record:05}"].add(f"{parent}.{child}")
    return built(edges), labels


def plant(
    rng: np.random.Generator, labels: dict[str, set[str]], times: int, *sides: list[str]
) -> None:
    """A label of each side in some records."""
    for record in rng.choice(sorted(labels), times, replace=False):
        labels[record] |= {str(rng.choice(side)) for side in sides}


def scanned(hierarchy: Hierarchy, labels: Mapping[str, set[str]]) -> list[Pair]:
    return found(audited(hierarchy, {record: sorted(own) for record, own in labels.items()}))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_planted_pair_is_found_as_itself_without_mirror_or_ancestors(share: float) -> None:
    rng = np.random.default_rng(int(10 * share))
    hierarchy, labels = world(rng, 4000, share)
    plant(rng, labels, 30 + int(130 * share), ["A1.1"], ["B1.1"])

    assert scanned(hierarchy, labels) == [("A1.1", "B1.1")]


def test_a_diffuse_association_is_found_once_and_a_local_one_beside_it() -> None:
    rng = np.random.default_rng(2)
    hierarchy, labels = world(rng, 4000, 1 / CHILDREN)
    sides = [[f"{parent}.{i}" for i in range(1, CHILDREN + 1)] for parent in ("A1", "B1")]
    plant(rng, labels, 200, *sides)

    assert scanned(hierarchy, labels) == [("A1", "B1")]

    plant(rng, labels, 30, ["A1.3"], ["B1.5"])

    assert set(scanned(hierarchy, labels)) == {("A1", "B1"), ("A1.3", "B1.5")}


def test_a_diagonal_is_its_pairs_and_not_their_parents() -> None:
    rng = np.random.default_rng(3)
    hierarchy, labels = world(rng, 4000, 1 / CHILDREN)
    diagonal = [(f"A1.{i}", f"B1.{i}") for i in range(1, CHILDREN + 1)]
    for pair in diagonal:
        plant(rng, labels, 50, *([node] for node in pair))

    assert sorted(scanned(hierarchy, labels)) == diagonal


def test_children_of_one_parent_that_all_meet_are_told_under_it() -> None:
    rng = np.random.default_rng(4)
    hierarchy, labels = world(rng, 4000, 1 / CHILDREN)
    together = list(combinations(["A1.1", "A1.2", "A1.3"], 2))
    for name in hierarchy.nodes:
        if name.startswith("A1.") and name > "A1.3":
            for own in labels.values():
                own.discard(name)
    for pair in together:
        plant(rng, labels, 60, *([node] for node in pair))
    measured = audited(hierarchy, {record: sorted(own) for record, own in labels.items()})
    told = {hierarchy.nodes[parent] for parent in measured.excess.found["parent"].to_list()}

    assert sorted(found(measured)) == together
    assert told == {"A1"}


@pytest.mark.parametrize("common", [0.55, 0.7])
def test_a_very_frequent_node_is_reported_by_its_odds(common: float) -> None:
    rng = np.random.default_rng(5)
    hierarchy, labels = world(rng, 4000, 1 / CHILDREN)
    for own in labels.values():
        if rng.random() < 0.15:
            own.add("B2.2")
        if rng.random() < (0.97 if "B2.2" in own else common):
            own.add("A2.1")
    measured = audited(hierarchy, {record: sorted(own) for record, own in labels.items()})
    strongest = table(measured).row(by_predicate=pl.col("found_rank") == 1, named=True)

    assert (strongest["a"], strongest["b"]) == ("A2.1", "B2.2")
    assert strongest["ratio"] < 1.5


def test_two_nodes_that_only_meet_through_a_common_descendant_are_not_judged() -> None:
    edges = [("x", "left"), ("x", "right"), ("left", "root"), ("right", "root"), ("other", "root")]
    labels = {f"i{n:03}": ["x", "other"] if n % 4 == 0 else ["other", "left"] for n in range(200)}
    measured = audited(built(edges), labels)
    row = table(measured).row(
        by_predicate=(pl.col("a") == "left") & (pl.col("b") == "right"), named=True
    )

    assert (row["joint"], row["joint_entailed"], row["p_value"]) == (50, 50, None)
    assert measured.excess.left_out == 1
    assert found(measured) == []


def test_parents_that_share_a_frequent_leaf_are_no_finding() -> None:
    rng = np.random.default_rng(6)
    parents = [f"p{number}" for number in range(6)]
    edges = [(parent, "root") for parent in parents]
    edges += [(f"{parent}.{i}", parent) for parent in parents for i in range(6)]
    edges += [("shared", "p0"), ("shared", "p1")]
    leaves = sorted({child for child, parent in edges if parent != "root"})
    share = {leaf: 0.2 if leaf == "shared" else 0.08 for leaf in leaves}
    labels = {
        f"i{n:05}": [leaf for leaf in leaves if rng.random() < share[leaf]] for n in range(3000)
    }

    assert found(audited(built(edges), labels)) == []


def test_where_no_instance_has_two_labels_nothing_is_judged() -> None:
    nothing: tuple[dict[str, list[str]], ...] = ({}, {"i": []}, {"i": ["c000"]})
    for labels in nothing:
        measured = audited(two_level(4, 2), labels)

        assert measured.excess.family == 0
        assert table(measured)["expected_length"].null_count() == len(table(measured))


def test_a_tail_of_plain_python_is_the_sum_of_its_terms() -> None:
    below = math.fsum(math.exp(-3.5) * 3.5**k / math.factorial(k) for k in range(6))

    assert oracle.poisson_tail(6, 3.5) == pytest.approx(1 - below, rel=1e-12)
