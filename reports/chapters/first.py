"""The findings to act on first, each with how many it concerns, their share, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.base.plurals import share_told
from audit.results.findings import DRAWN
from audit.results.order import UNORDERED, first_findings
from reports.chapters.blocks import anchors
from reports.chapters.cards import headline
from reports.charts.evidence import COUNTED
from reports.words.parts import First
from reports.words.words import SEVERITY, TONE, number, percent, span, words


def first(shared: Mapping[str, Any]) -> tuple[First, ...]:
    """The findings of a shared view to act on, the first one first."""
    led = {id_: anchor for check in shared["checks"] for id_, anchor in anchors(check).items()}
    checks = {check["name"]: check for check in shared["checks"]}
    found = first_findings(shared)
    advice = [headline(finding["curator"]) for _, finding in found]
    return tuple(
        First(
            id=finding["id"],
            check=check,
            anchor=led[finding["id"]],
            severity=SEVERITY[finding["severity"]] + ", known" * finding["known"],
            tone=TONE[finding["severity"]],
            what=headline(finding["statement"]),
            how_many=_how_many(finding["evidence"]),
            share=_share(finding["evidence"]),
            to_do=to_do if to_do != before else "",
            among=_among(checks[check]),
        )
        for (check, finding), to_do, before in zip(found, advice, ["", *advice], strict=False)
    )


def _among(check: Mapping[str, Any]) -> str:
    """That a check has more findings than are listed; empty where all are."""
    if not check["not_shown"]:
        return ""
    total = number(len(check["findings"]) + check["not_shown"])
    return f"one of {total} such findings, of which the first {len(check['findings'])} are listed"


def order_said(shared: Mapping[str, Any]) -> str:
    """What must be said of the order of the first findings; empty where it is the usual one."""
    return "" if "worst" in shared else UNORDERED


def _how_many(evidence: Mapping[str, Any]) -> str:
    name = _counted(evidence)
    if not name:
        return ""
    of = f" of {number(evidence['of'])}" if "of" in evidence else ""
    return f"{number(evidence[name])}{of} {words(name)}"


def _share(evidence: Mapping[str, Any]) -> str:
    """The share with its own interval; that of the count without one; empty without either."""
    ends = [evidence.get(end) for end in ("low", "high")]
    count, of = evidence.get(_counted(evidence)), evidence.get("of")
    if "share" in evidence:
        text = share_told(evidence["share"], count, of)
        known = DRAWN not in evidence and all(
            isinstance(end, float) for end in (evidence["share"], *ends)
        )
        return f"{text} ({span(*map(percent, ends))})" if known else text
    return percent(count / of) if isinstance(count, int) and isinstance(of, int) and of else ""


def _counted(evidence: Mapping[str, Any]) -> str:
    return next((name for name in COUNTED if name in evidence), "")
