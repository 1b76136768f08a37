"""Depth of labels, held against the reference run's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.results.disclosure import is_small

DIGITS = 3
"""Significant digits of a share: too few to reconstruct the counts."""

Rows = Sequence[Mapping[str, Any]]


def kept_depths(own: Rows, shared: Rows) -> list[dict[str, Any]]:
    """Labels at each depth of a reference, ``depth, labels, share``.

    Args:
        own: Depths as the reference tells them itself.
        shared: Depths as it would tell them at the stricter smallest count of both runs.

    A count and a share are null unless both tell them alike.
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
