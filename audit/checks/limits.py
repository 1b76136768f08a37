"""What a run can be judged by: names that a policy may use, stricter limits, and the ratchet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from audit.base.errors import PolicyError, first_cases
from audit.checks import ON_WAIVERS
from audit.checks.check import Check, Limit
from audit.engine.statistics.intervals import wilson
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import refuse_other, shared_nodes
from audit.policy.policy import Policy, refuse_unknown_nodes
from audit.results.findings import SEVERITIES, Evidence, Finding
from audit.results.result import AuditResult
from audit.results.since import SHALLOWER
from audit.results.told_findings import told_findings
from audit.sharing.bins import width_of


def findings_by_id(reference: AuditResult | None) -> dict[str, Finding]:
    """The reference's findings by id, as they are told; empty without one.

    Left out are those that its policy dropped, and that its labels are less deep than in a
    reference of its own: what is lost since then is lost once more.
    """
    if reference is None:
        return {}
    there = (one for check in reference.checks for one in told_findings(check, reference.rounding))
    kept = (one for one in there if not one.judgement.dropped)
    return {one.id: one for one in kept if (one.check, one.key) != SHALLOWER}


def no_worse(finding: Finding, before: Finding, width: int) -> bool:
    """Whether the main effect is at most the upper bound of the reference's interval.

    Counts that are told in bins are no worse as long as they differ by less than two of them.
    """
    if SEVERITIES.index(finding.severity) < SEVERITIES.index(before.severity):
        return False
    (name, effect, _), (name_before, _, bound) = main_effect(finding), main_effect(before)
    if name == "touched" and width:
        bound += 2 * width - 1
    return name == name_before and effect <= bound


def main_effect(finding: Finding) -> tuple[str, float, float]:
    """Name of the main effect, its value, and the upper bound of its interval."""
    for name in ("share", "ratio"):
        value = number(finding, name)
        if value is not None:
            return name, value, _upper(finding, name, value)
    return "touched", finding.touched, finding.touched


def _upper(finding: Finding, name: str, value: float) -> float:
    """The interval's own bound; Wilson's for a share without one; else the value itself."""
    for bound in (f"{name}_high", "high"):
        high = number(finding, bound)
        if high is not None and high >= value:
            return high
    part = number(finding, "instances") or number(finding, "rows")
    whole = number(finding, "of")
    if name == "share" and part is not None and whole is not None:
        return max(wilson(part, whole)[1], value)
    return value


def number(finding: Finding, name: str) -> float | None:
    """Evidence of a name; None if it is missing or not a number."""
    value = finding.evidence.get(name)
    return float(value) if isinstance(value, int | float) else None


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


def with_limits(evidence: Evidence, bounds: Iterable[Bound]) -> Evidence:
    """The evidence, with its limits replaced by those of the policy."""
    limits = {b.limit.shown_as: b.value for b in bounds if b.limit.evidence in evidence}
    return {name: limits.get(name, value) for name, value in evidence.items()}


def beyond_limits(finding: Finding, bounds: Iterable[Bound]) -> float:
    """How many times the policy's limits the effect is, where the finding states its own."""
    beyond = finding.beyond
    for bound in bounds:
        before = number(finding, bound.limit.shown_as)
        if before and bound.value and bound.limit.evidence in finding.evidence:
            beyond *= before / bound.value
    return beyond


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


def refuse_other_bins(result: AuditResult, policy: Policy) -> None:
    """Raise PolicyError if a policy tells the counts of a run in other bins."""
    asked = policy.min_cell or result.min_cell
    if width_of(asked) != width_of(result.min_cell):
        raise PolicyError(
            "a min_cell that leaves the bins of counts as they are is required",
            found=f"min_cell is {asked}, where the run was told with {result.min_cell}",
            hint="counts in two kinds of bins tell more than in one: keep that of the run",
        )


def refuse_unknown_names(
    policy: Policy, nodes: Collection[str], hierarchy: str, checks: Collection[str]
) -> None:
    """Raise PolicyError if a policy names an unknown node or check."""
    refuse_unknown_nodes(policy, nodes, hierarchy)
    refuse_unknown_checks(policy, checks)


def refuse_unknown_checks(policy: Policy, checks: Collection[str]) -> None:
    """Raise PolicyError if a policy names an unknown check."""
    on_waivers = {check.name for check in ON_WAIVERS}
    names = {"waivers": set(checks) - on_waivers, "severities": {*checks, *on_waivers}}
    unknown = [f"{key}: {name}" for key, name in policy.checks_named() if name not in names[key]]
    if unknown:
        raise PolicyError(
            "every check that the policy names must be a check that it can set",
            found=first_cases(unknown),
            hint="`audit list checks` lists them; findings about waivers cannot be waived",
        )


def refuse_reference(
    audited: Hierarchy | AuditResult,
    policy: Policy,
    reference: AuditResult | None,
) -> None:
    """Raise an error if a reference is required but missing, or of another hierarchy."""
    if reference is not None:
        (ours, nodes), (theirs, others) = _named(audited), _named(reference)
        required = f"a reference run of the hierarchy {ours} is required"
        refuse_other(shared_nodes(nodes, others), (ours, theirs), required)
    elif policy.ratchet:
        raise PolicyError(
            "ratchet = true needs an earlier run to compare with",
            found="no reference",
            hint="name the earlier run with --reference, or state ratchet = false",
        )


def _named(audited: Hierarchy | AuditResult) -> tuple[str, Iterable[tuple[str, str | None]]]:
    """Name of a hierarchy, with id and title of each node."""
    if isinstance(audited, Hierarchy):
        return audited.name, zip(audited.nodes, audited.titles, strict=True)
    return audited.identity["hierarchy"]["name"], audited.nodes.select("node", "title").iter_rows()
