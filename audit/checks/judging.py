"""Judge the findings of a result: severities, waivers, the ratchet and stricter limits."""

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
    limited,
    needs_counting,
    no_worse,
    number,
    refuse_other_bins,
    refuse_reference,
    refuse_unknown_names,
)
from audit.checks.waivers import Waivers
from audit.policy.policy import Policy
from audit.policy.rules import Companion, Severity
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
            hint="audit the data again with `audit run --policy`",
        )
    return judged(result, policy, today=today, reference=reference, counted=counted, checks=checks)


def policy_as_applied(
    policy: Policy, *, min_cell: int, labelled_ancestors: str, as_expected: Sequence[int]
) -> dict[str, Any]:
    """The policy as recorded in ``result.json``.

    Args:
        as_expected: Number of pairs left out because of each expected association, then because
            of each companion rule of the policy; further entries are ignored.
    """
    known, person, dates = len(policy.expected), policy.person, policy.code_dates
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
            group.model_dump(mode="json") | {"nodes": [*map(list, group.sides)]}
            for group in policy.exclusive
        ],
        "expected": [
            pair.model_dump(mode="json") | {"pairs": pairs}
            for pair, pairs in zip(policy.expected, as_expected[:known], strict=True)
        ],
        "companions": [
            {**_rule_as_applied(rule), "pairs": pairs}
            for rule, pairs in zip(policy.companions, asked, strict=True)
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


def _rule_as_applied(rule: Companion) -> dict[str, Any]:
    lists = {"if": rule.asking, "needs": rule.needed, "unless": rule.excusing}
    said = rule.model_dump(mode="json", exclude={"if_title", "needs_title"})
    return said | {key: list(nodes) for key, nodes in lists.items()}


def judged(
    result: AuditResult,
    policy: Policy,
    *,
    today: date,
    reference: AuditResult | None = None,
    counted: Policy | None = None,
    checks: Sequence[Check] = (),
) -> AuditResult:
    """Judge every finding of a result by a policy.

    Args:
        reference: An earlier run. A finding that is in it and has not become worse is marked as
            known, and counts as a note if the policy says ``ratchet``.
        counted: The policy that the result was counted with; None: this one.
        checks: Those whose limits may be others than when the result was counted.
    """
    counted = counted or policy
    min_cell = policy.min_cell or counted.min_cell or result.policy["min_cell"]
    rounding = Rounding.of(min_cell, result.ledger)
    given = None if reference is None else told_with(reference, min_cell)
    before = None if given is None else remembered(given)
    back = mended_in(result, before) if policy.ratchet == "mended" else frozenset[str]()
    judge = _Judge(policy, rounding, given, frozenset(result.nodes["node"]), back)
    by_name = {check.name: check for check in (*CHECKS, *checks)}
    waivers = Waivers(policy.waivers, today, result.edges)
    found = list[CheckResult]()
    for check in result.checks:
        if check.name in OF_WAIVERS:
            continue
        own = by_name.get(check.name)
        if own is not None and own.retest is not None:
            check = own.retest(check, result.residuals, policy, rounding)
        held = tuple(limited(one, own, counted, policy) for one in check.findings)
        found.append(judge.judged(replace(check, findings=held), waivers))
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
    """Checks whose findings say whether they only restate another one.

    Those of an analysis may name the same nodes, such as relations of texts, and say other things.
    """
    of_labels = {check.name for check in CHECKS}
    found = restating([check for check in checks if check.name in of_labels], root)
    for check in checks:
        marked = (replace(one.judgement, restates=one.id in found) for one in check.findings)
        both = zip(check.findings, marked, strict=True)
        yield replace(check, findings=tuple(replace(one, judgement=own) for one, own in both))


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

        Left out are those that its policy dropped, and that its labels are less deep than in a
        reference of its own: what is lost since then is lost once more.
        """
        run = self.reference
        if run is None:
            return {}
        told = (one for check in run.checks for one in told_findings(check, run.rounding))
        kept = (one for one in told if not one.judgement.dropped)
        return {one.id: one for one in kept if (one.check, one.key) != SHALLOWER}

    @cached_property
    def there(self) -> tuple[frozenset[str], frozenset[str], Policy]:
        """Checks that the reference applied, nodes that it lacks, and its policy."""
        run = self.reference
        if run is None:
            return frozenset(), frozenset(), self.policy
        ran = frozenset(one.name for one in run.checks if one.ran)
        return ran, self.nodes.difference(run.nodes["node"]), run.made_with

    def unasked(self, finding: Finding) -> bool:
        """Whether the reference lacks the check, a node or the rule of a finding."""
        (ran, new, policy), key = self.there, finding.key or finding.nodes
        return (
            finding.check not in ran
            or not new.isdisjoint(finding.nodes)
            or (self.policy.asks(finding.check, key) and not policy.asks(finding.check, key))
        )

    def judged(self, check: CheckResult, waivers: Waivers | None = None) -> CheckResult:
        """A check's result, each finding judged; waivers cover none where these are None."""
        told = {one.id: one for one in told_findings(check, self.rounding)}
        findings = list[Finding]()
        for one in check.findings:
            before, mended = self.known.get(one.id), one.id in self.back
            stays = before is not None and no_worse(told[one.id], before, self.rounding.width)
            severity = severity_of(told[one.id], self.policy, check.evidence, self.rounding)
            judgement = replace(
                one.judgement,
                severity="error" if mended else severity,
                waiver=None if waivers is None else waivers.of(one),
                known=stays,
                unasked=self.reference is not None and before is None and self.unasked(one),
                excused=stays and bool(self.policy.ratchet) and not mended,
            )
            findings.append(replace(one, judgement=judgement))
        return replace(check, findings=tuple(findings))


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
