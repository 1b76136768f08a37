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
    return name, _three_digits(value) if isinstance(value, int | float) else None


def kept_check(check: CheckResult, shared: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a check of a reference, whose view has ``shared``."""
    ids, kept = check.ids, list[dict[str, Any]]()
    for one in shared["findings"]:
        name, value = effect(one["evidence"])
        count = next((one["evidence"][name] for name in _COUNTS if name in one["evidence"]), None)
        kept.append({**_id_severity_nodes(one), "effect": name, "value": value, "count": count})
    return {
        "name": check.name,
        "status": check.status,
        "standing": sorted(ids.standing),
        "folded": sorted(ids.folded),
        "findings": kept,
    }


def _id_severity_nodes(finding: Mapping[str, Any]) -> dict[str, Any]:
    return {key: finding[key] for key in ("id", "severity", "nodes")}


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
    lines, findings = list[dict[str, Any]](), list[dict[str, Any]]()
    for check in checks:
        old, own = there.get(check["name"], _UNKNOWN), ids[check["name"]]
        asked = {old["status"], check["status"]}.isdisjoint((None, "error", "not_applicable"))
        had = {*old["standing"], *old["folded"]}
        lines.append(
            {
                "name": check["name"],
                "title": check["title"],
                "status_before": old["status"],
                "status": check["status"],
                "new": len(own.standing - own.unasked - had) if asked else None,
                "worse": len((own.standing & had) - own.known) if asked else None,
                "known": len(own.known) if asked else None,
                "gone": len(set(old["standing"]) - own.standing - own.folded) if asked else None,
            }
        )
        findings += _findings(old, check, own) if asked else ()
    return {
        "instances": before["instances"],
        "status": before["status"],
        "depths": _depths(before["depths"], depths) if depths else [],
        "checks": lines,
        "findings": findings,
    }


def is_twin(finding: str) -> bool:
    """Whether an id is that of a finding that holds another one against the reference."""
    return finding.endswith(_TWIN)


def twin_of(finding: str) -> str:
    """Id of the finding that holds another one against the reference (its ``elsewhere_share``)."""
    return f"{finding}{_TWIN}"


def _findings(old: Mapping[str, Any], new: Mapping[str, Any], ids: Ids) -> Iterator[dict[str, Any]]:
    """What became of each finding of a check: ``new, known``, ``worse`` or ``gone``."""
    there = {*old["standing"], *old["folded"]}
    shown = {one["id"]: one["value"] for one in old["findings"]}
    measured = {one["id"]: one["evidence"] for one in new["findings"]}
    for one in new["findings"]:
        if one["unasked"]:
            continue
        name, value = effect(one["evidence"])
        twin = one["id"] if is_twin(one["id"]) else twin_of(one["id"])
        beside = measured.get(twin, {}).get("elsewhere_share")
        known = "known" if one["known"] else "worse"
        yield {
            **_id_severity_nodes(one),
            "check": new["name"],
            "change": known if one["id"] in there else "new",
            "effect": name,
            "before": shown.get(one["id"], effect({"share": beside})[1]),
            "now": value,
            "of": one["evidence"].get("of"),
        }
    for one in old["findings"]:
        if one["id"] not in ids.standing | ids.folded:
            yield {
                **_id_severity_nodes(one),
                "effect": one["effect"],
                "check": new["name"],
                "change": "gone",
                "before": one["value"],
                "now": None,
                "of": None,
            }


def _depths(before: Rows, now: Rows) -> list[dict[str, Any]]:
    """Shares of labels at each depth in the reference and now; 0 where a run has no label there."""
    then, came = ({row["depth"]: row["share"] for row in rows} for rows in (before, now))
    return [
        {
            "depth": depth,
            "before": _three_digits(then.get(depth) or 0.0),
            "now": _three_digits(came.get(depth) or 0.0),
        }
        for depth in sorted(then | came)
    ]


def _three_digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
