"""Findings as they are told: their numbers in classes, their parts and order by what is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from audit.base.declared import Columns
from audit.results.finding_lines import largest_first, line_count, nodes_by_parts
from audit.results.findings import (
    CheckResult,
    Finding,
    Part,
    times_limit,
)
from audit.sharing.told import Rounding, told_rows

FEW_PARTS = 3
"""Number of the parts of a finding in the first class that are told."""
_OF_TESTS = ("chance", "ratio", "factor")
"""Kinds of numbers that a finding has which a test, or the limit of an excess, makes."""


def told_check(check: CheckResult, rounding: Rounding) -> CheckResult:
    """A check whose findings hold told numbers; its status is that of the exact ones.

    Those that a test makes on a count in the first class are left out, and what they explain.
    """
    if not rounding.width:
        return check
    told = told_findings(check, rounding)
    gone = {one.id for one in told if _stays_behind(one, check.evidence, rounding)}
    kept = tuple(
        one
        for one in told
        if one.id not in gone and (not one.folded_into or not gone.issuperset(one.folded_into))
    )
    return replace(
        check,
        denominator=_denominator(check, rounding),
        findings=kept,
        held=check.status,
        not_told=bool(gone),
    )


def _denominator(check: CheckResult, rounding: Rounding) -> int | None:
    if check.denominator is None or check.counts == "untold":
        return None
    if check.counts == "whole":
        return check.denominator
    return rounding.count(check.denominator, check.counts)


def told_findings(check: CheckResult, rounding: Rounding) -> list[Finding]:
    """All findings of a check with told numbers."""
    evidence = told_rows([one.evidence for one in check.findings], check.evidence, rounding)
    parts = [part for one in check.findings for part in one.parts]
    of_parts = iter(told_rows([part.evidence for part in parts], check.of_parts, rounding))
    return [
        _told(finding, own, [replace(part, evidence=next(of_parts)) for part in finding.parts],
              check, rounding)
        for finding, own in zip(check.findings, evidence, strict=True)
    ]  # fmt: skip


def _told(
    finding: Finding,
    evidence: Mapping[str, Any],
    parts: Sequence[Part],
    check: CheckResult,
    rounding: Rounding,
) -> Finding:
    if not rounding.width:
        return finding
    beyond = max(_beyond(evidence, check), default=1.0)
    shown = tuple(told_parts(parts, rounding))
    return replace(
        finding,
        evidence=evidence,
        parts=shown,
        more_parts=len(shown) < len(parts),
        nodes=nodes_by_parts(finding, shown),
        touched=rounding.count(finding.touched) or 0,
        strength=beyond,
        beyond=beyond,
    )


def told_parts(parts: Iterable[Part], rounding: Rounding) -> Iterator[Part]:
    """Parts by what they are told to count, the largest first, then the first few of the others."""
    large = [part for part in parts if rounding.lists(line_count(part.evidence))]
    few = [part for part in parts if not rounding.lists(line_count(part.evidence))]
    yield from largest_first(large)
    yield from sorted(few, key=lambda part: part.nodes)[:FEW_PARTS]


def _beyond(evidence: Mapping[str, Any], check: CheckResult) -> Iterator[float]:
    """How many times their limits the told effects are, by what their marks are drawn with."""
    for column in check.evidence.values():
        limit = evidence.get(column.mark.limit) if column.mark else None
        ends = (*column.ends[:1], column.name)
        end = next((evidence[name] for name in ends if evidence.get(name) is not None), None)
        if isinstance(limit, int | float) and isinstance(end, int | float):
            yield times_limit(end, limit)


def _stays_behind(finding: Finding, columns: Columns, rounding: Rounding) -> bool:
    """Whether a test made a finding on a count that is told to be in the first class."""
    if not any(columns[name].kind in _OF_TESTS for name in finding.evidence):
        return False
    counts = (value for name, value in finding.evidence.items() if columns[name].kind == "count")
    first = next(counts, None)
    return isinstance(first, int) and rounding.few(first)
