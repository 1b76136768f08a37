"""Two views of one release: protected together they tell what one of them tells, and no more."""

from __future__ import annotations

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.data.dataset import LabelDataset
from audit.disclosure.quantity import less_precise
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from audit.runs.protected_with import refuse_told_together
from fixtures.attack import BODIES, Labels, attack, of_one_release
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated
from fixtures.reader import drawn_twice, mimic, told_together

Counted = list[tuple[int, list[str]]]
Release = tuple[str, Counted, int]

NARROWED_BY_BOTH = (6, 66)
"""Releases whose views, each protected alone, narrow a count together."""
RELEASES = (*NARROWED_BY_BOTH, *range(10, 18))


@pytest.mark.parametrize("seed", RELEASES)
def test_no_withheld_count_is_told_by_two_views_of_one_release(seed: int) -> None:
    views = drawn_twice(seed, protected=True)
    assert told_together(*views) == []
    refuse_told_together(dict(zip("ab", views, strict=True)))


@pytest.mark.parametrize("seed", NARROWED_BY_BOTH)
def test_views_each_protected_alone_tell_more_together(seed: int) -> None:
    views = drawn_twice(seed, protected=False)
    assert told_together(*views) != []
    with pytest.raises(InputError, match="of b that must be withheld beside a"):
        refuse_told_together(dict(zip("ab", views, strict=True)))


# --- by every set of labels ---------------------------------------------------------------------

TWO_CHILDREN: Release = (
    "two branches",
    [
        (25, []),
        (3, ["asthma", "other_heart", "other_lung"]),
        (24, ["other_lung"]),
        (29, ["attack", "other_lung"]),
        (4, ["asthma", "attack", "other_lung"]),
        (36, ["asthma"]),
    ],
    9,
)
"""One view withholds the one child of a node, the other the other; both tell where they meet."""


@st.composite
def releases(draw: st.DrawFn) -> Release:
    name = draw(st.sampled_from(sorted(BODIES)))
    leaves = [node for node in BODIES[name].nodes if not BODIES[name].children(node)]
    sizes = st.one_of(st.integers(1, 6), st.integers(1, 30))
    sets = st.lists(st.sampled_from(leaves), max_size=3, unique=True).map(sorted)
    counted = draw(st.lists(st.tuples(sizes, sets), min_size=2, max_size=6))
    min_cell = draw(st.integers(3, 9))
    return name, [*counted, (4 * min_cell, leaves[:1])], min_cell


@st.composite
def policies(draw: st.DrawFn, min_cell: int) -> Policy:
    limits = {
        "least_joint": draw(st.integers(2, 12)),
        "excess_ratio": draw(st.sampled_from([1, 1.5, 3, 9])),
        "residual_instances": draw(st.integers(1, 60)),
        "false_discovery_rate": 0.9,
    }
    stated = {name: Threshold(value=n, reason="Drawn.") for name, n in limits.items()}
    return Policy.model_validate({"min_cell": min_cell, **stated})


MUCH, LITTLE = (
    Policy.model_validate(
        {
            "min_cell": TWO_CHILDREN[2],
            "least_joint": Threshold(value=least, reason="Given."),
            "excess_ratio": Threshold(value=ratio, reason="Given."),
            "false_discovery_rate": Threshold(value=0.9, reason="Given."),
        }
    )
    for least, ratio in ((2, 1), (9, 9))
)


def data_of(release: Release) -> LabelDataset:
    name, counted, _ = release
    return labelled(BODIES[name], repeated(counted), persons=True)


def narrowed(release: Release, *views: AuditResult) -> set[str]:
    """Small cells that the views together narrow and none of them does alone."""
    name, counted, min_cell = release
    truth = dict[Labels, int]()
    for times, labels in counted:
        truth[frozenset(labels)] = truth.get(frozenset(labels), 0) + times
    attacks = [attack(BODIES[name], truth, view) for view in views]
    together = {told.split(" is ")[0] for told in of_one_release(*attacks).broken(min_cell)}
    return together.difference(
        *({told.split(" is ")[0] for told in one.broken(min_cell)} for one in attacks)
    )


@pytest.mark.slow
@given(st.data(), releases())
@examples(20)
def test_views_protected_together_leave_each_small_cell_possible(
    data: st.DataObject, release: Release
) -> None:
    labels, policy = data_of(release), policies(release[2])
    first = run_audit(labels, data.draw(policy))
    second = run_audit(labels, data.draw(policy), protected_with=[first])
    third = run_audit(labels, data.draw(policy), protected_with=[second])

    assert narrowed(release, first, second, third) == set()


@pytest.mark.parametrize("policy", [(MUCH, LITTLE), (LITTLE, MUCH)])
def test_two_views_tell_how_often_two_children_meet(policy: tuple[Policy, Policy]) -> None:
    labels = data_of(TWO_CHILDREN)
    first = run_audit(labels, policy[0])
    alone = run_audit(labels, policy[1])
    beside = run_audit(labels, policy[1], protected_with=[first])

    assert narrowed(TWO_CHILDREN, first, alone) != set()
    assert narrowed(TWO_CHILDREN, first, beside) == set()


def test_the_same_view_again_withholds_no_more() -> None:
    labels = data_of(TWO_CHILDREN)
    first = run_audit(labels, MUCH)
    again = run_audit(labels, MUCH, protected_with=[first])
    before, told = first.view.tells(), again.view.tells()

    assert before.keys() == told.keys()
    assert {of for of in told if less_precise(before[of], told[of]) != before[of]} == set()
    assert narrowed(TWO_CHILDREN, first, again) == set()


shown = st.one_of(
    st.none(),
    st.integers(1, 40),
    st.builds("{}{}".format, st.sampled_from("<>"), st.integers(1, 40)),
)


def possible(told: int | float | str | None) -> set[int]:
    """What a count from 1 to 50 can be that reads so."""
    if told is None:
        return set(range(1, 51))
    if isinstance(told, str):
        bound = int(told[1:])
        return {n for n in range(1, 51) if (n < bound if told[0] == "<" else n > bound)}
    return {int(told)}


@given(shown, shown)
@example("<19", ">12")
@example("<19", "<12")
@example(">19", ">12")
def test_the_looser_form_leaves_what_either_leaves(
    first: int | str | None, second: int | str | None
) -> None:
    if possible(first) & possible(second):
        assert possible(less_precise(first, second)) >= possible(first) | possible(second)
    if isinstance(first, str) and isinstance(second, str) and first[0] == second[0]:
        assert less_precise(first, second) in (first, second)


@pytest.mark.slow
@pytest.mark.skipif("AUDIT_DATA" not in os.environ, reason="needs real data: set AUDIT_DATA")
def test_two_views_of_real_stays_tell_no_more_together() -> None:
    first = mimic()
    other = Policy(
        max_findings=5,
        least_joint=Threshold(value=12, reason="Other pairs are reported."),
        residual_share=Threshold(value=0.3, reason="Other parents are."),
    )

    assert told_together(first, mimic(other, protected_with=(first,))) == []
