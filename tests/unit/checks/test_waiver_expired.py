"""waiver_expired: the day decides, and what was covered is counted."""

from __future__ import annotations

from datetime import date
from typing import Any

from audit.checks.waivers import EXPIRED as CHECK
from audit.checks.waivers import WaiverUse
from audit.policy.statements import Waiver

DAY = date(2030, 6, 1)


def use(expires: date = DAY, today: date = DAY, findings: int = 3, **place: Any) -> WaiverUse:
    waiver = Waiver(check="a_check", owner="Office", reason="Old.", expires=expires, **place)
    return WaiverUse(waiver, expired=waiver.expired(today), findings=findings)


def test_the_finding_names_the_waiver_and_counts_what_it_covered() -> None:
    result = CHECK.run([use(today=date(2031, 1, 1), subtree="a/b"), use()])
    (finding,) = result.findings

    assert (result.status, result.denominator) == ("warn", 2)
    assert "of a_check below a/b by Office expired on 2030-06-01" in finding.statement
    assert finding.evidence["findings"] == 3
    assert finding.id == "waiver_expired:a_check:subtree:a%2Fb"


def test_ids_tell_a_node_from_a_subtree_and_from_the_whole_check() -> None:
    late = date(2031, 1, 1)
    uses = [use(today=late), use(today=late, node="a"), use(today=late, subtree="a")]

    assert len({finding.id for finding in CHECK.run(uses).findings}) == 3
