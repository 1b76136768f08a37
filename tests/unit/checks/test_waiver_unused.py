"""waiver_unused: a waiver that holds and covers nothing is told."""

from __future__ import annotations

from datetime import date

from audit.checks.waivers import UNUSED as CHECK
from audit.checks.waivers import WaiverUse
from audit.policy.statements import Waiver


def use(findings: int, *, expired: bool = False) -> WaiverUse:
    waiver = Waiver(
        check="*", pair=("a", "b"), owner="Office", reason="Old.", expires=date(2030, 1, 1)
    )
    return WaiverUse(waiver, expired=expired, findings=findings)


def test_a_waiver_that_covers_nothing_is_a_note() -> None:
    result = CHECK.run([use(0), use(2)])
    (finding,) = result.findings

    assert (result.status, result.denominator) == ("note", 2)
    assert "of any check on a and b by Office covers {findings} findings" in finding.statement
    assert finding.nodes == ("a", "b")


def test_an_expired_waiver_is_not_called_unused() -> None:
    assert CHECK.run([use(0, expired=True), use(1)]).findings == ()
