"""sibling_shift: exact moments, and exchanges by hand."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import gammaincc

from audit.base.errors import PolicyError
from audit.checks.rules.sibling_shift import independence_p_value
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.examples import examples
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["sibling_shift"]

BODY = tree("a b c < p", "a1 a2 < a", "p q < body", "o1 o2 o3 o4 o5 < other", "body other < top")
POLICY = Policy(coding_columns=("site",))


@examples(15)
@given(st.lists(st.integers(0, 2), min_size=5, max_size=7), st.data())
def test_the_moments_are_those_of_every_order(child: list[int], data: st.DataObject) -> None:
    size = len(child)
    value = data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    assume(len(set(child)) > 1 and len(set(value)) > 1)

    def chi_square(values: tuple[int, ...]) -> float:
        joint = Counter(zip(child, values, strict=True))
        expected = {
            (c, v): child.count(c) * value.count(v) / size for c in set(child) for v in set(value)
        }
        return sum((joint[cell] - e) ** 2 / e for cell, e in expected.items())

    every = [chi_square(order) for order in permutations(value)]
    mean, variance = float(np.mean(every)), float(np.var(every))
    assume(variance > 1e-9)
    counts = np.array(
        [[sum(a == c and b == v for a, b in zip(child, value, strict=True)) for v in set(value)]
         for c in sorted(set(child))], np.float64
    )  # fmt: skip

    seen = chi_square(tuple(value))
    assert independence_p_value(counts, 1.0) == pytest.approx(
        float(gammaincc(mean**2 / variance, seen * mean / variance))
    )


def release(there: dict[str, int], elsewhere: dict[str, int]) -> dict[str, list[str]]:
    """Instances of site x and then of site y, so many of each label."""
    return {
        f"{site}{label}{n:03}": [label]
        for site, counts in (("x", there), ("y", elsewhere))
        for label, times in counts.items()
        for n in range(times)
    }


def checked(
    labels: dict[str, list[str]], *, groups: dict[str, str] | None = None, policy: Policy = POLICY
) -> CheckResult:
    sites = {"site": {name: name[0] for name in labels if name[0] in "xyz"}}
    return CHECK.run(measure(labelled(BODY, labels, groups=groups, strata=sites), policy))


EXCHANGED = release({"a": 20, "b": 60, "c": 20, "q": 100}, {"a": 60, "b": 20, "c": 20, "q": 100})


def test_an_exchange_is_told_with_both_children_and_the_parent() -> None:
    (finding,) = checked(EXCHANGED).findings
    values = finding.evidence

    assert finding.key in (("site", "x", "p"), ("site", "y", "p"))
    assert set(finding.nodes) == {"a", "b"}
    assert (values["instances"], values["of"], values["elsewhere"]) == (60, 100, 20)
    assert values["points_share"] == pytest.approx(0.4)
    assert values["frequency"] == pytest.approx(1.0)
    assert "as frequent there" in finding.statement
    assert "Each instance counts as one person" in finding.statement


def test_a_parent_that_is_more_frequent_too_is_told_so() -> None:
    labels = release({"a": 20, "b": 60, "q": 20}, {"a": 60, "b": 20, "q": 180})

    (finding,) = (found for found in checked(labels).findings if found.key[2] == "p")
    assert "times as frequent" in finding.statement
    assert finding.evidence["frequency"] in (pytest.approx(2.6), pytest.approx(1 / 2.6))


def test_what_lies_below_a_child_that_is_exchanged_is_folded() -> None:
    labels = release({"a1": 10, "a2": 60, "b": 60}, {"a1": 90, "a2": 60, "b": 10})
    found = {finding.key[2]: finding for finding in checked(labels).findings}

    assert found["p"].folded_into == ()
    assert found["a"].folded_into == (found["p"].id,)


def test_stays_of_one_person_do_not_add_up() -> None:
    each = {name: f"{name[:2]}{int(name[-3:]) // 20}" for name in EXCHANGED}
    two = {name: f"{name[:2]}{int(name[-3:]) // 2}" for name in EXCHANGED}
    (alone,), (grouped,) = checked(EXCHANGED).findings, checked(EXCHANGED, groups=two).findings

    assert checked(EXCHANGED, groups=each).findings == ()
    assert grouped.evidence["q_value"] > alone.evidence["q_value"]
    assert "Each instance counts as one person" not in grouped.statement


def test_small_exchanges_and_equal_habits_are_not_told() -> None:
    many = release({"a": 4000, "b": 4000}, {"a": 4300, "b": 3700})
    equal = release({"a": 40, "b": 20}, {"a": 400, "b": 200})

    assert checked(many).findings == checked(equal).findings == ()
    assert checked(many).denominator == 1


def test_a_rise_without_a_fall_beyond_the_limit_for_certain_is_no_exchange() -> None:
    apart = release({"a": 60, "b": 12, "c": 12, "q": 100}, {"a": 30, "b": 17, "c": 17, "q": 100})
    alike = release({"a": 60, "b": 6, "c": 18, "q": 100}, {"a": 30, "b": 28, "c": 18, "q": 100})

    assert [one.key[2] for one in checked(alike).findings] == ["p"]
    assert checked(apart).findings == ()


def test_instances_without_a_value_count_nowhere() -> None:
    without = {f"u{n}": ["a"] for n in range(50)}

    (finding,) = checked(EXCHANGED | without).findings
    assert finding.evidence["of"] == 100


def test_without_a_column_it_says_so_and_without_a_choice_it_passes() -> None:
    one = {name: own for name, own in EXCHANGED.items() if name[0] == "x"}
    few = release({"a": 10, "b": 4}, {"a": 10, "b": 5})

    assert "coding_columns" in checked(EXCHANGED, policy=Policy()).not_applicable
    for found in (checked(one), checked(few)):
        assert (found.status, found.denominator) == ("pass", 0)


def test_a_column_in_which_every_instance_has_its_own_value_is_refused() -> None:
    from audit import run_audit

    ids = {"site": {name: name for name in EXCHANGED}}
    with pytest.raises(PolicyError, match="that instances share"):
        run_audit(labelled(BODY, EXCHANGED, strata=ids), POLICY)
