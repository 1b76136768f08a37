"""Residual use that differs: between sites, between splits, from an earlier run."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure import residual_differences as subject
from audit.measure.measure import Reference, measure
from audit.measure.residual_differences import DIFFERENCES, _p_values, residual_differences
from audit.measure.residual_use import Share
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.findings import Finding
from fixtures.checked import CHECK_OF
from fixtures.labelled import tree

RUN = CHECK_OF["residual_overuse"].run

LUNG = tree(
    "asthma bronchitis other_lung < lung",
    "attack other_heart < heart",
    "lung heart < body",
    titles={"other_lung": "Other", "other_heart": "Other"},
)


def release(
    *shares: tuple[str, int, int], groups: int | None = None, hierarchy: Hierarchy = LUNG
) -> LabelDataset:
    """Instances below the lung: site, how many are residual, of how many."""
    rows = [
        {"label": "other_lung" if i < k else "asthma", "site": site}
        for site, k, n in shares
        for i in range(n)
    ]
    named = [
        {"instance": f"i{i:05}", **row, "group": f"g{i // groups}" if groups else None}
        for i, row in enumerate(rows)
    ]
    frame = pl.DataFrame(named, schema_overrides={"group": pl.String})
    return LabelDataset.from_rows(frame, hierarchy, strata=("site",))


def judged(dataset: LabelDataset, **policy: Any) -> list[Finding]:
    measured = measure(dataset, Policy(strata=("site",), **policy))
    return [found for found in RUN(measured).findings if found.severity == "note"]


def standing(dataset: LabelDataset, **policy: Any) -> list[tuple[str, ...]]:
    return [found.key for found in judged(dataset, **policy) if not found.folded_into]


def test_a_site_that_codes_coarsely_is_told_with_both_shares() -> None:
    (body, lung) = sorted(judged(release(("a", 20, 200), ("b", 120, 200))), key=lambda f: f.nodes)

    assert (body.nodes, lung.nodes) == (("body",), ("lung",))
    evidence: dict[str, Any] = dict(lung.evidence)
    assert (evidence["instances"], evidence["of"]) == (120, 200)
    assert (evidence["elsewhere"], evidence["of_elsewhere"]) == (20, 200)
    assert evidence["difference"] == pytest.approx(0.5)
    assert evidence["difference_low"] < 0.5 < evidence["difference_high"]
    assert "where site is b" in lung.statement


def test_a_parent_that_differs_through_one_below_is_folded_into_it() -> None:
    assert standing(release(("a", 20, 200), ("b", 120, 200))) == [("lung", "site", "b")]


def test_of_several_values_below_one_parent_the_surest_stands() -> None:
    found = judged(release(("a", 20, 200), ("b", 120, 200), ("c", 20, 200)))

    assert {f.key[2] for f in found} == {"a", "b", "c"}
    assert [f.key for f in found if not f.folded_into] == [("lung", "site", "b")]


def test_a_difference_within_the_limit_is_silent() -> None:
    wide = Threshold(value=0.6, reason="ours")

    assert judged(release(("a", 20, 200), ("b", 120, 200)), residual_difference=wide) == []
    assert judged(release(("a", 2_000, 20_000), ("b", 3_600, 20_000))) == []


def test_few_instances_are_not_compared() -> None:
    found = residual_differences(
        measure(release(("a", 0, 4), ("b", 90, 100)), Policy(strata=("site",)))
    )

    assert found.is_empty()
    assert list(found.schema.items()) == [(name, kind()) for name, kind in DIFFERENCES.items()]


def test_repeats_of_a_patient_are_not_more_evidence() -> None:
    shares = (("a", 60, 200), ("b", 92, 200))

    assert judged(release(*shares))
    assert judged(release(*shares, groups=20)) == []


def test_an_earlier_run_is_compared_with() -> None:
    before = Reference(measure(release(("a", 20, 200)), Policy()).residuals)
    measured = measure(release(("a", 120, 200)), Policy(), reference=before)
    found = [f for f in RUN(measured).findings if f.key[1:2] == ("reference",)]

    assert {f.nodes for f in found} == {("lung",), ("body",)}
    assert [f.nodes for f in found if not f.folded_into] == [("lung",)]
    assert "in the reference {elsewhere} of {of_elsewhere}" in found[0].statement


def test_a_parent_that_differs_from_the_reference_on_its_own_stands_beside_one_below() -> None:
    body = tree("asthma other_lung < lung", "lung other skin < body", titles=dict.fromkeys(
        ("other_lung", "other"), "Other"))  # fmt: skip

    def labelled(lung: int, own: int) -> LabelDataset:
        labels = ["other_lung"] * lung + ["asthma"] * (200 - lung)
        labels += ["other"] * own + ["skin"] * (200 - own)
        return LabelDataset.from_rows(
            pl.DataFrame({"instance": [f"i{i:03}" for i in range(400)], "label": labels}), body
        )

    for own, stand in ((120, {"lung", "body"}), (20, {"lung"})):
        before = Reference(measure(labelled(20, 20), Policy()).residuals)
        measured = measure(labelled(120, own), Policy(), reference=before)
        found = [f for f in RUN(measured).findings if f.key[1:2] == ("reference",)]
        assert {f.nodes for f in found} == {("lung",), ("body",)}
        assert {f.nodes[0] for f in found if not f.folded_into} == stand


def test_a_release_does_not_differ_from_itself() -> None:
    dataset = release(("a", 20, 200), ("b", 30, 200))
    before = Reference(measure(dataset, Policy()).residuals)
    found = residual_differences(measure(dataset, Policy(), reference=before))

    assert (found["difference"] == 0).all()
    assert (found["q_value"] == 1).all()


@pytest.mark.slow
def test_sites_that_code_alike_differ_seldom() -> None:
    rng = np.random.default_rng(11)
    told = 0
    for _ in range(60):
        k = rng.binomial(120, 0.35, 5)
        dataset = release(*((site, int(n), 120) for site, n in zip("abcde", k, strict=True)))
        few = Threshold(value=0.0, reason="none")
        told += bool(judged(dataset, residual_difference=few))

    assert told <= 60 * 0.05 + 2 * (60 * 0.05 * 0.95) ** 0.5


@given(
    st.integers(0, 60), st.integers(0, 60), st.floats(20, 60), st.integers(2, 59), st.integers(1, 9)
)
def test_fewer_groups_are_never_surer(
    k: int, k_there: int, effective: float, groups: int, fewer: int
) -> None:
    assume(0 < k + k_there < 120)
    many, few = (
        _p_values([(Share(k, 60, effective, g), Share(k_there, 60, effective, 60))])[0]
        for g in (groups, max(groups - fewer, 2))
    )

    assert few >= many


def test_stays_given_three_times_are_not_surer() -> None:
    once = release(("a", 60, 200), ("b", 100, 200), groups=5)
    shares = (("a", 180, 600), ("b", 300, 600))
    first, thrice = (
        residual_differences(measure(dataset, Policy(strata=("site",))))
        for dataset in (once, release(*shares, groups=15))
    )

    assert thrice["n"].to_list() == [3 * n for n in first["n"]]
    assert (thrice["p_value"] >= first["p_value"] * (1 - 1e-9)).all()
    assert thrice["p_value"].to_list() == pytest.approx(first["p_value"].to_list(), rel=1e-6)
    assert (thrice["high"] >= first["high"] - 1e-9).all()


def test_values_too_small_to_compare_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = measure(release(*((f"s{i:03}", 1, 5) for i in range(100))), Policy(strata=("site",)))
    monkeypatch.setattr(subject, "residual_share", None)

    assert residual_differences(measured).is_empty()
