"""waiver_expired: waivers whose last day has passed, so that their findings count again."""

from __future__ import annotations

from collections.abc import Sequence

from audit.checks.check import Outcome, WaiverCheck, WaiverUse
from audit.results.disclosure import Quantity
from audit.results.findings import Finding

_NAME = "waiver_expired"
_TITLE = "Does every waiver of the policy still hold?"


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
        statement=f"The waiver {use.named} held until {use.waiver.expires}: {{findings}} findings "
        "that it covered {findings|counts|count} again.",
        evidence={"findings": Quantity(use.findings)},
        curator="Mend what was waived, or agree on a new day and write it into the policy.",
        data_user="Read the findings that were waived: nobody answers for them any more.",
        touched=use.findings,
        key=use.key,
    )


CHECK = WaiverCheck(_NAME, _TITLE, run)
