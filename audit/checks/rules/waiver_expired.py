"""waiver_expired: waivers whose last day has passed, so that their findings count again."""

from __future__ import annotations

from collections.abc import Sequence

from audit.checks.check import Outcome, WaiverCheck, WaiverUse
from audit.disclosure import Quantity
from audit.results.findings import Finding

_NAME = "waiver_expired"


def run(uses: Sequence[WaiverUse]) -> Outcome:
    """Report each waiver that has expired."""
    return Outcome(
        denominator=len(uses),
        denominator_unit="waivers",
        findings=tuple(_finding(use) for use in uses if use.expired),
        not_applicable="" if uses else "the policy has no waiver",
    )


def _finding(use: WaiverUse) -> Finding:
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=use.waiver.nodes,
        statement=_statement(use),
        evidence={"findings": Quantity(use.findings)},
        curator="Correct what it covers, or agree on a new day and write it into the policy.",
        data_user="Read the findings that it covers: nobody answers for them any more.",
        touched=use.findings,
        key=use.key,
    )


def _statement(use: WaiverUse) -> str:
    day = use.waiver.expires
    if use.waiver.decision == "to_fix":
        return (
            f"What the waiver {use.named} lists was to be fixed by {day}: {{findings}} of its "
            "findings {findings|is|are} still there."
        )
    if not use.findings:
        return f"The waiver {use.named} expired on {day}; it covers {{findings}} findings now."
    return f"The waiver {use.named} expired on {day}: {{findings}} findings of it count again."


CHECK = WaiverCheck(_NAME, "Does every waiver of the policy still hold?", run)
