"""group_confined: nodes of one value alone, by hand, against exact chances, and without effect."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from audit.checks.rules.nodes import _chance
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.rules import Person, PersonRule
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["group_confined"]

POLICY = Policy()
BODY = tree("asthma cough fever < lung", "rare < asthma", "attack < heart", "lung heart < body")


def checked(
    labels: dict[str, list[str]],
    site: dict[str, str],
    *,
    groups: dict[str, str] | None = None,
    hierarchy: Hierarchy = BODY,
    policy: Policy = POLICY,
) -> CheckResult:
    dataset = labelled(hierarchy, labels, groups=groups, strata={"site": site})
    return CHECK.run(measure(dataset, policy))


def release(asthma: int = 20, leaf: str = "asthma") -> tuple[dict[str, list[str]], dict[str, str]]:
    """100 instances with something of the lung, half at each site; asthma at site a alone."""
    labels = {f"i{i:03}": [leaf if i < asthma else "cough"] for i in range(100)}
    return labels, {instance: "a" if instance < "i050" else "b" for instance in labels}


def test_what_a_person_is_and_a_rule_on_persons_says_is_no_news() -> None:
    of_person = Policy(person=Person(sex="site", female="a", male="b"))
    rule = PersonRule(nodes="asthma", sex="female", source="Told.")

    assert checked(*release(), policy=of_person).status == "not_applicable"
    assert checked(*release(), policy=Policy(person_rules=(rule,))).findings == ()
    coded = Policy(person_rules=(rule,), coding_columns=("site",))
    assert len(checked(*release(), policy=coded).findings) == 1


def test_a_patients_stays_count_once() -> None:
    labels, site = release(22)
    one = {instance: "p" if instance < "i022" else instance for instance in labels}
    many = {instance: f"p{int(instance[1:]) // 2}" for instance in labels}
    (finding,) = checked(labels, site, groups=many).findings

    assert checked(labels, site, groups=one).findings == ()
    assert finding.evidence["units"] == 11
    assert finding.evidence["instances"] == 22
    assert "groups" in finding.statement


def test_a_parent_confined_as_well_is_no_finding() -> None:
    labels, site = release()
    labels |= {f"j{i:02}": ["attack"] for i in range(30)}
    site |= {f"j{i:02}": "a" for i in range(30)}
    found = checked(labels, site)

    assert ("site", "attack") not in [f.key for f in found.findings]
    assert ("site", "heart") in [f.key for f in found.findings]


def test_every_parent_must_be_shared() -> None:
    dag = tree("asthma < lung", "asthma < chronic", "cough < lung", "lung chronic < body")

    found = checked(*release(), hierarchy=dag)
    assert [f.key for f in found.findings] == [("site", "chronic")]


def test_the_parent_that_speaks_most_for_chance_decides() -> None:
    dag = tree("asthma < lung", "cough < lung", "asthma gout < chronic", "lung chronic < body")
    labels, site = release()
    labels |= {f"j{i:02}": ["gout"] for i in range(80)}
    mostly_a = site | {f"j{i:02}": "ab"[i >= 78] for i in range(80)}
    evenly = site | {f"j{i:02}": "ab"[i % 2] for i in range(80)}

    assert checked(labels, mostly_a, hierarchy=dag).findings == ()
    assert [f.key for f in checked(labels, evenly, hierarchy=dag).findings] == [("site", "asthma")]


@pytest.mark.parametrize(("by_value", "units"), [((3, 4), 2), ((1, 2, 3), 3), ((5, 0, 2), 2)])
def test_the_chance_equals_counting_every_draw(by_value: tuple[int, ...], units: int) -> None:
    values = [value for value, n in enumerate(by_value) for _ in range(n)]
    draws = list(combinations(values, units))
    expected = sum(len(set(draw)) == 1 for draw in draws) / len(draws)

    assert _chance(np.array(by_value), units) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_without_effect_few_releases_have_a_finding() -> None:
    leaves = [f"n{i:02}" for i in range(20)]
    flat = tree(" ".join(leaves) + " < top")
    found = 0
    for seed in range(100):
        chance = np.random.default_rng(seed)
        labels = {f"i{i:03}": [leaves[min(chance.geometric(0.15), 20) - 1]] for i in range(200)}
        site = {instance: "abc"[chance.choice(3, p=[0.7, 0.2, 0.1])] for instance in labels}
        found += bool(checked(labels, site, hierarchy=flat).findings)

    assert found <= 10
