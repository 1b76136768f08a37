"""Counts that add up in two releases, and sets of labels that make each other up."""

from __future__ import annotations

from itertools import accumulate, chain, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.disclosure.sums import Counts, Labels, LabelSets, Ranges, Sums, fewest, narrower

MIN_CELL = 4
Drawn = list[list[tuple[int, int, bool, bool]]]
"""Of each line its parts: a count before, what came, and whether these are told."""
Told = list[tuple[bool, bool]]
"""Whether each line is told, before and now."""


def rows(*ends: tuple[int, int, int]) -> Counts:
    return np.array(ends, np.int64).reshape(-1, 3)


def known(counts: Counts, told: list[tuple[bool, ...]], limit: int) -> Ranges:
    """Counts of which those before and now are told or not; what came is not."""
    low, high = np.zeros_like(counts), np.full_like(counts, limit)
    for place, its in enumerate(told):
        for i in np.flatnonzero(its):
            low[place, i] = high[place, i] = counts[place, i]
    low[:, 2] = -limit
    return low, high


def of_parts(drawn: Drawn) -> tuple[Counts, Counts]:
    """Counts of all parts, and the line of each."""
    counts = [(before, before + came, came) for line in drawn for before, came, *_ in line]
    of = [place for place, line in enumerate(drawn) for _ in line]
    return rows(*counts), np.array(of, np.int64)


def summed(counts: Counts, of: Counts, n_lines: int) -> Counts:
    return np.array([counts[of == line].sum(axis=0) for line in range(n_lines)], np.int64)


def left(parts: Ranges, of: Counts, lines: Ranges, totals: Counts) -> tuple[Ranges, Ranges]:
    """What parts of lines of a total can be, and the lines."""
    n_parts, n_lines = len(of), len(lines[0])
    sums = [(n_parts + line, np.flatnonzero(of == line).tolist()) for line in range(n_lines)]
    total = (n_parts + n_lines, list(range(n_parts, n_parts + n_lines)))
    size = n_parts + n_lines + 1
    low, high = (
        np.concatenate([ends, its, totals[None]]) for ends, its in zip(parts, lines, strict=True)
    )
    found = Sums.of([*sums, total], [], size).left((low, high), contained=False)
    low, high = (ends[:-1] for ends in found)
    return (low[:n_parts], high[:n_parts]), (low[n_parts:], high[n_parts:])


def tried(parts: Ranges, of: Counts, lines: Ranges, totals: Counts) -> tuple[Ranges, Ranges]:
    """The same as `left`, by trying all numbers."""
    choices = [
        [
            (before, now, now - before)
            for before in range(low[0], high[0] + 1)
            for now in range(low[1], high[1] + 1)
            if low[2] <= now - before <= high[2]
        ]
        for low, high in zip(*parts, strict=True)
    ]
    found = []
    for chosen in product(*choices):
        counts = rows(*chosen)
        at = summed(counts, of, len(lines[0]))
        if np.all(lines[0] <= at) and np.all(at <= lines[1]) and np.all(at.sum(0) == totals):
            found.append((counts, at))
    each = [np.array(kind) for kind in zip(*found, strict=True)]
    return tuple((kind.min(axis=0), kind.max(axis=0)) for kind in each)  # type: ignore[return-value]


FEW = st.tuples(st.integers(0, 2), st.integers(-1, 1), st.booleans(), st.booleans()).filter(
    lambda part: part[0] + part[1] >= 0
)
LINES = st.tuples(st.lists(FEW, min_size=1, max_size=2), st.lists(FEW, min_size=1, max_size=1)).map(
    list
)
BOTH = st.tuples(st.booleans(), st.booleans())


@given(LINES, st.lists(BOTH, min_size=2, max_size=2), st.booleans())
@example(
    [[(1, 2, False, False), (2, 1, True, True)], [(1, 0, True, False)]], [(True, True)] * 2, True
)
def test_ranges_are_those_of_all_numbers_that_there_can_be(
    drawn: Drawn, told: Told, grown: bool
) -> None:
    counts, of = of_parts(drawn)
    parts = known(counts, [one[2:] for line in drawn for one in line], 3)
    if grown and np.all(counts[:, 2] >= 0):
        parts[0][:, 2] = 0
    at = summed(counts, of, len(drawn))
    lines = known(at, told[: len(drawn)], 8)  # type: ignore[arg-type]

    both = left(parts, of, lines, at.sum(axis=0))

    for own, expected in zip(both, tried(parts, of, lines, at.sum(axis=0)), strict=True):
        np.testing.assert_array_equal(own, expected)


def test_what_is_less_than_before_has_ranges_too() -> None:
    """Where nothing says that what came is not negative, the two totals alone bound it."""
    parts = rows((5, 0, -9), (7, 0, -9)), rows((5, 9, 9), (7, 9, 9))
    lines = rows((0, 0, -99), (0, 0, -99)), rows((99, 99, 99), (99, 99, 99))
    _, (low, high) = left(parts, np.array([0, 1]), lines, np.array([12, 10, -2]))

    assert low.tolist() == [[5, 1, -4], [7, 1, -6]]
    assert high.tolist() == [[5, 9, 4], [7, 9, 2]]


