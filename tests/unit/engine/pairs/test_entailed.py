"""Records with one label below both nodes of a pair, against plain Python."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.engine.pairs import entailed
from audit.engine.pairs.entailed import (
    count_entailed,
    entailed_by,
    in_line,
    joint_entailed,
    overlapping_above,
    places_of,
)
from audit.engine.pairs.pair_counts import count_pairs
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.sums import Sums
from audit.hierarchies.hierarchy import Hierarchy
from fixtures import brute_force as plain
from fixtures import brute_force_counts as plain_counts
from fixtures.strategies import hierarchies, label_sets, matrix_of

Labels = list[frozenset[str]]
Pair = tuple[str, str]


@st.composite
def releases(draw: st.DrawFn) -> tuple[Hierarchy, Labels]:
    hierarchy = draw(hierarchies(max_nodes=9, titled=False))
    return hierarchy, draw(label_sets(hierarchy, max_instances=8, max_labels=5))


def parents_of(hierarchy: Hierarchy) -> Mapping[str, set[str]]:
    return plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())


def names(hierarchy: Hierarchy, keys: np.ndarray) -> list[Pair]:
    nodes, n = hierarchy.nodes, len(hierarchy)
    return [(nodes[key // n], nodes[key % n]) for key in keys.tolist()]


def named(hierarchy: Hierarchy, sums: Sums) -> dict[Pair, int]:
    assert (np.diff(sums.keys) > 0).all()
    return dict(zip(names(hierarchy, sums.keys), sums.joint.tolist(), strict=True))


def in_plain_python(hierarchy: Hierarchy, labels: Labels) -> dict[Pair, int]:
    own = {str(number): set(given) for number, given in enumerate(labels)}
    return plain_counts.entailed(parents_of(hierarchy), own)


@pytest.mark.parametrize("at_once", [1, 7, entailed.PAIRS_AT_ONCE])
@given(release=releases())
def test_records_with_a_label_below_both_are_counted(
    at_once: int, release: tuple[Hierarchy, Labels]
) -> None:
    hierarchy, labels = release
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entailed, "PAIRS_AT_ONCE", at_once)
        found = count_entailed(matrix_of(hierarchy, labels), hierarchy.closure)

    assert named(hierarchy, found) == in_plain_python(hierarchy, labels)


@given(releases())
def test_the_most_specific_labels_tell_the_same(release: tuple[Hierarchy, Labels]) -> None:
    hierarchy, labels = release
    parents = parents_of(hierarchy)
    specific = [frozenset(plain_counts.most_specific(parents, own)) for own in labels]

    one, other = (
        count_entailed(matrix_of(hierarchy, given), hierarchy.closure)
        for given in (labels, specific)
    )

    assert named(hierarchy, one) == named(hierarchy, other)


@given(releases())
def test_each_joint_record_of_a_pair_has_such_a_label_or_two_others(
    release: tuple[Hierarchy, Labels],
) -> None:
    hierarchy, labels = release
    direct = matrix_of(hierarchy, labels)
    pairs = count_pairs(aggregate(direct, hierarchy.closure))
    counted = count_entailed(direct, hierarchy.closure)

    found = joint_entailed(pairs, counted, in_line(hierarchy.closure), len(hierarchy))

    parents, own = parents_of(hierarchy), in_plain_python(hierarchy, labels)
    ends = names(hierarchy, pairs.a * len(hierarchy) + pairs.b)
    assert found.tolist() == [
        joint if plain_counts.in_line(parents, *pair) else own.get(pair, 0)
        for pair, joint in zip(ends, pairs.joint.tolist(), strict=True)
    ]


@given(hierarchies(max_nodes=9, titled=False))
def test_pairs_in_line(hierarchy: Hierarchy) -> None:
    parents, keys = parents_of(hierarchy), in_line(hierarchy.closure)

    assert names(hierarchy, keys) == [
        (a, b)
        for place, a in enumerate(hierarchy.nodes)
        for b in hierarchy.nodes[place + 1 :]
        if plain_counts.in_line(parents, a, b)
    ]


@pytest.mark.parametrize("at_once", [1, entailed.PAIRS_AT_ONCE])
@given(hierarchy=hierarchies(max_nodes=9, titled=False), data=st.data())
def test_pairs_above_a_label_that_are_not_in_line(
    at_once: int, hierarchy: Hierarchy, data: st.DataObject
) -> None:
    parents = parents_of(hierarchy)
    labels = sorted(data.draw(st.sets(st.integers(0, len(hierarchy) - 1))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entailed, "PAIRS_AT_ONCE", at_once)
        label, keys = overlapping_above(np.array(labels, np.int64), hierarchy.closure)

    found = zip(label.tolist(), names(hierarchy, keys), strict=True)
    assert sorted(found) == [
        (place, pair)
        for place in labels
        for pair in sorted(plain_counts.entailed(parents, {"": {hierarchy.nodes[place]}}))
    ]


@given(hierarchies(max_nodes=9, titled=False), st.data())
def test_records_of_one_label_each(hierarchy: Hierarchy, data: st.DataObject) -> None:
    n = len(hierarchy)
    records = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    labels = [
        frozenset([node])
        for node, times in zip(hierarchy.nodes, records, strict=True)
        for _ in range(times)
    ]

    found = entailed_by(np.array(records, np.int64), hierarchy.closure)

    assert named(hierarchy, found) == in_plain_python(hierarchy, labels)


@given(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20)))
def test_keys_are_found_where_they_stand(wanted: set[int], keys: set[int]) -> None:
    among = sorted(keys)

    found = places_of(np.array(sorted(wanted), np.int64), np.array(among, np.int64))

    assert found.tolist() == [place for place, key in enumerate(among) if key in wanted]
