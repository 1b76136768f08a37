"""Pairs judged from counts alone are judged as their instances are."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.engine import expectation
from audit.engine.entailed import sole_labels
from audit.engine.expectation import Comparisons, comparisons, expect
from audit.engine.folding import pairs_above, topmost
from audit.engine.intervals import LEVEL
from audit.engine.judgement import Judged
from audit.engine.pairs import count_pairs, support
from audit.engine.propagation import aggregate
from audit.engine.ratios import ratio_bounds
from audit.engine.records import records
from audit.engine.remeasured import CountRatios, InstanceRatios
from audit.engine.strata import strata_of
from audit.engine.stratified import Cells, Stratified, stratify
from audit.excess import Excess, Labelled, judge_counted_pairs, judge_pairs
from audit.hierarchy import Hierarchy
from audit.pair_table import pair_table
from audit.policy import Policy, Threshold
from audit.progress import silent
from audit.verdicts import with_verdicts
from fixtures import brute_force as plain
from fixtures.counted_pairs import counted_pairs
from fixtures.labelled import labelled
from fixtures.strategies import hierarchies, label_sets, trees

Labels = dict[str, list[str]]
TABLES = ("joint", "variance", "n", "first", "second")
SAME = ("expected_given", "ratio", "p_value", "q_value")


def policy(excess: float = 1.0, rate: float = 1.0) -> Policy:
    """One that flags much: whatever has an excess of that size."""
    return Policy(
        expected_support=Threshold(value=0.3, reason="small datasets"),
        excess_ratio=Threshold(value=excess, reason="to flag much"),
        false_discovery_rate=Threshold(value=rate, reason="to flag much"),
    )


@st.composite
def releases(draw: st.DrawFn) -> tuple[Hierarchy, Labels]:
    drawn = st.one_of(trees(titled=False), hierarchies(max_nodes=8, titled=False))
    hierarchy = draw(drawn)
    sets = draw(label_sets(hierarchy, max_instances=24, max_labels=5))
    return hierarchy, {f"i{n:02}": sorted(labels) for n, labels in enumerate(sets)}


def large(seed: int, instances: int = 500) -> tuple[Hierarchy, Labels]:
    """Three levels, some leaves below two nodes; of some nodes a child goes with one of another."""
    rng = np.random.default_rng(seed)
    middle = [f"{branch}{number}" for branch in "pqr" for number in range(2)]
    leaves = [f"{node}{number}" for node in middle for number in "xyz"]
    edges = {(node, node[:-1]) for node in [*leaves, *middle]} | {
        (branch, "top") for branch in "pqr"
    }
    edges |= {(leaf, str(rng.choice(middle))) for leaf in rng.choice(leaves, 3).tolist()}
    frame = pl.DataFrame(sorted(edges), schema=["child", "parent"], orient="row")
    labels = {
        f"i{n:03}": set(rng.choice(leaves, size=rng.integers(0, 5), replace=False).tolist())
        for n in range(instances)
    }
    for _ in range(4):
        a, b = rng.choice(middle, size=2, replace=False).tolist()
        for own in list(labels.values())[:: int(rng.integers(12, 20))]:
            own |= {f"{a}{rng.choice(list('xy'))}", f"{b}x"}
    return Hierarchy.build(frame, name="drawn"), {i: sorted(own) for i, own in labels.items()}


def all_comparisons(hierarchy: Hierarchy) -> Comparisons:
    """Of every two nodes below the root, carried or not, with every choice of parents."""
    parents = plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    below = [place for place, node in enumerate(hierarchy.nodes) if parents[node]]
    pairs = np.array([(a, b) for a in below for b in below if a != b], np.int64).reshape(-1, 2)
    siblings = [
        bool(parents[hierarchy.nodes[a]] & parents[hierarchy.nodes[b]]) for a, b in pairs.tolist()
    ]
    return comparisons(pairs[:, 0], pairs[:, 1], np.array(siblings, np.bool_), hierarchy.edges)


def in_memory(hierarchy: Hierarchy, labels: Labels, cuts: Sequence[int]) -> Stratified:
    direct = labelled(hierarchy, labels).direct
    lengths = np.diff(direct.indptr).astype(np.int64)
    sole = sole_labels(direct, hierarchy.closure)
    return stratify(direct, sole, strata_of(lengths, np.array(cuts, np.int64)))


def assert_the_same_is_expected(hierarchy: Hierarchy, labels: Labels, cuts: Sequence[int]) -> None:
    own, of_counts = (
        in_memory(hierarchy, labels, cuts),
        counted_pairs(hierarchy, labels, cuts).strata,
    )
    asked = all_comparisons(hierarchy)
    wanted, found = expect(own, asked), expect(of_counts, asked)

    assert of_counts.size.tolist() == own.size.tolist()
    assert of_counts.free.tolist() == own.free.tolist()
    for name in TABLES:
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist()


cut_points = st.sets(st.integers(3, 6)).map(lambda later: [2, *sorted(later)])


@given(releases(), cut_points)
@settings(max_examples=120)
def test_counts_expect_the_very_numbers_that_instances_do(
    release: tuple[Hierarchy, Labels], cuts: list[int]
) -> None:
    assert_the_same_is_expected(*release, cuts)


@given(releases(), cut_points)
@settings(max_examples=40)
def test_so_do_counts_looked_up_sparsely_and_in_small_chunks(
    release: tuple[Hierarchy, Labels], cuts: list[int]
) -> None:
    with (
        patch.object(expectation, "DENSE_CELLS", 0),
        patch.object(expectation, "CHUNK", 3),
    ):
        assert_the_same_is_expected(*release, cuts)


@pytest.mark.parametrize("seed", range(4))
def test_so_do_counts_beyond_a_byte(seed: int) -> None:
    assert_the_same_is_expected(*large(seed, instances=900), [2])


def test_joint_counts_of_a_stratum_are_given_up_before_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expectation, "DENSE_CELLS", 0)  # so that what is given is looked up in
    hierarchy, labels = large(0)
    strata = counted_pairs(hierarchy, labels).strata
    asked: list[int] = []
    given_before: list[weakref.ref[np.ndarray]] = []

    def beside(stratum: int, cells: Cells) -> np.ndarray:
        assert all(before() is None for before in given_before)
        found = strata.beside(stratum, cells)
        asked.append(stratum)
        given_before.append(weakref.ref(found))
        return found

    expect(replace(strata, beside=beside), all_comparisons(hierarchy))

    assert len(strata.size) > 2
    assert asked == list(range(len(strata.size)))


def both_judged(
    hierarchy: Hierarchy, labels: Labels, by: Policy
) -> tuple[tuple[pl.DataFrame, Excess], tuple[pl.DataFrame, Excess]]:
    """Judged from instances, then from counts with what plain Python says one label explains."""
    dataset = labelled(hierarchy, labels)
    aggregated = aggregate(dataset.direct, hierarchy.closure)
    supports = support(aggregated)
    pairs = pair_table(hierarchy, count_pairs(aggregated), supports)
    release = Labelled(dataset.direct, supports, dataset.instances["instance"].to_list())
    parents = plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    sets = {instance: set(own) for instance, own in labels.items()}
    entailed = [
        joint - len(plain.with_two_labels(parents, sets, a, b))
        for a, b, joint in pairs.select("a", "b", "joint").iter_rows()
    ]
    table = pairs.with_columns(pl.Series("joint_entailed", entailed, pl.Int64))
    counted = counted_pairs(hierarchy, labels)
    lines = table.with_row_index("line")
    parts = (lines[start : start + 2] for start in range(0, len(lines) + 1, 2))
    with patch("audit.excess.PAIRS_AT_ONCE", 5):
        verdicts, excess = judge_counted_pairs(hierarchy, counted, parts, by)
    return judge_pairs(hierarchy, release, pairs, by), (with_verdicts(table, verdicts), excess)


def assert_judged_alike(
    hierarchy: Hierarchy, labels: Labels, by: Policy
) -> tuple[pl.DataFrame, pl.DataFrame]:
    (wanted, excess), (found, of_counts) = both_judged(hierarchy, labels, by)

    assert found.columns == wanted.columns
    assert found.select(SAME).equals(wanted.select(SAME))
    assert (of_counts.family, of_counts.cuts) == (excess.family, excess.cuts)
    assert (of_counts.level, of_counts.why_not) == (excess.level, excess.why_not)
    apart = ("folded_into", "ratio_low", "ratio_high")
    assert of_counts.found.drop(apart).equals(excess.found.drop(apart))
    standing = found["ratio_low"].is_not_null() & wanted["ratio_low"].is_not_null()
    own, resampled = found.filter(standing), wanted.filter(standing)
    assert (own["ratio_low"] >= resampled["ratio_low"]).all()
    assert (own["ratio_high"] <= resampled["ratio_high"]).all()
    told = set(of_counts.found.filter(pl.col("folded_into").list.len() == 0)["line"])
    assert set(np.flatnonzero(found["ratio_low"].is_not_null().to_numpy()).tolist()) == told
    return excess.found, of_counts.found


@given(releases(), st.sampled_from([1.0, 1.2]), st.sampled_from([1.0, 0.3]))
@settings(max_examples=80)
def test_pairs_are_judged_alike(
    release: tuple[Hierarchy, Labels], excess: float, rate: float
) -> None:
    assert_judged_alike(*release, policy(excess, rate))


@pytest.mark.parametrize("seed", range(8))
def test_pairs_of_large_tables_are_judged_alike(seed: int) -> None:
    hierarchy, labels = large(seed)

    for found in assert_judged_alike(hierarchy, labels, policy()):
        assert 0 < (found["folded_into"].list.len() > 0).sum() < len(found)


@given(releases(), st.data())
@settings(max_examples=80)
def test_what_counts_leave_of_a_pair_is_never_more_than_there_is(
    release: tuple[Hierarchy, Labels], data: st.DataObject
) -> None:
    assert_no_more_is_left(*release, lambda below: data.draw(st.sets(st.sampled_from(below))))


@pytest.mark.parametrize("seed", range(6))
def test_nor_of_a_pair_of_many_instances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert_no_more_is_left(*large(seed), lambda below: [p for p in below if rng.random() < 0.4])


def assert_no_more_is_left(hierarchy: Hierarchy, labels: Labels, chosen: object) -> None:
    """Ratio and lower bound of each pair without some pairs below it, from counts and instances."""
    instances, judged = measured(hierarchy, labels)
    by_instances, by_counts = instances.without(judged), CountRatios().without(judged)
    above = pairs_above(judged.given.a, judged.given.b, hierarchy.closure)
    joint_of = [instances.records.joint(*pair).tolist() for pair in judged.given.pairs()]
    for place in range(len(judged)):
        below = [other for other in range(len(judged)) if place in above[other]]
        some = sorted(chosen(below)) if below else []  # type: ignore[operator]
        highest = topmost(some, above)
        real, found = by_instances(place, highest), by_counts(place, highest)
        joint = {*joint_of[place]}.difference(*(joint_of[other] for other in some))
        assert found.value * judged.expected[place] <= len(joint) * (1 + 1e-12)
        of_all = by_instances(place, some)
        assert (of_all.value, of_all.spread) == (real.value, real.spread)
        if joint and math.isinf(real.spread):
            continue  # nothing is expected any more, so that instances leave no ratio
        low, real_low = (ratio_bounds(r.value, r.spread, LEVEL)[0] for r in (found, real))
        assert found.value <= real.value * (1 + 1e-12)
        assert found.spread >= real.spread
        assert low <= real_low * (1 + 1e-12)
        if not some:
            assert (found.value, found.spread) == pytest.approx((real.value, real.spread))


def measured(
    hierarchy: Hierarchy, labels: Mapping[str, list[str]]
) -> tuple[InstanceRatios, Judged]:
    """Every comparison of pairs with an expectation as if it were a judged pair of its own."""
    direct = labelled(hierarchy, labels).direct
    sole = sole_labels(direct, hierarchy.closure)
    number = strata_of(np.diff(direct.indptr).astype(np.int64), np.array([2, 3, 4]))
    strata, own = stratify(direct, sole, number), records(sole, number, None)
    asked = all_comparisons(hierarchy)
    asked = asked[
        np.flatnonzero((asked.a < asked.b) & first_of_pair(asked) & apart(asked, hierarchy))
    ]
    expected = expect(strata, asked).joint
    asked, expected = asked[expected > 0], expected[expected > 0]
    observed = np.array([len(own.joint(a, b)) for a, b in asked.pairs()], np.float64)
    judged = Judged(asked, observed, expected, np.ones(len(asked)))
    return InstanceRatios(strata, own, list(labels), 0, silent), judged


def first_of_pair(asked: Comparisons) -> np.ndarray:
    return np.diff(asked.pair, prepend=-1) > 0


def apart(asked: Comparisons, hierarchy: Hierarchy) -> np.ndarray:
    names = ((hierarchy.nodes[a], hierarchy.nodes[b]) for a, b in asked.pairs())
    return np.array([hierarchy.relation(a, b) != "ancestor" for a, b in names], np.bool_)
