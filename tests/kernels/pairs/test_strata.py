"""Strata of records by their number of labels, against plain Python and worked by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.engine.pairs.margins import (
    NO_STRATUM,
    length_cuts,
    strata_of,
)
from fixtures import brute_force_strata as plain

lengths_of_records = st.one_of(
    st.lists(st.integers(0, 9), max_size=30),
    st.lists(st.integers(0, 30), min_size=70, max_size=250),
    st.lists(st.sampled_from([0, 1, 2, 2, 2, 3, 40]), min_size=70, max_size=250),
)


def whole(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.int64)


def cuts(lengths: list[int]) -> list[int]:
    found: list[int] = length_cuts(np.bincount(whole(lengths))).tolist()
    return found


def members(stratum: np.ndarray) -> list[set[int]]:
    """Records of each stratum, those of none left out."""
    return [
        set(np.flatnonzero(stratum == number).tolist())
        for number in range(int(stratum.max(initial=-1)) + 1)
    ]


@given(lengths_of_records)
def test_cut_points_are_quantiles_by_nearest_rank(lengths: list[int]) -> None:
    assert cuts(lengths) == plain.cut_points(lengths)


@given(lengths_of_records)
def test_a_stratum_ends_with_its_cut_point(lengths: list[int]) -> None:
    found = cuts(lengths)
    stratum = strata_of(whole(lengths), whole(found))

    assert members(stratum) == plain.strata(lengths, found)
    assert all(records for records in members(stratum))
    assert (stratum == NO_STRATUM).tolist() == [length < 2 for length in lengths]


@given(lengths_of_records, st.sets(st.integers(2, 12)), st.data(), st.integers(1, 2))
def test_strata_crossed_with_columns_have_ten_records(
    lengths: list[int], given: set[int], data: st.DataObject, columns: int
) -> None:
    ends = sorted(given)
    size = len(lengths)
    further = [
        data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)) for _ in range(columns)
    ]
    categories = [*zip(*further, strict=True)]

    stratum = strata_of(whole(lengths), whole(ends), [whole(column) for column in further])

    assert members(stratum) == plain.strata(lengths, ends, categories or [()])


def test_there_are_twenty_strata_at_most() -> None:
    assert cuts([*range(2, 82)] * 10) == [*range(5, 80, 4)]


def test_a_small_crossed_stratum_joins_the_next_length_of_its_category() -> None:
    lengths = [2] * 9 + [5] * 10 + [2] * 10 + [5] * 9 + [2] * 3 + [5] * 3
    site = [0] * 19 + [1] * 19 + [2] * 6
    # 9 join the next, 9 the one before, and where both are too small they are one
    assert strata_of(whole(lengths), whole([2]), [whole(site)]).tolist() == (
        [0] * 19 + [1] * 19 + [2] * 6
    )
    lengths = [2] * 10 + [5] * 9 + [7] * 10
    assert strata_of(whole(lengths), whole([2, 5]), [whole([0] * 29)]).tolist() == (
        [0] * 10 + [1] * 19
    )
