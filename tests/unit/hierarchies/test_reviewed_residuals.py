"""The reviewed decisions on ICD-9-CM: each speaks of codes that there are, and is needed."""

from __future__ import annotations

from typing import get_args

import pytest

from audit.hierarchies.catch_alls import CatchAlls, Decision, Review, reviewed, reviews
from audit.hierarchies.icd.icd9 import ICD9
from fixtures.coded import icd9cm
from fixtures.labelled import tree


@pytest.mark.parametrize("review", reviews(), ids=lambda review: review.reason[:30])
def test_a_decision_has_a_reason_and_a_place(review: Review) -> None:
    assert review.decision in get_args(Decision)
    assert review.reason.endswith(".")
    assert review.nodes or review.title.pattern


def test_every_decision_on_diagnoses_changes_what_a_title_says() -> None:
    hierarchy = icd9cm()
    by_title, needed = CatchAlls(hierarchy), set[str]()
    for index, review in reviewed(hierarchy).items():
        if (by_title.kind(index) or "specific") != review.decision:
            needed.add(review.reason)
    diagnoses = [r for r in reviews() if not r.nodes or set(r.nodes) & set(hierarchy.nodes)]

    assert [r.reason for r in diagnoses if r.reason not in needed] == []


def test_every_diagnosis_named_is_a_node() -> None:
    hierarchy = icd9cm()
    named = [node for review in reviews() for node in review.nodes]

    assert [node for node in named if node not in hierarchy and len(node.split(".")[0]) != 2] == []


def test_it_speaks_of_icd9_alone() -> None:
    titles = {"416.8": "Other chronic pulmonary heart diseases"}
    coded = tree("416.8 416.0 < 416", titles=titles, coding=ICD9)

    assert [coded.nodes[i] for i in reviewed(coded)] == ["416.8"]
    assert reviewed(tree("416.8 416.0 < 416", titles=titles)) == {}


def test_a_heading_is_never_decided_on() -> None:
    hierarchy = icd9cm()

    assert hierarchy.assignable[list(reviewed(hierarchy))].all()
