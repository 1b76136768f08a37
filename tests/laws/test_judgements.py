"""What a policy makes of findings, in what order they stand, and which ten come first."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any

import pytest

import audit
from fixtures.audited_worlds import audited, judged, judged_again
from fixtures.judgements import covers, judged_severity, restating, to_act_on, waived, within
from fixtures.plain_statistics import wilson
from fixtures.searches import World
from tests.laws.test_checks import BODIES, TOGETHER, WARDS

TODAY = "2026-01-01"
OF_WAIVERS = ("waiver_expired", "waiver_unused")


@cache
def release(number: int) -> tuple[World, audit.AuditResult]:
    world = (*WARDS, BODIES["two pairs"], TOGETHER["in two places"])[number]
    return world, audited(world, today=date.fromisoformat(TODAY))


def follows(
    result: audit.AuditResult, world: World, policy: dict[str, Any], known: set[str]
) -> None:
    """Assert that every judgement, order and number of a result follows from its findings."""
    checks, today = judged(result), TODAY
    every = [one for own in checks for one in own]
    standing = list[Any]()
    for check, own in zip(result.checks, checks, strict=True):
        there = own
        ids = {one["id"] for one in there}
        stand = [one for one in there if not ids & {*one["folded_into"]}]
        standing += stand
        assert [one.id for one in check.standing] == [one["id"] for one in stand]
        assert check.folded == len(there) - len(stand)
        severities = {one["counts_as"] for one in stand}
        worst = {"error": "fail", "warning": "warn", "note": "note"}
        named = [worst[one] for one in ("error", "warning", "note") if one in severities]
        status = "not_applicable" if check.not_applicable else [*named, "pass"][0]
        assert check.status == status, check.name
        assert [one["id"] for one in own] == within(own), check.name
    for one in every:
        of_waivers = one["check"] in OF_WAIVERS
        wanted = None if of_waivers else waived(one, policy, today, world.down)
        assert one["judged"] == judged_severity(one, policy), one["id"]
        assert (one["waiver"] and one["waiver"].owner) == (wanted and wanted["owner"]), one["id"]
        assert one["known"] == (one["id"] in known), one["id"]
        excused = one["known"] and policy.get("ratchet")
        lets_go = wanted is not None and wanted.get("decision") != "to_fix"
        assert one["counts_as"] == (None if lets_go else "note" if excused else one["judged"])
    about_data = [one for one in standing if one["check"] not in OF_WAIVERS]
    assert {one["id"] for one in every if one["restates"]} == restating(about_data, world.root)
    stands = [[one for one in own if one in standing] for own in checks]
    assert result.worst()["id"].to_list() == to_act_on(stands)
    assert result.worst(3)["id"].to_list() == to_act_on(stands, 3)
    order = ("fail", "warn", "note", "pass", "not_applicable")
    places = [order.index(check.status) for check in result.checks]
    assert places == sorted(places)
    assert (
        result.status
        == order[
            min(
                p
                for p, c in zip(places, result.checks, strict=True)
                if c.denominator and c.name not in OF_WAIVERS
            )
        ]
    )


def waivers_told(result: audit.AuditResult, world: World, policy: dict[str, Any]) -> None:
    """Assert that expired and unused waivers are told, each with the findings that it covers."""
    found = [one for own in judged(result) for one in own if one["check"] not in OF_WAIVERS]
    there = found
    uses = [
        (waiver, sum(covers(waiver, one, world.down) for one in there))
        for waiver in policy.get("waivers", ())
    ]
    expired = [(w, n) for w, n in uses if str(w["expires"]) < TODAY]
    unused = [(w, n) for w, n in uses if str(w["expires"]) >= TODAY and not n]
    for name, wanted, severity in (
        ("waiver_expired", expired, "warning"),
        ("waiver_unused", unused, "note"),
    ):
        check = next(one for one in result.checks if one.name == name)
        holding = len(uses) - (len(expired) if name == "waiver_unused" else 0)
        assert (check.denominator, bool(check.not_applicable)) == (holding, not holding)
        told = {one.id: (one.severity, one.evidence["findings"]) for one in check.findings}
        assert told == {_id(name, w): (severity, n) for w, n in wanted}
        assert {one.touched for one in check.findings} <= {0, *(n for _, n in wanted)}
    stated = [(dict(one)["used"], dict(one)["expired"]) for one in result.waivers]
    assert stated == [(n, str(w["expires"]) < TODAY) for w, n in uses]


def _id(name: str, waiver: dict[str, Any]) -> str:
    kinds = [kind for kind in ("node", "subtree", "pair", "finding") if kind in waiver]
    named = [
        part
        for kind in kinds
        for part in ([waiver[kind]] if isinstance(waiver[kind], str) else waiver[kind])
    ]
    parts = (name, waiver["check"], *kinds, *named)
    return ":".join([parts[0], *map(_escaped, parts[1:])])


def _escaped(part: str) -> str:
    for sign, code in (("*", "%2A"), (":", "%3A"), ("%20", "%2520"), ("%2C", "%252C")):
        part = part.replace(sign, code)
    return part


def waiver(check: str, expires: str = "2026-01-01", **place: Any) -> dict[str, Any]:
    owner = f"{check} {sorted(place.items())}"
    return {
        "check": check,
        "owner": owner,
        "reason": "R.",
        "expires": date.fromisoformat(expires),
    } | place


@pytest.mark.parametrize("number", range(6))
def test_each_finding_stands_where_its_fields_put_it(number: int) -> None:
    world, result = release(number)

    follows(result, world, {}, set())
    waivers_told(result, world, {})


POLICIES: dict[str, dict[str, Any]] = {
    "severities": {"severities": {"duplicates": "error", "cross_branch": "note",
        "split_leak": "warning"}},
    "a greater share of errors": {"error_share": {"value": 0.02, "reason": "R."}},
    "waivers of checks": {"waivers": [waiver("duplicates"), waiver("split_leak", "2025-12-31"),
        waiver("lost_zero")]},
    "waivers of nodes": {"waivers": [waiver("*", node="A"), waiver("*", subtree="B"),
        waiver("residual_overuse", node="C"), waiver("cross_branch", pair=("B", "A"))]},
    "of a pair that is none": {"waivers": [waiver("cross_branch", pair=("A", "C")), waiver("*",
        "2025-01-01", subtree="A")]},
    "to be fixed": {"waivers": [waiver("split_leak", decision="to_fix"),
        waiver("unknown_code", "2025-06-01", decision="to_fix"), waiver("cross_branch",
        decision="accepted")]},
    "of one finding": {"waivers": [waiver("split_leak"), waiver("split_leak",
        finding="split_leak:instance", decision="to_fix"), waiver("split_leak", "2024-01-01",
        finding="split_leak:group")]},
    "waivers that are severe": {"severities": {"waiver_unused": "error", "waiver_expired": "note"},
        "waivers": [waiver("lost_zero"), waiver("split_leak", "2025-12-31")]},
}  # fmt: skip


@pytest.mark.parametrize("stated", POLICIES.values(), ids=POLICIES)
def test_a_policy_judges_each_finding_by_its_own_rule(stated: dict[str, Any]) -> None:
    world, result = release(0)
    plain = dict(world.policy) | stated
    found = judged_again(result, **plain)
    share = stated.get("error_share", {}).get("value", 0.001)
    follows(found, world, {**plain, "error_share": share}, set())
    waivers_told(found, world, plain)


def test_a_release_judged_again_is_as_one_that_was_audited_so() -> None:
    world, result = release(3)
    plain = dict(world.policy) | POLICIES["waivers that are severe"] | POLICIES["severities"]
    again = audited(replace(world, policy=plain), today=date.fromisoformat(TODAY))
    assert judged(again) == judged(judged_again(result, **plain))


def test_a_finding_that_a_reference_has_and_that_is_no_worse_is_known() -> None:
    world, result = release(0)
    drawn = random.Random(5)
    some = tuple(record for record in world.records if drawn.random() < 0.6)
    other = audited(replace(world, records=some), reference=result, today=date.fromisoformat(TODAY))
    for ratchet in (True, False):
        policy = dict(world.policy) | {"ratchet": ratchet}
        found = judged_again(result, **policy, reference=result)
        every = {one["id"] for own in judged(result) for one in own}
        follows(found, world, policy, every)
    now = [one for own in judged(other) for one in own]
    assert {one["id"] for one in now if one["known"]} == {
        one["id"] for one in now if no_worse(one, result)
    }


def no_worse(one: dict[str, Any], before: audit.AuditResult) -> bool:
    """Whether the share of a finding is at most the upper end of what it was."""
    earlier = {f["id"]: f for own in judged(before) for f in own}.get(one["id"])
    if earlier is None or ("error", "warning", "note").index(one["severity"]) < (
        "error",
        "warning",
        "note",
    ).index(earlier["severity"]):
        return False
    then, now = earlier["evidence"], one["evidence"]
    for name in ("share", "ratio"):
        if now.get(name) is not None:
            highs = [then.get(f"{name}_high"), then.get("high")]
            high = next((h for h in highs if h is not None and h >= then[name]), None)
            part = then.get("instances") or then.get("rows")
            if high is None and name == "share" and part is not None and then.get("of") is not None:
                high = max(wilson(part, then["of"])[1], then["share"])
            return bool(now[name] <= (then[name] if high is None else high))
    return bool(one["touched"] <= earlier["touched"])


@pytest.mark.parametrize("min_cell", [11, 1], ids=["in bins", "exact now"])
@pytest.mark.parametrize(
    ("before", "now", "known"), [(40, 4, 1), (4, 40, 0), (4, 14, 1)], ids=["fewer", "more", "near"]
)
def test_a_share_that_is_not_told_is_compared_by_its_records(
    before: int, now: int, known: int, min_cell: int
) -> None:
    def told(
        wrong: int, min_cell: int = 11, reference: audit.AuditResult | None = None
    ) -> audit.AuditResult:
        rows = [*[["cat"]] * 1_000, *[["wolf"]] * wrong]
        labels = audit.load_labels(rows, {"pet": {"cat": {}, "dog": {}}})
        policy = audit.Policy.model_validate({"min_cell": min_cell})
        return audit.run_audit(labels, policy, reference=reference)

    view = told(now, min_cell, told(before)).shared()
    (line,) = (one for one in view["since_reference"]["checks"] if one["name"] == "unknown_code")
    assert (line["known"], line["worse"]) == (known, 1 - known)


def apart(*pairs: tuple[str, str]) -> audit.Policy:
    groups = [{"nodes": pair, "reason": "R."} for pair in pairs]
    return audit.Policy.model_validate({"min_cell": 1, "exclusive": groups})


@pytest.mark.parametrize("asked", [True, False])
def test_what_the_reference_could_not_have_is_told_apart_and_stands_before_what_is_known(
    asked: bool,
) -> None:
    """Its policy had no rule at all, or its hierarchy lacked a node."""
    rows, tree = [["cat", "dog"], ["cat", "cat"]], {"pet": {"cat": {}, "dog": {}}, "fish": {}}
    before = apart(("cat", "dog")) if asked else apart()
    old = audit.run_audit(audit.load_labels(rows, tree), before)
    labels = audit.load_labels([*rows, ["bird", "fish"]], tree | {"bird": {}})
    new = audit.run_audit(labels, apart(("cat", "dog"), ("bird", "fish")), reference=old)
    states = {one["id"]: (one["known"], one["unasked"]) for own in judged(new) for one in own}

    assert states == {
        "sibling_exclusive:bird:fish": (False, True),
        "sibling_exclusive:cat:dog": (asked, not asked),
        "duplicates:labels": (True, False),
    }
    assert new.worst()["id"][0] == "sibling_exclusive:bird:fish"
    told = [one for check in new.shared()["checks"] for one in check["findings"]]
    assert {one["id"]: (one["known"], one["unasked"]) for one in told} == states
    since = {one["name"]: one["known"] for one in new.shared()["since_reference"]["checks"]}
    assert (since["sibling_exclusive"], since["duplicates"]) == (1 if asked else None, 1)


RULES: dict[str, dict[str, Any]] = {
    "sibling_exclusive": {"exclusive": [{"nodes": ["cat", "fish"], "reason": "R."}]},
    "missing_companion": {"companions": [{"if": "fish", "needs": "dog", "source": "S."}]},
    "cross_branch": {
        "branch_rules": [{"branches": ["pet", "fish"], "rule": "watch", "reason": "R."}]
    },
}


@pytest.mark.parametrize("check", RULES)
def test_a_rule_that_the_policy_of_the_reference_lacked_is_one_it_was_not_asked(check: str) -> None:
    """The check ran there all the same, by rules on other nodes."""
    others = {
        "exclusive": [{"nodes": ["dog", "fish"], "reason": "R."}],
        "companions": [{"if": "dog", "needs": "fish", "source": "S."}],
        "branch_rules": [{"branches": ["pet", "*"], "rule": "expected", "reason": "R."}],
    }
    tree = {"pet": {"cat": {}, "dog": {}}, "fish": {}}
    labels = audit.load_labels([["cat", "fish"], ["dog", "fish"], ["cat", "fish"]], tree)
    ((name, rules),) = RULES[check].items()
    before, after = (
        audit.Policy.model_validate({"min_cell": 1, name: own})
        for own in (others[name], [*rules, *others[name]])
    )
    old = audit.run_audit(labels, before)
    new = audit.run_audit(labels, after, reference=old)
    found = {one.id: one.judgement for own in new.checks for one in own.findings}
    known = {one.id for own in old.checks for one in own.findings}

    assert all(one.known for id_, one in found.items() if id_ in known)
    assert {id_.split(":")[0]: one.unasked for id_, one in found.items() if id_ not in known} == {
        check: True
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"residual_share": {"value": 0.4, "reason": "R."}},
        {"residual_share": {"value": 0.8, "reason": "R."}},
        {"residual_instances": {"value": 31, "reason": "R."}},
        {"false_discovery_rate": {"value": 0.01, "reason": "R."}},
        {"strata": []},
        {"exclusive": []},
        {"severities": {"no_check": "note"}},
        {"waivers": [waiver("no_check")]},
        {"waivers": [waiver("*", node="no node")]},
        {"waivers": [waiver("waiver_unused")]},
        {"ratchet": True},
        {"min_cell": 50},
    ],
)
def test_what_needs_counting_or_names_nothing_is_refused(changed: dict[str, Any]) -> None:
    world, result = release(0)
    with pytest.raises(audit.AuditError):
        judged_again(result, **dict(world.policy) | changed)


def test_below_a_catch_all_a_residual_share_is_told_and_none_to_act_on_first() -> None:
    tree = {"anemias": {
        "anemias of iron": {"anemia of iron, from bleeding": {}, "anemia of iron, unspecified": {}},
        "other and unspecified anemias": {"anemia of old age": {}, "anemia, unspecified": {}},
    }}  # fmt: skip
    specific = [["anemia of iron, from bleeding"], ["anemia of old age"]]
    catch_alls = [["anemia of iron, unspecified"], ["anemia, unspecified"]]
    view = audit.run_audit(audit.load_labels(20 * specific + 120 * catch_alls, tree)).exact()
    told = [one["nodes"][0]["id"] for check in view["checks"] for one in check["findings"]]

    assert told == ["anemias of iron", "other and unspecified anemias"]
    assert view["worst"] == ["residual_overuse:anemias%20of%20iron"]


def test_only_so_many_findings_are_shown() -> None:
    world, result = release(0)
    for most in (1, 2, 20):
        found = judged_again(result, **dict(world.policy) | {"max_findings": most, "min_cell": 1})
        for check in found.shared()["checks"]:
            standing = next(c for c in found.checks if c.name == check["name"])
            told = (check["total"], check["folded"], check["not_shown"], len(check["findings"]))
            n = len(standing.standing)
            every = n + standing.folded
            assert told == (every, standing.folded, max(n - most, 0), min(n, most)), check["name"]
