"""What holds of every judged pair, against plain Python, and of releases without any effect."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from audit.engine.fdr import benjamini_hochberg
from audit.engine.pairs import count_pairs, support
from audit.engine.propagation import aggregate
from audit.engine.strata import length_cuts, length_histogram, merged_histogram, strata_of
from audit.excess import Excess, Labelled, judge_pairs
from audit.hierarchy import Hierarchy
from audit.pair_table import pair_table
from audit.policy import Policy, Threshold
from fixtures import brute_force as plain
from fixtures import brute_force_statistics as oracle
from fixtures.labelled import labelled
from fixtures.strategies import hierarchies, label_sets

LOW_LIMIT = Policy(expected_support=Threshold(value=0.3, reason="small datasets"))


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


def judged(
    hierarchy: Hierarchy,
    labels: Mapping[str, list[str]],
    groups: Mapping[str, str] | None = None,
    categories: Mapping[str, int] | None = None,
    policy: Policy = LOW_LIMIT,
) -> tuple[pl.DataFrame, Excess]:
    dataset = labelled(hierarchy, labels)
    instances = dataset.instances["instance"].to_list()
    names = sorted(set((groups or {}).values()))
    group_of = np.array([names.index(groups[i]) for i in instances]) if groups else None
    aggregated = aggregate(dataset.direct, hierarchy.closure)
    supports = support(aggregated)
    pairs = pair_table(hierarchy, count_pairs(aggregated), supports)
    further = [np.array([categories[i] for i in instances], np.int64)] if categories else []
    units = [groups[i] for i in instances] if groups else instances
    release = Labelled(dataset.direct, supports, units, group_of, further)
    found, excess = judge_pairs(hierarchy, release, pairs, policy)
    return found.with_columns(pl.col("a", "b").cast(pl.String)), excess


def parents_of(hierarchy: Hierarchy) -> dict[str, set[str]]:
    return plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())


def assert_equal_to_the_oracle(
    hierarchy: Hierarchy,
    labels: Mapping[str, list[str]],
    groups: Mapping[str, str] | None = None,
    categories: Mapping[str, int] | None = None,
) -> None:
    rate = 0.05 if groups is None else 1.0  # so that every pair is tested between groups
    stated = LOW_LIMIT.model_copy(
        update={"false_discovery_rate": Threshold(value=rate, reason="all")}
    )
    found, excess = judged(hierarchy, labels, groups, categories, stated)
    sets = {instance: set(given) for instance, given in labels.items()}
    release = oracle.Release(parents_of(hierarchy), sets, groups, categories)
    if max((len(given) for given in sets.values()), default=0) < 2:
        assert (excess.family, bool(excess.why_not)) == (0, True)
        assert found["p_value"].null_count() == len(found)
        return
    wanted = oracle.judge(release, LOW_LIMIT.expected_support.value, rate)
    assert excess.family == len(wanted)
    for row in found.iter_rows(named=True):
        pair = row["a"], row["b"]
        with_two = len(plain.with_two_labels(release.parents, sets, *pair))
        assert row["joint"] - row["joint_entailed"] == with_two
        if pair not in wanted:
            assert row["p_value"] is None
            assert row["expected_given"] is None
            continue
        own = wanted.pop(pair)
        assert row["expected_given"] == close(own.expected)
        assert row["p_value"] == close(own.p_value)
        assert row["q_value"] == close(own.q_value)
        assert row["ratio"] == (close(own.observed / own.expected) if own.expected else None)
    assert all(left.observed == 0 and left.p_value == 1 for left in wanted.values())


@st.composite
def releases(draw: st.DrawFn) -> tuple[Hierarchy, dict[str, list[str]]]:
    hierarchy = draw(hierarchies(max_nodes=8, titled=False))
    sets = draw(label_sets(hierarchy, max_instances=24))
    return hierarchy, {f"i{n:02}": sorted(labels) for n, labels in enumerate(sets)}


def drawn(seed: int, instances: int) -> tuple[Hierarchy, dict[str, list[str]]]:
    """Eight nodes in a random DAG, labels drawn so that all cells of some tables are large."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(list("abcdefgh")).tolist()
    edges = {
        (child, ids[int(parent)])
        for place, child in enumerate(ids[1:], start=1)
        for parent in rng.integers(0, place, size=rng.integers(1, 3))
    }
    hierarchy = Hierarchy.build(
        pl.DataFrame(sorted(edges), schema=["child", "parent"], orient="row"), name="drawn"
    )
    labels = {
        f"i{n:03}": sorted(rng.choice(ids, size=rng.integers(0, 6), replace=False).tolist())
        for n in range(instances)
    }
    return hierarchy, labels


@given(releases())
@settings(max_examples=80)
def test_every_judged_pair_equals_plain_python(
    release: tuple[Hierarchy, dict[str, list[str]]],
) -> None:
    assert_equal_to_the_oracle(*release)


