"""unexpected_pair: which pairs are told, at which depth, and in which words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from audit.checks.unexpected_pair import CHECK
from audit.measure import Measurements, measure
from audit.pair_table import described
from audit.policy import Policy, Threshold
from audit.result import CheckResult, shared_finding
from fixtures.labelled import labelled, repeated, tree

BODY = tree(
    "lung heart < body",
    "tool < top",
    "body < top",
    "asthma cough < lung",
    "attack failure < heart",
    "saw hammer < tool",
)
TOGETHER = [
    (60, ["asthma", "attack"]),
    (60, ["cough", "failure"]),
    (10, ["asthma", "failure"]),
    (10, ["cough", "attack"]),
]
"""Lung and heart always meet; within them asthma goes with attack and cough with failure."""


def measured(
    counts: Sequence[tuple[int, Sequence[str]]],
    policy: Policy | None = None,
    groups: Mapping[str, str] | None = None,
    sites: Mapping[str, str] | None = None,
) -> Measurements:
    strata = None if sites is None else {"site": sites}
    dataset = labelled(BODY, repeated(counts), groups=groups, persons=True, strata=strata or {})
    return measure(dataset, policy or Policy())


def checked(
    counts: Sequence[tuple[int, Sequence[str]]],
    policy: Policy | None = None,
    groups: Mapping[str, str] | None = None,
) -> CheckResult:
    return CHECK.run(measured(counts, policy, groups))


def told(found: CheckResult) -> list[tuple[str, ...]]:
    return sorted(finding.nodes for finding in found.standing)


def test_a_pair_is_told_with_what_its_parents_explain() -> None:
    found = checked(TOGETHER)
    by_nodes = {finding.nodes: finding for finding in found.standing}
    finding = by_nodes["asthma", "attack"]
    values = {name: quantity.value for name, quantity in finding.evidence.items()}

    # of 140 records of lung and heart 70 have asthma and 70 an attack
    assert sorted(by_nodes) == [("asthma", "attack"), ("cough", "failure")]
    assert (values["instances"], values["of"], values["given"]) == (60, 140, "parents")
    assert (values["support_a"], values["support_b"]) == (70, 70)
    assert values["expected_given"] == 35
    assert values["ratio"] == pytest.approx(60 / 35)
    assert 1 < float(values["ratio_low"] or 0) < 60 / 35 < float(values["ratio_high"] or 0)
    assert float(values["q_value"] or 1) < 1e-8
    assert (finding.severity, found.status, finding.touched) == ("note", "note", 60)


def test_the_sentence_says_what_does_not_explain_it() -> None:
    (finding, _) = checked(TOGETHER).standing
    shared = shared_finding(finding, 10, {})

    assert shared["statement"] == (
        "60 of 140 instances carry both asthma and attack, where 35.00 are expected: 1.71 times "
        "as many, an association stronger than its parents explain."
    )


def test_the_denominator_is_the_family() -> None:
    found = checked(TOGETHER)
    judged = measured(TOGETHER).pairs.collect()["p_value"].drop_nulls()

    # lung and heart, each with two of the other's children, four pairs of children, two of siblings
    assert found.denominator == 1 + 4 + 4 + 2
    assert len(judged) == found.denominator - 2  # the siblings never meet


def test_siblings_are_told_beyond_the_length_of_records() -> None:
    apart = [(60, [x, y]) for x in ("asthma", "cough") for y in ("saw", "hammer", "attack")]
    found = checked([*apart, (80, ["attack", "failure"]), (20, ["failure", "saw"])])
    finding = next(f for f in found.findings if f.nodes == ("attack", "failure"))

    assert finding.evidence["given"].value == "length"
    assert "than the length of the records explains" in finding.statement


def test_a_chain_is_named_by_its_most_specific_node() -> None:
    rng = np.random.default_rng(5)
    hierarchy = tree(
        "lung heart skin < body",
        "airway < lung",
        "asthma < airway",
        "vessel < heart",
        "attack < vessel",
        "a b c d e < skin",
    )
    rows = {f"i{n:03}": rng.choice(list("abcde"), 2, replace=False).tolist() for n in range(400)}
    rows |= {f"j{n:02}": ["asthma", "attack"] for n in range(60)}
    rows |= {f"k{n:02}": [("asthma", "attack")[n % 2], "abcde"[n % 5]] for n in range(60)}
    found = CHECK.run(measure(labelled(hierarchy, rows), Policy()))

    assert ("asthma", "attack") in told(found)
    assert all(set(nodes) <= {"asthma", "attack", *"abcde"} for nodes in told(found))


def test_an_ancestor_pair_is_folded_into_the_pair_that_explains_it() -> None:
    others = [(40, [x, y]) for x in ("cough", "failure") for y in ("saw", "hammer")]
    alone = [(20, [x, y]) for x in ("asthma", "attack") for y in ("saw", "hammer")]
    counts = [*others, *alone, (90, ["asthma", "attack"]), (30, ["cough", "failure"])]
    policy = Policy(excess_ratio=Threshold(value=1.2, reason="ours"))
    found = checked(counts, policy)
    folded = {f.nodes: f.folded_into for f in found.findings if f.folded_into}

    assert ("asthma", "attack") in told(found)
    assert set(folded) == {("asthma", "heart"), ("attack", "lung")}
    assert set(folded.values()) == {("unexpected_pair:asthma:attack",)}
    assert found.folded == 2


def test_only_what_is_told_has_an_interval() -> None:
    own = measured(TOGETHER)
    table = described(own.pairs, len(own.dataset)).collect()
    with_interval = table.filter(pl.col("ratio_low").is_not_null()).select("a", "b").rows()

    assert sorted(with_interval) == told(CHECK.run(own))


def test_the_floors_are_the_policy_s() -> None:
    high = Policy(excess_ratio=Threshold(value=1.8, reason="ours"))
    few = Policy(expected_support=Threshold(value=36, reason="ours"))

    assert told(checked(TOGETHER, high)) == []
    assert checked(TOGETHER, few).denominator == 5
    assert told(checked(TOGETHER, few)) == []


def test_one_patient_s_sixty_stays_are_no_evidence() -> None:
    names = list(repeated(TOGETHER))
    groups = {name: name if place >= 120 else f"p{place // 60}" for place, name in enumerate(names)}

    assert told(checked(TOGETHER, groups=groups)) == []


def test_what_a_stratum_explains_is_not_told() -> None:
    # at each site asthma and attack go their own ways
    site = [
        *[(45, ["asthma", "attack"]), (5, ["asthma", "failure"])],
        *[(5, ["cough", "attack"]), (1, ["cough", "failure"])],
    ]
    other = [(n, [{"asthma": "cough", "cough": "asthma"}[x], y]) for n, (x, y) in site]
    other = [(n, [x, {"attack": "failure", "failure": "attack"}[y]]) for n, (x, y) in other]
    sites = {name: "one" if place < 56 else "two" for place, name in enumerate(repeated(site * 2))}
    blind = measured([*site, *other], sites=sites)
    seeing = measured([*site, *other], Policy(strata=("site",)), sites=sites)

    assert ("asthma", "attack") in told(CHECK.run(blind))
    assert told(CHECK.run(seeing)) == []


def test_it_does_not_apply_at_one_label_an_instance() -> None:
    found = checked([(50, ["asthma"]), (50, ["attack"])])

    assert found.status == "not_applicable"
    assert "no instance has two labels" in found.not_applicable


def test_it_does_not_apply_where_no_pair_is_frequent_enough() -> None:
    found = checked([(1, ["asthma", "saw"]), (40, [])])

    assert found.status == "not_applicable"
    assert "frequent enough" in found.not_applicable


def test_a_small_cell_hides_all_that_follows_from_it() -> None:
    (finding, _) = checked(TOGETHER).standing
    shared = shared_finding(finding, 65, {})["evidence"]

    assert shared["instances"] == "<65"
    assert all(shared[name] is None for name in ("ratio", "expected_given", "q_value", "ratio_low"))
