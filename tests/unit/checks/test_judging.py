"""Judging: severities, waivers, the ratchet and stricter limits, without counting again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.declared import NONE, Columns, count, share
from audit.base.disk import judging_date
from audit.base.errors import InputError, PolicyError
from audit.checks import ON_WAIVERS
from audit.checks.judging import judged, rejudged
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.policy.rules import Exclusive, Expected
from audit.policy.statements import BranchRule, CodeDates, Threshold, Waiver
from audit.results.findings import CheckResult, Finding
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.read import read_run
from fixtures.labelled import labelled, repeated, tree

TODAY = date(2030, 6, 1)
LATER, EARLIER = date(2031, 1, 1), date(2030, 1, 1)
BODY = tree(
    "chest belly < body",
    "saw hammer < tool",
    "body tool < top",
    "lung heart < chest",
    "asthma other_lung < lung",
    "attack other_heart < heart",
    "ulcer other_belly < belly",
    titles={"other_lung": "Other", "other_heart": "Other", "other_belly": "Unspecified"},
    labelled_ancestors="fault",
)
COUNTS = [
    (60, ["other_lung"]), (8, ["asthma"]), (14, ["attack"]), (40, ["other_belly", "saw"]),
    (9, ["ulcer"]), (5, ["heart", "attack"]), (2, ["elf"]),
]  # fmt: skip
TOGETHER = "cross_branch:body:tool"


def release(counts: Sequence[tuple[int, Sequence[str]]] = tuple(COUNTS)) -> LabelDataset:
    return labelled(BODY, repeated(counts))


def stated(**given: Any) -> Policy:
    """A policy that watches what meets across branches, unless it says something else of them."""
    watched = BranchRule(branches=("*", "*"), rule="watch", reason="")
    return Policy(**{"branch_rules": (watched,), **given})


def audited(policy: Policy | None = None, **given: Any) -> AuditResult:
    return run_audit(release(), policy or stated(), today=TODAY, **given)


FOUND = audited()


def waiver(check: str = "*", expires: date = LATER, **place: Any) -> Waiver:
    return Waiver(check=check, owner="Office", reason="Agreed.", expires=expires, **place)


def ruled(**policy: Any) -> AuditResult:
    return rejudged(FOUND, stated(**policy), today=TODAY)


def named(result: AuditResult, name: str) -> CheckResult:
    return next(check for check in result.checks if check.name == name)


def findings(result: AuditResult) -> dict[str, Finding]:
    on_waivers = {check.name for check in ON_WAIVERS}
    return {f.id: f for c in result.checks if c.name not in on_waivers for f in c.findings}


def threshold(value: float) -> Threshold:
    return Threshold(value=value, reason="Ours.")


# --- the same policy, the same bytes ----------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [
        stated(),
        stated(title="x", max_findings=1, severities={"cross_branch": "error"}),
        stated(waivers=(waiver("unknown_code"), waiver(expires=EARLIER, subtree="lung"))),
        stated(branch_rules=(BranchRule(branches=("body", "*"), rule="disjoint", reason=""),)),
    ],
)
def test_judging_by_the_run_s_own_policy_changes_no_byte(policy: Policy, tmp_path: Path) -> None:
    run = write_run(audited(policy), tmp_path / "run")
    again = rejudged(read_run(run), policy, today=TODAY)

    assert to_json_bytes(again.shared()) == (run / "result.json").read_bytes()


# --- severities -------------------------------------------------------------------------------


# --- waivers ----------------------------------------------------------------------------------


def shown(result: AuditResult, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(c for c in result.shared()["checks"] if c["name"] == name)
    return found


def test_waived_findings_stand_behind_those_that_count() -> None:
    result = ruled(waivers=(waiver("residual_overuse", node="lung"),), max_findings=1)
    shown = next(c for c in result.shared()["checks"] if c["name"] == "residual_overuse")

    assert shown["findings"][0]["nodes"][0]["id"] == "belly"


def test_only_the_day_makes_a_difference_between_two_judgings() -> None:
    policy = stated(waivers=(waiver("cross_branch", TODAY),))
    first, same = (rejudged(FOUND, policy, today=day) for day in (EARLIER, TODAY))

    assert first.shared() == same.shared() != rejudged(FOUND, policy, today=LATER).shared()


def test_the_day_is_that_of_the_epoch_where_one_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    assert judging_date() == date(2001, 9, 9)


# --- stricter limits --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "key"),
    [
        (stated(residual_share=threshold(0.4)), "residual_share is 0.4, where the run"),
        (stated(false_discovery_rate=threshold(0.1)), "false_discovery_rate is 0.1, where the run"),
        (
            stated(excess_ratio=threshold(2.0)),
            "excess_ratio is 2, where the run was counted with 1.5",
        ),
        (stated(least_joint=threshold(8)), "least_joint is 8, where the run was counted with 5"),
        (
            stated(expected=(Expected(nodes=("lung", "heart"), source="Known."),)),
            "expected differs from the run's",
        ),
        (stated(residual_instances=threshold(40)), "residual_instances is 40"),
        (stated(confusion_threshold=threshold(0.1)), "confusion_threshold is 0.1"),
        (stated(residual_nodes=("saw",)), "residual_nodes differs"),
        (stated(labelled_ancestors="allowed"), "labelled_ancestors differs"),
        (
            stated(branch_rules=(BranchRule(branches=("body", "*"), rule="watch", reason=""),)),
            "branch_rules differs",
        ),
        (stated(exclusive=(Exclusive(nodes=("saw", "hammer"), reason=""),)), "exclusive differs"),
        (stated(code_dates=CodeDates(column="day", file="d.csv")), "code_dates differs"),
    ],
)
def test_what_needs_counting_is_refused_by_its_key(policy: Policy, key: str) -> None:
    with pytest.raises(PolicyError, match=key) as caught:
        rejudged(FOUND, policy, today=TODAY)
    assert "audit run" in caught.value.hint


def test_a_reason_may_change_without_counting() -> None:
    result = ruled(residual_share=Threshold(value=0.5, reason="Agreed in May."))

    told = {t["name"]: t["reason"] for t in result.policy["thresholds"]}
    assert told["residual_share"] == "Agreed in May."


# --- the smallest count and titles ------------------------------------------------------------


def test_the_smallest_count_of_the_run_stays_and_another_is_refused() -> None:
    found = run_audit(release(), stated(min_cell=11), today=TODAY)

    assert rejudged(found, stated(), today=TODAY).policy["min_cell"] == 11
    for other in (1, 5, 20):
        with pytest.raises(PolicyError, match=f"min_cell is {other}, where the run .* with 11"):
            rejudged(found, stated(min_cell=other), today=TODAY)


def test_smallest_counts_of_one_width_of_bins_may_be_changed() -> None:
    found = run_audit(release(), stated(min_cell=3), today=TODAY)

    assert rejudged(found, stated(min_cell=5), today=TODAY).policy["min_cell"] == 5


# --- the ratchet ------------------------------------------------------------------------------


def against(reference: AuditResult, policy: Policy, counts: Any = tuple(COUNTS)) -> AuditResult:
    return run_audit(release(counts), policy, reference=reference, today=TODAY)


def test_a_share_within_the_interval_of_the_reference_is_no_worse() -> None:
    slightly = [(61, labels) if labels == ["other_lung"] else (n, labels) for n, labels in COUNTS]
    much = [(400, labels) if labels == ["other_lung"] else (n, labels) for n, labels in COUNTS]
    known = [
        findings(against(FOUND, stated(ratchet=True), counts))["residual_overuse:lung"]
        for counts in (slightly, much)
    ]

    assert [finding.judgement.known for finding in known] == [True, False]


def test_the_reference_stands_in_the_identity() -> None:
    result = against(FOUND, stated())

    assert FOUND.identity["reference"] is None
    assert len(result.identity["reference"]["sha256"]) == 64


def test_a_ratchet_needs_a_reference() -> None:
    with pytest.raises(PolicyError, match="--reference"):
        audited(stated(ratchet=True))
    with pytest.raises(PolicyError, match="--reference"):
        ruled(ratchet=True)


def test_a_reference_of_another_hierarchy_is_refused(toy_hierarchy: Hierarchy) -> None:
    other = run_audit(labelled(toy_hierarchy, {"a": ["cow"]}), today=TODAY)

    with pytest.raises(InputError, match="hierarchy drawn is required"):
        against(other, stated())
    with pytest.raises(InputError, match="hierarchy drawn is required"):
        rejudged(FOUND, stated(), today=TODAY, reference=other)


# --- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (stated(severities={"no_such": "note"}), "severities: no_such"),
        (stated(waivers=(waiver("no_such"),)), "waivers: no_such"),
        (stated(waivers=(waiver("waiver_unused"),)), "waivers: waiver_unused"),
        (stated(waivers=(waiver(node="nowhere"),)), "waivers: nowhere"),
        (stated(waivers=(waiver(pair=("lung", "nowhere")),)), "waivers: nowhere"),
    ],
)
def test_a_name_that_is_none_is_refused(policy: Policy, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        audited(policy)
    with pytest.raises(PolicyError, match=told):
        rejudged(FOUND, policy, today=TODAY)


# --- severity by weight -----------------------------------------------------------------------


def severity(rows: int, of: int, *, limit: float, **policy: Any) -> str:
    """What an error is judged as that so many rows carry."""
    evidence = {"rows": rows, "of": of, "share": rows / of}
    kinds = Columns(count("rows of", of=NONE), share("share", of="rows of"))
    stray = Finding("unknown_code", "error", ("x",), "", evidence, "", "", rows, key=("x",))
    checked = CheckResult("unknown_code", "", of, "rows", (stray,), evidence=kinds)
    result = judged(
        replace(FOUND, checks=(checked,)),
        stated(error_share=threshold(limit), **policy),
        today=TODAY,
    )
    return named(result, "unknown_code").findings[0].judged_severity


@given(of=st.integers(1, 100_000), part=st.floats(0, 1), limit=st.floats(0, 1))
def test_an_error_counts_as_one_from_its_share_of_the_rows_on(
    of: int, part: float, limit: float
) -> None:
    rows = max(1, round(part * of))

    assert severity(rows, of, limit=limit) == ("error" if rows >= limit * of else "warning")


@pytest.mark.parametrize("rows", range(1, 11))
def test_a_severity_does_not_tell_a_small_count(rows: int) -> None:
    judged_as = severity(rows, 5000, limit=0.001, min_cell=11)

    assert judged_as == "warning"
    assert severity(11, 5000, limit=0.001, min_cell=11) == "error"


def test_the_weight_of_errors_can_be_judged_again() -> None:
    apart = BranchRule(branches=("body", "tool"), rule="disjoint", reason="")
    counted = audited(stated(branch_rules=(apart,)))
    share = findings(counted)[TOGETHER].evidence["share"]
    assert isinstance(share, float)

    def again(limit: float) -> AuditResult:
        policy = stated(branch_rules=(apart,), error_share=threshold(limit))
        return rejudged(counted, policy, today=TODAY)

    assert named(again(share), "cross_branch").status == "fail"
    assert named(again(share + 1e-6), "cross_branch").status == "warn"
