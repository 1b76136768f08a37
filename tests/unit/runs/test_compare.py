"""Laws of comparing: nothing from nothing, swapping negates, and each cause is told as itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from audit.base.errors import InputError
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import Comparison, compare_runs
from audit.runs.compare.counts import Counts, beyond_floor, within_rate
from audit.runs.history import steps_of
from fixtures.labelled import labelled, repeated, tree

Labels = Mapping[str, Sequence[str]]

BODY = (
    "lung heart skin < body",
    "asthma cough other_lung < lung",
    "attack angina < heart",
    "rash burn < skin",
)
ONE_EACH: Any = SimpleNamespace(same_data=False, grouped=False)
"""Two releases without groups."""
LEAVES = ("angina", "asthma", "attack", "burn", "cough", "other_lung", "rash")


def audited(labels: Labels, hierarchy: Hierarchy | None = None, **options: Any) -> AuditResult:
    return run_audit(labelled(hierarchy or tree(*BODY), labels, **options))


def drawn(n: int, seed: int, rates: Mapping[str, float], together: float = 0.0) -> Labels:
    """Instances with each label at its rate; a share of them gets rash and attack together."""
    random = np.random.default_rng(seed)
    given = {leaf: random.random(n) < rates.get(leaf, 0.15) for leaf in LEAVES}
    both = random.random(n) < together
    for leaf in ("rash", "attack"):
        given[leaf] |= both
    return {f"i{i:05}": [leaf for leaf in LEAVES if given[leaf][i]] for i in range(n)}


@pytest.fixture(scope="module")
def old() -> AuditResult:
    return audited(drawn(3000, 1, {}))


@pytest.fixture(scope="module")
def new() -> AuditResult:
    return audited(drawn(3500, 2, {"cough": 0.3}, together=0.06))


def standing(comparison: Comparison) -> set[str]:
    return set(comparison.nodes.filter("changed")["node"])


def standing_pairs(comparison: Comparison) -> set[tuple[str, str]]:
    return set(comparison.pairs.filter("changed").select("a", "b").iter_rows())


def test_what_was_planted_is_found_and_nothing_else(old: AuditResult, new: AuditResult) -> None:
    comparison = compare_runs(old, new)

    assert {"cough", "attack", "rash"} <= standing(comparison) <= {
        "cough", "attack", "rash", "lung", "heart", "skin", "body",
    }  # fmt: skip
    assert ("attack", "rash") in standing_pairs(comparison)
    assert all({a, b} & {"attack", "heart", "rash", "skin"} for a, b in standing_pairs(comparison))
    row = comparison.nodes.row(by_predicate=pl.col("node") == "cough", named=True)
    sizes = {"old": 3000, "new": 3500}
    assert {row[f"rate_{side}"] for side in sizes} == {
        row[f"support_{side}"] / n for side, n in sizes.items()
    }
    assert row["low"] < 0.15 < row["high"]
    assert row["q_value"] < 1e-6


def test_siblings_of_which_one_is_used_for_the_other_are_told_once() -> None:
    """Below a parent that did not change; what changes beside it stands alone."""
    old = audited(repeated([(400, ["asthma"]), (300, ["cough"]), (200, ["rash"]), (900, ["burn"])]))
    new = audited(
        repeated([(280, ["asthma"]), (420, ["cough"]), (400, ["rash"]), (700, ["angina"])])
    )
    there, back = compare_runs(old, new), compare_runs(new, old)

    assert there.exchanges.rows() == [("lung", ["asthma"], ["cough"], pytest.approx(120 / 1800))]
    assert back.exchanges.rows() == [("lung", ["cough"], ["asthma"], pytest.approx(120 / 1800))]
    shared = there.shared()
    (exchange,) = shared["exchanges"]
    assert [(one["node"], one["support_old"], one["support_new"]) for one in exchange["fewer"]] == [
        ("asthma", 400, 280)
    ]
    listed = {row["node"] for row in shared["nodes"]["rows"]}
    assert listed == standing(there) - {"asthma", "cough"} >= {"rash", "burn", "angina"}
    assert shared["totals"]["exchanges"] == 1
    assert repr(there).startswith("Comparison(1 exchanges, ")


def test_three_siblings_whose_rises_and_falls_cancel_are_one_exchange() -> None:
    old = audited(repeated([(600, ["asthma"]), (100, ["cough"]), (100, ["other_lung"]),
                            (500, ["burn"])]))  # fmt: skip
    new = audited(repeated([(200, ["asthma"]), (350, ["cough"]), (250, ["other_lung"]),
                            (500, ["burn"])]))  # fmt: skip
    (row,) = compare_runs(old, new).exchanges.rows()

    assert row == ("lung", ["asthma"], ["cough", "other_lung"], pytest.approx(400 / 1300))


def visits(seed: int) -> tuple[Labels, dict[str, str]]:
    """2 or 40 visits of each of 60 persons, all of a person alike."""
    random = np.random.default_rng(seed)
    has = random.random((60, len(LEAVES))) < 0.3
    rows = [(person, i) for person in range(60) for i in range(2 + 38 * (person % 2))]
    labels = {f"v{p:02}-{i:02}": [x for x, on in zip(LEAVES, has[p], strict=True) if on] or ["body"]
              for p, i in rows}  # fmt: skip
    return labels, {name: name[:3] for name in labels}


@pytest.mark.slow
@pytest.mark.parametrize("both", [True, False], ids=["both", "one"])
def test_visits_that_repeat_their_persons_are_no_change(both: bool) -> None:
    """Taken as independent these tell many; where one run has no groups, the report says so."""
    (old, of_old), (new, of_new) = visits(1), visits(2)
    alone = compare_runs(audited(old), audited(new))
    grouped = compare_runs(audited(old, groups=of_old), audited(new, groups=of_new if both else {}))

    assert len(standing(alone)) >= 3
    assert grouped.shared()["grouped"] == {"old": True, "new": True if both else None}
    if both:
        assert not standing(grouped)
        assert grouped.nodes["mean_old"].null_count() == 0


@pytest.mark.parametrize("groups", ["each its own", "some named", "one", "of hundreds"])
def test_groups_of_any_size_are_compared(old: AuditResult, groups: str) -> None:
    """Each alone is as without; one group of all has nothing to test; a missing name is a group."""
    labels = drawn(3000, 3, {"cough": 0.3})
    of = {
        "each its own": {name: name for name in labels},
        "some named": {name: f"g{i // 3}" for i, name in enumerate(labels) if i < 900},
        "one": dict.fromkeys(labels, "g"),
        "of hundreds": {name: f"g{i % 5}" for i, name in enumerate(labels)},
    }[groups]
    found = compare_runs(old, audited(labels, groups=of))

    assert found.shared()
    if groups == "each its own":
        assert found.nodes.equals(compare_runs(old, audited(labels)).nodes)
    assert ("cough" in standing(found)) == (groups in ("each its own", "some named"))


def test_a_pair_whose_nodes_explain_it_is_not_told(old: AuditResult) -> None:
    doubled = audited(drawn(3000, 4, {"rash": 0.4, "attack": 0.4}))
    comparison = compare_runs(old, doubled)
    row = comparison.pairs.row(
        by_predicate=(pl.col("a") == "attack") & (pl.col("b") == "rash"), named=True
    )

    assert row["q_value"] < 1e-6
    assert row["nodes_p_value"] > 0.001
    assert standing_pairs(comparison) == set()


def test_a_moved_node_is_an_edit_and_not_a_change_of_the_data(old: AuditResult) -> None:
    moved = tree(
        "lung heart skin < body",
        "asthma other_lung < lung",
        "attack angina cough < heart",
        "rash burn < skin",
    )
    comparison = compare_runs(old, audited(drawn(3000, 1, {}), moved))
    heart = comparison.nodes.row(by_predicate=pl.col("node") == "heart", named=True)

    assert comparison.edits.select("edit", "node").rows() == [("moved", "cough")]
    assert standing(comparison) == set()
    assert heart["support_new"] > heart["support_old"]
    assert heart["difference"] is None
    assert comparison.shared()["nodes"]["not_comparable"] == 2


@pytest.mark.parametrize(
    ("part", "value"),
    [("normaliser", "other/2"), ("tool", {"name": "hierarchy-audit", "version": "9"})],
)
def test_another_normaliser_or_tool_is_told_and_that_it_cannot_be_separated(
    old: AuditResult, part: str, value: object
) -> None:
    other = replace(old, identity={**old.identity, part: value})
    (cause,) = (cause for cause in compare_runs(old, other).causes if cause["changed"])

    assert cause["name"] == part
    assert "cannot be found" in cause["statement"]


def test_runs_of_two_hierarchies_are_refused(old: AuditResult) -> None:
    """By their nodes: what their files are called decides nothing."""
    renamed = audited(drawn(50, 1, {}), tree(*BODY, name="another"))
    others = run_audit(labelled(tree("oak elm < plant"), {"i": ["oak"]}))
    numbered = tree("1 2 < 3", titles={"1": "oak", "2": "elm"})
    alike = tree("1 2 < 3", titles={"1": "dog", "2": "cat"})

    (cause,) = (c for c in compare_runs(old, renamed).causes if c["name"] == "hierarchy")
    assert not cause["changed"]
    with pytest.raises(InputError, match=r"one hierarchy.*\n.*0 of the 3 nodes"):
        compare_runs(old, others)
    with pytest.raises(InputError, match="1 of the 3 nodes"):
        compare_runs(*(run_audit(labelled(one, {"i": ["1"]})) for one in (numbered, alike)))


def test_findings_are_new_gone_worse_and_better(old: AuditResult) -> None:
    worse = audited({**drawn(3000, 1, {}), **repeated([(400, ["lung", "asthma"])])},
                    tree(*BODY, labelled_ancestors="fault"))  # fmt: skip
    base = audited({**drawn(3000, 1, {}), **repeated([(100, ["lung", "asthma"])])},
                   tree(*BODY, labelled_ancestors="fault"))  # fmt: skip
    none = audited(drawn(3000, 1, {}), tree(*BODY, labelled_ancestors="fault"))

    less = audited({**drawn(3000, 1, {}), **repeated([(97, ["lung", "asthma"])])},
                   tree(*BODY, labelled_ancestors="fault"))  # fmt: skip

    def of(a: AuditResult, b: AuditResult) -> set[str]:
        return {*compare_runs(a, b).findings.filter(check="parent_and_child")["change"]}

    assert of(none, base) == {"new"}
    assert of(base, none) == {"gone"}
    assert of(base, worse) == {"worse"}
    assert of(worse, base) == {"better"}
    assert of(base, base) == {"same"}
    assert of(base, less) == of(less, base) == {"same"}


def test_a_finding_at_the_limit_of_one_release_is_no_news() -> None:
    """Both just around the limit, one above: no test tells them apart; far above: new."""
    hierarchy = tree(*BODY, titles={"other_lung": "Other diseases of lung"})

    def run(n: int) -> AuditResult:
        return audited(repeated([(n, ["other_lung"]), (200 - n, ["asthma"])]), hierarchy)

    def changes(a: AuditResult, b: AuditResult) -> dict[str, dict[str, Any]]:
        found = (
            compare_runs(a, b)
            .findings.filter(check="residual_overuse")
            .filter(pl.col("effect") == "share")
        )
        return {row["change"]: row for row in found.iter_rows(named=True)}

    below, above, far = run(112), run(118), run(190)
    assert set(changes(below, above)) == set(changes(above, below)) == {"limit"}
    assert set(changes(far, below)) == {"gone"}
    found = changes(below, far)["new"]
    assert [found[name] for name in ("count_old", "count_new")] == [112, 190]
    assert [found[name] for name in ("of_old", "of_new")] == [200, 200]
    assert found["low"] < found["difference"] == pytest.approx((190 - 112) / 200)
    assert not compare_runs(below, above).changed


def test_a_history_lists_what_a_comparison_tests(old: AuditResult, new: AuditResult) -> None:
    """What is new, or at the limit of NEW alone, is listed now, and nothing else that OLD lacks."""
    hierarchy = tree(*BODY, titles={"other_lung": "Other diseases of lung"})
    near = [
        audited(repeated([(n, ["other_lung"]), (200 - n, ["asthma"])]), hierarchy)
        for n in (112, 118, 190)
    ]
    seen = set[tuple[str, str]]()
    for before, after in (*permutations((old, new), 2), *permutations(near, 2)):
        listed = [{one["name"]: one for one in run.shared()["checks"]} for run in (before, after)]
        comparison = compare_runs(before, after)
        for check in comparison.checks:
            steps = steps_of(*(views.get(check["name"]) for views in listed))
            tested = {
                row["id"]: (row["change"], row["touched_new"] is not None)
                for row in comparison.findings.filter(check=check["name"]).iter_rows(named=True)
                if row["touched_old"] is None or row["touched_new"] is None
            }
            sides = {"appeared": True, "disappeared": False}
            alone = {one: sides[step] for one, step in steps.items() if step in sides}
            assert alone == {one: is_new for one, (_, is_new) in tested.items()}
            seen |= {(change, steps[one]) for one, (change, _) in tested.items()}
    assert seen == {
        ("new", "appeared"),
        ("gone", "disappeared"),
        ("limit", "appeared"),
        ("limit", "disappeared"),
    }


def test_a_check_that_one_run_could_not_ask_has_no_new_finding(old: AuditResult) -> None:
    hierarchy = tree(*BODY, labelled_ancestors="fault")
    labels = {**drawn(300, 1, {}), **repeated([(100, ["lung", "asthma"])])}
    run = audited(labels, hierarchy)
    unasked = replace(
        run,
        checks=tuple(
            replace(check, findings=(), not_applicable="not asked")
            if check.name == "parent_and_child"
            else check
            for check in run.checks
        ),
    )
    found = compare_runs(unasked, run).findings.filter(check="parent_and_child")

    assert found["change"].to_list() == ["not_asked"]


def test_between_releases_of_one_distribution_false_changes_stay_within_the_rate() -> None:
    random = np.random.default_rng(2026)
    rates = 0.5 / np.arange(1, 301)
    false = 0
    for _ in range(400):
        old, new = (random.binomial(n, rates) for n in (2000, 3000))
        counts = Counts(old, 2000, new, 3000, ONE_EACH)
        told = counts.columns(counts.tested, counts.tested)
        large = beyond_floor(told["odds_ratio"].to_numpy())
        false += bool((large & within_rate(told["q_value"])).any())
    assert false / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.slow
def test_whole_comparisons_of_one_distribution_rarely_tell_a_change() -> None:
    told = 0
    for seed in range(12):
        runs = [audited(drawn(800, 100 * seed + side, {}, together=0.03)) for side in (1, 2)]
        comparison = compare_runs(*runs)
        told += bool(standing(comparison) or standing_pairs(comparison))
    assert told <= 2
