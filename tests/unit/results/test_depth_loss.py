"""Labels by depth beside the reference's: no withheld count, no small change, no finer mean."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.disclosure import Quantity, shown_parts
from audit.results.reference_changes import depth_loss, depths_since, kept_depths

MIN_CELL = 11
LABELS = st.lists(st.integers(0, 60) | st.just(400), min_size=1, max_size=5)


def shown(labels: list[int], min_cell: int = MIN_CELL) -> list[dict[str, Any]]:
    """Depths as a run tells them that withholds small counts alone."""
    total = sum(labels)
    return [
        {"depth": depth, "labels": n, "share": n / total if total else None}
        if n == 0 or n >= min_cell
        else {"depth": depth, "labels": None, "share": None}
        for depth, n in enumerate(labels)
    ]


def test_by_hand() -> None:
    before, now = shown([0, 100, 300]), shown([50, 100, 250, 100])
    assert depths_since(before, now, MIN_CELL) == [
        {"depth": 0, "before": 0.0, "now": 0.1},
        {"depth": 1, "before": 0.25, "now": 0.2},
        {"depth": 2, "before": 0.75, "now": 0.5},
        {"depth": 3, "before": 0.0, "now": 0.2},
    ]


@given(LABELS, LABELS)
def test_nothing_small_is_told(before: list[int], now: list[int]) -> None:
    rows = depths_since(shown(before), shown(now), MIN_CELL)
    longest = max(len(before), len(now))
    old, new = ([*labels, *[0] * longest][:longest] for labels in (before, now))
    for depth, row in enumerate(rows):
        small = {old[depth], new[depth], abs(old[depth] - new[depth])} & {*range(1, MIN_CELL)}
        shares = (row["before"], row["now"])
        if small:
            assert shares == (None, None)
        else:
            sums = (sum(old) or 1, sum(new) or 1)
            assert shares == tuple(
                float(f"{labels[depth] / total:.3g}")
                for labels, total in zip((old, new), sums, strict=True)
            )


def test_what_a_stricter_count_withholds_is_not_kept() -> None:
    labels = [5, 20, 100]
    kept = kept_depths(shown(labels, 1), shown(labels, 11))
    assert [row["labels"] for row in kept] == [None, 20, 100]
    kept = kept_depths(shown(labels, 21), shown(labels, 11))
    assert [row["labels"] for row in kept] == [None, None, 100]


# --- the loss of mean depth ---------------------------------------------------------------------

FEW = st.lists(st.integers(0, 9), min_size=2, max_size=4).filter(any)


def mean(labels: list[int]) -> float:
    return sum(depth * n for depth, n in enumerate(labels)) / sum(labels)


def evidence(before: list[int], now: list[int], limit: float = 0.0) -> dict[str, Quantity]:
    numbers = {
        "depth": mean(now),
        "depth_before": mean(before),
        "lost": mean(before) - mean(now),
        "lost_low": 0.1,
        "lost_high": 0.9,
        "p_value": 0.01,
        "limit": limit,
    }
    return {name: Quantity(value) for name, value in numbers.items()}


def protected(labels: list[int], min_cell: int) -> list[dict[str, Any]]:
    """Depths as a run tells them that withholds small counts and those that would tell them."""
    total = sum(labels)
    return [
        {"depth": depth, "labels": n, "share": n / total if isinstance(n, int) else None}
        for depth, n in enumerate(shown_parts(labels, min_cell))
    ]


def ends(told: object) -> tuple[float, float]:
    if isinstance(told, str):
        low, high = told.split(" to ")
        return float(low), float(high)
    assert isinstance(told, float)
    return told, told


def test_where_every_count_is_shown_the_numbers_stand() -> None:
    before, now = [0, 40, 200], [20, 100, 50]

    assert depth_loss(evidence(before, now), shown(before), shown(now)) == {}


def test_a_withheld_count_leaves_a_range_and_no_interval() -> None:
    """Of 240 labels 3 and 7 are withheld, so that 10 lie at a depth of 0 or 1."""
    before, now = [3, 7, 230], [20, 170, 50]

    assert depth_loss(evidence(before, now), shown(before), shown(now)) == {
        "depth": mean(now),
        "depth_before": "1.91 to 1.96",
        "lost": "0.79 to 0.84",
        "lost_low": None,
        "lost_high": None,
        "p_value": None,
    }


def test_a_loss_is_above_the_limit() -> None:
    before, now = [3, 7, 230], [20, 170, 50]
    told = depth_loss(evidence(before, now, 0.81), shown(before), shown(now))

    assert told["lost"] == "0.81 to 0.84"


def test_hardly_anything_known_is_nothing_told() -> None:
    before = [9, 9, 9, 9, 9, 50]
    told = depth_loss(evidence(before, [0, 400]), shown(before), shown([0, 400]))

    assert (told["depth"], told["depth_before"], told["lost"]) == (1.0, None, None)


@pytest.mark.parametrize("reference", [[], [0, 300, 100], [5, 295, 100]])
def test_of_another_reference_or_none_nothing_is_told(reference: list[int]) -> None:
    told = depth_loss(evidence([0, 40, 200], [20, 100, 50]), shown(reference), shown([20, 100, 50]))

    assert told["depth"] == mean([20, 100, 50])
    assert {told[name] for name in told if name != "depth"} == {None}


@given(FEW, st.integers(2, 5))
def test_a_range_is_the_tightest_that_the_depths_shown_leave(labels: list[int], m: int) -> None:
    """All numbers of labels that look the same beside the same total are tried."""
    rows, total = protected(labels, m), sum(labels)
    told = depth_loss(evidence([0, 0, 0, 0, 9], labels), shown([0, 0, 0, 0, 9], 1), rows)
    possible = [
        mean(list(other))
        for other in product(range(total + 1), repeat=len(labels))
        if sum(other) == total and all(map(looks_like, rows, other))
    ]
    low, high = min(possible), max(possible)

    if not told:
        assert low == high
    elif any(row["share"] for row in rows) and high - low <= 1:
        first, last = ends(told["depth"])
        assert first - 1e-9 <= low
        assert high <= last + 1e-9
        assert (first, last) == pytest.approx((low, high), abs=0.0101)
    else:
        assert told["depth"] is None


def looks_like(row: dict[str, Any], labels: int) -> bool:
    told = row["labels"]
    if isinstance(told, str):
        bound = int(told[1:])
        return 0 < labels < bound if told[0] == "<" else labels > bound
    return told is None or labels == told
