"""Expectations: exchanged, in chunks, and where they are known beforehand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import Hierarchy
from audit.engine.pairs.margins import Strata, count_margins, strata_from
from audit.engine.pairs.propagation import aggregate
from audit.engine.statistics import expectation as subject
from audit.engine.statistics.expectation import (
    Expectation,
    Facets,
    LabelPairs,
    expectation,
    facets_of,
    label_pairs,
    pairs_found,
)
from fixtures.labelled import labelled
from fixtures.planted_pairs import planted
from fixtures.toy import toy

N_NODES = 12


@st.composite
def expectations(draw: st.DrawFn) -> Expectation:
    """Any shares, facets and factors."""
    seed, strata = draw(st.integers(0, 2**16)), draw(st.integers(1, 40))
    random = np.random.default_rng(seed)
    factor = random.random((strata, 3, 3)) * 3
    return Expectation(
        size=random.integers(1, 5000, strata).astype(float),
        share=np.maximum(random.random((strata, N_NODES)) - draw(st.sampled_from([0, 0.9])), 0),
        facet=random.integers(0, 3, N_NODES),
        factor=(factor + factor.transpose(0, 2, 1)) / 2,
    )


PAIRS = np.array(np.triu_indices(N_NODES, 1), np.int64)


@given(expectations())
def test_exchanging_the_nodes_changes_no_bit(expected: Expectation) -> None:
    a, b = PAIRS

    assert (expected.joint(a, b) == expected.joint(b, a)).all()


@given(expectations())
def test_chunks_change_no_bit(expected: Expectation) -> None:
    a, b = np.tile(PAIRS, 3)
    whole = expected.joint(a, b)
    with pytest.MonkeyPatch.context() as context:
        context.setattr(subject, "CHUNK", 7)
        assert (expected.joint(a, b) == whole).all()


@given(expectations())
def test_the_formula_pair_by_pair(expected: Expectation) -> None:
    found = expected.joint(*PAIRS)
    for value, a, b in zip(found, *PAIRS.tolist(), strict=True):
        wanted = 0.0
        for s, n in enumerate(expected.size.tolist()):
            p, q = expected.share[s, a], expected.share[s, b]
            c = expected.factor[s, expected.facet[a], expected.facet[b]]
            wanted += n * p * q * max(0.0, 1 - (1 - c) * (1 - p) * (1 - q))
        assert value == pytest.approx(wanted, rel=1e-12)


def _strata(hierarchy: Hierarchy, labels: dict[str, list[str]]) -> Strata:
    direct = labelled(hierarchy, labels).direct
    part = np.where(np.diff(direct.indptr) > 1, 0, -1)
    carried = aggregate(direct, hierarchy.closure)
    margins = count_margins(direct, carried, part, hierarchy.first_branch)
    cuts, size = np.empty(0, np.int64), np.array([(part == 0).sum()])
    return strata_from(cuts, size, margins, len(hierarchy))


def test_one_label_of_each_of_two_facets_is_expected_as_often_as_it_stands() -> None:
    hierarchy = _two_facets()
    labels = {f"{i}": [f"a{i % 4}", f"b{(i // 4) % 5}"] for i in range(2000)}
    strata = _strata(hierarchy, labels)
    branches = hierarchy.first_branch
    expected = expectation(strata, branches, label_pairs(strata, branches))

    a, b = (np.array([hierarchy.index(node)]) for node in ("a1", "b2"))
    assert expected.joint(a, b)[0] == pytest.approx(100, rel=0.02)


def test_label_pairs_between_facets_are_counted() -> None:
    hierarchy = _two_facets()
    strata = _strata(hierarchy, {"x": ["a0", "a1", "b0"], "y": ["a0", "b1"]})
    pairs = label_pairs(strata, hierarchy.first_branch)

    assert pairs.observed[0].tolist() == [[2.0, 3.0], [3.0, 0.0]]


@pytest.mark.parametrize(
    ("labels", "left"),
    [
        ({"x": ["a0", "b0"], "y": ["a0", "b0"]}, 1.0),
        ({"x": ["a0", "b0"], "y": ["a0", "b1"]}, 0.0),
        ({str(i): [f"a{i}", f"b{i}"] for i in range(5)}, 1 - 1 / 1.6),
    ],
    ids=["nothing is drawn", "fewer than one", "more"],
)
def test_record_length_leaves_some_of_the_label_pairs(
    labels: dict[str, list[str]], left: float
) -> None:
    """``1 - 1 / d``, where d is the variance of the number of labels drawn independently."""
    hierarchy = _two_facets()
    pairs = label_pairs(_strata(hierarchy, labels), hierarchy.first_branch)

    assert pairs.competing.tolist() == pytest.approx([left])


@given(st.integers(0, 2**16))
def test_finds_lower_a_factor_but_not_below_that_of_length(seed: int) -> None:
    random = np.random.default_rng(seed)
    facets = Facets(np.array([-1, 0, 0, 1, 1]), 2)
    observed, drawn, found = random.random((3, 4, 2, 2)) * 100
    pairs = LabelPairs(facets, observed, drawn, random.random(4))
    before, after = pairs.factor, replace(pairs, found=found).factor
    least = replace(pairs, found=np.inf).factor

    assert (least == np.minimum(before, pairs.competing[:, None, None])).all()
    assert (least <= after).all()
    assert (after <= before).all()
    assert (after < before).any() or (least == before).all()


@given(st.integers(0, 2**16))
def test_label_pairs_below_finds_are_counted_find_by_find(seed: int) -> None:
    release = planted(seed, tree=False)
    hierarchy = release.dataset().hierarchy
    strata = _strata(hierarchy, {name: sorted(own) for name, own in release.labels.items()})
    facets = label_pairs(strata, hierarchy.first_branch).facets
    facet = facets.of(hierarchy.first_branch)
    random = np.random.default_rng(seed)
    first, second = random.integers(0, len(hierarchy), (2, 5))
    found = pairs_found(strata, facet, hierarchy.below, (first, second, delta := random.random(5)))
    share = strata.labelled[0] / max(int(strata.size[0]), 1)
    wanted = np.zeros((facets.count, facets.count))
    for a, b, excess in zip(first.tolist(), second.tolist(), delta.tolist(), strict=True):
        for x in np.flatnonzero(hierarchy.closure[:, [a]].toarray()).tolist():
            for y in np.flatnonzero(hierarchy.closure[:, [b]].toarray()).tolist():
                if facet[x] >= 0 and facet[y] >= 0:
                    pairs = excess * strata.size[0] * share[x] * share[y]
                    wanted[facet[x], facet[y]] += pairs
                    wanted[facet[y], facet[x]] += pairs

    assert found[0] == pytest.approx(wanted)
    assert (found == found.transpose(0, 2, 1)).all()


def test_branches_with_a_single_label_in_use_have_no_facet() -> None:
    hierarchy = _two_facets()
    direct = np.zeros(len(hierarchy), np.int64)
    direct[[hierarchy.index(node) for node in ("a0", "a1", "b0")]] = 1
    facets = facets_of(direct, hierarchy.first_branch)

    assert facets.count == 1
    assert facets.of_branch[hierarchy.index("a")] == 0
    assert facets.of_branch[hierarchy.index("b")] == -1


@pytest.mark.parametrize(("most", "numbers"), [(2, [1, 1, 0]), (3, [0, 1, 2]), (4, [0, 1, 2])])
def test_beyond_the_most_branches_those_with_fewest_labels_are_one(
    most: int, numbers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "MOST_BRANCHES", most)
    branch_of = np.array([-1, 1, 1, 1, 1, 5, 5, 5, 8, 8, 8])
    facets = facets_of(np.array([0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1]), branch_of)

    assert facets.count == 1 + max(numbers)
    assert [int(facets.of_branch[branch]) for branch in (1, 5, 8)] == numbers


def test_nothing_is_expected_of_no_record() -> None:
    hierarchy = toy()
    strata = _strata(hierarchy, {})
    branches = hierarchy.first_branch
    expected = expectation(strata, branches, label_pairs(strata, branches))

    assert expected.joint(np.array([1]), np.array([2])).tolist() == [0.0]


def _two_facets() -> Hierarchy:
    edges = [(f"{branch}{i}", branch) for branch in "ab" for i in range(5)]
    return Hierarchy.build(
        pl.DataFrame(edges, schema=["child", "parent"], orient="row"), name="two facets"
    )
