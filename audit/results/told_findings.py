"""Findings as they are told: their numbers in classes, their parts and order by what is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from audit.base.declared import Columns
from audit.results.finding_lines import largest_first, line_count, nodes_by_parts
from audit.results.findings import CheckResult, Finding, Part, times_limit
from audit.sharing.told import Rounding, told_rows

FEW_PARTS = 3
"""Number of the parts of a finding in the first class that are told."""
_OF_TESTS = ("chance", "ratio", "factor")
"""Kinds of numbers that a finding has which a test, or the limit of an excess, makes."""


def told_check(check: CheckResult, rounding: Rounding) -> CheckResult:
    """A check whose findings hold told numbers; its status is that of the exact ones.

    Those that a test makes on a count in the first class are left out, and what they explain.
    """
    told = told_findings(check, rounding)
    gone = {one.id for one in told if _stays_behind(one, check.evidence, rounding)}
    n = check.denominator
    if n is not None and check.counts != "whole":
        n = None if check.counts == "untold" else rounding.count(n, check.counts)
    return replace(
        check,
        denominator=n,
        findings=tuple(
            one
            for one in told
            if one.id not in gone and not (one.folded_into and gone.issuperset(one.folded_into))
        ),
        held=check.status,
        not_told=bool(gone),
    )


def told_findings(check: CheckResult, rounding: Rounding) -> list[Finding]:
    """All findings of a check with told numbers."""
    if not rounding.width:
        return [*check.findings]
    evidence = told_rows([one.evidence for one in check.findings], check.evidence, rounding)
    parts = [part.evidence for one in check.findings for part in one.parts]
    of_parts = iter(told_rows(parts, check.of_parts, rounding))
    found = list[Finding]()
    for finding, own in zip(check.findings, evidence, strict=True):
        shown = told_parts(
            (replace(one, evidence=next(of_parts)) for one in finding.parts), rounding
        )
        beyond = max(_beyond(own, check.evidence), default=1.0)
        found.append(
            replace(
                finding,
                evidence=own,
                parts=shown,
                more_parts=len(shown) < len(finding.parts),
                nodes=nodes_by_parts(finding, shown),
                touched=rounding.count(finding.touched) or 0,
                strength=beyond,
                beyond=beyond,
            )
        )
    return found


def told_parts(parts: Iterable[Part], rounding: Rounding) -> tuple[Part, ...]:
    """Parts by what they are told to count, the largest first, then the first few of the others."""
    large, few = list[Part](), list[Part]()
    for part in parts:
        (large if rounding.lists(line_count(part.evidence)) else few).append(part)
    return (*largest_first(large), *sorted(few, key=lambda part: part.nodes)[:FEW_PARTS])


def _beyond(evidence: Mapping[str, Any], columns: Columns) -> Iterator[float]:
    """How many times their limits the told effects are, by what their marks are drawn with."""
    for column in columns.values():
        limit = evidence.get(column.mark.limit) if column.mark else None
        ends = (evidence.get(name) for name in (*column.ends[:1], column.name))
        end = next((one for one in ends if one is not None), None)
        if isinstance(limit, int | float) and isinstance(end, int | float):
            yield times_limit(end, limit)


def _stays_behind(finding: Finding, columns: Columns, rounding: Rounding) -> bool:
    """Whether a test made a finding on a count that is told to be in the first class."""
    kinds = {name: columns[name].kind for name in finding.evidence}
    counts = (value for name, value in finding.evidence.items() if kinds[name] == "count")
    first = next(counts, None)
    tested = not {*_OF_TESTS}.isdisjoint(kinds.values())
    return tested and isinstance(first, int) and rounding.few(first)
