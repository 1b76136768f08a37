"""Shares of labels by depth beside the reference's: no withheld count, no small change."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from audit.results.depths_since import depths_since, kept_depths

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
