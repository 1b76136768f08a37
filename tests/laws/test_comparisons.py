"""Comparisons: nothing from nothing, each cause told as itself; and what is shared of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import audit
from fixtures.coded import icd9cm
from fixtures.labelled import labelled, repeated, tree

Labels = Mapping[str, Sequence[str]]

BODY = (
    "lung heart skin < body",
    "asthma cough other_lung < lung",
    "attack angina < heart",
    "rash burn < skin",
)
"""Two releases without groups."""
LEAVES = ("angina", "asthma", "attack", "burn", "cough", "other_lung", "rash")


def audited(
    labels: Labels, hierarchy: audit.Hierarchy | None = None, **options: Any
) -> audit.AuditResult:
    return audit.run_audit(labelled(hierarchy or tree(*BODY), labels, **options))


def drawn(n: int, seed: int, rates: Mapping[str, float], together: float = 0.0) -> Labels:
    """Instances with each label at its rate; a share of them gets rash and attack together."""
    random = np.random.default_rng(seed)
    given = {leaf: random.random(n) < rates.get(leaf, 0.15) for leaf in LEAVES}
    both = random.random(n) < together
    for leaf in ("rash", "attack"):
        given[leaf] |= both
    return {f"i{i:05}": [leaf for leaf in LEAVES if given[leaf][i]] for i in range(n)}


@pytest.fixture(scope="module")
def old() -> audit.AuditResult:
    return audited(drawn(3000, 1, {}))


@pytest.fixture(scope="module")
def new() -> audit.AuditResult:
    return audited(drawn(3500, 2, {"cough": 0.3}, together=0.06))


def standing(comparison: audit.Comparison) -> set[str]:
    return set(comparison.nodes.filter("changed")["node"])


def standing_pairs(comparison: audit.Comparison) -> set[tuple[str, str]]:
    return set(comparison.pairs.filter("changed").select("a", "b").iter_rows())


def test_what_was_planted_is_found_and_nothing_else(
    old: audit.AuditResult, new: audit.AuditResult
) -> None:
    comparison = audit.compare_runs(old, new)

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
    there, back = audit.compare_runs(old, new), audit.compare_runs(new, old)

    moved = pytest.approx(120 / 1800)
    assert [row[:4] for row in there.exchanges.rows()] == [("lung", ["asthma"], ["cough"], moved)]
    assert [row[:4] for row in back.exchanges.rows()] == [("lung", ["cough"], ["asthma"], moved)]
    (ends,) = there.exchanges.select("low", "high").rows()
    asthma = there.nodes.row(by_predicate=pl.col("node") == "asthma", named=True)
    assert ends == pytest.approx((-asthma["high"], -asthma["low"]))
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
    (row,) = audit.compare_runs(old, new).exchanges.rows()

    assert row[:4] == ("lung", ["asthma"], ["cough", "other_lung"], pytest.approx(400 / 1300))
    assert 0 < row[4] < row[3] < row[5] < 1


GARDEN = (
    "tree herb < plant",
    "oak elm fir < tree",
    "red white cork < oak",
    "thyme mint sage < herb",
)
"""Grown as a whole, in one part, and as a whole though not within one part: by what, which
branches are whole with how many nodes below, and what is listed besides."""
GROWN: Mapping[str, tuple[Mapping[str, float], Mapping[str, int], set[str]]] = {
    "whole": ({"red": 2, "white": 2, "cork": 2, "elm": 2, "fir": 2}, {"tree": 6}, set()),
    "a part": ({"red": 2, "white": 2, "cork": 2}, {"oak": 3}, {"tree"}),
    "but within one": ({"red": 3, "elm": 1.7, "fir": 1.7}, {"tree": 3}, {"red"}),
}


@pytest.mark.parametrize("grown", GROWN)
@pytest.mark.parametrize("persons", [False, True], ids=["exact", "told"])
def test_a_branch_that_changed_as_a_whole_is_told_once(grown: str, persons: bool) -> None:
    """With its interval; the nodes below that changed by its factor are not listed again."""
    by, whole, besides = GROWN[grown]
    sizes = {"red": 90, "white": 70, "cork": 80, "elm": 250, "fir": 200, "thyme": 2000, "mint": 800}

    def run(by: Mapping[str, float]) -> audit.AuditResult:
        sets = [(round(n * by.get(leaf, 1)), [leaf]) for leaf, n in sizes.items()]
        rest = sum(n for n, _ in sets)
        labels = repeated([*sets, (6000 - rest, ["sage"])])
        return audit.run_audit(labelled(tree(*GARDEN), labels, persons=persons))

    shared = audit.compare_runs(run({}), run(by)).shared()
    listed = {row["node"] for row in shared["nodes"]["rows"]}

    assert {row["node"]: row["below"] for row in shared["branches"]} == whole
    assert shared["totals"]["branches"] == len(whole)
    assert all(0 < row["low"] < row["difference"] < row["high"] for row in shared["branches"])
    assert listed & {"tree", "oak", "red", "white", "cork", "elm", "fir"} == besides


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
    alone = audit.compare_runs(audited(old), audited(new))
    grouped = audit.compare_runs(
        audited(old, groups=of_old), audited(new, groups=of_new if both else {})
    )

    assert len(standing(alone)) >= 3
    assert grouped.shared()["grouped"] == {"old": True, "new": True if both else None}
    if both:
        assert not standing(grouped)
        assert grouped.nodes["mean_old"].null_count() == 0


@pytest.mark.parametrize("groups", ["each its own", "some named", "one", "of hundreds"])
def test_groups_of_any_size_are_compared(old: audit.AuditResult, groups: str) -> None:
    """Each alone is as without; one group of all has nothing to test; a missing name is a group."""
    labels = drawn(3000, 3, {"cough": 0.3})
    of = {
        "each its own": {name: name for name in labels},
        "some named": {name: f"g{i // 3}" for i, name in enumerate(labels) if i < 900},
        "one": dict.fromkeys(labels, "g"),
        "of hundreds": {name: f"g{i % 5}" for i, name in enumerate(labels)},
    }[groups]
    found = audit.compare_runs(old, audited(labels, groups=of))

    assert found.shared()
    if groups == "each its own":
        assert found.nodes.equals(audit.compare_runs(old, audited(labels)).nodes)
    assert ("cough" in standing(found)) == (groups in ("each its own", "some named"))


def test_a_pair_whose_nodes_explain_it_is_not_told(old: audit.AuditResult) -> None:
    doubled = audited(drawn(3000, 4, {"rash": 0.4, "attack": 0.4}))
    comparison = audit.compare_runs(old, doubled)
    row = comparison.pairs.row(
        by_predicate=(pl.col("a") == "attack") & (pl.col("b") == "rash"), named=True
    )

    assert row["q_value"] < 1e-6
    assert row["nodes_p_value"] > 0.001
    assert standing_pairs(comparison) == set()


@cache
def modelled(right: int, n: int = 400) -> audit.AuditResult:
    """Instances with asthma, of which a model scores so many right and the others as a cough."""
    labels = repeated([(n, ["asthma"])])
    data = labelled(tree(*BODY), labels)
    asthma = pl.Series([float(i < right) for i in range(n)])
    scores = pl.DataFrame({"id": [*labels], "asthma": asthma, "cough": 1 - asthma})
    return audit.run_audit(data, predictions=audit.load_predictions(scores, data))


def test_a_model_that_is_right_more_often_has_changed() -> None:
    same, better = (audit.compare_runs(modelled(360), modelled(n)) for n in (360, 390))
    kept, moved = (one.model.metrics.drop_nulls(("low", "high")) for one in (same, better)
                   if one.model)  # fmt: skip

    assert better.shared()["totals"]["metrics"] > 0
    assert len(kept) == (kept["low"] == kept["high"]).sum() > 0
    assert (moved["low"] < moved["high"]).any()


def test_a_model_is_another_by_its_own_file_and_has_not_changed_by_one_instance_more() -> None:
    run = modelled(360)
    own, policy = (replace(run, inputs=({"role": role, "path": "x", "sha256": "0"},))
                   for role in ("predictions", "policy"))  # fmt: skip
    found = [audit.compare_runs(run, other) for other in (own, policy, modelled(361, 401))]

    assert [one.model and one.model.predictions for one in found] == ["differ", "same", "differ"]
    assert [one.changed for one in found] == [True, False, False]


def test_a_moved_node_is_an_edit_and_not_a_change_of_the_data(old: audit.AuditResult) -> None:
    moved = tree(
        "lung heart skin < body",
        "asthma other_lung < lung",
        "attack angina cough < heart",
        "rash burn < skin",
    )
    comparison = audit.compare_runs(old, audited(drawn(3000, 1, {}), moved))
    heart = comparison.nodes.row(by_predicate=pl.col("node") == "heart", named=True)

    assert comparison.edits.select("edit", "node").rows() == [("moved", "cough")]
    assert standing(comparison) == set()
    assert heart["support_new"] > heart["support_old"]
    assert heart["difference"] is None
    told = comparison.shared()["nodes"]
    assert told["not_comparable"] == 2
    assert told["family"] == comparison.nodes["q_value"].count() < len(comparison.nodes)


def test_runs_of_two_hierarchies_are_refused(old: audit.AuditResult) -> None:
    """By their nodes: what their files are called decides nothing."""
    renamed = audited(drawn(50, 1, {}), tree(*BODY, name="another"))
    others = audit.run_audit(labelled(tree("oak elm < plant"), {"i": ["oak"]}))
    numbered = tree("1 2 < 3", titles={"1": "oak", "2": "elm"})
    alike = tree("1 2 < 3", titles={"1": "dog", "2": "cat"})

    (cause,) = (c for c in audit.compare_runs(old, renamed).causes if c["name"] == "hierarchy")
    assert not cause["changed"]
    with pytest.raises(audit.AuditError, match=r"one hierarchy.*\n.*0 of the 3 nodes"):
        audit.compare_runs(old, others)
    with pytest.raises(audit.AuditError, match="1 of the 3 nodes"):
        audit.compare_runs(
            *(audit.run_audit(labelled(one, {"i": ["1"]})) for one in (numbered, alike))
        )


@pytest.mark.slow
def test_findings_are_new_gone_worse_and_better(old: audit.AuditResult) -> None:
    worse = audited({**drawn(3000, 1, {}), **repeated([(400, ["lung", "asthma"])])},
                    tree(*BODY, labelled_ancestors="fault"))  # fmt: skip
    base = audited({**drawn(3000, 1, {}), **repeated([(100, ["lung", "asthma"])])},
                   tree(*BODY, labelled_ancestors="fault"))  # fmt: skip
    none = audited(drawn(3000, 1, {}), tree(*BODY, labelled_ancestors="fault"))

    less = audited({**drawn(3000, 1, {}), **repeated([(97, ["lung", "asthma"])])},
                   tree(*BODY, labelled_ancestors="fault"))  # fmt: skip

    def of(a: audit.AuditResult, b: audit.AuditResult) -> set[str]:
        return {*audit.compare_runs(a, b).findings.filter(check="parent_and_child")["change"]}

    assert of(none, base) == {"new"}
    assert of(base, none) == {"gone"}
    assert of(base, worse) == {"worse"}
    assert of(worse, base) == {"better"}
    assert of(base, base) == {"same"}
    assert of(base, less) == of(less, base) == {"same"}


def test_a_finding_at_the_limit_of_one_release_is_no_news() -> None:
    """Both just around the limit, one above: no test tells them apart; far above: new."""
    hierarchy = tree(*BODY, titles={"other_lung": "Other diseases of lung"})

    def run(n: int) -> audit.AuditResult:
        return audited(repeated([(n, ["other_lung"]), (200 - n, ["asthma"])]), hierarchy)

    def changes(a: audit.AuditResult, b: audit.AuditResult) -> dict[str, dict[str, Any]]:
        found = (
            audit.compare_runs(a, b)
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
    assert not audit.compare_runs(below, above).changed


@pytest.mark.slow
def test_whole_comparisons_of_one_distribution_rarely_tell_a_change() -> None:
    told = 0
    for seed in range(12):
        runs = [audited(drawn(800, 100 * seed + side, {}, together=0.03)) for side in (1, 2)]
        told += audit.compare_runs(*runs).changed
    assert told <= 2


MIN_CELL = 11
WARD = tree("lung heart < body", "asthma cough < lung", "attack angina < heart")
SETS: tuple[list[str], ...] = (
    ["asthma"],
    ["cough"],
    ["attack"],
    ["asthma", "attack"],
    ["cough", "angina"],
    [],
)


def shared(old: list[int], new: list[int], *, persons: bool = True) -> dict[str, Any]:
    runs = [
        audit.run_audit(
            labelled(WARD, repeated(list(zip(counts, SETS, strict=True))), persons=persons)
        )
        for counts in (old, new)
    ]
    return audit.compare_runs(*runs).shared()


def test_the_smallest_count_shown_is_the_larger_of_the_two_runs() -> None:
    sets = repeated([(300, ["asthma"]), (5, ["attack"]), (200, ["cough"])])
    public = audit.run_audit(labelled(WARD, sets, persons=False))
    persons = audit.run_audit(labelled(WARD, sets, persons=True))

    assert audit.compare_runs(public, public).shared()["min_cell"] == 1
    assert audit.compare_runs(public, persons).shared()["min_cell"] == MIN_CELL
    assert audit.compare_runs(persons, public).shared()["min_cell"] == MIN_CELL


def test_counts_are_told_in_bins_and_what_a_test_found_is_computed_from_them() -> None:
    told = shared([600, 300, 80, 9, 0, 300], [300, 600, 80, 90, 4, 300])
    rows = {row["node"]: row for row in told["nodes"]["rows"]}
    (exchange,) = told["exchanges"]
    (asthma,) = exchange["fewer"]
    attack = rows["attack"]

    assert told["rounding"]["old"]["totals"]["instances"] == 1289
    assert (asthma["node"], asthma["support_old"], asthma["support_new"]) == ("asthma", 605, 385)
    assert exchange["parent"] == "lung"
    assert exchange["moved"] == pytest.approx(
        asthma["support_old"] / 1289 - asthma["support_new"] / 1374
    )
    assert not {"asthma", "cough"} & rows.keys()
    assert attack["low"] > 0
    assert all(row[name] is None for row in rows.values() for name in ("p_value", "odds_ratio"))
    assert told["nodes"]["family"] is told["pairs"]["family"] is None
    told_apart = [abs(row["difference"]) for row in rows.values() if row["difference"] is not None]
    assert told_apart == sorted(told_apart, reverse=True)


def test_a_node_of_few_has_no_share_and_stands_last() -> None:
    *_, last = shared([600, 300, 300, 0, 0, 0], [600, 300, 100, 0, 200, 0])["nodes"]["rows"]

    assert last["node"] == "angina"
    assert (last["support_old"], last["support_new"]) == (5, 195)
    assert last["rate_old"] is last["difference"] is None


def test_counts_without_a_share_differ_from_two_bins_on() -> None:
    for more, listed in ((14, False), (25, True)):
        rows = shared([600, 300, 300, 0, 0, 0], [600, 300, 300 - more, 0, more, 0])["nodes"]["rows"]
        assert ("angina" in {row["node"] for row in rows}) == listed


def test_counts_of_nearly_all_compare_as_equal() -> None:
    old, new = [1185, 0, 15, 0, 0, 0], [1100, 0, 100, 0, 0, 0]
    exact = {row["node"] for row in shared(old, new, persons=False)["nodes"]["rows"]}
    told = {row["node"] for row in shared(old, new)["nodes"]["rows"]}

    assert {"asthma", "attack"} <= exact
    assert "attack" in told
    assert "asthma" not in told


@pytest.mark.slow
def test_few_rows_that_differ_are_told_of() -> None:
    sizes = [600, 300, 80, 90, 0, 300]
    one_more, more = [601, *sizes[1:]], [660, *sizes[1:]]

    assert shared(sizes, one_more)["few_rows_differ"]
    assert not shared(sizes, more)["few_rows_differ"]
    assert not shared(sizes, sizes)["few_rows_differ"]
    assert not shared(sizes, one_more, persons=False)["few_rows_differ"]


@cache
def beside(n: int, persons: bool) -> audit.AuditResult:
    """Of a thousand records, so many with a label beside one above it."""
    faults = tree("asthma cough < lung", labelled_ancestors="fault")
    rows = repeated([(n, ["lung", "asthma"]), (1000 - n, ["cough"])])
    return audit.run_audit(labelled(faults, rows, persons=persons))


def changes(old: int, new: int, *, persons: bool) -> dict[str, int]:
    """What becomes of the finding that labels stand beside one above them."""
    runs = [beside(n, persons) for n in (old, new)]
    checks = {check["name"]: check for check in audit.compare_runs(*runs).shared()["checks"]}
    found: dict[str, int] = checks["parent_and_child"]["changes"]
    return {change: n for change, n in found.items() if n}


@pytest.mark.parametrize(
    ("old", "new", "persons", "change"),
    [
        (100, 200, True, "worse"), (100, 200, False, "worse"), (200, 100, True, "better"),
        (0, 100, True, "new"), (100, 0, True, "gone"), (0, 9, False, "new"), (0, 9, True, "limit"),
        (5, 20, False, "worse"), (5, 20, True, "same"),
    ],
)  # fmt: skip
def test_a_finding_changes_only_where_told_numbers_do(
    old: int, new: int, persons: bool, change: str
) -> None:
    assert changes(old, new, persons=persons) == {change: 1}


@pytest.mark.slow
def test_codes_that_stand_in_no_list_are_left_out() -> None:
    """One that NEW alone has would tell that no instance of OLD has it."""
    icd = icd9cm()
    runs = [
        audit.run_audit(labelled(icd, repeated([(600, ["401.9"]), (n, ["718.60"])]), persons=True))
        for n in (0, 200)
    ]
    comparison = audit.compare_runs(*runs)
    told = comparison.shared()

    assert comparison.causes[1]["statement"].startswith("Same hierarchy, but for 1 unlisted code ")
    assert comparison.edits["node"].to_list() == ["718.60"]
    assert told["edits"]["rows"] == []
    assert set(told["edits"]["totals"].values()) == {0}
    assert told["causes"][1]["statement"].startswith(
        "Same hierarchy, but for unlisted codes in only one of the runs."
    )
