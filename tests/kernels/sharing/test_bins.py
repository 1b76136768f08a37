"""The classes of told counts, against counting them out."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from audit.sharing.bins import FEWEST_BINS, Bins, width_of

WIDTHS = (4, 10, 49)
TOTALS = range(701)


def classes(bins: Bins, most: int) -> list[tuple[int, list[int]]]:
    """Told numbers with the counts from 0 to the most that are told so, in order."""
    found: list[tuple[int, list[int]]] = []
    for n in range(most + 1):
        told = bins.told(n)
        assert told is not None
        if found and found[-1][0] == told:
            found[-1][1].append(n)
        else:
            found.append((told, [n]))
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_classes_are_a_partition_in_order_each_of_a_width_at_least(width: int) -> None:
    for total in TOTALS:
        bins = Bins(width, total)
        assert bins.tells == (total >= FEWEST_BINS * width)
        if not bins.tells:
            assert {bins.told(n) for n in range(total + 1)} == {None}
            continue
        found = classes(bins, total)
        told = [number for number, _ in found]
        assert told == sorted(set(told))
        first, *between, last = (members for _, members in found)
        assert first == [*range(width + 1)]
        assert last == [*range(total - width, total + 1)]
        assert [len(members) for members in between[:-1]] == [width] * (len(between) - 1)
        assert not between or width <= len(between[-1]) < 2 * width
        assert told == [(members[0] + members[-1]) // 2 for _, members in found]


@pytest.mark.parametrize("width", WIDTHS)
def test_told_numbers_say_their_class(width: int) -> None:
    for total in (FEWEST_BINS * width, 333, 700):
        bins = Bins(width, total)
        for told, members in classes(bins, total):
            assert bins.ends(told) == (members[0], members[-1])
            assert bins.told(told) == told
            assert bins.few(told) == (0 in members)
            assert bins.all_but_few(told) == (total in members)


@pytest.mark.parametrize("width", WIDTHS)
def test_without_a_total_there_is_no_last_class(width: int) -> None:
    found = classes(Bins(width, None), 500)
    assert [len(members) for _, members in found[:-1]] == [width + 1] + [width] * (len(found) - 2)
    assert not any(Bins(width, None).all_but_few(told) for told, _ in found)


def test_a_width_of_none_tells_each_count_as_it_is() -> None:
    bins = Bins(0, 60)
    assert [bins.told(n) for n in range(61)] == [*range(61)]
    assert not any(bins.few(n) or bins.all_but_few(n) for n in range(61))
    assert bins.ends(7) == (7, 7)


@pytest.mark.parametrize("width", [0, *WIDTHS])
@pytest.mark.parametrize("total", [300, None])
def test_arrays_and_expressions_tell_what_single_counts_do(width: int, total: int | None) -> None:
    bins, counts = Bins(width, total), np.arange(301)
    alone = [bins.told(int(n)) for n in counts]
    assert np.asarray(bins.all_told(counts)).tolist() == alone
    frame = pl.DataFrame({"n": counts}).select(bins.all_told(pl.col("n")))
    assert frame.to_series().to_list() == alone


@pytest.mark.parametrize(("cell", "width"), [(1, 0), (2, 4), (5, 4), (6, 5), (11, 10), (51, 50)])
def test_the_width_follows_from_the_smallest_count(cell: int, width: int) -> None:
    assert width_of(cell) == width
