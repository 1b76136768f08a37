"""The findings to act on first, each with how many it concerns, their share, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit._reports.chapters.blocks import anchors, many
from audit._reports.chapters.cards import headline
from audit._reports.charts.evidence import COUNTED
from audit._reports.charts.figures import LEAST_DRAWN
from audit._reports.words.parts import First
from audit._reports.words.words import SEVERITY, TONE, number, percent, span, words
from audit.base.plurals import share_told
from audit.results.findings import DRAWN
from audit.results.order import first_findings
from audit.results.published_cells import UNEXPECTED_PAIR


def first(shared: Mapping[str, Any]) -> tuple[First, ...]:
    """The findings of a shared view to act on, the first one first."""
    led = {id_: anchor for check in shared["checks"] for id_, anchor in anchors(check).items()}
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
        )
        for (check, finding), to_do, before in zip(found, advice, ["", *advice], strict=False)
    )


def beyond(shared: Mapping[str, Any]) -> tuple[str, ...]:
    """Of each check with more findings than anybody can act on: how many, and where they are."""
    return tuple(
        f"{told}{_mapped(shared, check['name'])}"
        for check in shared["checks"]
        if (told := many(check))
    )


def _mapped(shared: Mapping[str, Any], check: str) -> str:
    """That the map of branches shows where pairs are, where it is drawn."""
    drawn = check == UNEXPECTED_PAIR and len(shared["overview"]["branches"]) >= LEAST_DRAWN
    return " The map of branches shows where." if drawn else ""


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