@pytest.mark.parametrize("seed", range(6))
def test_large_tables_equal_plain_python(seed: int) -> None:
    hierarchy, labels = drawn(seed, 400)

    assert_equal_to_the_oracle(hierarchy, labels)


@pytest.mark.parametrize("seed", range(4))
def test_groups_and_further_strata_equal_plain_python(seed: int) -> None:
    hierarchy, labels = drawn(seed, 200)
    rng = np.random.default_rng(seed)
    together = rng.permutation(hierarchy.nodes[1:])[:3].tolist()
    for instance in list(labels)[::4]:
        labels[instance] = sorted({*labels[instance], *together})
    groups = {instance: f"g{rng.integers(60):02}" for instance in labels}
    categories = {instance: int(rng.integers(3)) for instance in labels}

    assert_equal_to_the_oracle(hierarchy, labels, groups)
    assert_equal_to_the_oracle(hierarchy, labels, groups, categories)


@given(
    st.lists(st.floats(0, 1), max_size=20),
    st.integers(0, 30),
)
def test_adjusted_p_values_are_those_of_scipy_with_ones_for_the_rest(
    p_values: list[float], untested: int
) -> None:
    family = len(p_values) + untested
    padded = [*p_values, *[1.0] * untested]
    wanted = false_discovery_control(padded or [1.0])[: len(p_values)].tolist()

    assert benjamini_hochberg(np.array(p_values), family).tolist() == pytest.approx(wanted)


lengths = st.lists(st.integers(0, 60), max_size=120).map(lambda x: np.array(x, np.int64))


@given(lengths, lengths)
def test_histograms_of_lengths_add_up(left: np.ndarray, right: np.ndarray) -> None:
    together = length_histogram(np.concatenate([left, right]))
    merged = merged_histogram(length_histogram(left), length_histogram(right))

    assert np.array_equal(together, merged)
    assert np.array_equal(length_cuts(together), length_cuts(merged))


@given(lengths)
def test_a_longer_record_is_in_no_lower_stratum(values: np.ndarray) -> None:
    cuts = length_cuts(length_histogram(values))
    strata = strata_of(values, cuts)
    order = np.argsort(values, kind="stable")

    assert np.array_equal(strata == -1, values < 2)
    assert all(a <= b for a, b in pairwise(strata[order].tolist()))
    assert len(cuts) <= 20
    assert cuts[0] == 2


@given(releases())
@settings(max_examples=40)
def test_an_unused_leaf_changes_nothing(release: tuple[Hierarchy, dict[str, list[str]]]) -> None:
    hierarchy, labels = release
    below = pl.DataFrame({"child": ["a new leaf"], "parent": [hierarchy.nodes[-1]]})
    nodes = pl.DataFrame({"node": ["a new leaf"], "title": [None], "assignable": [True]})
    before, excess = judged(hierarchy, labels)
    after, again = judged(hierarchy.extend(below, nodes), labels)

    assert (again.family, again.cuts, again.level) == (excess.family, excess.cuts, excess.level)
    columns = [name for name in before.columns if name not in ("relation", "lca")]
    assert after.select(columns).equals(before.select(columns))


