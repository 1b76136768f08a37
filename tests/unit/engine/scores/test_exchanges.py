"""Exchanges of labels, their expectation and their family, against plain Python."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import binom

from audit.engine.scores.exchanges import Exchanges, count_exchanges, count_given, mistakes
from audit.hierarchies.hierarchy import Hierarchy
from fixtures import brute_force_scores as brute
from fixtures.examples import examples
from fixtures.labelled import tree
from fixtures.strategies import hierarchies

Sets = list[set[int]]


def matrix(sets: Sets, width: int) -> csr_array:
    dense = np.zeros((len(sets), width), np.int64)
    for row, nodes in enumerate(sets):
        dense[row, list(nodes)] = 1
    return csr_array(dense)


def counted(labels: Sets, decided: Sets, width: int) -> Exchanges:
    return count_exchanges(matrix(labels, width), matrix(decided, width))


def sets_of(found: csr_array) -> Sets:
    return [set(np.flatnonzero(row).tolist()) for row in found.toarray()]


@st.composite
def labelled_and_decided(draw: st.DrawFn) -> tuple[Sets, Sets, int]:
    """Some instances of any kind, and many of one label and one other answer."""
    width, n = draw(st.integers(4, 5)), draw(st.integers(0, 4))
    nodes = st.lists(st.sets(st.integers(0, width - 1)), min_size=n, max_size=n)
    pair = st.permutations(range(width)).map(lambda order: order[:2])
    pairs = draw(st.lists(pair, min_size=4, max_size=9))
    labels = [*draw(nodes), *({a} for a, _ in pairs)]
    return labels, [*draw(nodes), *({b} for _, b in pairs)], width


@given(labelled_and_decided())
def test_both_directions_equal_plain_python(case: tuple[Sets, Sets, int]) -> None:
    labels, decided, width = case
    found = counted(labels, decided, width)
    told = dict(
        zip(
            zip(found.a.tolist(), found.b.tolist(), strict=True),
            zip(found.forth.tolist(), found.back.tolist(), strict=True),
            strict=True,
        )
    )
    both = {
        (a, b): (brute.exchanged(labels, decided, a, b), brute.exchanged(labels, decided, b, a))
        for a, b in combinations(range(width), 2)
    }

    assert told == {pair: counts for pair, counts in both.items() if counts != (0, 0)}
    assert found.forth.dtype == found.back.dtype == np.int64


@examples(40)
@given(labelled_and_decided())
def test_the_expectation_equals_plain_python(case: tuple[Sets, Sets, int]) -> None:
    labels, decided, width = case
    found = counted(labels, decided, width)
    told = brute.exchanges_expected(labels, decided, width)
    a, b = np.triu_indices(width, k=1)
    expected = [told[i, j] + told[j, i] for i, j in zip(a.tolist(), b.tolist(), strict=True)]

    assert found.expected(a, b) == pytest.approx(expected, abs=0.01)


@given(labelled_and_decided())
def test_as_many_are_expected_as_there_are(case: tuple[Sets, Sets, int]) -> None:
    found = counted(*case)
    a, b = np.triu_indices(case[2], k=1)

    assert found.expected(a, b).sum() == pytest.approx(found.observed.sum(), abs=1e-6)


@given(labelled_and_decided(), st.data())
def test_neither_the_order_of_instances_nor_that_of_labels_matters(
    case: tuple[Sets, Sets, int], data: st.DataObject
) -> None:
    labels, decided, width = case
    order = data.draw(st.permutations(range(len(labels))))
    names = data.draw(st.permutations(range(width)))
    before = counted(labels, decided, width)
    after = counted(
        *([{names[x] for x in sets[i]} for i in order] for sets in (labels, decided)), width
    )
    renamed = np.array(names)

    assert after.observed.sum() == before.observed.sum()
    assert after.expected(renamed[before.a], renamed[before.b]) == pytest.approx(
        before.expected(before.a, before.b)
    )


@given(hierarchies(), st.data())
def test_the_family_is_what_margins_let_meet(hierarchy: Hierarchy, data: st.DataObject) -> None:
    width = len(hierarchy)
    nodes = st.lists(st.sets(st.integers(0, width - 1)), min_size=4, max_size=4)
    labels, decided = data.draw(nodes), data.draw(nodes)
    found = counted(labels, decided, width)
    both = [
        (given - answer, answer - given)
        for given, answer in zip(labels, decided, strict=True)
        if given - answer and answer - given
    ]
    missed, false = (set().union(*(one[side] for one in both)) for side in (0, 1))
    above = hierarchy.closure.toarray()
    family = [
        (a, b)
        for a, b in combinations(range(width), 2)
        if not above[a, b]
        and not above[b, a]
        and ((a in missed and b in false) or (b in missed and a in false))
    ]

    assert found.family_size(hierarchy.closure) == len(family)


@given(labelled_and_decided())
def test_mistakes_are_the_differences_of_sets(case: tuple[Sets, Sets, int]) -> None:
    labels, decided, width = case
    given_, said = matrix(labels, width), matrix(decided, width)
    missed, false = mistakes(given_, said)

    assert sets_of(missed) == [a - b for a, b in zip(labels, decided, strict=True)]
    assert sets_of(false) == [b - a for a, b in zip(labels, decided, strict=True)]
    assert (sets_of(given_), sets_of(said)) == (labels, decided)


def test_a_right_answer_beside_a_wrong_one_is_no_exchange_of_the_two() -> None:
    assert len(counted([{0}], [{0, 1}], 2).a) == 0


def test_without_mistakes_there_is_no_family() -> None:
    found = counted([{0}, {1}], [{0}, {1}], 2)

    assert found.family_size(tree("a b < top").closure[:2, :2]) == 0
    assert found.expected(np.array([0]), np.array([1])).tolist() == [0.0]


@given(hierarchies(max_nodes=6), st.data())
def test_what_is_given_in_place_of_others_equals_plain_python(
    hierarchy: Hierarchy, data: st.DataObject
) -> None:
    width, n = len(hierarchy), data.draw(st.integers(0, 7))
    nodes = st.lists(st.sets(st.integers(0, width - 1)), min_size=n, max_size=n)
    labels, decided = data.draw(nodes), data.draw(nodes)
    groups = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    above = hierarchy.closure.toarray()

    def beside(own: Sets, other: Sets, node: int) -> list[bool]:
        return [
            node in mine - theirs
            and not any(above[x, node] for x in theirs)
            and any(not above[node, x] for x in theirs - mine)
            for mine, theirs in zip(own, other, strict=True)
        ]

    sides = matrix(labels, width), matrix(decided, width), hierarchy.closure
    found, alone = count_given(*sides, np.array(groups, np.int64)), count_given(*sides)
    for node in range(width):
        false, missed = beside(decided, labels, node), beside(labels, decided, node)
        excess = [
            sum(f - m for f, m, g in zip(false, missed, groups, strict=True) if g == group)
            for group in range(4)
        ]
        more, fewer = sum(x > 0 for x in excess), sum(x < 0 for x in excess)
        assert found.falsely.toarray()[:, node].tolist() == false
        assert found.missed.toarray()[:, node].tolist() == missed
        assert (found.more[node], found.fewer[node]) == (more, fewer)
        assert found.p_value[node] == pytest.approx(binom.sf(more - 1, more + fewer, 0.5))
        assert (alone.more[node], alone.fewer[node]) == (sum(false), sum(missed))
