"""The verdict: the report's first sentence, and the findings to act on first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit._reports.chapters.analyses import labels_alone, shown
from audit._reports.chapters.finding_lines import COUNTED, headline
from audit._reports.chapters.findings_by_check import anchors, many
from audit._reports.chapters.model_verdict import model_verdict
from audit._reports.words.parts import Badge, First, Verdict
from audit._reports.words.words import (
    SEVERITY,
    TONE,
    among,
    capitalised,
    counted,
    number,
    percent,
    span,
    words,
)
from audit.results.findings import OF_MODEL
from audit.results.order import first_findings
from audit.results.printed import share_of


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
    return tuple(told for check in shared["checks"] if (told := many(check)))


def _how_many(evidence: Mapping[str, Any]) -> str:
    name = _counted(evidence)
    if evidence.get(name) is None:
        return ""
    return f"{among(number(evidence[name]), evidence.get('of'))} {words(name)}"


def _share(evidence: Mapping[str, Any]) -> str:
    """The share with its own interval; that of the count without one; empty without either."""
    ends = [evidence.get(end) for end in ("low", "high")]
    count, of = evidence.get(_counted(evidence)), evidence.get("of")
    share = evidence["share"] if "share" in evidence else share_of(count, of)
    if share is None:
        return ""
    known = "share" in evidence and None not in ends
    return f"{percent(share)} ({span(*map(percent, ends))})" if known else percent(share)


def _counted(evidence: Mapping[str, Any]) -> str:
    return next((name for name in COUNTED if name in evidence), "")


_WORD = {
    "error": "Incomplete; {n} of {of} crashed",
    "fail": "Errors in {n} of {of}",
    "warn": "No errors; {n} of {of} {verb}",
    "note": "No errors or warnings; {n} of {of} {has} notes",
    "pass": "Passes",
    "not_applicable": "Not judged",
}


def verdict(shared: Mapping[str, Any]) -> Verdict:
    """The verdict of the audit in one sentence, with the number of checks and instances.

    Further sentences say what became of an analysis, and why predictions that were given could
    not be judged.
    """
    status, unjudged = shared["status"], _model_not_judged(shared)
    passes = status == "pass"
    tone = "plain" if unjudged and passes else TONE.get(status, "plain")
    word = "Data pass" if unjudged and passes else _word(status, shared["checks"])
    if _notes_alone(shared):
        word = f"No errors or warnings; {counted(number_of_findings(shared), 'note')}"
    badge = Badge(f"{word}; model not judged" if unjudged else word, tone)
    of_analyses = (one.sentence(shared) for one in shown(shared))
    sentence = " ".join(filter(None, (_sentence(shared), *of_analyses, unjudged)))
    return Verdict(badge, sentence, first(shared), beyond(shared), model_verdict(shared))


def _model_not_judged(shared: Mapping[str, Any]) -> str:
    """Why nothing of a model could be judged; empty where something was, or without one."""
    if shared["ledger"]["predictions"] is None:
        return ""
    checks = [check for check in shared["checks"] if check["name"] in OF_MODEL]
    if any(check["status"] != "not_applicable" and check["denominator"] != 0 for check in checks):
        return ""
    reasons = "; ".join(
        f"{check['name']}: {check['reason'] or 'no ' + check['denominator_unit']}"
        for check in checks
    )
    return f"Nothing of the model could be judged ({reasons})." if reasons else ""


def _sentence(shared: Mapping[str, Any]) -> str:
    checks = shared["checks"]
    applied = [check for check in checks if check["status"] != "not_applicable"]
    alone = labels_alone(shared)
    instances = counted(shared["ledger"]["instances"], alone.instance if alone else "instance")
    if not applied:
        return f"No check could be applied to the {instances} read."
    if shared["status"] == "not_applicable":
        return f"The {instances} read hold nothing that a check could judge."
    if _notes_alone(shared):
        n = [check["status"] for check in applied].count("note")
        of = counted(len(applied), "check")
        return f"{capitalised(instances)}; {n:,} of {of} {'has' if n == 1 else 'have'} notes."
    return f"{capitalised(instances)}, {counted(number_of_findings(shared), 'finding')}."


def _notes_alone(shared: Mapping[str, Any]) -> bool:
    """Whether every finding is a note; a waived one may be of any severity."""
    return shared["status"] == "note" and not shared["waivers"]


def number_of_findings(shared: Mapping[str, Any]) -> int:
    """How many findings stand, those included that the report does not list."""
    return sum(check["total"] - check["folded"] for check in shared["checks"])


def _word(status: str, checks: Sequence[Mapping[str, Any]]) -> str:
    """The worst status, and how many of the checks that could be applied have it."""
    statuses = [check["status"] for check in checks if check["status"] != "not_applicable"]
    n = statuses.count(status)
    verb, has = ("warns", "has") if n == 1 else ("warn", "have")
    of = counted(len(statuses), "check")
    return _WORD[status].format(n=f"{n:,}", of=of, verb=verb, has=has)
