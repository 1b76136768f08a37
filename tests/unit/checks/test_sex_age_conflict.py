"""sex_age_conflict: whose codes a rule does not allow, by hand and by a plain search."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import run_audit
from audit.base.errors import AuditError, PolicyError, SchemaError
from audit.base.plurals import filled
from audit.measure.measure import Measurements, measure
from audit.measure.rule_book import at_or_below
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.policy.rules import Person, PersonRule
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.coded import icd9cm
from fixtures.labelled import labelled, repeated, tree

CHECK = CHECK_OF["sex_age_conflict"]

BODY = tree("a b c < top", "a1 a2 < a", "b1 b2 < b", "both < a1", "both < b1")
PERSON = Person(sex="sex", female=("F", "2"), male="M", age="age")


def rule(nodes: Any, **more: Any) -> PersonRule:
    return PersonRule.model_validate({"nodes": nodes, "source": "A book.", **more})


def measured(
    labels: Mapping[str, Sequence[str]],
    *rules: PersonRule,
    people: Mapping[str, tuple[str | None, str | None]],
    person: Person | None = PERSON,
) -> Measurements:
    """``people`` is the sex and the age of each instance, as written."""
    strata = {
        name: {i: told for i, values in people.items() if (told := values[place]) is not None}
        for place, name in enumerate(("sex", "age"))
    }
    dataset = labelled(BODY, labels, strata=strata)
    return measure(dataset, Policy(person=person, person_rules=rules))


def checked(*given: Any, **more: Any) -> CheckResult:
    return CHECK.run(measured(*given, **more))


def test_a_rule_is_one_finding_and_what_is_not_known_another() -> None:
    counts = [(3, ["a1"]), (2, ["a2", "c"]), (1, ["both"]), (4, ["b2"]), (5, ["a"])]
    labels = repeated(counts)
    sexes = ["M", "M", "F", "M", "2", "M", "M", "M", "M", "M", "F", "F", None, "U", ""]
    people = {i: (sex, None) for i, sex in zip(labels, sexes, strict=True)}
    found = checked(labels, rule("a", sex="female"), people=people)
    conflict, unknown = found.findings

    assert (found.status, found.denominator) == ("warn", 11)
    assert conflict.evidence == {
        "instances": 4,
        "of": 8,
        "share": 0.5,
    }
    assert [part.nodes for part in conflict.parts] == [("a1",), ("a2",), ("both",)]
    assert (conflict.severity, unknown.severity) == ("warning", "note")
    assert unknown.evidence == {
        "instances": 3,
        "of": 11,
        "share": 3 / 11,
    }
    assert filled(conflict.statement, {"instances": 4, "of": 8, "share": 0.5}) == (
        "4 of 8 instances with a code of a and a known sex (50.0%) are of a person who is not "
        "female. The rule: A book."
    )
    assert filled(unknown.statement, {"instances": 1, "of": 1, "share": 1.0}) == (
        "1 of 1 instance with a code of a (100.0%) is of a person whose sex is not known, and not "
        "judged."
    )


@pytest.mark.parametrize(
    ("ages", "written", "against"),
    [
        ({"age_to": 0}, "0.99", False),
        ({"age_to": 0}, "1", True),
        ({"age_from": 12, "age_to": 55}, "11.9", True),
        ({"age_from": 12, "age_to": 55}, "12", False),
        ({"age_from": 12, "age_to": 55}, "55.9", False),
        ({"age_from": 12, "age_to": 55}, "56", True),
        ({"age_from": 15}, "14", True),
        ({"age_from": 15}, "124.5", False),
        ({"age_from": 15, "age_to": 17}, "125", False),
        ({"age_to": 17}, "300", False),
    ],
)
def test_a_part_of_a_year_counts_as_none_and_ages_above_124_are_not_known(
    ages: Any, written: str, against: bool
) -> None:
    found = checked({"x": ["a2"]}, rule("a", **ages), people={"x": ("F", written)})

    kinds = {finding.key[2] for finding in found.findings}
    unknown = float(written) >= 125
    assert kinds == ({"unknown"} if unknown else {"conflict"} if against else set())


def test_words_for_who_is_not_allowed() -> None:
    people = {"x": ("M", "30"), "y": ("F", "1")}
    rules = (
        rule("a", sex="male"), rule("a", age_to=1), rule("a", age_to=5), rule("a", age_from=2),
        rule("a", age_from=2, age_to=5), rule("a", age_from=1),
    )  # fmt: skip
    found = checked({"x": ["a"], "y": ["a"]}, *rules, people=people)

    told = [finding.statement.partition(" of a person ")[2] for finding in found.findings]
    assert sorted(words.partition(".")[0] for words in told) == [
        "older than 1 year", "older than 5 years", "who is not male",
        "whose age is not from 2 to 5 years", "younger than 2 years",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "person", "why"),
    [
        ((), PERSON, "the policy states no rule"),
        ((rule("a", sex="male"),), None, "under [person]"),
        ((rule("a", sex="male"),), Person(age="age"), "no column by which its rules"),
    ],
)
def test_it_says_why_it_does_not_apply(
    rules: tuple[PersonRule, ...], person: Person | None, why: str
) -> None:
    found = checked({"x": ["a"]}, *rules, people={"x": ("M", "3")}, person=person)

    assert found.status == "not_applicable"
    assert why in found.not_applicable


def test_without_a_code_of_a_rule_it_passes() -> None:
    found = checked({"x": ["a"]}, rule("c", sex="male"), people={"x": ("M", "3")})

    assert (found.status, found.denominator) == ("pass", 0)


def test_rules_without_their_column_are_counted_and_not_judged() -> None:
    rules = (rule("a", sex="female"), rule("a", age_to=3), rule("b", age_to=3))
    person = Person(sex="sex", female="F", male="M")
    found = checked({"x": ["a"]}, *rules, people={"x": ("M", "30")}, person=person)

    assert [finding.key[2] for finding in found.findings] == ["conflict"]
    assert "(rules: 1; 2 not judged" in found.denominator_unit


SEXES = st.sampled_from(["F", "2", "M", "U", None])
AGES = st.sampled_from([None, "0", "0.5", "3", "17", "17.9", "18", "55", "124", "300"])
LABELS = st.lists(st.sampled_from(BODY.nodes), max_size=3)
BOUNDS = st.sampled_from([0, 3, 17, 55])


@st.composite
def rules(draw: st.DrawFn) -> PersonRule:
    nodes = draw(st.lists(st.sampled_from(BODY.nodes), min_size=1, max_size=2, unique=True))
    if draw(st.booleans()):
        return rule(nodes, sex=draw(st.sampled_from(["female", "male"])))
    low, high = sorted(draw(st.tuples(BOUNDS, BOUNDS)))
    ages = {"age_from": low, "age_to": high}
    kept = draw(st.sampled_from([["age_from"], ["age_to"], [*ages]]))
    return rule(nodes, **{name: ages[name] for name in kept})


def by_hand(one: PersonRule, labels: Sequence[str], sex: str | None, age: str | None) -> str:
    """``conflict``, ``unknown`` or nothing, from the definition."""
    above = {"a1": {"a"}, "a2": {"a"}, "b1": {"b"}, "b2": {"b"}, "both": {"a1", "b1", "a", "b"}}
    carried = {"top"} if labels else set()
    carried |= {node for label in labels for node in {label} | above.get(label, set())}
    if not carried & set(one.nodes_named):
        return ""
    if one.sex is not None:
        means = {"F": "female", "2": "female", "M": "male"}.get(sex or "")
        return "unknown" if means is None else "conflict" if means != one.sex else ""
    years = None if age is None or float(age) >= 125 else int(float(age))
    if years is None:
        return "unknown"
    outside = (one.age_from is not None and years < one.age_from) or (
        one.age_to is not None and years > one.age_to
    )
    return "conflict" if outside else ""


@given(
    st.dictionaries(st.sampled_from("uvwxyz"), st.tuples(LABELS, SEXES, AGES), min_size=1),
    st.lists(rules(), min_size=1, max_size=3, unique_by=lambda one: one.key),
)
def test_it_tells_exactly_the_instances_that_the_definition_names(
    drawn: Mapping[str, tuple[list[str], str | None, str | None]], stated: list[PersonRule]
) -> None:
    labels = {i: drawn[i][0] for i in sorted(drawn)}
    people = {i: drawn[i][1:] for i in labels}
    data = measured(labels, *stated, people=people)
    told = {
        (*finding.key, number)
        for finding in CHECK.run(data).findings
        for number in (CHECK.cases(data, finding).tolist() if CHECK.cases else ())
    }

    assert told == {
        (*one.key, kind, number)
        for one in stated
        for number, i in enumerate(labels)
        if (kind := by_hand(one, labels[i], *people[i]))
    }


def audited(person: Person, values: Mapping[str, Mapping[str, str]]) -> None:
    dataset = labelled(BODY, {"x": ["a"], "y": ["b"]}, strata=values)
    run_audit(dataset, Policy(person=person, person_rules=(rule("a", sex="male"),)))


SEX = Person(sex="sex", female="F", male="M")
AGE = Person(age="age")


@pytest.mark.parametrize(
    ("person", "values", "kind", "message"),
    [
        (SEX, {"sex": {"x": "1", "y": "2"}}, PolicyError, "Found: '1', '2' in 'sex'"),
        (SEX, {"sex": {}}, PolicyError, "no value in 'sex'"),
        (SEX, {"gender": {"x": "F"}}, PolicyError, "not read: 'sex'"),
        (AGE, {"age": {"x": "-1", "y": "3"}}, SchemaError, "'-1 of the instance x'"),
        (AGE, {"age": {"x": "old", "y": "NaN"}}, SchemaError, "'old of the instance x', 'NaN of"),
        (AGE, {"age": {"x": "inf"}}, SchemaError, "'inf of the instance x'"),
        (AGE, {"age": {}}, PolicyError, "none in 'age'"),
    ],
)
def test_a_column_that_holds_something_else_is_refused(
    person: Person, values: Any, kind: type[AuditError], message: str
) -> None:
    with pytest.raises(kind) as refused:
        audited(person, values)

    assert message in str(refused.value)


def audited_codes(codes: Mapping[str, Sequence[str]], people: Any) -> set[tuple[str, str, str]]:
    """First label told, kind and instance of each finding on codes of ICD-9-CM."""
    names = ("sex", "age")
    strata = {name: {i: told[n] for i, told in people.items()} for n, name in enumerate(names)}
    dataset = labelled(icd9cm(), codes, strata=strata)
    policy = built_in_policy("icd9cm").model_copy(update={"person": PERSON})
    result = run_audit(dataset, policy)
    data = measure(dataset, policy)
    (check,) = (one for one in result.checks if one.name == CHECK.name)
    assert CHECK.cases is not None
    return {
        (finding.parts[0].nodes[0], finding.key[2], sorted(codes)[number])
        for finding in check.findings
        for number in CHECK.cases(data, finding).tolist()
    }


def test_the_rules_of_icd9cm_tell_codes_of_the_other_sex_and_of_other_ages() -> None:
    codes = {
        "a": ["650", "V27.0"], "b": ["650"], "c": ["600.00"], "d": ["600.00"], "e": ["V30.00"],
        "f": ["V30.00"], "g": ["V20.2"], "h": ["677"], "i": ["175.0"], "j": ["611.72", "770.89"],
    }  # fmt: skip
    people = {
        "a": ("M", "30"), "b": ("F", "60"), "c": ("F", "70"), "d": ("M", "5"), "e": ("M", "0"),
        "f": ("F", "40"), "g": ("M", "18"), "h": ("F", "80"), "i": ("F", "60"), "j": ("M", "50"),
    }  # fmt: skip

    assert audited_codes(codes, people) == {
        ("650", "conflict", "a"), ("650", "conflict", "b"), ("175.0", "conflict", "c"),
        ("175.0", "conflict", "i"), ("600.00", "conflict", "d"), ("V30.00", "conflict", "f"),
        ("V20.2", "conflict", "g"),
    }  # fmt: skip


def test_every_code_of_a_rule_of_icd9cm_says_so_in_its_title_or_that_of_a_heading() -> None:
    """Words of the other sex are the oracle: no code for women speaks of men, nor the reverse."""
    hierarchy = icd9cm()
    other = {
        "female": r"\bmale|prostat|testi[cs]|penis|scrot|sperma",
        "male": r"female|uter[ui]|ovar|vagina\b|cervix|pregnan",
    }
    for one in built_in_policy("icd9cm").person_rules:
        if one.sex is None:
            continue
        titles = [
            title.lower()
            for title, covered in zip(
                hierarchy.titles, at_or_below(hierarchy, one.nodes_named), strict=True
            )
            if covered and title
        ]
        assert [title for title in titles if re.search(other[one.sex], title)] == []
