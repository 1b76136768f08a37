"""Sets of labels: how they make each other up, and what instances leave of their counts."""

from __future__ import annotations

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.disclosure.label_sets import LabelSet, LabelSets

N_LABELS = 6
LABELS = st.frozensets(st.integers(0, N_LABELS - 1))
Instances = list[LabelSet]
"""The labels of each instance; each has at least one."""

INSTANCES = st.lists(LABELS.filter(bool), min_size=1, max_size=6)


@st.composite
def label_sets(draw: st.DrawFn) -> LabelSets:
    """Sets of six labels, with lines that hold each label once."""
    line_of = draw(st.lists(st.integers(0, 2), min_size=N_LABELS, max_size=N_LABELS))
    lines = [
        frozenset(label for label, of in enumerate(line_of) if of == line) for line in set(line_of)
    ]
    return LabelSets.of(lines, draw(st.lists(LABELS, max_size=5)))


def counted(sets: LabelSets, instances: Instances) -> list[int]:
    """Each count of sets and unions, by going through the instances."""
    labels = [sum(len(own & one) for own in instances) for one in sets.number]
    having = [sum(bool(own & one) for own in instances) for one in sets.number]
    by_number = list(sets.number)
    shared = [
        sum(max(sum(bool(own & by_number[part]) for part in parts) - 1, 0) for own in instances)
        for _, parts in sets.unions
    ]
    further = [of - least for of, least in zip(labels, having, strict=True)]
    return [*labels, *having, *further, *shared]


@given(label_sets())
def test_the_parts_of_a_union_hold_each_of_its_labels_once(sets: LabelSets) -> None:
    by_number = list(sets.number)
    for whole, parts in sets.unions:
        held = list(chain.from_iterable(by_number[part] for part in parts))
        assert sorted(held) == sorted(by_number[whole])
        assert len(parts) > 1


@given(label_sets())
def test_each_set_within_another_is_a_part_of_some_union_of_it(sets: LabelSets) -> None:
    by_number = list(sets.number)
    for whole, labels in enumerate(by_number):
        parts = set(chain.from_iterable(its for made, its in sets.unions if made == whole))
        within = {n for n, inner in enumerate(by_number) if len(inner) > 1 and inner < labels}
        assert within <= parts


@given(label_sets(), INSTANCES, INSTANCES)
def test_counts_of_any_two_releases_add_up(
    sets: LabelSets, before: Instances, came: Instances
) -> None:
    """With all counts known nothing contradicts them; the later release holds the earlier one."""
    then, now = (np.array(counted(sets, its)) for its in (before, before + came))
    truth = np.column_stack([then, now, now - then])
    low, high = sets.sums.left((truth, truth), contained=True)

    np.testing.assert_array_equal(low, truth)
    np.testing.assert_array_equal(high, truth)


@given(label_sets(), INSTANCES)
def test_what_is_unknown_is_told_by_its_union(sets: LabelSets, instances: Instances) -> None:
    """Any one count of labels that is a part of a union is told exactly by all other counts."""
    truth = np.repeat(np.array(counted(sets, instances))[:, None], 3, axis=1)
    truth[:, 2] = 0
    for part in {part for _, parts in sets.unions for part in parts}:
        low, high = truth.copy(), truth.copy()
        low[part], high[part] = -100, 100
        least, most = sets.sums.left((low, high), contained=False)

        np.testing.assert_array_equal(least, truth)
        np.testing.assert_array_equal(most, truth)


def test_labels_in_the_same_sets_are_a_set_too() -> None:
    sets = LabelSets.of([frozenset({0, 1, 2, 3})], [frozenset({0, 1, 2})])
    two = LabelSets.of([frozenset({0, 1, 2, 3})], [frozenset({0, 1}), frozenset({0})])

    assert frozenset({0, 1, 2}) in sets.number
    assert frozenset({2, 3}) in two.number


def test_pairs_of_sets_lie_in_two_parts_of_a_union() -> None:
    left, right = frozenset({0, 1}), frozenset({2, 3})
    sets = LabelSets.of([left | right], [left, right])
    pairs = [(frozenset({0}), frozenset({3})), (frozenset({0}), frozenset({1}))]
    in_two = dict(zip((whole for whole, _ in sets.unions), sets.apart(pairs), strict=True))

    places = {sets.number[one]: place for place, one in enumerate((left, right))}
    every = next(parts for whole, parts in sets.unions if whole == sets.number[left | right])
    assert set(every) == set(places)
    assert in_two[sets.number[left | right]] == [
        (0, every.index(sets.number[left]), every.index(sets.number[right]))
    ]
    assert [n for n, *_ in in_two[sets.number[left]]] == [1]
    assert in_two[sets.number[right]] == []


def test_a_part_has_no_more_instances_than_its_union() -> None:
    whole, part = frozenset({0, 1, 2}), frozenset({0, 1})
    sets = LabelSets.of([whole], [part])
    low, high = np.zeros((sets.size, 3), np.int64), np.full((sets.size, 3), 50, np.int64)
    low[sets.instances(sets.number[part]), :2] = 4
    least, _ = sets.sums.left((low, high), contained=False)

    assert least[sets.instances(sets.number[whole]), :2].tolist() == [4, 4]
