"""Judge the findings of a result: severities, waivers, the ratchet and stricter limits."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from audit.base.declared import Columns
from audit.base.errors import PolicyError, first_cases
from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.check import Check
from audit.checks.limits import (
    Bound,
    beyond_limits,
    bounds_of,
    findings_by_id,
    needs_counting,
    no_worse,
    number,
    refuse_other_bins,
    refuse_reference,
    refuse_unknown_names,
    with_limits,
    within,
)
from audit.checks.waivers import Waivers, listed
from audit.policy.policy import Policy
from audit.policy.rules import Companion, Person, Severity
from audit.policy.statements import CodeDates
from audit.results.findings import CheckResult, Finding, Judgement
from audit.results.mended import Mended
from audit.results.order import in_order, restating
from audit.results.result import AuditResult, to_json_bytes
from audit.results.since import Remembered, kept_check
from audit.results.told_findings import told_findings
from audit.sharing.told import Rounding


def told_with(reference: AuditResult, min_cell: int) -> AuditResult:
    """A reference whose numbers are told as those of a run, or as its own if these say less."""
    least = max(min_cell, reference.min_cell)
    if least == reference.min_cell:
        return reference
    return replace(reference, policy={**reference.policy, "min_cell": least})


def remembered(reference: AuditResult) -> Remembered:
    """What is kept of a reference, as it is told."""
    shared = reference.shared()
    views = {check["name"]: check for check in shared["checks"]}
    return {
        "instances": shared["ledger"]["instances"],
        "status": shared["status"],
        "hierarchy": reference.identity["hierarchy"]["sha256"],
        "depths": shared["overview"]["coverage"]["depths"],
        "mended": sorted(mended_in(reference, reference.reference)),
        "checks": [kept_check(check, views[check.name]) for check in reference.told.checks],
    }


def mended_in(run: AuditResult, before: Remembered | None) -> frozenset[str]:
    """Findings that were mended as a whole, in the data of a run or in those of earlier ones."""
    own = run.part(Mended)
    earlier = frozenset[str]() if before is None else frozenset(before["mended"])
    return earlier if own is None else earlier | own.wholly


def judged(
    result: AuditResult,
    policy: Policy,
    *,
    today: date,
    reference: AuditResult | None = None,
) -> AuditResult:
    """Judge every finding of a result by the policy that it was counted with.

    Args:
        reference: An earlier run. A finding that is in it and has not become worse is marked as
            known, and counts as a note if the policy says ``ratchet``.
    """
    return _judged(result, policy, policy, today, reference, ())


def rejudged(
    result: AuditResult,
    policy: Policy,
    *,
    today: date,
    reference: AuditResult | None = None,
    checks: Sequence[Check] = CHECKS,
) -> AuditResult:
    """Judge a run by another policy; parameters as in `judged`, `refuse_reference`, and the
    ``checks`` that a policy can set beside those that the run has.

    The policy may change severities, waivers, the ratchet, the number of findings shown and titles,
    and may make limits stricter. Tests that depend on a limit are repeated, and a finding that a
    stricter limit excludes is dropped; findings folded only into that one are shown again. If the
    policy does not state ``min_cell``, that of the run is kept; it may not change the bins.

    Raises:
        PolicyError: If the policy changes a key that requires recounting, names an unknown node or
            check, asks for a ratchet without a reference, or tells counts in other bins.
        InputError: If the reference is a run on another hierarchy.
    """
    counted = result.made_with
    hierarchy = result.identity["hierarchy"]["name"]
    named = {check.name for check in checks} | {check.name for check in result.checks}
    refuse_unknown_names(policy, set(result.nodes["node"]), hierarchy, named)
    refuse_reference(result, policy, reference)
    refuse_other_bins(result, policy)
    refused = list(needs_counting(result, counted, policy, checks))
    if refused:
        raise PolicyError(
            "a run can be judged again only if the change needs no counting",
            found=first_cases(refused),
            hint=_AGAIN,
        )
    return _judged(result, counted, policy, today, reference, checks)


def policy_as_applied(
    policy: Policy, *, min_cell: int, labelled_ancestors: str, as_expected: Sequence[int]
) -> dict[str, Any]:
    """The policy as recorded in ``result.json``.

    Args:
        as_expected: Number of pairs left out because of each expected association, then because
            of each companion rule of the policy; further entries are ignored.
    """
    known = len(policy.expected)
    asked = as_expected[known : known + len(policy.companions)]
    return {
        "name": policy.name,
        "title": policy.title,
        "min_cell": min_cell,
        "max_findings": policy.max_findings,
        "labelled_ancestors": labelled_ancestors,
        "thresholds": list(policy.thresholds()),
        "branch_rules": [
            {"a": rule.branches[0], "b": rule.branches[1], "rule": rule.rule, "reason": rule.reason}
            for rule in policy.branch_rules
        ],
        "exclusive": [
            {
                "nodes": [list(side) for side in group.sides],
                "reason": group.reason,
                "severity": group.severity,
            }
            for group in policy.exclusive
        ],
        "expected": [
            {"nodes": list(pair.nodes), "source": pair.source, "pairs": pairs}
            for pair, pairs in zip(policy.expected, as_expected[:known], strict=True)
        ],
        "companions": [
            {**_rule_as_applied(rule), "pairs": pairs}
            for rule, pairs in zip(policy.companions, asked, strict=True)
        ],
        "person": policy.person and _person_as_applied(policy.person),
        "person_rules": [
            rule.model_dump(mode="json") | {"nodes": list(rule.nodes_named)}
            for rule in policy.person_rules
        ],
        "severities": policy.severities,
        "ratchet": policy.ratchet,
        "code_dates": policy.code_dates and _dates_as_applied(policy.code_dates),
    }


def _rule_as_applied(rule: Companion) -> dict[str, Any]:
    lists = {"if": rule.asking, "needs": rule.needed, "unless": rule.excusing}
    said = rule.model_dump(mode="json", exclude={"if_title", "needs_title"})
    return said | {key: list(nodes) for key, nodes in lists.items()}


def _person_as_applied(person: Person) -> dict[str, Any]:
    values = {sex: list(stated) for sex, stated in person.values.items()}
    return {"sex": person.sex, "age": person.age, **values}


def _dates_as_applied(dates: CodeDates) -> dict[str, Any]:
    codes = {spell.code for spell in dates.spells}
    return {"column": dates.column, "file": Path(dates.file).name, "codes": len(codes)}


def _judged(
    result: AuditResult,
    counted: Policy,
    policy: Policy,
    today: date,
    reference: AuditResult | None,
    limited: Sequence[Check],
) -> AuditResult:
    on_waivers = {check.name for check in ON_WAIVERS}
    min_cell = policy.min_cell or counted.min_cell or result.policy["min_cell"]
    rounding = Rounding.of(min_cell, result.ledger)
    retest = {check.name: check.retest for check in CHECKS if check.retest}
    measured = [
        retest[check.name](check, result.residuals, policy, rounding)
        if check.name in retest
        else check
        for check in result.checks
        if check.name not in on_waivers
    ]
    waivers = Waivers(policy.waivers, today, result.edges)
    bounds = bounds_of(counted, policy, limited)
    given = None if reference is None else told_with(reference, min_cell)
    before = None if given is None else remembered(given)
    back = mended_in(result, before) if policy.ratchet == "mended" else frozenset()
    known = findings_by_id(given)
    own = frozenset[str](result.nodes["node"])
    new = own if given is None else own.difference(given.nodes["node"])
    asked = partial(
        _check,
        policy=policy,
        rounding=rounding,
        known=known,
        back=back,
        new=new,
        ran=None if given is None else {one.name for one in given.checks if one.ran},
        there=policy if given is None else given.made_with,
    )
    checks = [
        asked(check, bounds=bounds.get(check.name, ()), waivers=waivers) for check in measured
    ]
    uses = waivers.uses(checks)
    about_waivers = [asked(check.run(uses), bounds=(), waivers=None) for check in ON_WAIVERS]
    return replace(
        result,
        reference=before,
        identity=_identity(result, policy, reference),
        policy=policy_as_applied(
            policy,
            min_cell=min_cell,
            labelled_ancestors=result.policy["labelled_ancestors"],
            as_expected=[
                known["pairs"] for key in ("expected", "companions") for known in result.policy[key]
            ],
        ),
        checks=in_order([*_with_restating(checks, result.root), *about_waivers]),
        waivers=tuple(listed(use) for use in uses),
    )


def _with_restating(checks: Sequence[CheckResult], root: str | None) -> list[CheckResult]:
    """Checks whose findings say whether they only restate another one."""
    found = restating(checks, root)
    return [
        replace(
            check,
            findings=tuple(
                replace(one, judgement=replace(one.judgement, restates=True))
                if one.id in found
                else one
                for one in check.findings
            ),
        )
        for check in checks
    ]


def _check(
    check: CheckResult,
    *,
    policy: Policy,
    rounding: Rounding,
    known: Mapping[str, Finding],
    back: Collection[str],
    new: frozenset[str],
    ran: Collection[str] | None,
    there: Policy,
    bounds: Sequence[Bound],
    waivers: Waivers | None,
) -> CheckResult:
    """A check's result, each finding judged again by its told numbers, with this policy's limits.

    Findings in ``back`` were mended, and are errors. Waivers cover none where these are None. The
    reference, if any, lacks the ``new`` nodes, its checks that ``ran`` are named, and ``there`` is
    its policy.
    """
    limited = [
        replace(
            finding,
            evidence=with_limits(finding.evidence, bounds),
            beyond=beyond_limits(finding, bounds),
        )
        for finding in check.findings
    ]
    given = replace(check, findings=tuple(limited))
    told = {one.id: one for one in told_findings(given, rounding)}

    def could_not(finding: Finding) -> bool:
        key = finding.key or finding.nodes
        return (
            (ran is not None and check.name not in ran)
            or not new.isdisjoint(finding.nodes)
            or (policy.asks(check.name, key) and not there.asks(check.name, key))
        )

    def judgement(finding: Finding) -> Judgement:
        own, before, mended = told[finding.id], known.get(finding.id), finding.id in back
        stays = before is not None and no_worse(own, before, rounding.width)
        severity = severity_of(own, policy, check.evidence, rounding)
        return Judgement(
            severity="error" if mended else severity,
            waiver=None if waivers is None else waivers.of(finding),
            known=stays,
            unasked=ran is not None and before is None and could_not(finding),
            excused=stays and bool(policy.ratchet) and not mended,
            dropped=any(within(finding, bound) for bound in bounds),
        )

    return replace(
        given, findings=tuple(replace(one, judgement=judgement(one)) for one in given.findings)
    )


def _identity(
    result: AuditResult, policy: Policy, reference: AuditResult | None
) -> Mapping[str, Any]:
    return {
        **result.identity,
        "data": {**result.identity["data"], "title": policy.title},
        "policy": {"name": policy.name, "sha256": policy.sha256},
        "reference": None if reference is None else {"sha256": _digest(reference)},
    }


def _digest(run: AuditResult) -> str:
    return run.sha256 or hashlib.sha256(to_json_bytes(run.shared())).hexdigest()


def severity_of(
    finding: Finding, policy: Policy, columns: Columns, rounding: Rounding
) -> Severity | None:
    """The severity that the policy gives a finding; None to keep the check's own.

    This is the policy's ``severities`` entry for the check; else ``warning`` for an error that
    concerns less than ``error_share`` of the rows or instances examined. An error without a share
    stays an error. Of told counts the first class is read as 1.
    """
    if finding.check in policy.severities or finding.severity != "error":
        return policy.severities.get(finding.check)
    share = number(finding, "share")
    if rounding.width and "share" in finding.evidence and columns["share"].kind == "share":
        k, n = (number(finding, name) for name in columns["share"].of)
        share = None if k is None or not n else (1 if rounding.few(int(k)) else k) / n
    return "warning" if share is not None and share < policy.error_share.value else None


_AGAIN = "audit the data again with `audit run --policy`"
