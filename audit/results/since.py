"""Changes since the reference run: of findings, and of the depth of labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from audit.results.findings import CheckResult, Ids

Remembered: TypeAlias = Mapping[str, Any]
"""The part of a reference that a run keeps, told as the run itself is: ``instances, status``,
``hierarchy`` (its digest), ``depths`` of its labels, ``mended`` (ids of findings that were mended
as a whole in its data or in earlier ones), and ``checks`` with ``name, status, standing, folded``
(ids of findings) and ``findings``: those in its view, with ``id, severity, nodes, effect, value``
and ``count``, how many records they are about."""

EFFECTS = ("share", "ratio")
"""Evidence that measures the effect of a finding; the first one present is used."""
DIGITS = 3
"""Significant digits of an effect or a share shown for two runs."""
SHALLOWER = "not_specific", ("shallower",)
"""Check and key of the finding that labels are less deep than in the reference."""
_COUNTS = ("rows", "instances")
_TWIN = ":reference:"
_UNASKED = ("error", "not_applicable")
_UNKNOWN: Mapping[str, Any] = {"status": None, "standing": (), "folded": (), "findings": ()}
"""Stands for a check that the reference does not have."""
Rows: TypeAlias = Sequence[Mapping[str, Any]]


def effect(evidence: Mapping[str, Any]) -> tuple[str | None, float | None]:
    """Name and rounded value of a finding's main effect; None where there is none.

    >>> effect({"instances": 1234, "share": 0.123456}), effect({"findings": 3})
    (('share', 0.123), (None, None))
    """
    name = next((name for name in EFFECTS if name in evidence), None)
    value = None if name is None else evidence[name]
    return name, _rounded(value) if isinstance(value, int | float) else None


def kept_check(check: CheckResult, shared: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a check of a reference, whose view has ``shared``."""
    ids = check.ids
    return {
        "name": check.name,
        "status": check.status,
        "standing": sorted(ids.standing),
        "folded": sorted(ids.folded),
        "findings": [_kept(one) for one in shared["findings"]],
    }


def _kept(finding: Mapping[str, Any]) -> dict[str, Any]:
    evidence = finding["evidence"]
    return {
        **{key: finding[key] for key in ("id", "severity", "nodes")},
        **dict(zip(("effect", "value"), effect(evidence), strict=True)),
        "count": next((evidence[name] for name in _COUNTS if name in evidence), None),
    }


def since_reference(
    before: Remembered,
    checks: Sequence[Mapping[str, Any]],
    ids: Mapping[str, Ids],
    depths: Rows,
) -> dict[str, Any]:
    """Make the ``since_reference`` part of the view.

    Args:
        checks: The checks of the view.
        ids: All findings of each check, those not shown included.
        depths: The view's depths of labels; empty where the hierarchy is another.

    A finding is new if the reference does not have it, not even folded into another; gone is the
    reverse. A known finding is not worse than in the reference. Findings are not compared if their
    check was not applicable in one of the runs, or if the reference could not have them.
    """
    there = {check["name"]: check for check in before["checks"]}
    pairs = [(there.get(check["name"], _UNKNOWN), check) for check in checks]
    return {
        "instances": before["instances"],
        "status": before["status"],
        "depths": _depths(before["depths"], depths) if depths else [],
        "checks": [_check(old, new, ids[new["name"]]) for old, new in pairs],
        "findings": [
            line
            for old, new in pairs
            if _ran_in_both(old, new)
            for line in _findings(old, new, ids[new["name"]])
        ],
    }


def is_twin(finding: str) -> bool:
    """Whether a finding, by its id, holds something against the reference."""
    return finding.endswith(_TWIN)


def twin_of(finding: str) -> str:
    """Id of the finding that holds what another one is about against the reference.

    Its ``elsewhere_share`` is what the reference has.
    """
    return f"{finding}{_TWIN}"


def _ran_in_both(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return {old["status"], new["status"]}.isdisjoint((None, *_UNASKED))


def _check(old: Mapping[str, Any], new: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
    there = {*old["standing"], *old["folded"]}
    counts = {
        "new": len(ids.standing - ids.unasked - there),
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


def _findings(old: Mapping[str, Any], new: Mapping[str, Any], ids: Ids) -> Iterator[dict[str, Any]]:
    there = {*old["standing"], *old["folded"]}
    shown = {one["id"]: one["value"] for one in old["findings"]}
    measured = {one["id"]: one["evidence"] for one in new["findings"]}
    for finding in new["findings"]:
        if finding["unasked"]:
            continue
        name, value = effect(finding["evidence"])
        twin = finding["id"] if is_twin(finding["id"]) else twin_of(finding["id"])
        beside = measured.get(twin, {}).get("elsewhere_share")
        before = shown.get(finding["id"], effect({"share": beside})[1])
        known = "known" if finding["known"] else "worse"
        yield {
            **{key: finding[key] for key in ("id", "severity", "nodes")},
            "check": new["name"],
            "change": known if finding["id"] in there else "new",
            "effect": name,
            "before": before,
            "now": value,
            "of": finding["evidence"].get("of"),
        }
    for one in old["findings"]:
        if one["id"] not in ids.standing | ids.folded:
            yield {
                **{key: one[key] for key in ("id", "severity", "nodes", "effect")},
                "check": new["name"],
                "change": "gone",
                "before": one["value"],
                "now": None,
                "of": None,
            }


def _depths(before: Rows, now: Rows) -> list[dict[str, Any]]:
    """Shares of labels at each depth in the reference and now; none where a run has no label."""
    then, came = ({row["depth"]: row["share"] for row in rows} for rows in (before, now))
    return [
        {
            "depth": depth,
            "before": _rounded(then.get(depth) or 0.0),
            "now": _rounded(came.get(depth) or 0.0),
        }
        for depth in sorted(then | came)
    ]


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