def test_what_came_to_a_count_is_at_most_what_came_to_one_that_is_never_less() -> None:
    """Only where what came is a count of something; counts themselves are at most always."""
    sums = Sums.of([], [(0, 1)], 2)
    ranges = rows((0, 0, -9), (0, 2, -9)), rows((9, 9, 9), (5, 9, 3))
    (_, ends), (low, high) = (sums.left(ranges, contained=its) for its in (False, True))

    assert ends.tolist() == [[5, 8, 8], [5, 8, 3]]
    assert low.tolist() == [[0, 0, -5], [0, 2, -3]]
    assert high.tolist() == [[5, 8, 3], [5, 8, 3]]


@st.composite
def circles(draw: st.DrawFn) -> tuple[Sums, Counts, Ranges]:
    """Counts of disjoint sets of things and of their unions, where unions overlap."""
    n, n_unions = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    count = st.integers(0, 4)
    counts: list[tuple[int, ...]] = [(draw(count), draw(count)) for _ in range(n)]
    sums = [(n + u, sorted(draw(st.sets(st.integers(0, n - 1))))) for u in range(n_unions)]
    counts += [tuple(sum(counts[i][k] for i in its) for k in (0, 1)) for _, its in sums]
    truth = rows(*((then, now, now - then) for then, now in counts))
    slack = st.integers(0, 2)
    low, high = (
        np.array([[draw(slack) for _ in range(3)] for _ in truth], np.int64) for _ in range(2)
    )
    at_most = [(part, whole) for whole, its in sums for part in its]
    return Sums.of(sums, at_most, len(truth)), truth, (truth - low, truth + high)


@given(circles())
def test_the_truth_is_never_ruled_out_and_ranges_only_become_narrower(
    drawn: tuple[Sums, Counts, Ranges],
) -> None:
    sums, truth, (low, high) = drawn
    least, most = sums.left((low, high), contained=bool(np.all(truth[:, 2] >= 0)))

    assert np.all((low <= least) & (least <= truth))
    assert np.all((truth <= most) & (most <= high))


@pytest.mark.parametrize(
    ("count", "left", "free", "narrow"),
    [
        (3, (1, 3), (0, 9), False),
        (3, (1, 2), (0, 9), True),
        (3, (2, 3), (0, 9), True),
        (3, (2, 3), (2, 9), False),
        (3, (1, 2), (0, 2), False),
        (-3, (-3, -1), (-9, 0), False),
        (-3, (-2, -1), (-9, 0), True),
        (-3, (-3, -2), (-9, 0), True),
        (-3, (-3, -2), (-9, -2), False),
        (4, (4, 4), (0, 9), False),
        (0, (0, 0), (0, 9), False),
    ],
)
def test_a_small_count_is_narrow_where_it_could_be_wider(
    count: int, left: tuple[int, int], free: tuple[int, int], narrow: bool
) -> None:
    ends, most = ((np.full((1, 3), low), np.full((1, 3), high)) for low, high in (left, free))

    assert narrower(np.full((1, 3), count), ends, most, MIN_CELL).tolist() == [[narrow] * 3]


@given(st.integers(0, 9), st.lists(st.sets(st.integers(0, 9), max_size=4), max_size=3))
def test_as_few_steps_as_free_all_and_none_in_vain(n: int, needed: list[set[int]]) -> None:
    """Freed is each of some sets once one of its steps is taken; every set has one."""
    wanted = [some & {*range(n)} for some in needed if some & {*range(n)}]

    def narrow(steps: object) -> bool:
        return any(some.isdisjoint(steps) for some in wanted)  # type: ignore[arg-type]

    taken = fewest(range(n), narrow)

    assert not narrow(taken)
    assert all(narrow([other for other in taken if other != step]) for step in taken)
    assert taken == sorted(taken)
    latest = list(accumulate(map(min, wanted), max))
    assert max(taken, default=-1) == (latest[-1] if latest else -1)


def test_a_count_that_is_never_more_than_another_bounds_it() -> None:
    low, high = rows((3, 3, -9), (0, 0, -9)), rows((9, 9, 9), (5, 5, 9))
    least, most = Sums.of([], [(0, 1)], 2).left((low, high), contained=False)

    assert least[1, :2].tolist() == [3, 3]
    assert most[0, :2].tolist() == [5, 5]


def test_ranges_are_followed_while_either_end_changes() -> None:
    """What a whole can be at most reaches the part of its part, though no least changes."""
    low, high = np.zeros((5, 3), np.int64), np.full((5, 3), 100, np.int64)
    high[0] = 5
    least, most = Sums.of([(0, [1, 2]), (1, [3, 4])], [], 5).left((low, high), contained=True)

    assert least.tolist() == low.tolist()
    assert most.tolist() == np.full((5, 3), 5).tolist()


N_LABELS = 6
LABELS = st.frozensets(st.integers(0, N_LABELS - 1))
Instances = list[Labels]
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
