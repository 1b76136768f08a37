"""Lines of a known total in two releases: what they leave possible, and no more withheld."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.results.disclosure.lines import Line, Ranges, left_possible, to_withhold

MIN_CELL = 4
Drawn = list[tuple[int, int, bool, bool]]
"""Of each line its count before and what came, and whether these are told."""


def lines(drawn: Drawn, limit: int) -> list[Line]:
    """Lines of which each count is told or not; a count that is 0 always is."""
    found = []
    for before, came, then, told in drawn:
        now = before + came
        known = (before, before) if then else (0, limit)
        free = (1, limit) if now else (0, 0)
        ends = (now, now) if told else free
        found.append(
            Line((before, now, came), (known, ends, (0, limit)), (known, free, (0, limit)))
        )
    return found


def tried(ranges: Sequence[Ranges], totals: Sequence[int]) -> list[list[set[int]]]:
    """What each line can be, by trying all numbers: of each line before, now and what came."""
    found: list[list[set[int]]] = [[set(), set(), set()] for _ in ranges]
    choices = [
        [
            (before, now, now - before)
            for before in range(own[0][0], own[0][1] + 1)
            for now in range(own[1][0], own[1][1] + 1)
            if own[2][0] <= now - before <= own[2][1]
        ]
        for own in ranges
    ]
    for chosen in product(*choices):
        if [sum(column) for column in zip(*chosen, strict=True)][:2] == list(totals[:2]):
            for line, counts in zip(found, chosen, strict=True):
                for values, count in zip(line, counts, strict=True):
                    values.add(count)
    return found


def sums(found: Sequence[Line]) -> tuple[int, int, int]:
    before, now = (sum(line.counts[i] for line in found) for i in (0, 1))
    return before, now, now - before


FEW = st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans(), st.booleans())


@given(st.lists(FEW, min_size=1, max_size=3))
def test_ranges_are_those_of_all_numbers_that_there_can_be(drawn: Drawn) -> None:
    found = lines(drawn, 7)
    ranges = [line.told for line in found]
    totals = sums(found)

    assert left_possible(ranges, totals) == [
        tuple((min(values), max(values)) for values in line) for line in tried(ranges, totals)
    ]


def test_what_is_less_than_before_has_ranges_too() -> None:
    """Where nothing says that what came is not negative, the two totals alone bound it."""
    ranges: list[Ranges] = [((5, 5), (0, 9), (-9, 9)), ((7, 7), (0, 9), (-9, 9))]

    assert left_possible(ranges, (12, 10, -2)) == [
        ((5, 5), (1, 9), (-4, 4)),
        ((7, 7), (1, 9), (-6, 2)),
    ]


def all_told(*counts: tuple[int, int]) -> list[Line]:
    """Lines told in both releases, by counts before and now; few that came are withheld now."""
    return lines([(b, n - b, True, not 0 < n - b < MIN_CELL) for b, n in counts], 500)


@pytest.mark.parametrize(
    ("counts", "places"),
    [
        ([(30, 33), (160, 240), (200, 320)], [1]),
        ([(30, 33), (200, 320), (160, 240)], [2]),
        ([(30, 33), (40, 43), (160, 240)], []),
        ([(30, 31), (40, 41), (160, 240), (200, 320)], [2]),
        ([(30, 60), (160, 240)], []),
        ([(30, 33), (160, 160)], [1]),
        ([], []),
    ],
)
def test_by_hand(counts: list[tuple[int, int]], places: list[int]) -> None:
    found = all_told(*counts)

    assert to_withhold(found, sums(found)[:2], MIN_CELL) == places


def broken(found: Sequence[Line], places: Sequence[int]) -> bool:
    """Whether something small is narrower than it is with every later count withheld."""
    totals = sums(found)
    now, free = (
        tried(ranges, totals)
        for ranges in (
            [line.free if i in places else line.told for i, line in enumerate(found)],
            [line.free for line in found],
        )
    )
    for line, told, most in zip(found, now, free, strict=True):
        for total, count, values, possible in zip(totals, line.counts, told, most, strict=True):
            for number, left, could in (
                (count, values, possible),
                (total - count, {total - v for v in values}, {total - v for v in possible}),
            ):
                if 0 < number < MIN_CELL and not left >= could & {*range(1, MIN_CELL)}:
                    return True
    return False


SOME = st.tuples(st.integers(0, 3), st.integers(0, 4), st.booleans(), st.booleans())


@given(st.lists(SOME, min_size=2, max_size=3))
@example([(1, 1, True, False), (2, 4, True, True), (3, 4, True, True)])
@example([(3, 2, True, True), (0, 4, True, True), (2, 2, True, True)])
@example([(1, 1, False, True), (3, 2, True, True), (0, 4, True, True)])
@example([(0, 3, True, False), (2, 4, True, True)])
def test_what_is_withheld_frees_the_small_ones_and_none_of_it_is_in_vain(drawn: Drawn) -> None:
    found = lines(drawn, 7)
    places = to_withhold(found, sums(found)[:2], MIN_CELL)

    assert not broken(found, places)
    for place in places:
        assert broken(found, [other for other in places if other != place])
