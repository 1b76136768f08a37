"""What records weigh beside others of their group, and how pairs are judged by these weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit import Policy
from audit.counting.pair_verdicts import CHANCES, TOLD
from audit.engine.pairs import sums
from audit.engine.pairs.pair_counts import count_pairs
from audit.engine.pairs.sums import UNIT, weighed_sums
from audit.engine.statistics import grouped as grouped_records
from audit.engine.statistics.grouped import joint_weights
from audit.measure.measure import Measurements, measure
from fixtures import brute_force_scan as oracle
from fixtures.brute_force import above
from fixtures.examples import examples
from fixtures.planted_pairs import Planted, planted

weights = st.lists(st.tuples(st.integers(0, 6), st.integers(0, UNIT)), max_size=40)


def measured(release: Planted) -> Measurements:
    return measure(release.dataset(), Policy())


def table(found: Measurements) -> pl.DataFrame:
    return found.pairs.frame.collect()


def grouped(seed: int, groups: Mapping[str, str] | None = None) -> Planted:
    release = planted(seed, tree=seed % 2 == 0, grouped=True)
    return release if groups is None else replace(release, groups=groups)


@given(weights, st.randoms(use_true_random=False))
def test_weights_add_up_exactly_in_any_order(rows: list[tuple[int, int]], random: Random) -> None:
    for some in (rows, random.sample(rows, len(rows))):
        keys, weight = np.array(some, np.int64).reshape(-1, 2).T
        wanted = [sum(own for key, own in rows if key == one) for one in range(7)]
        assert weighed_sums(keys, weight, 7).tolist() == wanted
        with patch.object(sums, "EXACT", 0):
            assert weighed_sums(keys, weight, 7).tolist() == wanted


@given(st.integers(0, 2**16))
def test_weights_of_pairs_are_those_of_the_records_with_both(seed: int) -> None:
    random = np.random.default_rng(seed)
    carried = random.random((12, 9)) < 0.4
    weights = random.integers(1, UNIT, (2, 12), endpoint=True)
    matrix = csr_array(carried.astype(np.int64))
    counts = count_pairs(matrix)
    wanted = np.einsum("wi,ia,ib->wab", weights, carried, carried)
    for at_once in (1 << 20, 5):
        with patch.object(grouped_records, "EXACT_AT_ONCE", at_once):
            found = joint_weights(counts, matrix, (weights[0], weights[1]))
        assert np.array_equal(found, wanted[:, counts.a, counts.b])


def test_weights_of_pairs_are_found_among_more_nodes_than_32_bits_have_pairs_of() -> None:
    last = csr_array(([1, 1, 1, 1], ([0, 0, 1, 1], [69_998, 69_999] * 2)), (2, 70_000))
    weights = np.array([UNIT, UNIT // 2])
    found = joint_weights(count_pairs(last), last, (weights, weights))
    assert [own.tolist() for own in found] == [[UNIT + UNIT // 2]] * 2


@given(st.integers(0, 2**16))
@examples(30)
def test_instances_weigh_what_the_likeness_of_their_groups_leaves(seed: int) -> None:
    release = grouped(seed)
    plain = oracle.Release(release.parents, release.labels, release.groups)
    found = measured(release).excess.alike
    if found is None:
        assert all(len(own) == 1 for own in plain.members.values()) or not plain.all_specific
        return
    instances = sorted(release.labels)
    assert found.share == pytest.approx(plain.alike, abs=1e-12)
    labelled = [name for name in instances if release.labels[name]]
    assert found.weighs == pytest.approx(sum(map(plain.weight, labelled)), rel=1e-9)
    own = dict(zip(instances, (found.weight / UNIT).tolist(), strict=True))
    assert [own[name] for name in labelled] == pytest.approx([*map(plain.weight, labelled)])
    assert found.several == sum(len(members) > 1 for members in plain.members.values())


@given(st.integers(0, 2**16))
@examples(20)
def test_nodes_and_pairs_are_summed_over_groups_by_their_shares(seed: int) -> None:
    """Each group counts once; squares of a pair are known where it has a scale."""
    release = grouped(seed)
    found = measured(release)
    plain = oracle.Release(release.parents, release.labels, release.groups)
    alone = [{name} for name in release.labels] if found.excess.alike is None else ()
    members = [{n for n in own if release.labels[n]} for own in alone or plain.members.values()]
    lines = {node: {node, *above(release.parents, node)} for node in release.parents}
    up = {name: Counter(at for x in own for at in lines[x]) for name, own in release.labels.items()}
    for row in found.nodes.iter_rows(named=True):
        counts = [[up[name][row["node"]] for name in own] for own in members if own]
        shares = [sum(map(bool, own)) / len(own) for own in counts]
        wanted = (sum(shares), sum(x * x for x in shares))
        assert (row["group_sum"], row["group_squares"]) == pytest.approx(wanted)
    apart = pl.col("group_sum").is_not_null() & (pl.col("relation") != "ancestor")
    for row in table(found).filter(apart).iter_rows(named=True):
        a, b = row["a"], row["b"]
        met = {n for n, own in up.items() if own[a] and own[b]}
        met -= {n for n in met if any({a, b} <= lines[x] for x in release.labels[n])}
        shares = [len(own & met) / len(own) for own in members if own]
        assert row["group_sum"] == pytest.approx(sum(shares), abs=1e-6)
        assert row["group_squares"] in (None, pytest.approx(sum(x * x for x in shares)))


@given(st.integers(0, 2**16), st.randoms(use_true_random=False))
@examples(20)
def test_other_names_of_groups_change_no_bit(seed: int, random: Random) -> None:
    release = grouped(seed)
    names = sorted(set((release.groups or {}).values()))
    other = dict(zip(names, random.sample(names, len(names)), strict=True))
    renamed = {record: other[group] for record, group in (release.groups or {}).items()}
    assert table(measured(grouped(seed, renamed))).equals(table(measured(release)))


@pytest.mark.parametrize("groups", ["each its own", "none"])
def test_groups_of_one_are_judged_as_without_groups(groups: str) -> None:
    release = grouped(7)
    own = {name: name for name in release.labels} if groups == "each its own" else {}
    found = measured(replace(release, groups=own))
    assert table(found).equals(table(measured(replace(release, groups=None))))
    assert table(found)["observed"].null_count() == len(table(found))


def test_instances_of_a_group_that_share_nothing_weigh_one_each() -> None:
    labels = {f"i{n:03}": frozenset({f"a{1 + n % 6}", f"b{1 + n % 6}"}) for n in range(120)}
    edges = {(f"{x}{y}", x) for x in "ab" for y in range(1, 7)} | {("a", "r"), ("b", "r")}
    release = Planted(frozenset(edges), labels)
    apart = replace(release, groups={f"i{n:03}": f"g{n // 6}" for n in range(120)})
    found, plain = table(measured(apart)), table(measured(release))
    assert measured(apart).excess.alike.share == 0  # type: ignore[union-attr]
    judged = found.drop_nulls("expected_length")
    assert judged["observed"].to_list() == judged["joint"].to_list()
    same = ("joint", "expected_length", "ratio")
    assert found.select(same).equals(plain.select(same))
    assert {*CHANCES, *TOLD} <= set(found.columns)


def test_two_that_alone_carry_a_label_are_wholly_alike() -> None:
    labels = {name: frozenset({node}) for name, node in (("i", "a"), ("j", "a"), ("k", "b"))}
    release = Planted(frozenset({("a", "r"), ("b", "r")}), labels, {"i": "p", "j": "p", "k": "q"})
    assert measured(release).excess.alike.share == 1  # type: ignore[union-attr]


def stays(own: int, groups: Mapping[str, str]) -> Measurements:
    """A pair that so many of 400 records carry, beside others with one of the two."""
    edges = {(f"{x}{y}", x) for x in "ab" for y in range(1, 9)} | {("a", "r"), ("b", "r")}
    random = Random(3)
    labels = {
        f"i{n:03}": frozenset(
            {"a1", "b1"}
            if n < own
            else {f"{random.choice('ab')}{random.randint(2, 8)}" for _ in range(3)}
        )
        for n in range(400)
    }
    return measured(Planted(frozenset(edges), labels, groups))


def test_a_pair_that_one_person_holds_alone_is_none_and_that_of_many_persons_is() -> None:
    one = {f"i{n:03}": "p" if n < 30 else f"q{n}" for n in range(400)}
    two = {f"i{n:03}": f"p{n // 2}" for n in range(400)}
    pairs = [stays(30, groups).excess.found.select("a", "b").rows() for groups in (one, two)]
    assert pairs[0] == []
    assert len(pairs[1]) == 1
    found = stays(30, two).excess.found.row(0, named=True)
    assert (found["instances"], found["groups"]) == (30, 15)
    assert found["groups"] <= found["observed"] <= found["instances"]
    assert found["effective"] <= found["instances"]


@pytest.mark.parametrize("persons", [1, 2])
def test_one_group_of_all_and_hundreds_of_stays_of_one_person_find_nothing(persons: int) -> None:
    groups = {f"i{n:03}": f"p{n % persons if n < 300 else 0}" for n in range(400)}
    found = stays(60, groups).excess
    assert found.alike is not None
    assert found.found.is_empty()
