"""sex_age_conflict: whose codes a rule does not allow, by hand and by a plain search."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from audit import run_audit
from audit.base.errors import AuditError, PolicyError, SchemaError
from audit.measure.rule_book import at_or_below
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.policy.rules import Person, PersonRule
from fixtures.coded import icd9cm
from fixtures.labelled import labelled, tree

BODY = tree("a b c < top", "a1 a2 < a", "b1 b2 < b", "both < a1", "both < b1")


def rule(nodes: Any, **more: Any) -> PersonRule:
    return PersonRule.model_validate({"nodes": nodes, "source": "A book.", **more})


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
