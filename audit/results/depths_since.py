"""Depth of labels, held against the reference run's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from audit.disclosure import Quantity, Shown, is_small, least, most

SHALLOWER = "not_specific", ("shallower",)
"""Check and key of the finding that labels are less deep than in the reference."""

DIGITS = 3
"""Significant digits of a share: too few to reconstruct the counts."""

Rows = Sequence[Mapping[str, Any]]
Ends: TypeAlias = tuple[float, float]


def kept_depths(own: Rows, shared: Rows) -> list[dict[str, Any]]:
    """Labels at each depth of a reference, ``depth, labels, share``.

    Args:
        own: Depths as the reference shows them itself.
        shared: Depths as it would show them at the stricter smallest count of both runs.

    A count and a share are null unless both show them alike.
    """
    return [
        {
            "depth": row["depth"],
            **{name: row[name] if one == row else None for name in ("labels", "share")},
        }
        for one, row in zip(own, shared, strict=True)
    ]


def depths_since(before: Rows, now: Rows, min_cell: int) -> list[dict[str, Any]]:
    """Shares of labels at each depth in the reference and now, ``depth, before, now``.

    Args:
        before: What is kept of the reference.
        now: Depths of the shared view.
        min_cell: Smallest count shown of either run.

    Shares have `DIGITS` digits; a depth that no label of a run can have has a share of 0. Both are
    null where a count is withheld in either run, or has changed by a small cell.
    """
    there = {row["depth"]: row for row in before}
    came = {row["depth"]: row for row in now}
    rows = []
    for depth in sorted(there | came):
        pair = there.get(depth, _NONE), came.get(depth, _NONE)
        hidden = _hidden(pair[0]["labels"], pair[1]["labels"], min_cell)
        shares = (None if hidden else _rounded(one["share"]) for one in pair)
        rows.append({"depth": depth, **dict(zip(("before", "now"), shares, strict=True))})
    return rows


_NONE: Mapping[str, Any] = {"labels": 0, "share": 0.0}


def _hidden(before: object, now: object, min_cell: int) -> bool:
    if not isinstance(before, int) or not isinstance(now, int):
        return True
    return is_small(abs(before - now), min_cell)


def _rounded(share: float | None) -> float:
    return float(f"{share or 0.0:.{DIGITS}g}")


def told_loss(evidence: Mapping[str, Quantity], before: Rows, now: Rows) -> dict[str, Shown]:
    """Evidence of a loss of mean depth that is shown otherwise than it is, by name.

    Args:
        evidence: The numbers of the finding.
        before: What is kept of the reference, if its hierarchy is the same.
        now: Depths of the shared view.

    Returns:
        Empty where all counts of labels by depth are shown, of both runs, or follow from those that
        are. Else means and loss as the ranges that these leave, such as ``3.41 to 3.43``, and
        nothing of the interval.
        A number is null where its range is wider than `WIDEST`, or where it is not of the reference
        that is given, as a run can be judged again with another one.
    """
    here, then = _mean_within(now), _mean_within(before)
    limit = float(evidence["limit"].value or 0)
    ranges = {
        "depth": here,
        "depth_before": then,
        "lost": (max(then[0] - here[1], limit), then[1] - here[0]),
    }
    shown = {name: _in_words(evidence[name].value, *ends) for name, ends in ranges.items()}
    if all(shown[name] == evidence[name].value for name in shown):
        return {}
    return {**shown, **dict.fromkeys(("lost_low", "lost_high", "p_value"))}


WIDEST = 1.0
"""Widest range of a mean depth that is shown: a wider one says hardly anything."""
_NOISE = 1e-9


def _mean_within(rows: Rows) -> Ends:
    """The least and the greatest mean depth that shown labels leave; anything without any."""
    total = next((round(row["labels"] / row["share"]) for row in rows if row["share"]), 0)
    if not total:
        return 0.0, math.inf
    labels = [(int(row["depth"]), *_ends(row["labels"], total)) for row in rows]
    return _least_sum(labels, total) / total, _least_sum(labels[::-1], total) / total


def _ends(labels: Shown, total: int) -> Ends:
    """Between what a number of labels lies that is shown so."""
    return float(least(labels)), min(most(labels), float(total))


def _least_sum(labels: Sequence[tuple[int, float, float]], total: int) -> float:
    """The sum of depths where what the least numbers leave falls to the first ones that it may."""
    left, sum_ = total - sum(low for _, low, _ in labels), 0.0
    for depth, low, high in labels:
        more = min(left, high - low)
        left, sum_ = left - more, sum_ + depth * (low + more)
    return sum_


def _in_words(value: Shown, low: float, high: float) -> Shown:
    """A number as the range that it is in; itself where that is a point."""
    if not isinstance(value, int | float) or not low - _NOISE <= value <= high + _NOISE:
        return None
    if high - low > WIDEST:
        return None
    if high - low < _NOISE:
        return value
    return f"{math.floor(100 * low) / 100:.2f} to {math.ceil(100 * high) / 100:.2f}"
