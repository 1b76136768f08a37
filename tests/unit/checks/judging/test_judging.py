"""Judging: severities, waivers, the ratchet and stricter limits, without counting again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.declared import NONE, Columns, count, share
from audit.base.disk import judging_date
from audit.base.errors import InputError, PolicyError
from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.judging import judged, rejudged
from audit.checks.limits import FREE
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.policy.rules import Exclusive, Expected
from audit.policy.statements import BranchRule, CodeDates, Threshold, Waiver
from audit.results.findings import OF_WAIVERS, CheckResult, Finding
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


def waived(result: AuditResult) -> set[str]:
    return {id_ for id_, finding in findings(result).items() if finding.judgement.waiver}


def threshold(value: float) -> Threshold:
    return Threshold(value=value, reason="Ours.")


def test_the_release_has_what_these_tests_judge() -> None:
    assert {f.nodes[0] for f in named(FOUND, "residual_overuse").standing} == {"lung", "belly"}
    assert named(FOUND, "residual_overuse").folded > 0
    assert TOGETHER in findings(FOUND)


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


def test_the_way_back_leads_to_the_same_bytes() -> None:
    strict = stated(
        residual_share=threshold(0.85),
        severities={"residual_overuse": "error"},
        waivers=(waiver(),),
    )
    back = rejudged(rejudged(FOUND, strict, today=TODAY), stated(), today=TODAY)

    assert back.shared() == FOUND.shared()
    assert back.findings.equals(FOUND.findings)


@pytest.mark.slow
@given(
    severities=st.dictionaries(
        st.sampled_from([check.name for check in (*CHECKS, *ON_WAIVERS)]),
        st.sampled_from(["error", "warning", "note"]),
    ),
    subtree=st.sampled_from(BODY.nodes),
    expires=st.sampled_from([EARLIER, TODAY, LATER]),
    max_findings=st.integers(1, 5),
)
def test_judging_a_run_is_running_with_that_policy(
    severities: Any, subtree: str, expires: date, max_findings: int
) -> None:
    policy = stated(
        severities=severities,
        waivers=(waiver(expires=expires, subtree=subtree),),
        max_findings=max_findings,
    )

    assert (
        rejudged(FOUND, policy, today=TODAY).shared()
        == judged(
            replace(FOUND, counted_with=policy.model_dump(mode="json")), policy, today=TODAY
        ).shared()
        == audited(policy).shared()
    )


# --- severities -------------------------------------------------------------------------------


def test_a_severity_of_the_policy_takes_the_place_of_the_check_s() -> None:
    result = ruled(severities={"cross_branch": "error"})
    shown = next(c for c in result.shared()["checks"] if c["name"] == "cross_branch")

    assert (named(FOUND, "cross_branch").status, shown["status"]) == ("note", "fail")
    assert {finding["severity"] for finding in shown["findings"]} == {"error"}
    assert findings(result)[TOGETHER].severity == "note"


# --- waivers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (waiver("cross_branch"), {TOGETHER}),
        (waiver("cross_branch", pair=("tool", "body")), {TOGETHER}),
        (waiver("cross_branch", node="tool"), {TOGETHER}),
        (waiver("cross_branch", node="saw"), set()),
        (waiver("cross_branch", pair=("tool", "saw")), set()),
        (waiver("cross_branch", subtree="body"), set()),
        (waiver("cross_branch", subtree="top"), {TOGETHER}),
        (waiver(subtree="belly"), {"residual_overuse:belly"}),
        (waiver("residual_overuse", node="lung"), {"residual_overuse:lung"}),
        (waiver("parent_and_child", node="attack"), set()),
        (waiver("cross_branch", expires=EARLIER), set()),
        (waiver("cross_branch", expires=TODAY), {TOGETHER}),
        (waiver("residual_overuse", finding="residual_overuse:lung"), {"residual_overuse:lung"}),
        (waiver("residual_overuse", finding="residual_overuse:nowhere"), set()),
        (waiver("cross_branch", finding=TOGETHER, expires=EARLIER), set()),
    ],
)
def test_a_waiver_covers_what_it_names(given: Waiver, expected: set[str]) -> None:
    assert waived(ruled(waivers=(given,))) == expected


def test_a_waiver_of_everything_leaves_nothing_that_counts_but_itself() -> None:
    result = ruled(waivers=(waiver(),))

    assert waived(result) == set(findings(FOUND))
    assert result.status == "pass"
    assert [len(c.findings) for c in result.checks] == [len(c.findings) for c in FOUND.checks]


def test_a_waived_finding_is_told_with_who_answers_for_it() -> None:
    result = ruled(waivers=(waiver("cross_branch"),)).shared()
    check = next(c for c in result["checks"] if c["name"] == "cross_branch")

    assert check["status"] == "pass"
    assert check["findings"][0]["waiver"] == {
        "owner": "Office", "reason": "Agreed.", "expires": "2031-01-01", "decision": "waived",
    }  # fmt: skip
    assert result["waivers"] == [
        {
            "check": "cross_branch", "decision": "waived", "owner": "Office", "reason": "Agreed.",
            "expires": "2031-01-01", "expired": False, "used": 1,
        }
    ]  # fmt: skip


def test_a_waiver_can_name_any_finding_alone() -> None:
    for id_ in findings(FOUND):
        named_alone = waiver(id_.split(":")[0], finding=id_)
        assert waived(ruled(waivers=(named_alone,))) == {id_}


def test_a_finding_that_is_accepted_does_not_count_and_says_so() -> None:
    result = ruled(waivers=(waiver("cross_branch", finding=TOGETHER, decision="accepted"),))
    (finding,) = shown(result, "cross_branch")["findings"]

    assert shown(result, "cross_branch")["status"] == "pass"
    assert finding["waiver"]["decision"] == "accepted"
    assert "to_fix" not in finding
    assert result.shared()["waivers"][0]["finding"] == TOGETHER


def test_a_finding_to_be_fixed_counts_as_without_the_promise_and_names_who_made_it() -> None:
    result = ruled(waivers=(waiver(decision="to_fix"),))
    promised = {"owner": "Office", "reason": "Agreed.", "expires": "2031-01-01"}

    named = {check["name"]: check for check in result.shared()["checks"]}
    for check in FOUND.shared()["checks"]:
        if check["name"] in OF_WAIVERS:
            continue
        with_promise = [{**one, "to_fix": promised} for one in check["findings"]]
        assert {**check, "findings": with_promise} == named[check["name"]]


def test_a_waiver_of_one_finding_goes_before_wider_ones() -> None:
    wide = waiver(decision="to_fix")
    alone = waiver("cross_branch", finding=TOGETHER, decision="accepted")
    for order in ((wide, alone), (alone, wide)):
        assert waived_not_to_fix(ruled(waivers=order)) == {TOGETHER}


def waived_not_to_fix(result: AuditResult) -> set[str]:
    return {id_ for id_, finding in findings(result).items() if finding.counts_as is None}


def test_a_promise_that_is_overdue_says_what_is_still_there() -> None:
    result = ruled(waivers=(waiver("cross_branch", EARLIER, finding=TOGETHER, decision="to_fix"),))
    (finding,) = shown(result, "waiver_expired")["findings"]

    assert finding["statement"] == (
        f"What the waiver of the finding {TOGETHER} by Office lists was to be fixed by 2030-01-01: "
        "1 of its findings is still there."
    )


def shown(result: AuditResult, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(c for c in result.shared()["checks"] if c["name"] == name)
    return found


def test_waivers_that_expired_or_cover_nothing_are_findings() -> None:
    expired, unused = waiver("cross_branch", EARLIER), waiver(node="hammer")
    result = ruled(waivers=(expired, unused))

    assert named(result, "waiver_expired").status == "warn"
    assert named(result, "waiver_expired").findings[0].evidence["findings"] == 1
    assert named(result, "waiver_unused").status == "note"
    assert [w["used"] for w in result.waivers] == [1, 0]
    assert [w["expired"] for w in result.waivers] == [True, False]
    assert named(result, "cross_branch").status == "note"


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


def test_a_finding_within_a_stricter_limit_is_dropped() -> None:
    result = ruled(residual_share=threshold(0.75))
    (finding,) = named(result, "residual_overuse").standing

    assert finding.nodes == ("lung",)
    assert finding.evidence["limit"] == 0.75
    assert finding.beyond == pytest.approx(float(finding.evidence["low"] or 0) / 0.75)
    assert len(findings(result)) == len(findings(FOUND))


def test_what_was_folded_stands_again_once_all_that_explained_it_fell() -> None:
    few = [(60, ["other_lung"]), (15, ["asthma"])]
    found = run_audit(release(few), stated(), today=TODAY)
    lung = pl.col("parent") == "lung"
    fewer = [pl.when(lung).then(value).otherwise(name).alias(name)
             for name, value in (("k", 45), ("low", 0.49))]  # fmt: skip
    result = rejudged(
        replace(found, residuals=found.residuals.with_columns(fewer)),
        stated(residual_share=threshold(0.6)),
        today=TODAY,
    )
    standing, left = ({f.nodes for f in named(one, "residual_overuse").standing}
                      for one in (found, result))  # fmt: skip

    assert standing == {("lung",)}
    assert left == {("chest",), ("body",), ("top",)}


@pytest.mark.parametrize("share", [0.55, 0.7, 0.78])
def test_a_stricter_limit_in_bins_is_that_of_a_run_by_it(share: float) -> None:
    limited = stated(residual_share=threshold(share), min_cell=11)
    result = rejudged(audited(stated(min_cell=11)), limited, today=TODAY)
    found, again = (
        {f.nodes for f in named(one, "residual_overuse").findings if not f.judgement.dropped}
        for one in (audited(limited), result)
    )

    assert found == again


FOREST = tree(
    "p0 p1 p2 p3 p4 p5 < top",
    *(f"specific{i} other{i} < p{i}" for i in range(6)),
    titles={f"other{i}": "Other" for i in range(6)},
)
OF_PARENT = st.tuples(st.integers(0, 60), st.integers(0, 30))


@pytest.mark.slow
@given(
    st.lists(OF_PARENT, min_size=6, max_size=6).filter(lambda own: any(map(any, own))),
    st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9]),
)
def test_a_stricter_share_leaves_the_findings_of_a_run_with_it(
    drawn: list[tuple[int, int]], limit: float
) -> None:
    """A run with the stricter limit is the oracle, also for q values."""
    counts = [
        (times, [f"{kind}{i}"])
        for i, of_both in enumerate(drawn)
        for kind, times in zip(("other", "specific"), of_both, strict=True)
    ]
    data = labelled(FOREST, repeated(counts) | {"empty": []})
    loose, strict = stated(residual_share=threshold(0.5)), stated(residual_share=threshold(limit))
    before, wanted = (run_audit(data, policy, today=TODAY) for policy in (loose, strict))
    again = rejudged(before, strict, today=TODAY)

    def q_values(result: AuditResult) -> dict[str, object]:
        return {
            id_: finding.evidence["q_value"]
            for id_, finding in findings(result).items()
            if finding.check == "residual_overuse" and not finding.judgement.dropped
        }

    assert q_values(again) == q_values(wanted)
    assert rejudged(again, loose, today=TODAY).shared() == before.shared()


def test_a_share_that_only_its_family_makes_unsure_is_dropped() -> None:
    """The limit lies below the interval of one parent, and its test fails among six."""
    drawn = [(33, 7), *[(20, 20)] * 5]
    counts = [
        (times, [f"{kind}{i}"])
        for i, of_both in enumerate(drawn)
        for kind, times in zip(("other", "specific"), of_both, strict=True)
    ]
    found = run_audit(labelled(FOREST, repeated(counts)), stated(), today=TODAY)
    one = findings(found)["residual_overuse:p0"]
    low = one.evidence["low"]
    assert isinstance(low, float)
    judged_again = rejudged(found, stated(residual_share=threshold(low - 0.005)), today=TODAY)
    again = findings(judged_again)["residual_overuse:p0"]

    assert not one.judgement.dropped
    assert again.judgement.dropped
    assert again.evidence["q_value"] > 0.05


@pytest.mark.parametrize(
    ("policy", "key"),
    [
        (stated(residual_share=threshold(0.4)), "residual_share is 0.4, looser than the 0.5"),
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


def test_a_threshold_is_judged_by_again_only_where_a_check_says_so() -> None:
    said = {limit.threshold for check in CHECKS for limit in check.limits}

    assert said.isdisjoint(FREE)
    assert said <= set(Policy.model_fields)


def test_the_documentation_names_the_limits_that_may_become_stricter() -> None:
    page = (Path(__file__).parents[4] / "docs" / "policy.md").read_text("utf-8")
    listed = page.split("no check of the run uses it while counting:")[1].split(".")[0]

    assert set(re.findall(r"`(\w+)`", listed)) == {
        limit.threshold for check in CHECKS for limit in check.limits
    }


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


def test_title_and_name_are_told() -> None:
    result = ruled(title="Release 3", name="strict")

    assert result.identity["data"]["title"] == "Release 3"
    assert result.identity["policy"]["name"] == "strict"
    assert result.identity["policy"]["sha256"] != FOUND.identity["policy"]["sha256"]


# --- the ratchet ------------------------------------------------------------------------------

MORE = [*COUNTS, (30, ["saw", "attack"])]


def against(reference: AuditResult, policy: Policy, counts: Any = tuple(COUNTS)) -> AuditResult:
    return run_audit(release(counts), policy, reference=reference, today=TODAY)


def test_what_the_reference_has_too_counts_as_a_note() -> None:
    result = against(FOUND, stated(ratchet=True, severities={"cross_branch": "error"}))

    assert all(finding.judgement.known for finding in findings(result).values())
    assert result.status == "note"
    check = next(c for c in result.shared()["checks"] if c["name"] == "cross_branch")
    assert check["findings"][0]["severity"] == "error"
    assert check["findings"][0]["known"] is True


def test_without_the_ratchet_what_is_known_is_only_marked() -> None:
    result = against(FOUND, stated())

    assert all(finding.judgement.known for finding in findings(result).values())
    assert result.status == FOUND.status


def test_what_is_new_or_worse_counts_in_full() -> None:
    few = release([(60, ["asthma"]), (5, ["saw", "attack"])])
    lenient = run_audit(few, stated(), today=TODAY)
    result = against(lenient, stated(ratchet=True, severities={"cross_branch": "error"}), MORE)
    known = {id_ for id_, finding in findings(result).items() if finding.judgement.known}

    assert TOGETHER in findings(lenient)
    assert known == set()
    assert named(result, "cross_branch").status == "fail"


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


def test_one_stray_code_does_not_fail_a_release() -> None:
    assert severity(1, 48_389, limit=0.001) == "warning"
    assert severity(1, 48_389, limit=0.0) == "error"
    assert severity(49, 48_389, limit=0.001) == "error"
    assert severity(1, 48_389, limit=0.001, severities={"unknown_code": "error"}) == "error"


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
