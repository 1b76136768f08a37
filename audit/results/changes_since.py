"""What has changed since the reference run: findings that are new, worse, known or gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from audit.results.disclosure import Shown, is_small

Remembered: TypeAlias = Mapping[str, Any]
"""What a run keeps of its reference: ``instances, status, min_cell``, and ``checks`` with ``name,
status, standing, folded`` (ids of findings) and ``findings``: those that its shared view tells,
with ``id, severity, nodes, counts, beside`` (what counts are written beside), ``effect, value``."""

EFFECTS = ("share", "ratio")
"""Evidence that tells how large a finding is; the first that it has."""
DIGITS = 3
"""Significant digits of an effect told of two runs: fewer than would tell the counts."""
_UNASKED = ("error", "not_applicable")


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids of a check's findings: those that stand, the known ones of these, and those folded."""

    standing: frozenset[str]
    known: frozenset[str]
    folded: frozenset[str]


def effect(evidence: Mapping[str, Shown]) -> tuple[str | None, float | None]:
    """Name and rounded value of a finding's main effect; None where it has none or is withheld.

    >>> effect({"instances": 1234, "share": 0.123456}), effect({"findings": 3})
    (('share', 0.123), (None, None))
    """
    name = next((name for name in EFFECTS if name in evidence), None)
    value = None if name is None else evidence[name]
    return name, float(f"{value:.{DIGITS}g}") if isinstance(value, int | float) else None


def since_reference(
    before: Remembered, checks: Sequence[Mapping[str, Any]], ids: Mapping[str, Ids]
) -> dict[str, Any]:
    """The shared view's ``since_reference``.

    Args:
        before: What is kept of the reference.
        checks: The shared view's checks.
        ids: All findings of each check, those not shown included.

    A finding is new where the reference does not have it, not even folded into another; gone is the
    reverse. A known one is no worse than there. Findings are not compared where one of the two runs
    could not ask their check. Effects are withheld where a count behind them is withheld in either
    run, or differs by a small cell, or by one from what stands beside it.
    """
    there = {check["name"]: check for check in before["checks"]}
    pairs = [(there.get(check["name"], _UNKNOWN), check) for check in checks]
    return {
        "instances": before["instances"],
        "status": before["status"],
        "checks": [_check(old, new, ids[new["name"]]) for old, new in pairs],
        "findings": [
            line
            for old, new in pairs
            if _asked(old, new)
            for line in _findings(old, new, ids[new["name"]], before["min_cell"])
        ],
    }


_UNKNOWN: Mapping[str, Any] = {"status": None, "standing": (), "folded": (), "findings": ()}
"""A check that the reference does not know."""


def _asked(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return {old["status"], new["status"]}.isdisjoint((None, *_UNASKED))


def _check(old: Mapping[str, Any], new: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
    there = {*old["standing"], *old["folded"]}
    counts = {
        "new": len(ids.standing - there),
        "worse": len((ids.standing & there) - ids.known),
        "known": len(ids.known),
        "gone": len(set(old["standing"]) - ids.standing - ids.folded),
    }
    asked = _asked(old, new)
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
    """Counts of a finding that differ by a small cell from those told before, or whose rest does.

    Args:
        before: What is kept of the reference's finding.
        now: Evidence of the finding.
        min_cell: Smallest count that may be shown.

    The rest of a count is what lacks to any whole number that is told beside it in both runs.
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


def _rests(came: Mapping[str, int], name: str) -> Iterator[int]:
    return (total - came[name] for total in came.values())