@given(releases(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_other_names_and_another_order_permute_the_judgement(
    release: tuple[Hierarchy, dict[str, list[str]]], random: object
) -> None:
    hierarchy, labels = release
    shuffled = list(hierarchy.nodes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    name = {node: f"n{place}" for place, node in enumerate(shuffled)}
    edges = hierarchy.edge_frame().select(
        pl.col("child", "parent").replace_strict(name, return_dtype=pl.String)
    )
    nodes = pl.DataFrame({"node": sorted(name.values())})
    renamed = Hierarchy.build(edges, nodes, name="renamed")
    instances = list(labels)
    random.shuffle(instances)  # type: ignore[attr-defined]
    moved = {f"j{place:02}": [name[x] for x in labels[i]] for place, i in enumerate(instances)}
    before, excess = judged(hierarchy, labels)
    after, again = judged(renamed, moved)

    assert again.family == excess.family
    values = ("joint", "joint_entailed", "expected_given", "p_value", "q_value")
    wanted = {
        tuple(sorted((name[row["a"]], name[row["b"]]))): [row[v] for v in values]
        for row in before.iter_rows(named=True)
    }
    for row in after.iter_rows(named=True):
        own = wanted.pop((row["a"], row["b"]))
        for value, other in zip((row[v] for v in values), own, strict=True):
            assert value == (None if other is None else close(other))
    assert wanted == {}


def two_level(codes: int, parents: int) -> Hierarchy:
    """Codes dealt out to parents below one root."""
    edges = [(f"c{i:03}", f"p{i % parents:02}") for i in range(codes)]
    edges += [(f"p{i:02}", "root") for i in range(parents)]
    return Hierarchy.build(
        pl.DataFrame(edges, schema=["child", "parent"], orient="row"), name="two levels"
    )


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


def test_without_an_effect_nothing_is_found_and_without_strata_much_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(7)
    hierarchy = two_level(200, 15)
    labels = independent(rng, 5000, 200, unequal_lengths(rng, 5000))
    found, excess = judged(hierarchy, labels, policy=Policy())
    monkeypatch.setattr("audit.excess.length_cuts", lambda histogram: np.array([2]))
    blind, _ = judged(hierarchy, labels, policy=Policy())
    common = found.filter(pl.col("expected_given") > 20)

    assert excess.family > 10_000
    assert excess.found.is_empty()
    assert found.filter(pl.col("q_value") <= 0.05).is_empty()
    assert common["ratio"].median() == pytest.approx(1, abs=0.02)
    assert blind.filter((pl.col("q_value") <= 0.05) & (pl.col("ratio") >= 1.5)).height > 100


def test_records_of_two_or_three_labels_need_the_correction_for_their_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    labels = independent(rng, 6000, 60, rng.integers(2, 4, 6000))
    ratios = {}
    for corrected in (True, False):
        if not corrected:
            monkeypatch.setattr("audit.engine.expectation.joint_expected", _uncorrected)
        found, _ = judged(two_level(60, 4), labels, policy=Policy())
        sibling = found.filter((pl.col("relation") == "sibling") & (pl.col("expected_given") > 10))
        ratios[corrected] = float(np.median(sibling["ratio"].to_numpy()))

    assert ratios[True] == pytest.approx(1, abs=0.1)
    assert ratios[False] < 0.75


def _uncorrected(table: object, free: object) -> np.ndarray:
    product: np.ndarray = table.first * table.second / np.maximum(table.n, 1)  # type: ignore[attr-defined]
    return product


@pytest.mark.parametrize("children", [2, 5, 10])
def test_siblings_planted_at_twenty_times_chance_are_found_at_their_own_depth(
    children: int,
) -> None:
    rng = np.random.default_rng(children)
    codes, instances = 120, 4000
    hierarchy = two_level(codes, codes // children)
    labels = independent(rng, instances, codes, unequal_lengths(rng, instances))
    first, second = "c000", f"c{codes // children:03}"
    for own in labels.values():
        own[:] = [code for code in own if code not in (first, second)]
    rows = [row for row, own in labels.items() if len(own) > 4]
    for row in rng.choice(rows, 40, replace=False):
        labels[row] += [first, second]
    for row in rng.choice(rows, 90, replace=False):
        labels[row] = sorted({*labels[row], first if rng.random() < 0.5 else second})
    found, excess = judged(hierarchy, labels, policy=Policy())
    standing = excess.found.filter(pl.col("folded_into").list.len() == 0)
    named = [(hierarchy.nodes[a], hierarchy.nodes[b]) for a, b in standing.select("a", "b").rows()]
    pair = found.row(by_predicate=(pl.col("a") == first) & (pl.col("b") == second), named=True)

    assert pair["ratio"] > 10
    assert named == [(first, second)]


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
    alone, _ = judged(two_level(codes, 12), labels, policy=Policy())
    found, excess = judged(two_level(codes, 12), labels, groups, policy=Policy())

    assert alone.filter((pl.col("q_value") <= 0.05) & (pl.col("ratio") >= 1.5)).height > 50
    assert excess.found.is_empty()
    assert found.filter(pl.col("q_value") <= 0.05).is_empty()


def test_two_nodes_that_only_meet_through_a_common_descendant_are_not_found() -> None:
    edges = [("x", "left"), ("x", "right"), ("left", "root"), ("right", "root"), ("other", "root")]
    hierarchy = Hierarchy.build(
        pl.DataFrame(edges, schema=["child", "parent"], orient="row"), name="diamond"
    )
    labels = {f"i{n:03}": ["x", "other"] if n % 4 == 0 else ["other", "root"] for n in range(200)}
    found, excess = judged(hierarchy, labels, policy=Policy())
    pair = found.row(by_predicate=(pl.col("a") == "left") & (pl.col("b") == "right"), named=True)

    assert (pair["joint"], pair["joint_entailed"], pair["p_value"]) == (50, 50, 1.0)
    assert excess.found.is_empty()


def test_where_no_instance_has_two_labels_nothing_is_judged() -> None:
    hierarchy = two_level(4, 2)

    nothing: tuple[dict[str, list[str]], ...] = ({}, {"i": []}, {"i": ["c000"]})
    for labels in nothing:
        found, excess = judged(hierarchy, labels)
        assert excess.why_not
        assert found["q_value"].null_count() == len(found)
