"""residual_pairs: how many instances have two catch-alls, beside what their length lets expect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.checks.rules.habits.residual_pairs import CHECK
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult, values_of
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated, tree

OTHER = {"other_lung": "Other", "other_heart": "Unspecified", "other_skin": "Other"}
BODY = tree(
    "lung heart skin < body",
    "asthma other_lung < lung",
    "attack other_heart < heart",
    "rash other_skin < skin",
    titles=OTHER,
)
LABELS = ("asthma", "attack", "rash", *OTHER)
ASSOCIATED = [
    (60, ["other_lung", "other_heart"]),
    (60, ["asthma", "attack"]),
    (10, ["asthma", "other_heart"]),
    (10, ["other_lung", "attack"]),
]


def found(counts: list[tuple[int, list[str]]], *, patients: bool = False) -> CheckResult:
    labels = repeated(counts)
    groups = {one: f"p{int(one[1:]) // 10}" for one in labels} if patients else None
    return CHECK.run(measure(labelled(BODY, labels, groups=groups), Policy()))


def test_two_catch_alls_on_one_record_stand_beside_what_length_lets_expect() -> None:
    (finding,) = found(ASSOCIATED).findings
    told = values_of(finding.evidence)

    assert (told["instances"], told["of"], told["pairs"]) == (60, 140, 1)
    assert (told["expected"], told["ratio"]) == pytest.approx((35, 60 / 35))
    assert 1 < told["ratio_low"] < told["ratio"] < told["ratio_high"]
    assert [part.nodes for part in finding.parts] == [("other_heart", "other_lung")]
    assert not finding.aside


def test_as_many_as_expected_stand_aside_and_groups_widen_the_interval() -> None:
    sides = [("asthma", "other_lung"), ("attack", "other_heart")]
    even = [(25, [a, b]) for a in sides[0] for b in sides[1]]
    (plain,), (grouped,) = (found(even, patients=groups).findings for groups in (False, True))

    assert plain.evidence["ratio"].value == 1.0
    assert plain.aside
    low = [float(one.evidence["ratio_low"].value or 0) for one in (plain, grouped)]
    assert low[1] < low[0]


def test_it_says_why_it_does_not_apply() -> None:
    few, alone = found([(9, ["other_lung", "attack"])]), found([(90, ["other_lung"])])
    assert few.not_applicable == alone.not_applicable == "too few instances have two labels"
    assert found([(40, ["asthma", "attack"])]).status == "pass"


@given(st.lists(st.tuples(st.integers(1, 30), st.sets(st.sampled_from(LABELS), min_size=1))))
@examples(30)
def test_what_is_counted_is_counted_by_hand(drawn: list[tuple[int, set[str]]]) -> None:
    said = [(60, {"other_lung", "other_skin"}), *drawn]
    (finding,) = found([(n, sorted(own)) for n, own in said]).findings
    several = [(n, own) for n, own in said if len(own) > 1]
    share = sum(n * len(own & {*OTHER}) for n, own in several) / sum(n * len(s) for n, s in several)
    chance = {k: 1 - (1 - share) ** k - k * share * (1 - share) ** (k - 1) for k in range(2, 7)}
    told = values_of(finding.evidence)

    assert told["instances"] == sum(n for n, own in said if len(own & {*OTHER}) > 1)
    assert told["expected"] == pytest.approx(sum(n * chance[len(own)] for n, own in several))
    pairs = {part.nodes: part.evidence["instances"].value for part in finding.parts}
    assert pairs["other_lung", "other_skin"] == sum(
        n for n, own in said if {"other_lung", "other_skin"} <= own
    )
