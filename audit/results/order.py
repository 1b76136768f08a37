"""The one order of findings: inside a check and between checks.

By severity, then those that stand aside last, then inside a check by its own weight, and between
checks by the instances touched times the strength stated, which keeps the order inside each check.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from audit.results.findings import SEVERITIES, CheckResult, Finding, Place, place_of
from audit.results.since import twin_of

TEN = 10
"""Number of findings to act on first."""
OF_ONE = 3
"""Most of them that are of one check, while another has more of the same severity."""
BY_RESULT = ("error", "fail", "warn", "note", "pass", "not_applicable")
"""Results of checks, the worst first."""


def between(finding: Finding) -> Place:
    """Sort key of a finding among those of other checks."""
    return place_of(finding, finding.touched * finding.beyond)


def merged(checks: Iterable[Iterable[Finding]]) -> list[Finding]:
    """Findings of several checks by their places, without changing the order inside a check."""
    return list(heapq.merge(*checks, key=between))


def worst(findings: Iterable[Finding], most: int = TEN) -> list[Finding]:
    """The findings to act on of some that stand, in their order between checks; at most so many.

    By severity; within one, what is new or worse than in the reference stands before what the
    reference could not have, and that before what is known; and at most `OF_ONE` are of one check
    while another check has one that is not among them. What does not count, only asks or stands
    aside is none to act on, nor is what only holds another one that is against the reference.
    """
    kept = {one.id: one for one in findings if one.counts_as and not between(one)[2]}
    joined = {twin_of(id_) for id_ in kept} & kept.keys()
    own = sorted((one for id_, one in kept.items() if id_ not in joined), key=_rank)
    first: list[Finding] = []
    for _, alike in groupby(own, key=lambda one: _rank(one)[0]):
        taken, later = Counter[str](), list[Finding]()
        for one in alike:
            taken[one.check] += 1
            (first if taken[one.check] <= OF_ONE else later).append(one)
        first += later
    return first[:most]


def _rank(finding: Finding) -> tuple[int, int]:
    """Severity, and what became of it since the reference."""
    return between(finding)[1], 2 * finding.judgement.known + finding.judgement.unasked


def in_order(checks: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """Checks by their result, then by their first finding; those without one stay in order."""
    found = merged(check.standing for check in checks)
    first = {one.check: place for place, one in reversed([*enumerate(found)])}

    def place(check: CheckResult) -> tuple[int, int]:
        return BY_RESULT.index(check.status), first.get(check.name, len(found))

    return tuple(sorted(checks, key=place))


def ordered(checks: Sequence[CheckResult]) -> list[Finding]:
    """All findings of a result: the ten to act on, then the others; folded ones included."""
    found = merged(check.findings for check in checks)
    standing = {one.id for check in checks for one in check.standing}
    first = worst(one for one in found if one.id in standing)
    taken = {one.id for one in first}
    return [*first, *(one for one in found if one.id not in taken)]


def restating(checks: Iterable[CheckResult], root: str | None) -> frozenset[str]:
    """Ids of findings that only restate another one, of another check on the same nodes.

    What is told of the root alone is of all instances, and of no nodes. The more severe of the two
    is not restated, nor is the first by id of equal ones.
    """
    found = (one for check in checks for one in check.standing if one.counts_as)
    standing = sorted(
        (one for one in found if one.nodes not in ((), (root,))),
        key=lambda one: (SEVERITIES.index(one.judged_severity), one.aside, one.asks, one.id),
    )
    first = {frozenset(one.about or one.nodes): one.check for one in reversed(standing)}
    same = ((one, first[frozenset(one.about or one.nodes)]) for one in standing)
    return frozenset(one.id for one, check in same if check != one.check)


def first_findings(shared: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The ten to act on of a shared view, each with its check."""
    found = {one["id"]: (name, one) for name, one in _each_with_check(shared)}
    return [found[id_] for id_ in shared["worst"] if id_ in found]


def in_report_order(shared: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Every finding of a shared view, each with its check: those to act on, then by severity, with
    waived ones last."""
    rest = [found for found in _each_with_check(shared) if found[1]["id"] not in shared["worst"]]
    return [*first_findings(shared), *sorted(rest, key=lambda found: by_severity(found[1]))]


def _each_with_check(shared: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(check["name"], one) for check in shared["checks"] for one in check["findings"]]


def by_severity(finding: Mapping[str, Any]) -> tuple[bool, int]:
    """Sort key of a shared finding in a list: the worst severity first, waived ones last."""
    return finding["waiver"] is not None, SEVERITIES.index(finding["severity"])
