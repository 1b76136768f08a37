"""chronic_gap: against plain Python, and where there is no person, no day or no second instance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import AuditError
from audit.checks.rules.chronic_gap import judged_conditions
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.policy.statements import Lifelong
from audit.results.findings import CheckResult, Finding
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["chronic_gap"]

BODY = tree("old new < diabetes", "diabetes kidney cough < body", "body < top")
CONDITION = Lifelong(condition="diabetes", nodes="diabetes", still="kidney")
POLICY = Policy(day="day", lifelong=(CONDITION,))

Stay = tuple[str, str | None, list[str]]
"""Person, day and labels."""


def measured_of(stays: list[Stay], policy: Policy = POLICY):  # type: ignore[no-untyped-def]
    ids = [f"i{n:04}" for n in range(len(stays))]
    dataset = labelled(
        BODY,
        {i: labels for i, (_, _, labels) in zip(ids, stays, strict=True)},
        groups={i: person for i, (person, _, _) in zip(ids, stays, strict=True) if person},
        strata={
            "day": {i: day for i, (_, day, _) in zip(ids, stays, strict=True) if day},
            "site": {i: who[:1] for i, (who, _, _) in zip(ids, stays, strict=True) if who},
            "region": {
                i: "north" if who[:1] in "ab" else "south"
                for i, (who, _, _) in zip(ids, stays, strict=True)
            },
        },
    )
    return measure(dataset, policy)


def person(name: str, *labels: list[str]) -> list[Stay]:
    return [(name, f"2020-01-{n:02}", own) for n, own in enumerate(labels, start=1)]


def many(*labels: list[str], persons: int = 30) -> list[Stay]:
    return [stay for n in range(persons) for stay in person(f"p{n:02}", *labels)]


def checked(stays: list[Stay], policy: Policy = POLICY) -> CheckResult:
    return CHECK.run(measured_of(stays, policy))


def lacking(stays: list[Stay]) -> tuple[set[int], set[int]]:
    """Later stays and those that lack it, one stay after the other."""
    by_person: Mapping[str, list[int]] = defaultdict(list)
    for n, (who, day, labels) in enumerate(stays):
        if who and day and labels:
            by_person[who].append(n)
    later, gone = set(), set()
    for own in by_person.values():
        own.sort(key=lambda n: str(stays[n][1]))
        having = [n for n in own if {"diabetes", "old", "new"} & set(stays[n][2])]
        for n in own:
            if len(having) > 1 and str(stays[n][1]) > str(stays[having[1]][1]):
                later.add(n)
                if n not in having and "kidney" not in stays[n][2]:
                    gone.add(n)
    return later, gone


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "a", "b", "c"]),
            st.sampled_from([None, "2020-01-01", "2020-01-02", "2020-03-01", "2021-01-01"]),
            st.lists(st.sampled_from(["old", "new", "diabetes", "kidney", "cough"]), max_size=2),
        ),
        max_size=30,
    )
)
def test_later_instances_are_those_of_plain_python(drawn: list[Stay]) -> None:
    stays: list[Stay] = [*drawn, ("x", "2020-01-01", ["cough"]), ("x", "2020-01-02", ["cough"])]
    (judged,) = judged_conditions(measured_of(stays))

    later, gone = lacking(stays)
    assert set(judged.later["instance"]) == later
    assert set(judged.later.filter("lacking")["instance"]) == gone
    assert len(judged.later) == len(later)
    assert judged.share.groups == len({stays[n][0] for n in later})


def test_a_condition_that_vanishes_is_one_note() -> None:
    stays = many(["old"], ["new"], ["cough"], ["kidney"], ["cough"])
    measured = measured_of(stays)
    (finding,) = CHECK.run(measured).findings
    values = finding.evidence

    assert (finding.severity, finding.nodes, finding.key) == ("note", ("diabetes",), ("diabetes",))
    assert (values["instances"], values["of"], values["persons"]) == (60, 90, 30)
    assert values["low_share"] > 0.2
    assert values["published_share"] == 0.495
    assert "less surely" not in finding.statement
    assert CHECK.cases is not None
    assert CHECK.cases(measured, finding).tolist() == sorted(lacking(stays)[1])


def test_what_stands_for_it_or_comes_before_the_second_instance_lacks_nothing() -> None:
    assert checked(many(["old"], ["cough"], ["cough"], ["new"])).denominator == 0
    assert checked(many(["old"], ["old"], ["kidney"], ["new"])).findings == ()


def at_sites(seed: int, missed: Mapping[str, float]) -> list[Stay]:
    """Of each site 70 persons, who come some seven times; each has a rate of gaps of its own."""
    rng = np.random.default_rng(seed)
    stays = list[Stay]()
    for site, mean in missed.items():
        for n in range(70):
            own = rng.beta(3 * mean, 3 * (1 - mean))
            lacks = rng.random(min(1 + rng.geometric(0.25), 25)) < own
            labels = (["cough"] if lack else ["old"] for lack in lacks)
            stays += person(f"{site}{n:02}", ["old"], ["old"], *labels)
    return stays


@pytest.mark.slow
@pytest.mark.parametrize(
    "column",
    [{"strata": ("site",)}, {"coding_columns": ("site",)}, {"strata": ("region", "site")}],
)
def test_a_site_that_leaves_more_out_is_told_and_persons_who_differ_are_not(
    column: dict[str, tuple[str, ...]],
) -> None:
    policy = Policy(day="day", lifelong=(CONDITION,), **column)  # type: ignore[arg-type]

    def told(seed: int, missed: Mapping[str, float]) -> list[Finding]:
        findings = checked(at_sites(seed, missed), policy).findings
        return [one for one in findings if len(one.key) > 1]

    alike, apart = dict.fromkeys("abcd", 0.4), {"a": 0.2, "b": 0.2, "c": 0.6, "d": 0.2}
    assert sum(bool(told(seed, alike)) for seed in range(20)) <= 2
    planted = [told(seed, apart) for seed in range(10)]
    assert sum([one.key for one in own] == [("diabetes", "site", "c")] for own in planted) >= 9


def test_a_difference_counts_the_later_instances_of_its_value() -> None:
    stays = at_sites(1, {"a": 0.1, "b": 0.7})
    measured = measured_of(stays, Policy(day="day", lifelong=(CONDITION,), strata=("site",)))
    whole, finding = sorted(CHECK.run(measured).findings, key=lambda one: len(one.key))
    values = finding.evidence
    site = finding.key[2]
    later, gone = lacking(stays)

    def of(those: set[int]) -> tuple[int, int]:
        inside = sum(stays[n][0][0] == site for n in those)
        return inside, len(those) - inside

    assert (whole.key, finding.key[:2]) == (("diabetes",), ("diabetes", "site"))
    assert (values["instances"], values["elsewhere"]) == of(gone)
    assert (values["of"], values["of_elsewhere"]) == of(later)
    assert CHECK.cases is not None
    assert CHECK.cases(measured, finding).tolist() == sorted(
        n for n in gone if stays[n][0][0] == site
    )


def test_few_persons_are_not_judged_and_one_of_many_instances_is_one() -> None:
    few = many(["old"], ["old"], ["cough"], persons=19)
    one = person("p", ["old"], ["old"], *[["cough"]] * 26)

    assert (checked(few).status, checked(few).denominator) == ("pass", 0)
    assert (checked(one).status, checked(one).denominator) == ("pass", 0)
    assert checked(many(["old"], ["old"], ["cough"], persons=20)).findings


def test_without_persons_days_or_conditions_it_says_which_it_lacks() -> None:
    stays = many(["old"], ["old"], ["cough"])
    each = [(f"p{n}", day, labels) for n, (_, day, labels) in enumerate(stays)]
    none = [("", day, labels) for _, day, labels in stays]

    assert checked(each).status == "pass"
    assert "--group" in checked(none).not_applicable
    assert "column of days" in checked(stays, Policy(lifelong=(CONDITION,))).not_applicable
    assert "no lifelong condition" in checked(stays, Policy(day="day")).not_applicable


def test_a_column_that_holds_no_days_is_refused() -> None:
    from audit import run_audit

    measured = measured_of([("p", "1st", ["old"]), ("p", "2nd", ["old"])], Policy())

    with pytest.raises(AuditError, match=r"every day in 'day'(.|\n)*day of the policy"):
        run_audit(measured.loaded.dataset, POLICY)


@pytest.mark.parametrize("hierarchy", ["icd9cm", "icd10cm"])
def test_built_in_policies_name_twenty_conditions(hierarchy: str) -> None:
    conditions = built_in_policy(hierarchy).lifelong

    assert len(conditions) == 20
    assert [one.condition for one in conditions if not one.sure] == [
        "COPD, emphysema",
        "heart failure",
    ]
