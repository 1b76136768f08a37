"""Strata of records by their length, worked by hand."""

from __future__ import annotations

import numpy as np

from audit.engine.strata import length_cuts, length_histogram, strata_of


def cuts(*lengths: int) -> list[int]:
    found: list[int] = length_cuts(length_histogram(np.array(lengths, np.int64))).tolist()
    return found


def test_few_different_lengths_are_a_bin_each() -> None:
    assert cuts(0, 1, 2, 2, 7, 4) == [2, 4, 7]


def test_the_first_bin_begins_at_two_labels_though_none_has_two() -> None:
    assert cuts(5, 9) == [2, 9]
    assert cuts(0, 1, 1) == cuts() == [2]


def test_many_different_lengths_are_quantiles() -> None:
    # 40 lengths of one instance each: two a bin
    assert cuts(*range(2, 42)) == list(range(2, 42, 2))


def test_quantiles_that_end_at_the_same_length_are_one_bin() -> None:
    # half of all have two labels: ten of twenty quantiles end there
    found = cuts(*[2] * 21, *range(3, 24))

    # then one in twenty is 2.1 instances
    assert found[:4] == [2, 3, 6, 8]
    assert len(found) == 11


def test_each_quantile_holds_about_a_twentieth() -> None:
    lengths = np.random.default_rng(0).integers(2, 200, 10_000)
    strata = strata_of(lengths, length_cuts(length_histogram(lengths)))

    assert np.bincount(strata).tolist() == [
        count for count in np.bincount(strata).tolist() if 440 < count < 560
    ]


def test_records_without_two_labels_have_no_stratum() -> None:
    assert strata_of(np.array([0, 1, 2, 3]), np.array([2, 3])).tolist() == [-1, -1, 0, 1]


def test_lengths_beyond_the_cuts_fall_into_the_last_bin() -> None:
    assert strata_of(np.array([2, 99]), np.array([2, 5])).tolist() == [0, 1]


def test_further_categories_are_crossed_and_numbered_without_gaps() -> None:
    lengths, site = np.array([2, 2, 3, 3, 1]), np.array([0, 4, 0, 0, 2])

    assert strata_of(lengths, np.array([2, 3]), [site]).tolist() == [0, 1, 2, 2, -1]
