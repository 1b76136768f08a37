"""depth_shift: the difference within bins against least squares, and values that stand out."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.checks.rules.depth_shift import Values, difference_of
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["depth_shift"]

LEAVES = [f"{branch}{n}" for branch in "abc" for n in range(4)]
DEEP = tree("a b c flat < top", *(f"{leaf} < {leaf[0]}" for leaf in LEAVES), "w x y z < flat")
POLICY = Policy(coding_columns=("site",))


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 1), st.integers(0, 15)),
        min_size=20,
        max_size=60,
    )
)
def test_the_difference_is_that_of_least_squares(
    drawn: list[tuple[int, int, int, int]],
) -> None:
    y, bins, here, group = np.array(drawn, np.int64).T
    group = group + 20 * here  # a group lies on one side, and each side has enough of them
    more = np.arange(24)
    y = np.concatenate([y, more % 3])
    bins = np.concatenate([bins, more // 2 % 3])
    here = np.concatenate([here, more % 2])
    group = np.concatenate([group, 100 + more])
    found = difference_of(
        Values(y.astype(np.float64), bins, group, here), np.ones(len(y), np.bool_), 1
    )

    others = np.column_stack([bins == one for one in np.unique(bins)]).astype(np.float64)
    design = np.column_stack([here, others]).astype(np.float64)
    fitted, *_ = np.linalg.lstsq(design, y.astype(np.float64))
    without, *_ = np.linalg.lstsq(others, y.astype(np.float64))
    inverse = np.linalg.pinv(design.T @ design)
    errors = []
    for residual in (y - design @ fitted, y - others @ without):
        sums = defaultdict[int, np.ndarray](lambda: np.zeros(design.shape[1]))
        for row, one, who in zip(design, residual, group.tolist(), strict=True):
            sums[who] = sums[who] + row * one
        middle = sum(np.outer(one, one) for one in sums.values()) * len(sums) / (len(sums) - 1)
        errors.append(np.sqrt((inverse @ middle @ inverse)[0, 0]))
    assert found is not None
    assert found.more == pytest.approx(fitted[0], abs=1e-9)
    assert found.error == pytest.approx(max(errors), abs=1e-9)
    assert found.here == pytest.approx(y[here == 1].mean())


def release(
    sites: dict[str, float], labels: int = 2, n: int = 60, seed: int = 0
) -> dict[str, list[str]]:
    """Records of sites, so many of whose labels are cut to their branches."""
    rng = np.random.default_rng(seed)
    return {
        f"{site}{i:03}": [
            leaf[0] if rng.random() < cut else leaf
            for leaf in rng.choice(LEAVES, labels, replace=False).tolist()
        ]
        for site, cut in sites.items()
        for i in range(n)
    }


def checked(
    labels: dict[str, list[str]], groups: dict[str, str] | None = None, policy: Policy = POLICY
) -> CheckResult:
    sites = {"site": {name: name[0] for name in labels if name[0] != "u"}}
    return CHECK.run(measure(labelled(DEEP, labels, groups=groups, strata=sites), policy))


def test_a_site_that_cuts_labels_is_told_and_the_others_are_not() -> None:
    (finding,) = checked(release({"p": 0.9, "q": 0.1, "r": 0.1, "s": 0.1})).findings
    values = finding.evidence

    assert finding.key == ("site", "p", "depth")
    assert "more general" in finding.statement
    assert (values["instances"], values["of"]) == (60, 240)
    assert values["family"] == 8
    assert values["apart_low"] < values["apart"] < values["apart_high"]
    assert values["mean"] < values["mean_elsewhere"]


def test_two_sites_that_stand_out_are_told_one_after_the_other() -> None:
    found = checked(release({"p": 0.9, "q": 0.0, "r": 0.0, "s": 0.5})).findings

    assert [finding.key for finding in found] == [("site", "p", "depth"), ("site", "s", "depth")]


def test_a_site_with_shorter_records_is_told() -> None:
    labels = release({"q": 0, "r": 0}, labels=4) | release({"p": 0}, labels=2, seed=1)
    (finding,) = checked(labels).findings

    assert finding.key == ("site", "p", "length")
    told = [finding.evidence[name] for name in ("mean", "mean_elsewhere", "apart")]
    assert told == pytest.approx([2, 4, 2])
    assert "fewer labels" in finding.statement


def test_records_of_a_flat_branch_do_not_make_labels_less_deep() -> None:
    labels = {name: ["w", "x"] if name < "p040" else own for name, own in
              release({"p": 0, "q": 0, "r": 0}).items()}  # fmt: skip

    assert checked(labels).findings == ()


def test_one_person_of_many_records_is_one() -> None:
    labels = release({"p": 0.9, "q": 0.1, "r": 0.1})
    few = {name: f"{name[0]}{int(name[1:]) % 9}" for name in labels}
    some = {name: f"{name[0]}{int(name[1:]) % 30}" for name in labels}

    assert (checked(labels, few).status, checked(labels, few).denominator) == ("pass", 0)
    assert [finding.key for finding in checked(labels, some).findings] == [("site", "p", "depth")]


def test_small_differences_and_unknown_values_are_not_told() -> None:
    equal = release({"p": 0.3, "q": 0.1, "r": 0.1}, n=300)
    unknown = release({"u": 1.0, "p": 0.1, "q": 0.1})

    assert checked(equal).findings == ()
    assert checked(unknown).findings == ()
    assert checked(unknown).denominator == 2


def test_of_two_values_one_is_compared_and_of_strata_none() -> None:
    labels = release({"p": 0.9, "q": 0.1})
    (finding,) = checked(labels).findings

    assert finding.key == ("site", "q", "depth")
    assert "more specific" in finding.statement
    assert (
        "nor a column of drift" in checked(labels, policy=Policy(strata=("site",))).not_applicable
    )
    assert checked(labels, policy=Policy(drift=("site",))).findings == (finding,)


def test_few_records_that_are_short_by_chance_are_not_told() -> None:
    """Where lengths are very unequal, ten short ones are alike, and their own spread is small."""
    rng = np.random.default_rng(5)
    least = 1.0
    for _ in range(300):
        length = np.exp(rng.normal(1.5, 1.0, 400))
        value = (np.arange(400) < 12).astype(np.int64)
        nothing = np.zeros(400, np.int64)
        found = difference_of(
            Values(length, nothing, np.arange(400), value), np.ones(400, np.bool_), 1
        )
        assert found is not None
        least = min(least, found.p_value)

    assert least > 1e-4
