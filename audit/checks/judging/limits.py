"""Limits: which findings a stricter limit excludes, and which policy changes require recounting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from audit.checks import ON_WAIVERS
from audit.checks.check import Check, Limit
from audit.checks.judging.ratchet import number
from audit.disclosure import Quantity
from audit.policy.policy import Policy
from audit.results.findings import Finding
from audit.results.result import AuditResult

FREE = (
    "name",
    "title",
    "min_cell",
    "max_findings",
    "error_share",
    "severities",
    "waivers",
    "ratchet",
)
"""Policy keys that can always be changed without recounting."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit of a check with its value, and whether existing evidence may violate it.

    It may if the run was counted with another value, or if the check retests its findings and
    another of its limits has changed.
    """

    limit: Limit
    value: float
    stricter: bool


def bounds_of(
    counted: Policy, wanted: Policy, checks: Sequence[Check]
) -> dict[str, tuple[Bound, ...]]:
    """The limits of each check that has any, by name of the check."""
    limited = [check for check in checks if check.limits]
    return {check.name: tuple(_bounds(check, counted, wanted)) for check in limited}


def _bounds(check: Check, counted: Policy, wanted: Policy) -> Iterator[Bound]:
    values = [
        (_value(counted, one.threshold), _value(wanted, one.threshold)) for one in check.limits
    ]
    retested = check.retest is not None and any(before != after for before, after in values)
    for limit, (before, after) in zip(check.limits, values, strict=True):
        yield Bound(limit, after, stricter=retested or before != after)


def with_limits(
    evidence: Mapping[str, Quantity], bounds: Iterable[Bound]
) -> Mapping[str, Quantity]:
    """The evidence, with its limits replaced by those of the policy."""
    limits = {b.limit.shown_as: b.value for b in bounds if b.limit.evidence in evidence}
    return {
        name: replace(quantity, value=limits[name]) if name in limits else quantity
        for name, quantity in evidence.items()
    }


def within(finding: Finding, bound: Bound) -> bool:
    """Whether a stricter limit excludes a finding."""
    value = number(finding, bound.limit.evidence)
    return bound.stricter and value is not None and not bound.limit.keeps(value, bound.value)


def needs_counting(
    result: AuditResult, counted: Policy, wanted: Policy, checks: Sequence[Check]
) -> Iterator[str]:
    """Changed policy keys that cannot be applied without recounting.

    A threshold cannot where a check was applied that is not among those given.
    """
    thresholds = {str(threshold["name"]) for threshold in wanted.thresholds()}
    for key in Policy.model_fields:
        if key in FREE:
            continue
        if key in thresholds:
            yield from _refused_threshold(result, counted, wanted, key, checks)
        elif getattr(counted, key) != getattr(wanted, key):
            yield f"{key} differs from the run's"


def _refused_threshold(
    result: AuditResult, counted: Policy, wanted: Policy, key: str, checks: Sequence[Check]
) -> Iterator[str]:
    before, after = _value(counted, key), _value(wanted, key)
    if before == after:
        return
    applied = {check.name for check in result.checks if not check.not_applicable}
    limits = [limit for check in checks for limit in check.limits if limit.threshold == key]
    known = {check.name for check in checks} | {check.name for check in ON_WAIVERS}
    if (
        not limits
        or applied - known
        or any(key in c.counts_with for c in checks if c.name in applied)
    ):
        yield f"{key} is {after:g}, where the run was counted with {before:g}"
    elif not all(limit.tightens(before, after) for limit in limits):
        yield f"{key} is {after:g}, looser than the {before:g} that the run was counted with"


def _value(policy: Policy, threshold: str) -> float:
    return float(getattr(policy, threshold).value)
