"""drift: exchanges of siblings by hand, and values whose depths or lengths stand out."""

from __future__ import annotations

import numpy as np
import pytest

from audit.base.errors import PolicyError
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["drift"]
POLICY = Policy(coding_columns=("site",))
BODY = tree("a b c < p", "a1 a2 < a", "p q < body", "o1 o2 o3 o4 o5 < other", "body other < top")
LEAVES = [f"{branch}{n}" for branch in "abc" for n in range(4)]
DEEP = tree("a b c flat < top", *(f"{leaf} < {leaf[0]}" for leaf in LEAVES), "w x y z < flat")


def checked(
    labels: dict[str, list[str]],
    groups: dict[str, str] | None = None,
    policy: Policy = POLICY,
    hierarchy: Hierarchy = BODY,
) -> CheckResult:
    sites = {"site": {name: name[0] for name in labels if name[0] != "u"}}
    return CHECK.run(measure(labelled(hierarchy, labels, groups=groups, strata=sites), policy))


def told(found: CheckResult) -> list[str]:
    return [finding.key[2] for finding in found.findings]


def release(there: dict[str, int], elsewhere: dict[str, int]) -> dict[str, list[str]]:
    """Instances of site x and then of site y, so many of each label."""
    return {
        f"{site}{label}{n:03}": [label]
        for site, counts in (("x", there), ("y", elsewhere))
        for label, times in counts.items()
        for n in range(times)
    }


EXCHANGED = release({"a": 20, "b": 60, "c": 20, "q": 100}, {"a": 60, "b": 20, "c": 20, "q": 100})


def test_an_exchange_is_told_with_both_children_and_the_parent() -> None:
    (finding,) = checked(EXCHANGED).findings
    values = finding.evidence

    assert (finding.key, finding.nodes) == (("site", "y", "p"), ("a", "b"))
    assert (values["instances"], values["of"], values["elsewhere"]) == (60, 100, 20)
    assert (values["less_instances"], values["less_elsewhere"]) == (20, 60)
    assert values["difference"] == pytest.approx(0.4)
    assert "Each instance counts as one person" in finding.statement


def test_a_column_in_which_every_instance_has_its_own_value_is_refused() -> None:
    from audit import run_audit

    ids = {"site": {name: name for name in EXCHANGED}}
    with pytest.raises(PolicyError, match="that instances share"):
        run_audit(labelled(BODY, EXCHANGED, strata=ids), POLICY)


def cutting(sites: dict[str, float], labels: int = 2, n: int = 60) -> dict[str, list[str]]:
    """Records of sites, so many of whose labels are cut to their branches."""
    rng = np.random.default_rng(0)
    return {
        f"{site}{i:03}": [
            leaf[0] if rng.random() < cut else leaf
            for leaf in rng.choice(LEAVES, labels, replace=False).tolist()
        ]
        for site, cut in sites.items()
        for i in range(n)
    }


def test_sites_that_cut_labels_are_told_and_the_others_are_not() -> None:
    (finding,) = checked(cutting({"p": 0.9, "q": 0.1, "r": 0.1, "s": 0.1}), hierarchy=DEEP).findings
    values = finding.evidence
    two = checked(cutting({"p": 0.9, "q": 0.1, "r": 0.9, "s": 0.1}), hierarchy=DEEP)

    assert finding.key == ("site", "p", "depth")
    assert "more general" in finding.statement
    assert (values["instances"], values["elsewhere"], values["of"]) == (60, 180, 240)
    assert values["apart_low"] < values["apart"] < values["apart_high"]
    assert values["mean"] < values["mean_elsewhere"]
    assert {one.key[1:] for one in two.findings} == {("p", "depth"), ("r", "depth")}


def test_a_site_with_shorter_records_is_told() -> None:
    labels = cutting({"q": 0, "r": 0}, labels=4) | cutting({"p": 0}, labels=2)
    (finding,) = checked(labels, hierarchy=DEEP).findings

    assert finding.key == ("site", "p", "length")
    names = ("mean", "mean_elsewhere", "apart")
    assert [finding.evidence[name] for name in names] == pytest.approx([2, 4, 2])
    assert "fewer labels" in finding.statement


def test_where_a_site_uses_other_branches_depths_are_not_compared() -> None:
    labels = {
        name: ["w", "x"] if name < "p040" else own
        for name, own in cutting({"p": 0.9, "q": 0, "r": 0}).items()
    }
    found = checked(labels, hierarchy=DEEP)

    assert "depth" not in told(found)


def test_one_person_of_many_records_is_one() -> None:
    labels = cutting({"p": 0.9, "q": 0.1, "r": 0.1})
    few = {name: f"{name[0]}{int(name[1:]) % 9}" for name in labels}
    some = {name: f"{name[0]}{int(name[1:]) % 30}" for name in labels}
    found = checked(labels, few, hierarchy=DEEP)

    assert (found.status, found.denominator) == ("pass", 0)
    assert told(checked(labels, some, hierarchy=DEEP)) == ["depth"]


@pytest.mark.slow
@pytest.mark.parametrize("stays", [1, 4])
def test_of_sites_that_code_alike_few_are_told(stays: int) -> None:
    """Persons have habits of their own, and each goes to one of four sites of unequal size."""
    with_finding = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        labels, groups = dict[str, list[str]](), dict[str, str]()
        for person in range(400 // stays):
            site = "pqrs"[rng.choice(4, p=[0.6, 0.2, 0.1, 0.1])]
            own = rng.dirichlet(np.full(12, 0.3))
            for stay in range(stays):
                name = f"{site}{person:03}{stay}"
                labels[name] = list(rng.choice(LEAVES, 3, p=own))
                groups[name] = str(person)
        with_finding += bool(checked(labels, groups, hierarchy=DEEP).findings)
    assert with_finding <= 6
