"""label_omitted: what people say of answers that labels lack, counted by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import LabelDataset, Policy, load_predictions, run_audit
from audit.checks.rules.label_omitted import CHECK, MORE_THAN, cases
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements, measure
from fixtures.labelled import labelled, tree

ZOO = tree("animal thing < top", "cat dog < animal", "kitten < cat", "saw car < thing")
Judged: TypeAlias = tuple[Sequence[str], str, str | None]
"""The labels of an instance, an answer, and what is said of it."""


def release(each: Sequence[Judged]) -> tuple[LabelDataset, dict[str, list[str | None]]]:
    ids = [f"i{n:03}" for n in range(len(each))]
    dataset = labelled(ZOO, dict(zip(ids, (own for own, _, _ in each), strict=True)))
    answers = {"prediction": [one for _, one, _ in each], "said": [one for _, _, one in each]}
    return dataset, {"id": [*ids], **answers}


def measured_of(each: Sequence[Judged]) -> Measurements:
    dataset, table = release(each)
    return measure(dataset, Policy(), load_predictions(table, dataset, verdict="said"))


def saying(right: int, wrong: int, *further: Judged) -> list[Judged]:
    return [*[(["dog"], "saw", "right")] * right, *[(["dog"], "saw", "wrong")] * wrong, *further]


LABEL = st.sampled_from(["cat", "dog", "kitten", "saw"])
SAID = st.sampled_from(["right", "Right ", "wrong", "WRONG", "unsure", "", None])


@given(st.lists(st.tuples(st.lists(LABEL, max_size=2), LABEL, SAID), min_size=1, max_size=60))
def test_it_counts_what_is_said_of_answers_that_instances_lack(each: list[Judged]) -> None:
    right, judged = defaultdict[str, list[int]](list), defaultdict[str, int](int)
    for place, (own, answer, said) in enumerate(each):
        word = (said or "").strip().lower()
        has = {answer, "kitten"} if answer == "cat" else {answer}
        if has.isdisjoint(own) and word in ("right", "wrong"):
            judged[answer] += 1
            right[answer] += [place] * (word == "right")
    expected = {
        node: (len(right[node]), n)
        for node, n in judged.items()
        if wilson(len(right[node]), n)[0] > MORE_THAN
    }
    measured = measured_of(each)
    result = CHECK.run(measured)

    assert result.denominator == len(judged)
    assert {
        one.nodes[0]: (one.evidence["instances"].value, one.evidence["judged"].value)
        for one in result.findings
    } == expected
    for one in result.findings:
        assert cases(measured, one).tolist() == right[one.nodes[0]]


@pytest.mark.parametrize(("right", "told"), [(14, False), (15, True)])
def test_of_twenty_fifteen_must_be_right(right: int, told: bool) -> None:
    assert bool(CHECK.run(measured_of(saying(right, 20 - right))).findings) is told


def test_it_says_how_many_were_not_judged_and_have_the_label() -> None:
    unsure: Judged = ["cat"], "saw", "unsure"
    has: Judged = ["saw"], "saw", "right"
    (found,) = CHECK.run(measured_of(saying(15, 5, *[unsure] * 7, *[has] * 3))).findings
    numbers = {name: quantity.value for name, quantity in found.evidence.items()}

    assert (numbers["instances"], numbers["judged"]) == (15, 20)
    assert (numbers["given_without"], numbers["labelled"]) == (27, 3)


def shared(right: int, wrong: int) -> dict[str, object]:
    """What is shared of 60 answers of which so many were judged."""
    unjudged: list[Judged] = [(["cat"], "saw", None)] * (60 - right - wrong)
    dataset, table = release(saying(right, wrong, *unjudged, *[(["saw"], "saw", None)] * 40))
    model = load_predictions(table, dataset, verdict="said")
    view = run_audit(dataset, Policy(min_cell=11), predictions=model).shared()
    (check,) = [one for one in view["checks"] if one["name"] == CHECK.name]
    return dict(check["findings"][0]["evidence"])


def test_how_many_answers_are_wrong_does_not_follow_from_what_is_told() -> None:
    """Most are right where they are told, so an exact number would tell those that are not."""
    told = [shared(22, wrong) for wrong in range(1, 11)]
    assert all(one == told[0] for one in told)
    assert [told[0][name] for name in ("instances", "judged", "share")] == [">21", ">21", None]
    few = shared(9, 0)
    assert [few[name] for name in ("instances", "judged", "share")] == ["<11", "<11", None]


def test_it_says_why_it_does_not_apply() -> None:
    dataset, table = release(saying(3, 0))
    alone = measure(dataset, Policy())
    without = measure(dataset, Policy(), load_predictions(table, dataset))

    reasons = [
        CHECK.run(one).not_applicable
        for one in (alone, without, measured_of(saying(0, 0, (["cat"], "cat", "right"))))
    ]

    assert reasons[0] == "no predictions were given"
    assert "--verdict" in reasons[1]
    assert "no answer that an instance lacks was judged" in reasons[2]
