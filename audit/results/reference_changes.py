"""Changes since the reference run: of findings, and of the depth of labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from audit.disclosure import Quantity, Shown, is_small, least, most, shown_parts

Remembered: TypeAlias = Mapping[str, Any]
"""The part of a reference that a run keeps: ``instances, status, min_cell``, ``hierarchy`` (its
digest), ``labels`` (of all instances), ``depths`` (as `kept_depths` makes them), ``drift`` (as
`shared_values.kept_values` makes it), ``mended`` (ids of findings that were mended as a whole in
its data or in earlier ones), and ``checks`` with
``name, status, standing, folded`` (ids of findings) and ``findings``: those in its shared view,
with ``id, severity, nodes, counts, beside`` (the totals printed beside counts), ``parts`` (``nodes,
counts``), ``effect, value``."""

EFFECTS = ("share", "ratio")
"""Evidence that measures the effect of a finding; the first one present is used."""
DIGITS = 3
"""Significant digits of an effect or a share shown for two runs: too few to reconstruct counts."""
SHALLOWER = "not_specific", ("shallower",)
"""Check and key of the finding that labels are less deep than in the reference."""
WIDEST = 1.0
"""Widest range of a mean depth that is shown: a wider one says hardly anything."""
_NOISE = 1e-9
Rows: TypeAlias = Sequence[Mapping[str, Any]]
Ends: TypeAlias = tuple[float, float]
_UNASKED = ("error", "not_applicable")


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids of a check's findings: those not folded, the known ones among them, and those folded."""

    standing: frozenset[str]
    known: frozenset[str]
    folded: frozenset[str]


def effect(evidence: Mapping[str, Shown]) -> tuple[str | None, float | None]:
    """Name and rounded value of a finding's main effect; None if it has none or it is withheld.

    >>> effect({"instances": 1234, "share": 0.123456}), effect({"findings": 3})
    (('share', 0.123), (None, None))
    """
    name = next((name for name in EFFECTS if name in evidence), None)
    value = None if name is None else evidence[name]
    return name, _rounded(value) if isinstance(value, int | float) else None


