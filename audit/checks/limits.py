"""What a run can be judged by: names that a policy may use, keys it may change, the ratchet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from audit.base.errors import PolicyError, first_cases
from audit.checks import ON_WAIVERS
from audit.engine.statistics.intervals import wilson
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import refuse_other, shared_nodes
from audit.policy.policy import Policy, refuse_unknown_nodes
from audit.policy.statements import Threshold
from audit.results.findings import SEVERITIES, Finding
from audit.results.result import AuditResult
from audit.results.since import EFFECTS
from audit.sharing.bins import width_of


def no_worse(finding: Finding, before: Finding, width: int) -> bool:
    """Whether a finding is no more severe, and its main effect at most the upper bound of before.

    Where bins of a width do not tell the effect of one of them, its records are compared: they are
    no worse as long as they are by less than two bins more.
    """
    if SEVERITIES.index(finding.severity) < SEVERITIES.index(before.severity):
        return False
    (name, effect, _), (name_before, _, bound) = main_effect(finding), main_effect(before)
    if width and "touched" in (name, name_before):
        return finding.touched < before.touched + 2 * width
    return name == name_before and effect <= bound


def main_effect(finding: Finding) -> tuple[str, float, float]:
    """Name of the main effect, its value, and the upper bound of its interval.

    This is the interval's own bound; Wilson's for a share without one; else the value itself, as of
    ``touched``, which stands for the effect where evidence names none.
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
"""Policy keys that can be changed without counting again."""


def needs_counting(counted: Policy, wanted: Policy) -> Iterator[str]:
    """A sentence for each changed policy key that cannot be applied without counting again."""
    for key in (one for one in Policy.model_fields if one not in FREE):
        before, after = (getattr(policy, key) for policy in (counted, wanted))
        if not isinstance(after, Threshold):
            if before != after:
                yield f"{key} differs from the run's"
        elif before.value != after.value:
            yield f"{key} is {after.value:g}, where the run was counted with {before.value:g}"


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
