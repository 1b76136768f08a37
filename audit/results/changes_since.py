"""Changes since the reference run: findings that are new, worse, known or gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from audit.disclosure import Shown, is_small, least
from audit.results.depths_since import depths_since

Remembered: TypeAlias = Mapping[str, Any]
"""The part of a reference that a run keeps: ``instances, status, min_cell``, ``hierarchy`` (its
digest), ``depths`` (as `audit.results.depths_since.kept_depths` makes them), and ``checks`` with
``name, status, standing, folded`` (ids of findings) and ``findings``: those in its shared view,
with ``id, severity, nodes, counts, beside`` (the totals printed beside counts), ``effect,
value``."""

EFFECTS = ("share", "ratio")
"""Evidence that measures the effect of a finding; the first one present is used."""
DIGITS = 3
"""Significant digits of an effect shown for two runs: too few to reconstruct the counts."""
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
    return name, float(f"{value:.{DIGITS}g}") if isinstance(value, int | float) else None


def since_reference(
    before: Remembered,
    checks: Sequence[Mapping[str, Any]],
    ids: Mapping[str, Ids],
    depths: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Make the ``since_reference`` part of the shared view.

    Args:
        before: What is kept of the reference.
        checks: The shared view's checks.
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
    there, told = {*old["standing"], *old["folded"]}, {one["id"]: one for one in old["findings"]}
    for finding in new["findings"]:
        name, value = effect(finding["evidence"])
        before = told.get(finding["id"])
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

    Args:
        before: The part of the reference's finding that is kept.
        now: Evidence of the finding.
        min_cell: Smallest count that may be shown.

    A remainder is the difference of a count from a total printed beside it in both runs.
    """
    told = {**before["beside"], **before["counts"]}
    came = {
        name: value - then
        for name, then in told.items()
        if isinstance(then, int) and isinstance(value := now.get(name), int)
    }
    for name in filter(came.__contains__, before["counts"]):
        if any(is_small(abs(n), min_cell) for n in (came[name], *_rests(came, name))):
            yield name


def bounds_since(
    before: Mapping[str, Any] | None, now: Mapping[str, Shown], min_cell: int
) -> dict[str, Shown]:
    """Bounds in place of the counts that would tell a small cell beside those of the reference.

    Args:
        before: The part of the reference's finding that is kept; None if it lacks the finding.
        now: Evidence of the finding.
        min_cell: Smallest count that may be shown.
    """
    if before is None or min_cell <= 1:
        return {}
    changed = changed_little(before, now, min_cell)
    return {name: f">{min_cell - 1}" for name in changed if least(now[name]) >= min_cell}


def _rests(came: Mapping[str, int], name: str) -> Iterator[int]:
    return (total - came[name] for total in came.values())
