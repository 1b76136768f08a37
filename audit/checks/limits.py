"""What a run can be judged by: names that a policy may use, stricter limits, and the ratchet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from audit.base.errors import PolicyError, first_cases
from audit.checks import ON_WAIVERS
from audit.checks.check import Check
from audit.engine.statistics.intervals import wilson
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import refuse_other, shared_nodes
from audit.policy.policy import Policy, refuse_unknown_nodes
from audit.policy.statements import Threshold
from audit.results.findings import SEVERITIES, Finding, Judgement
from audit.results.result import AuditResult
from audit.results.since import EFFECTS
from audit.sharing.bins import width_of


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
    """Name of the main effect, its value, and the upper bound of its interval.

    This is the interval's own bound; Wilson's for a share without one; else the value itself.
    """
    for name in EFFECTS:
        if (value := number(finding, name)) is None:
            continue
        for bound in (f"{name}_high", "high"):
            if (high := number(finding, bound)) is not None and high >= value:
                return name, value, high
        part = number(finding, "instances") or number(finding, "rows")
        whole = number(finding, "of")
        if name == "share" and part is not None and whole is not None:
            return name, value, max(wilson(part, whole)[1], value)
        return name, value, value
    return "touched", finding.touched, finding.touched


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


def limited(finding: Finding, check: Check | None, counted: Policy, wanted: Policy) -> Finding:
    """A finding held against the limits of a policy, and dropped where a stricter one excludes it.

    It may be excluded by a limit that the run was counted with another value of, and by every limit
    where the check tests its findings again because another of its limits has changed.

    Args:
        check: The check that may have limits; None to leave them as they are.
    """
    limits = () if check is None else check.limits
    values = {
        one: (_value(counted, one.threshold), _value(wanted, one.threshold)) for one in limits
    }
    changed = {one for one, (before, after) in values.items() if before != after}
    evidence, beyond, dropped = {**finding.evidence}, finding.beyond, False
    for limit, (_, after) in values.items():
        if limit.evidence not in finding.evidence:
            continue
        if limit.shown_as in evidence:
            before = number(finding, limit.shown_as)
            beyond *= before / after if before and after else 1.0
            evidence[limit.shown_as] = after
        value = number(finding, limit.evidence)
        retested = bool(changed) and check is not None and check.retest is not None
        if value is not None and (limit in changed or retested):
            dropped |= not limit.keeps(value, after)
    judgement = Judgement(dropped=dropped)
    return replace(finding, evidence=evidence, beyond=beyond, judgement=judgement)


def _value(policy: Policy, threshold: str) -> float:
    return float(getattr(policy, threshold).value)


def needs_counting(
    result: AuditResult, counted: Policy, wanted: Policy, checks: Sequence[Check]
) -> Iterator[str]:
    """Changed policy keys that cannot be applied without recounting.

    A threshold cannot where a check was applied that is not among those given.
    """
    applied = {check.name for check in result.checks if not check.not_applicable}
    known = {*(check.name for check in checks), *(check.name for check in ON_WAIVERS)}
    for key in (one for one in Policy.model_fields if one not in FREE):
        if not isinstance(getattr(wanted, key), Threshold):
            if getattr(counted, key) != getattr(wanted, key):
                yield f"{key} differs from the run's"
            continue
        before, after = _value(counted, key), _value(wanted, key)
        limits = [limit for check in checks for limit in check.limits if limit.threshold == key]
        counting = any(key in one.counts_with for one in checks if one.name in applied)
        if before == after:
            continue
        if not limits or applied - known or counting:
            yield f"{key} is {after:g}, where the run was counted with {before:g}"
        elif not all(limit.tightens(before, after) for limit in limits):
            yield f"{key} is {after:g}, looser than the {before:g} that the run was counted with"


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
