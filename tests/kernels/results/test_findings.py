"""Findings: order, folding, what a sentence names, numbers told at the edges of classes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from audit import AuditResult, CheckResult, Finding
from audit.base.declared import Columns, chance, count, share, text
from audit.results.binned import told_check, told_findings, told_metrics
from audit.results.finding_lines import EXACTLY
from audit.results.findings import Part, Severity
from audit.results.printed import decimals_of
from audit.results.view import finding_view
from audit.sharing.told import Rounding
from audit.sharing.words import share_said
from fixtures import results


def finding(severity: Severity = "note", touched: int = 0, **given: Any) -> Finding:
    return Finding(
        **{
            "check": "a_check",
            "severity": severity,
            "nodes": ("a",),
            "statement": "{n} of it",
            "evidence": {"n": touched},
            "curator": "",
            "data_user": "",
            "touched": touched,
            **given,
        }
    )


def check(*findings: Finding, **given: Any) -> CheckResult:
    return CheckResult("a_check", "Is it?", 1, "things", findings=findings, **given)


def result(*checks: CheckResult, max_findings: int = 20) -> AuditResult:
    other = results.empty_result()
    return replace(other, checks=checks, policy={**other.policy, "max_findings": max_findings})


def test_the_worst_severity_is_the_status_unless_it_crashed_or_does_not_apply() -> None:
    for severities, status in (
        ((), "pass"), (("note",), "note"), (("note", "warning"), "warn"),
        (("warning", "error", "note"), "fail"),
    ):  # fmt: skip
        assert check(*map(finding, severities)).status == status
    assert check(finding("error"), crashed="ValueError: no").status == "error"
    assert check(not_applicable="no reason to").status == "not_applicable"


def test_findings_stand_by_severity_then_instances_times_strength_then_id() -> None:
    first, second = finding("error", 1), finding("warning", 9)
    third, fourth = finding("warning", 5, nodes=("a",)), finding("warning", 5, nodes=("b",))
    assert check(fourth, third, second, first).findings == (first, second, third, fourth)
    wide, strong = finding("note", 9, strength=1.0), finding("note", 5, strength=2.0)
    stray, worse = finding("note", 1, strength=8.9), finding("warning", 1, nodes=("w",))
    assert check(stray, wide, strong, worse).findings == (worse, strong, wide, stray)


def test_the_status_of_an_audit_is_the_worst_of_its_checks() -> None:
    passed, skipped = check(), check(not_applicable="why")
    failed, crashed = check(finding("error")), check(crashed="boom")

    assert result(skipped).status == "not_applicable"
    assert result(skipped, passed).status == "pass"
    assert result(replace(passed, denominator=0)).status == "not_applicable"
    assert result(passed, check(finding("note")), check(finding("warning"))).status == "warn"
    assert result(passed, failed).status == "fail"
    assert result(failed, crashed).status == "error"


def test_an_id_is_percent_encoded_part_by_part() -> None:
    assert finding(nodes=("a:b", "c d", "é/")).id == "a_check:a%3Ab:c%20d:%C3%A9%2F"
    assert finding(key=("first", "x")).id == "a_check:first:x"


def test_a_check_shows_its_first_findings_and_counts_the_rest() -> None:
    found = [finding("note", n, nodes=(f"n{n}",)) for n in range(1, 6)]
    folded = [finding("error", 9, key=(f"k{n}",), folded_into=(found[0].id,)) for n in range(3)]
    (shown,) = result(check(*found, *folded), max_findings=2).shared()["checks"]

    assert [f["evidence"]["n"] for f in shown["findings"]] == [5, 4]
    assert (shown["total"], shown["folded"], shown["not_shown"]) == (8, 3, 3)


def test_a_folded_finding_counts_for_nothing_but_itself() -> None:
    explaining = finding("note", 1)
    folded = finding("error", 9, nodes=("b",), folded_into=(explaining.id,))
    told = check(explaining, folded)

    assert (told.standing, told.folded, told.status) == ((explaining,), 1, "note")
    assert check(folded).standing == (folded,)


def test_all_findings_stand_in_the_frame() -> None:
    found = [finding("note", n, nodes=(f"n{n}",)) for n in range(1, 6)]
    found[2] = replace(found[2], folded_into=(found[0].id,))
    frame = result(check(*found), max_findings=2).findings

    assert frame["touched"].to_list() == [5, 4, 2, 1, 3]
    assert frame["folded_into"].to_list() == [[], [], [], [], ["a_check:n1"]]
    assert frame["evidence"][0]["n"] == 5


def test_a_shared_finding_has_titles() -> None:
    given = finding(
        "error",
        5,
        evidence={"n": 5, "share": 0.05, "of": 100},
        statement="{n} of {of} ({share}) are odd",
        parts=(Part(("a", "zz"), {"n": 95}),),
    )
    shown = finding_view(given, Columns(), {"a": "Title"}, EXACTLY)

    assert shown["nodes"] == [{"id": "a", "title": "Title"}]
    assert shown["evidence"] == {"n": 5, "share": 0.05, "of": 100}
    assert shown["statement"] == "5 of 100 (5.0%) are odd"
    assert shown["parts"][0]["nodes"] == [
        {"id": "a", "title": "Title"},
        {"id": "zz", "title": None},
    ]
    assert shown["parts"][0]["evidence"] == {"n": 95}


FOUND = finding(
    touched=40,
    statement="{instances}[, {mostly}].",
    evidence={"instances": 40, "share": 0.5, "of": 150},
    key=("all",),
)


def said_of(finding: Finding) -> str:
    return str(finding_view(finding, Columns(), {}, EXACTLY)["statement"])


def test_what_makes_up_most_of_a_finding_is_named() -> None:
    for lines, said in [
        ([("c d", 40)], "always c and d"),
        ([("a b", 40), ("a d", 21)], "mostly d"),
        ([("a b", 40), ("c b", 9), ("a d", 8)], "most often c"),
        ([("a b", 40), ("a d", 9), ("c d", 9)], "most often d or c and d"),
        ([("a b", 40), ("a d", 9), ("c b", 9), ("c d", 9)], None),
        ([("a b", 40), ("c b", 8)], "most often c"),
        ([("a b", 40), ("c b", 7)], None),
        ([("c", 40)], "always c"),
        ([("c", 40), ("d", 3)], "mostly c"),
        ([("c", 15), ("d", 14)], None),
    ]:
        parts = tuple(Part(tuple(nodes.split()), {"instances": n}) for nodes, n in lines)
        pair = replace(
            FOUND, nodes=("a", "b"), key=(), parts=parts, statement="{instances}[, {mostly}]."
        )
        told = said_of(pair)

        assert told == (f"40, {said}." if said else "40.")


def test_what_may_lie_elsewhere_makes_up_no_finding() -> None:
    for lines, said in [
        ([("c", 90)], "always c"),  # 150 have one of these labels, and 40 of them no other
        ([("c", 131), ("d", 3)], "mostly c"),
        ([("c", 130), ("d", 3)], None),  # 110 that have others may have 110 of them
    ]:
        parts = tuple(Part((node,), {"labelled": n}) for node, n in lines)
        told = said_of(replace(FOUND, parts=parts, statement="{instances}[, {mostly}]."))

        assert told == (f"40, {said}." if said else "40.")


def test_a_finding_that_counts_its_lines_names_some() -> None:
    for lines, said in [
        ([("c d", 7), ("c e", 6), ("d e", 6)], "such as c and d"),
        ([("c", 15), ("d", 9), ("e", 9)], "such as c and d"),
        ([("c", 3), ("d", 2)], "c and d"),
        ([("c d", 3)], "c and d"),
    ]:
        parts = tuple(Part(tuple(nodes.split()), {"instances": n}) for nodes, n in lines)
        counting = replace(
            FOUND,
            parts=parts,
            statement="{instances}[, {mostly}].",
            evidence={**FOUND.evidence, "pairs": len(parts)},
        )

        assert said_of(counting).endswith(f", {said}.")


TENS = Rounding(10, {"rows": 1000, "instances": 1000})
SHARES = Columns(count("instances of"), share("share", of="instances of"))


def metric(name: str, value: float | None, n: int = 1000, **given: Any) -> dict[str, Any]:
    ends = {"low": None, "high": None}
    return {"name": name, "scope": "all", "value": value, **ends, "n": n, "parameters": {}, **given}


def told(*metrics: dict[str, Any]) -> list[dict[str, Any]]:
    return [*told_metrics(metrics, 2, 1, TENS)]


def test_a_share_is_that_of_told_counts_with_an_interval_around_it() -> None:
    (found,) = told(metric("accuracy", 0.303, low=0.28, high=0.33))

    assert (found["n"], found["value"], found["beyond"]) == (995, 305 / 995, None)
    assert found["value"] - found["low"] == pytest.approx(found["high"] - found["value"])
    assert 0.025 <= found["value"] - found["low"] < 0.05


def test_a_share_of_few_or_of_all_but_few_is_not_told() -> None:
    for k in [0, 10, 990, 1000]:
        assert told(metric("accuracy", k / 1000))[0]["value"] is None
        assert told(metric("accuracy", k / 1000, scope="a")) == []


def test_a_mean_is_told_in_steps_and_a_ratio_of_sums_in_those_of_half_as_many() -> None:
    for name, parameters, n, value in (
        ("hierarchical_f1", {"average": "macro"}, 1000, 0.44),
        ("hierarchical_f1", {"average": "micro"}, 1000, 0.45),
        ("f1", {}, 1000, 0.45),
        ("hierarchical_f1", {"average": "macro"}, 105, 0.4),
        ("f1", {}, 105, None),
    ):
        assert told(metric(name, 0.433, n, parameters=parameters))[0]["value"] == value, name


def test_percentages_have_decimals_by_what_they_are_of_and_none_is_all_but_all() -> None:
    assert [decimals_of(n) for n in (None, 999, 1000, 9999, 10_000)] == [0, 0, 1, 1, 2]
    shares = (0.004, 0.02, 0.988, 0.996, 1.0)
    assert [share_said(one, 805, TENS) for one in shares] == ["<1%", "2%", "99%", ">99%", "100%"]


def test_a_net_share_is_the_difference_of_told_shares() -> None:
    recovered = metric("recovered", 0.5, low=0.46, high=0.54)
    lost = metric("lost", 0.2, low=0.17, high=0.23)
    net, one, other = told(metric("accuracy_alignment", 0.3), recovered, lost)

    assert net["value"] == one["value"] - other["value"]
    down = math.hypot(one["value"] - one["low"], other["high"] - other["value"])
    assert net["value"] - net["low"] == pytest.approx(down)


def found_of(instances: int, parts: list[int]) -> Finding:
    evidence = {"instances": instances, "of": 1000, "share": instances / 1000}
    lines = tuple(Part((f"n{i}",), {"instances": n}) for i, n in enumerate(parts))
    return Finding("c", "note", ("a",), "", evidence, "", "", instances, parts=lines, key=("k",))


@pytest.mark.parametrize(
    ("parts", "shown", "more"),
    [
        ([40, 60], ["n1", "n0"], False),
        ([5, 4, 3, 2], ["n0", "n1", "n2"], True),
        ([1, 2, 30, 3], ["n2", "n0", "n1", "n3"], False),
    ],
)
def test_three_parts_of_few_are_told_behind_those_of_many(
    parts: list[int], shown: list[str], more: bool
) -> None:
    check = CheckResult("c", "", 995, "", (found_of(100, parts),), evidence=SHARES, of_parts=SHARES)
    (found,) = told_findings(check, TENS)

    assert [part.nodes[0] for part in found.parts] == shown
    assert (found.more_parts, found.evidence["instances"], found.touched) == (more, 95, 95)
    assert told_check(check, TENS).denominator == 995


def test_what_a_test_found_on_few_stays_behind_whatever_is_said_before_the_count() -> None:
    kinds = Columns(text("label"), count("instances"), chance("p"))
    found = finding(evidence={"label": "x", "instances": 4, "p": 0.01})
    told = told_check(check(found, evidence=kinds), TENS)
    assert (told.findings, told.not_told) == ((), True)
