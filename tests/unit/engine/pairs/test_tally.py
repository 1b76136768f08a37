"""A tally of batches equals the count of all at once, wherever the pairs are kept."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.engine.pairs.margins import length_histogram
from audit.engine.pairs.pair_counts import PairCounts, count_pairs, support
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.sums import SortedTail, Sums, summed
from audit.engine.pairs.tally import PairTally, Sparse
from audit.hierarchies.hierarchy import Hierarchy
from fixtures import brute_force as plain
from fixtures.brute_force_counts import entailed, in_line
from fixtures.strategies import hierarchies

SQUARES = (0, 40, 2**20)
"""Bytes of the triangle: for no pair, for a few, for all."""


@st.composite
def releases(draw: st.DrawFn) -> tuple[Sparse, Hierarchy]:
    """Direct labels of some instances, and a hierarchy."""
    hierarchy = draw(hierarchies(max_nodes=7, titled=False))
    n = len(hierarchy)
    row = st.lists(st.booleans(), min_size=n, max_size=n)
    labels = draw(st.lists(row, max_size=12))
    return csr_array(np.array(labels, np.int64).reshape(len(labels), n)), hierarchy


def drawn() -> st.SearchStrategy[tuple[Sparse, Sparse]]:
    """Direct labels of some instances, and the closure of a hierarchy."""
    return releases().map(lambda release: (release[0], release[1].closure))


def tallied(parts: list[Sparse], closure: Sparse, square: int = 2**20) -> PairTally:
    tally = PairTally(closure, square=square)
    for part in parts:
        tally.update(csr_array(part))
    return tally


def assert_same_counts(found: PairCounts, expected: PairCounts) -> None:
    np.testing.assert_array_equal(found.a, expected.a)
    np.testing.assert_array_equal(found.b, expected.b)
    np.testing.assert_array_equal(found.joint, expected.joint)
    np.testing.assert_allclose(found.confusion_sum, expected.confusion_sum, rtol=1e-12, atol=1e-12)


@given(drawn(), st.integers(1, 5), st.sampled_from(SQUARES))
def test_batches_equal_the_count_of_all_at_once(
    given: tuple[Sparse, Sparse], size: int, square: int
) -> None:
    direct, closure = given
    parts = [direct[start : start + size] for start in range(0, direct.shape[0], size)]

    tally = tallied(parts, closure, square)

    aggregated = aggregate(direct, closure)
    assert_same_counts(tally.counts(), count_pairs(aggregated))
    np.testing.assert_array_equal(tally.support, support(aggregated))
    np.testing.assert_array_equal(tally.direct_support, support(direct))
    np.testing.assert_array_equal(tally.lengths, length_histogram(np.diff(direct.indptr)))
    assert tally.instances == direct.shape[0]


@pytest.mark.parametrize("slots", [0, 3, 99])
@given(hierarchies(max_nodes=9, titled=False), st.integers(0, 999), st.sets(st.integers(1, 59)))
def test_batches_of_any_size_give_the_same_bytes(
    slots: int, hierarchy: Hierarchy, seed: int, cuts: set[int]
) -> None:
    direct = csr_array(np.random.default_rng(seed).integers(0, 2, (60, len(hierarchy))))
    parts = [direct[start:stop] for start, stop in pairwise([0, *sorted(cuts), 60])]

    first = np.arange(min(slots, len(hierarchy)))
    begun = partial(PairTally, hierarchy.closure, first=first)
    whole, batches = begun(), begun()
    with mock.patch("audit.engine.pairs.tally.PAIRS_AT_ONCE", 50):
        whole.update(direct)
        for part in parts:
            batches.update(csr_array(part))

    assert batches.counts().confusion_sum.tobytes() == whole.counts().confusion_sum.tobytes()


@given(releases(), st.integers(1, 5), st.integers(1, 9))
def test_joint_instances_with_a_label_below_both_nodes_of_any_pairs(
    given: tuple[Sparse, Hierarchy], size: int, at_once: int
) -> None:
    direct, hierarchy = given
    nodes, rows = hierarchy.nodes, direct.toarray()
    labels = {str(n): {nodes[at] for at in np.flatnonzero(row)} for n, row in enumerate(rows)}
    parents = plain.parents_of(nodes, hierarchy.edge_frame().iter_rows())
    wanted = entailed(parents, labels)

    tally = tallied([direct[n : n + size] for n in range(0, len(rows), size)], hierarchy.closure)

    pairs = tally.counts()
    for start in range(0, len(pairs), at_once):
        ends = (pairs.a, pairs.b, pairs.joint, pairs.confusion_sum)
        some = PairCounts(*(column[start : start + at_once] for column in ends))
        names = [(nodes[a], nodes[b]) for a, b in zip(some.a, some.b, strict=True)]
        assert tally.joint_entailed(some).tolist() == [
            joint if in_line(parents, *pair) else wanted.get(pair, 0)
            for pair, joint in zip(names, some.joint.tolist(), strict=True)
        ]
    assert tally.entailed.joint.sum() == sum(wanted.values())


@given(st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 5), max_size=6), max_size=9))
def test_a_tail_adds_up_by_key(batches: list[dict[int, int]]) -> None:
    tail, expected = SortedTail(), dict.fromkeys(range(10), 0)
    for batch in batches:
        keys = np.array(sorted(batch), np.int64)
        joint = np.array([batch[key] for key in keys.tolist()], np.int64)
        tail.add(Sums(keys, joint, joint / 2))
        for key, count in batch.items():
            expected[key] += count

    found = tail.between(2, 8)

    kept = {key: count for key, count in expected.items() if count and 2 <= key < 8}
    assert dict(zip(found.keys.tolist(), found.joint.tolist(), strict=True)) == kept
    assert found.confusion.tolist() == [count / 2 for count in found.joint.tolist()]


def test_no_instance_has_no_pair() -> None:
    tally = PairTally(csr_array(np.eye(3, dtype=np.int64)))

    assert len(tally.counts().a) == 0
    assert tally.instances == 0


def test_sums_of_nothing() -> None:
    nothing = Sums(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

    assert len(summed([nothing, nothing])) == 0


@pytest.mark.parametrize("square", SQUARES)
def test_the_triangle_takes_no_more_than_it_may(square: int) -> None:
    tally = PairTally(csr_array(np.eye(50, dtype=np.int64)), square=square)

    assert tally._joint.nbytes + tally._confusion.nbytes <= square
    tally.update(csr_array(np.ones((2, 50), np.int64)))
    assert tally._joint.nbytes + tally._confusion.nbytes <= square
    assert len(tally.counts().a) == 50 * 49 // 2
