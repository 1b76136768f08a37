"""Judge the findings of a result: severities, waivers and the ratchet."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from audit.base.declared import Columns
from audit.base.errors import PolicyError, first_cases
from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.check import Check
from audit.checks.limits import (
    needs_counting,
    no_worse,
    number,
    refuse_other_bins,
    refuse_reference,
    refuse_unknown_names,
)
from audit.checks.waivers import Waivers
from audit.policy.policy import Policy
from audit.policy.rules import Severity
from audit.results.binned import told_findings
from audit.results.findings import OF_WAIVERS, CheckResult, Finding
from audit.results.mended import Mended
from audit.results.order import in_order, restating
from audit.results.result import AuditResult, to_json_bytes
from audit.results.since import SHALLOWER, Remembered, kept_check
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

    The policy may change severities, waivers, the ratchet, the number of findings shown and titles.
    If it does not state ``min_cell``, that of the run is kept; it may not change the bins.

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
    refused = list(needs_counting(counted, policy))
    if refused:
        raise PolicyError(
            "a run can be judged again only if the change needs no counting",
            found=first_cases(refused),
            hint="audit the data again with `audit run --policy`",
        )
    return judged(result, policy, today=today, reference=reference, counted=counted)


def policy_as_applied(
    policy: Policy, *, min_cell: int, labelled_ancestors: str, as_expected: Sequence[int]
) -> dict[str, Any]:
    """The policy as recorded in ``result.json``.

    Args:
        as_expected: Number of pairs left out because of each expected association, then because
            of each companion rule of the policy; further entries are ignored.
    """
    person, dates = policy.person, policy.code_dates
    left_out = iter(as_expected)
    return {
        **{key: getattr(policy, key) for key in ("name", "title", "max_findings")},
        "min_cell": min_cell,
        "labelled_ancestors": labelled_ancestors,
        "thresholds": list(policy.thresholds()),
        "branch_rules": [
            dict(zip("ab", rule.branches, strict=True)) | {"rule": rule.rule, "reason": rule.reason}
            for rule in policy.branch_rules
        ],
        "exclusive": [
            group.model_dump(mode="json") | {"nodes": [*map(list, group.sides)]}
            for group in policy.exclusive
        ],
        "expected": [
            pair.model_dump(mode="json") | {"pairs": next(left_out)} for pair in policy.expected
        ],
        "companions": [
            rule.model_dump(mode="json", exclude={"if_title", "needs_title"})
            | {"if": [*rule.asking], "needs": [*rule.needed], "unless": [*rule.excusing]}
            | {"pairs": next(left_out)}
            for rule in policy.companions
        ],
        "person": person
        and {"sex": person.sex, "age": person.age}
        | {sex: list(stated) for sex, stated in person.values.items()},
        "person_rules": [
            rule.model_dump(mode="json") | {"nodes": list(rule.nodes_named)}
            for rule in policy.person_rules
        ],
        "severities": policy.severities,
        "ratchet": policy.ratchet,
        "code_dates": dates
        and {
            "column": dates.column,
            "file": Path(dates.file).name,
            "codes": len({spell.code for spell in dates.spells}),
        },
    }


def judged(
    result: AuditResult,
    policy: Policy,
    *,
    today: date,
    reference: AuditResult | None = None,
    counted: Policy | None = None,
) -> AuditResult:
    """Judge every finding of a result by a policy.

    Args:
        reference: An earlier run. A finding that is in it and has not become worse is marked as
            known, and counts as a note if the policy says ``ratchet``.
        counted: The policy that the result was counted with; None: this one.
    """
    min_cell = policy.min_cell or (counted or policy).min_cell or result.policy["min_cell"]
    rounding = Rounding.of(min_cell, result.ledger)
    given = None if reference is None else told_with(reference, min_cell)
    before = None if given is None else remembered(given)
    back = mended_in(result, before) if policy.ratchet == "mended" else frozenset[str]()
    judge = _Judge(policy, rounding, given, frozenset(result.nodes["node"]), back)
    waivers = Waivers(policy.waivers, today, result.edges)
    found = [judge.judged(one, waivers) for one in result.checks if one.name not in OF_WAIVERS]
    uses = waivers.uses(found)
    on_waivers = [check.run(uses) for check in ON_WAIVERS]
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
        checks=in_order([*_with_restating(found, result.root), *map(judge.judged, on_waivers)]),
        waivers=tuple(use.listed for use in uses),
    )


def _with_restating(checks: Sequence[CheckResult], root: str | None) -> Iterator[CheckResult]:
    """Checks whose findings say whether they only restate another one; of analyses none does."""
    of_labels = {check.name for check in CHECKS}
    found = restating([check for check in checks if check.name in of_labels], root)
    for check in checks:
        findings = (
            replace(one, judgement=replace(one.judgement, restates=one.id in found))
            for one in check.findings
        )
        yield replace(check, findings=tuple(findings))


@dataclass(frozen=True, eq=False)
class _Judge:
    """Judges findings by told numbers and a reference; mended ones that are ``back`` are errors."""

    policy: Policy
    rounding: Rounding
    reference: AuditResult | None
    nodes: frozenset[str]
    back: frozenset[str]

    @cached_property
    def known(self) -> dict[str, Finding]:
        """The reference's findings by id, as they are told.

        Left out is that its labels are less deep than in a reference of its own: what is lost since
        then is lost once more.
        """
        run = self.reference
        if run is None:
            return {}
        told = (one for check in run.checks for one in told_findings(check, run.rounding))
        return {one.id: one for one in told if (one.check, one.key) != SHALLOWER}

    def unasked(self, finding: Finding) -> bool:
        """Whether the reference lacks the check, a node or the rule of a finding."""
        run, key = self.reference, finding.key or finding.nodes
        if run is None or finding.id in self.known:
            return False
        ran, policy = {one.name for one in run.checks if one.ran}, run.made_with
        return (
            finding.check not in ran
            or not self.new.isdisjoint(finding.nodes)
            or (self.policy.asks(finding.check, key) and not policy.asks(finding.check, key))
        )

    @cached_property
    def new(self) -> frozenset[str]:
        """Nodes that the reference lacks."""
        return self.nodes.difference(() if self.reference is None else self.reference.nodes["node"])

    def judged(self, check: CheckResult, waivers: Waivers | None = None) -> CheckResult:
        """A check's result, each finding judged; waivers cover none where these are None."""
        told = {one.id: one for one in told_findings(check, self.rounding)}
        runs = (self,) if self.reference is None else (self, self.reference)
        width, findings = max(run.rounding.width for run in runs), list[Finding]()
        for one in check.findings:
            before, mended = self.known.get(one.id), one.id in self.back
            stays = before is not None and no_worse(told[one.id], before, width)
            severity = severity_of(told[one.id], self.policy, check.evidence, self.rounding)
            judgement = replace(
                one.judgement,
                severity="error" if mended else severity,
                waiver=None if waivers is None else waivers.of(one),
                known=stays,
                unasked=self.unasked(one),
                excused=stays and bool(self.policy.ratchet) and not mended,
            )
            findings.append(replace(one, judgement=judgement))
        return replace(check, findings=tuple(findings))


def _identity(
    result: AuditResult, policy: Policy, reference: AuditResult | None
) -> Mapping[str, Any]:
    """The result's identity with the title and hash of the policy, and the reference's hash."""
    named = {"policy": {"name": policy.name, "sha256": policy.sha256}, "reference": None}
    if reference is not None:
        shared = reference.sha256 or hashlib.sha256(to_json_bytes(reference.shared())).hexdigest()
        named["reference"] = {"sha256": shared}
    data = {**result.identity["data"], "title": policy.title}
    return {**result.identity, "data": data, **named}


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
