"""chronic_gap: against plain Python, and where there is no person, no day or no second instance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import AuditError
from audit.checks.rules.chronic_gap import judged_conditions
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.policy.statements import Lifelong
from audit.results.findings import CheckResult
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


def test_few_persons_are_not_judged_and_one_of_many_instances_is_one() -> None:
    few = many(["old"], ["old"], ["cough"], persons=19)
    one = person("p", ["old"], ["old"], *[["cough"]] * 26)

    assert (checked(few).status, checked(few).denominator) == ("pass", 0)
    assert (checked(one).status, checked(one).denominator) == ("pass", 0)
    assert checked(many(["old"], ["old"], ["cough"], persons=20)).findings


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