def since_reference(
    before: Remembered,
    checks: Sequence[Mapping[str, Any]],
    ids: Mapping[str, Ids],
    depths: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Make the ``since_reference`` part of the shared view.

    Args:
        ids: All findings of each check, those not shown included.
        depths: The shared view's depths of labels; empty where the hierarchy is another.

    A finding is new if the reference does not have it, not even folded into another; gone is the
    reverse. A known finding is not worse than in the reference. Findings are not compared if their
    check was not applicable in one of the runs. An effect is withheld if a count behind it is
    withheld in either run, or if the count, or its difference from a total printed beside it,
    changed by a small cell.
    """
    there = {check["name"]: check for check in before["checks"]}
    pairs = [(there.get(check["name"], _UNKNOWN), check) for check in checks]
    return {
        "instances": before["instances"],
        "status": before["status"],
        "depths": depths_since(before["depths"], depths, before["min_cell"]) if depths else [],
        "checks": [_check(old, new, ids[new["name"]]) for old, new in pairs],
        "findings": [
            line
            for old, new in pairs
            if _ran_in_both(old, new)
            for line in _findings(old, new, ids[new["name"]], before["min_cell"])
        ],
    }


_UNKNOWN: Mapping[str, Any] = {"status": None, "standing": (), "folded": (), "findings": ()}
"""Stands for a check that the reference does not have."""


def _ran_in_both(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return {old["status"], new["status"]}.isdisjoint((None, *_UNASKED))


def _check(old: Mapping[str, Any], new: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
    there = {*old["standing"], *old["folded"]}
    counts = {
        "new": len(ids.standing - there),
        "worse": len((ids.standing & there) - ids.known),
        "known": len(ids.known),
        "gone": len(set(old["standing"]) - ids.standing - ids.folded),
    }
    asked = _ran_in_both(old, new)
    return {
        "name": new["name"],
        "title": new["title"],
        "status_before": old["status"],
        "status": new["status"],
        **{change: count if asked else None for change, count in counts.items()},
    }


def _findings(
    old: Mapping[str, Any], new: Mapping[str, Any], ids: Ids, min_cell: int
) -> Iterator[dict[str, Any]]:
    there, shown = {*old["standing"], *old["folded"]}, {one["id"]: one for one in old["findings"]}
    for finding in new["findings"]:
        name, value = effect(finding["evidence"])
        before = shown.get(finding["id"])
        change = "new" if finding["id"] not in there else "known" if finding["known"] else "worse"
        hidden = before is not None and _differs_little(before, finding["evidence"], min_cell)
        yield {
            **{key: finding[key] for key in ("id", "severity", "nodes")},
            "check": new["name"],
            "change": change,
            "effect": name,
            "before": None if hidden or before is None else before["value"],
            "now": None if hidden else value,
        }
    for one in old["findings"]:
        if one["id"] not in ids.standing | ids.folded:
            yield {
                **{key: one[key] for key in ("id", "severity", "nodes", "effect")},
                "check": new["name"],
                "change": "gone",
                "before": one["value"],
                "now": None,
            }


def _differs_little(before: Mapping[str, Any], now: Mapping[str, Shown], min_cell: int) -> bool:
    """Whether a count is withheld in either run, or has changed little."""
    counts = before["counts"]
    withheld = any(not isinstance(one.get(name), int) for name in counts for one in (counts, now))
    return withheld or any(changed_little(before, now, min_cell))


def changed_little(
    before: Mapping[str, Any], now: Mapping[str, Shown], min_cell: int
) -> Iterator[str]:
    """Counts of a finding that changed by a small cell since the reference, or whose remainder did.

    A remainder is the difference of a count from a total printed beside it in both runs.
    """
    shown = {**before["beside"], **before["counts"]}
    came = {
        name: value - then
        for name, then in shown.items()
        if isinstance(then, int) and isinstance(value := now.get(name), int)
    }
    for name in filter(came.__contains__, before["counts"]):
        if any(is_small(abs(n), min_cell) for n in (came[name], *_rests(came, name))):
            yield name


def bounds_since(
    before: Mapping[str, Any] | None, now: Mapping[str, Shown], min_cell: int
) -> dict[str, Shown]:
    """Bounds in place of counts that would reveal a small cell beside those of the reference."""
    if before is None or min_cell <= 1:
        return {}
    changed = changed_little(before, now, min_cell)
    return {name: f">{min_cell - 1}" for name in changed if least(now[name]) >= min_cell}


def parts_since(
    before: Mapping[str, Any] | None,
    now: Mapping[str, Shown],
    parts: Sequence[tuple[tuple[str, ...], Mapping[str, Shown]]],
    min_cell: int,
) -> list[dict[str, Shown]]:
    """Bounds as in `bounds_since` of each line of a finding, given by its nodes and numbers.

    Where a line changed by a small cell, so many are withheld that their sum does not tell it.
    """
    found: list[dict[str, Shown]] = [{} for _ in parts]
    if before is None or min_cell <= 1:
        return found
    lines = {tuple(one["nodes"]): one["counts"] for one in before["parts"]}
    whole = {name: n for name, n in before["counts"].items() if isinstance(n, int)}
    for name in sorted({name for counts in lines.values() for name in counts}):
        came = {
            place: value - then
            for place, (nodes, numbers) in enumerate(parts)
            if isinstance(then := lines.get(nodes, {}).get(name), int)
            and isinstance(value := numbers.get(name), int)
        }
        sums = (least(now[one]) - n for one, n in whole.items() if one in (name, *SUMS))
        rests = (n - sum(came.values()) for n in sums)
        told = shown_parts([abs(n) for n in (*came.values(), *rests)], min_cell)
        for place, shown in zip(came, told, strict=False):
            if not isinstance(shown, int) and least(parts[place][1][name]) >= min_cell:
                found[place][name] = f">{min_cell - 1}"
    return found


def told_since(
    before: Iterable[Mapping[str, Any]],
    now: Mapping[str, Shown],
    parts: Sequence[tuple[tuple[str, ...], Mapping[str, Shown]]],
    min_cell: int,
) -> list[dict[str, Shown]]:
    """Bounds of a finding and of each of its lines, beside what earlier releases tell of it."""
    found: list[dict[str, Shown]] = [{} for _ in (now, *parts)]
    for one in before:
        since = bounds_since(one, now, min_cell), *parts_since(one, now, parts, min_cell)
        found = [{**own, **more} for own, more in zip(found, since, strict=True)]
    return found


SUMS = ("rows", "extra", "labels")
"""Names of a finding's counts that are the sum of its parts."""


def _rests(came: Mapping[str, int], name: str) -> Iterator[int]:
    return (total - came[name] for total in came.values())


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

    Shares have `DIGITS` digits; a depth that no label of a run can have has a share of 0. Both are
    null where a count is withheld in either run, or has changed by a small cell.
    """
    there = {row["depth"]: row for row in before}
    came = {row["depth"]: row for row in now}
    rows = []
    for depth in sorted(there | came):
        pair = there.get(depth, _NONE), came.get(depth, _NONE)
        hidden = _hidden(pair[0]["labels"], pair[1]["labels"], min_cell)
        shares = (None if hidden else _rounded(one["share"] or 0.0) for one in pair)
        rows.append({"depth": depth, **dict(zip(("before", "now"), shares, strict=True))})
    return rows


_NONE: Mapping[str, Any] = {"labels": 0, "share": 0.0}


def _hidden(before: object, now: object, min_cell: int) -> bool:
    if not isinstance(before, int) or not isinstance(now, int):
        return True
    return is_small(abs(before - now), min_cell)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def depth_loss(evidence: Mapping[str, Quantity], before: Rows, now: Rows) -> dict[str, Shown]:
    """Evidence of a loss of mean depth that is not shown as it is, by name.

    Args:
        before: What is kept of the reference, if its hierarchy is the same.

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


def _mean_within(rows: Rows) -> Ends:
    """The least and the greatest mean depth that shown labels leave; anything without any."""
    total = next((round(row["labels"] / row["share"]) for row in rows if row["share"]), 0)
    if not total:
        return 0.0, math.inf
    labels = [(int(row["depth"]), *_ends(row["labels"], total)) for row in rows]
    return _least_sum(labels, total) / total, _least_sum(labels[::-1], total) / total


def _ends(labels: Shown, total: int) -> Ends:
    """Range of a label count, given how it is shown."""
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
