"""Validation of the names in a policy, and of the hierarchy of a reference run."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from audit.base.errors import PolicyError, first_cases
from audit.checks import ON_WAIVERS
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.same import refuse_other, shared_nodes
from audit.policy.policy import Policy, refuse_unknown_nodes
from audit.results.result import AuditResult


def refuse_unknown_names(
    policy: Policy, nodes: Collection[str], hierarchy: str, checks: Collection[str]
) -> None:
    """Raise PolicyError if a policy names an unknown node or check.

    Args:
        policy: The policy as applied.
        nodes: Ids of the hierarchy's nodes.
        hierarchy: Name of the hierarchy, for the message.
        checks: Names of all checks; those of waivers may be left out.
    """
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
    *references: AuditResult | None,
    same_hierarchy: bool,
) -> None:
    """Raise an error if a reference is required but missing, or of another hierarchy.

    Args:
        audited: The hierarchy of the run, or the run.
        policy: The policy as applied.
        references: The references; None without one.
        same_hierarchy: Whether the user says that both hierarchies are one classification.

    Raises:
        PolicyError: If the policy says ``ratchet`` and there is no reference.
        InputError: If the reference is a run on another hierarchy.
    """
    found = [run for run in references if run is not None]
    if policy.ratchet and not found:
        raise PolicyError(
            "ratchet = true needs an earlier run to compare with",
            found="no reference",
            hint="name the earlier run with --reference, or say ratchet = false",
        )
    for reference in () if same_hierarchy else found:
        (ours, nodes), (theirs, others) = _named(audited), _named(reference)
        required = f"a reference run of the hierarchy {ours} is required"
        refuse_other(shared_nodes(nodes, others), (ours, theirs), required)


def _named(audited: Hierarchy | AuditResult) -> tuple[str, Iterable[tuple[str, str | None]]]:
    """Name of a hierarchy, with id and title of each node."""
    if isinstance(audited, Hierarchy):
        return audited.name, zip(audited.nodes, audited.titles, strict=True)
    return audited.identity["hierarchy"]["name"], audited.nodes.select("node", "title").iter_rows()
