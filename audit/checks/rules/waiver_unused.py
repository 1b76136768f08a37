"""waiver_unused: waivers that are still valid but cover no finding."""

from __future__ import annotations

from collections.abc import Sequence

from audit.checks.check import Outcome, WaiverCheck, WaiverUse
from audit.disclosure import Quantity
from audit.results.findings import Finding

_NAME = "waiver_unused"


def run(uses: Sequence[WaiverUse]) -> Outcome:
    """Report each valid waiver that covers no finding."""
    holding = [use for use in uses if not use.expired]
    return Outcome(
        denominator=len(holding),
        denominator_unit="waivers in force",
        findings=tuple(_finding(use) for use in holding if not use.findings),
        not_applicable="" if holding else "the policy has no waiver that holds",
    )


def _finding(use: WaiverUse) -> Finding:
    return Finding(
        check=_NAME,
        severity="note",
        nodes=use.waiver.nodes,
        statement=f"The waiver {use.named} covers {{findings}} findings: the fault that it was "
        "agreed for is corrected, or has another name now.",
        evidence={"findings": Quantity(use.findings)},
        curator="Take the waiver out of the policy, or name what it is meant to cover.",
        data_user="Nothing: the waiver set no finding aside.",
        key=use.key,
    )


CHECK = WaiverCheck(_NAME, "Does every waiver that holds cover a finding?", run)
