"""The numbers behind the pictures, worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.results import overview as module
from audit.results import pictured_pairs
from audit.runs.audit import run_audit
from fixtures.labelled import labelled, repeated, tree

OTHER = {"other_lung": "Other"}
BODY = tree("lung heart < body", "asthma other_lung < lung", "attack < heart", titles=OTHER)
COUNTS = [(40, ["other_lung"]), (20, ["asthma", "attack"]), (30, ["attack"]), (10, [])]


SICK = tree(
    "lung heart skin < body",
    "airway < lung",
    "asthma flu < airway",
    f"{' '.join(f'l{k}' for k in range(9))} < lung",
    f"attack failure {' '.join(f'h{k}' for k in range(9))} < heart",
    f"{' '.join(f's{k}' for k in range(9))} < skin",
)
NINE = range(9)
FOUND = [
    *[(3, [f"l{i}", f"h{j}"]) for i in NINE for j in NINE],
    *[(2, [f"{side}{i}", f"s{j}"]) for side in "lh" for i in NINE for j in NINE],
    (60, ["asthma", "attack"]),
    (12, ["flu", "failure"]),
    *[(8, [one, f"s{k}"]) for one in ("asthma", "attack", "flu", "failure") for k in NINE],
]
"""Asthma goes with an attack, flu with heart failure; everything else meets as it falls."""


def shown(
    min_cell: int | None = None, counts: Any = None, body: Hierarchy = BODY
) -> dict[str, list[dict[str, Any]]]:
    dataset = labelled(body, repeated(counts or COUNTS))
    overview: dict[str, list[dict[str, Any]]] = run_audit(
        dataset, Policy(min_cell=min_cell)
    ).shared()["overview"]
    return overview


def test_branches_stand_by_instances() -> None:
    branches = [(row["node"], row["instances"], row["share"]) for row in shown()["branches"]]

    assert branches == [("lung", 60, 0.6), ("heart", 50, 0.5)]


def map_of(min_cell: int | None = None) -> dict[tuple[str, ...], tuple[Any, ...]]:
    """What is told of each two branches, and of each one."""
    overview = shown(min_cell, FOUND, SICK)
    rows = [((row["node"],), row) for row in overview["branches"]]
    rows += [((row["a"], row["b"]), row) for row in overview["branch_pairs"]]
    return {ends: (row["found"], row["excess"], row["label_pairs_ratio"]) for ends, row in rows}


def test_the_map_counts_what_was_found_between_branches() -> None:
    result = run_audit(labelled(SICK, repeated(FOUND)))
    (check,) = (check for check in result.checks if check.name == "unexpected_pair")
    sides = [{top, *SICK.descendants(top)} for top in ("heart", "lung")]
    told = {
        finding.nodes: finding.evidence
        for finding in check.findings
        if all(side & set(finding.nodes) for side in sides)
    }
    excess = sum(
        float(numbers["instances"].value or 0) - float(numbers["explained"].value or 0)
        for numbers in told.values()
    )
    found, told_excess, ratio = map_of()["heart", "lung"]

    assert ("asthma", "attack") in told
    assert found == len(told) >= 1
    assert told_excess == round(excess)
    assert ratio == float(f"{ratio:.2g}")
    assert [map_of()[ends][:2] for ends in (("lung",), ("heart", "skin"))] == [(0, 0), (0, 0)]


def test_label_pairs_between_branches_are_counted_both_drawn_and_observed() -> None:
    """Every instance has two labels: in one stratum, the ratio follows from the supports alone."""
    sizes = {label: 0 for _, labels in FOUND for label in labels}
    between = 0
    for times, labels in FOUND:
        heart, lung = (any(x in SICK.descendants(top) for x in labels) for top in ("heart", "lung"))
        between += times * (heart and lung)
        for label in labels:
            sizes[label] += times
    n = sum(times for times, _ in FOUND)
    mass = {
        top: sum(sizes.get(label, 0) for label in SICK.descendants(top)) / n
        for top in ("heart", "lung")
    }
    free = sum(size / n * (1 - size / n) for size in sizes.values())
    expected = n * mass["heart"] * mass["lung"] * (1 - 1 / free)

    assert map_of()["heart", "lung"][2] == float(f"{between / expected:.2g}")


def test_the_map_withholds_what_would_tell_a_small_cell() -> None:
    every, few = map_of(), map_of(min_cell=61)

    assert few.keys() == every.keys()
    assert [told[0] for told in few.values()] == [told[0] for told in every.values()]
    assert few["heart", "lung"][1] is None
    assert few["lung",][1] == 0
    assert {told[2] for told in few.values()} == {None}


def test_branch_pairs_have_expectation_and_lift() -> None:
    (pair,) = shown()["branch_pairs"]

    assert (pair["a"], pair["b"], pair["relation"], pair["instances"]) == (
        "heart",
        "lung",
        "sibling",
        20,
    )
    assert (pair["share"], pair["expected"]) == (0.2, 30.0)
    assert pair["lift"] == pytest.approx(20 / 30)


def test_a_small_branch_pair_gives_nothing_but_a_bound() -> None:
    (pair,) = shown(min_cell=25)["branch_pairs"]

    assert pair["instances"] == "<25"
    assert (pair["share"], pair["expected"], pair["lift"]) == (None, None, None)


def test_the_strongest_reported_pairs_stand_with_what_is_expected() -> None:
    pairs = shown(counts=FOUND, body=SICK)["pairs"]
    first = pairs[0]

    assert (first["a"], first["b"], first["instances"]) == ("asthma", "attack", 60)
    assert first["shrunk_ratio"] == pytest.approx(60.5 / (first["explained"] + 0.5))
    assert first["ratio_low"] < first["shrunk_ratio"] < first["ratio_high"]
    assert {(pair["a"], pair["b"]) for pair in shown(61, FOUND, SICK)["pairs"]} == set()
    assert shown()["pairs"] == []


def test_the_most_frequent_pairs_of_each_depth_stand_beside_what_length_lets_expect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However few nodes are looked at first, and pairs at a time, they are those of all pairs."""
    monkeypatch.setattr("audit.counting.pair_table.PAIRS_AT_ONCE", 30)
    result = run_audit(labelled(SICK, repeated(FOUND)), Policy(min_cell=1))
    depth = dict(result.nodes.select("node", "depth").iter_rows())
    counted: dict[int, list[tuple[int, str, str]]] = {}
    for row in result.pairs.collect().iter_rows(named=True):
        if depth[row["a"]] == depth[row["b"]]:
            counted.setdefault(depth[row["a"]], []).append((-row["joint"], row["a"], row["b"]))
    want = {of: sorted(some)[: pictured_pairs.EACH] for of, some in counted.items() if of}
    for first in (1, 2, 40):
        monkeypatch.setattr(pictured_pairs, "CANDIDATES", first)
        told: dict[int, list[tuple[int, str, str]]] = {}
        for row in shown(1, FOUND, SICK)["frequent_pairs"]:
            told.setdefault(row["depth"], []).append((-row["instances"], row["a"], row["b"]))
            if row["shrunk_ratio"] is not None:
                ratio = row["instances"] / row["expected_length"]
                assert min(1, ratio) <= row["shrunk_ratio"] <= max(1, ratio)
                assert row["ratio_low"] < row["shrunk_ratio"] < row["ratio_high"]
        assert told == want


def test_groups_widen_the_interval_of_a_frequent_pair_and_few_of_them_hide_it() -> None:
    labels = repeated(FOUND)
    each = {n: {one: f"p{int(one[1:]) // n}" for one in labels} for n in (1, 4, 10_000)}
    widths = list[float]()
    for groups in each.values():
        data = labelled(SICK, labels, groups=groups)
        rows = run_audit(data, Policy(min_cell=11)).shared()["overview"]
        told = {(row["a"], row["b"]): row for row in rows["frequent_pairs"]}["heart", "lung"]
        if told["ratio_low"] is not None:
            widths.append(told["ratio_high"] - told["ratio_low"])

    assert len(widths) == 2
    assert widths[0] < widths[1]


def test_of_a_withheld_share_is_told_what_its_count_leaves() -> None:
    counts = [(95, ["asthma", "attack"]), (5, ["asthma"]), (20, ["attack"])]
    true, told = (shown(m, counts) for m in (1, 11))
    for name in ("branches", "branch_pairs", "frequent_pairs"):
        for row, own in zip(told[name], true[name], strict=True):
            assert (own["share_least"], own["share_most"]) == (None, None)
            assert row["share"] is None
            assert 11 / 120 <= row["share_least"] <= own["share"] <= row["share_most"] <= 1


def test_the_tree_hangs_each_node_under_one_shown_parent() -> None:
    tree_rows = {line["node"]: line for line in shown()["tree"]}

    assert {node: line["parent"] for node, line in tree_rows.items()} == {
        "body": None, "lung": "body", "heart": "body", "asthma": "lung", "other_lung": "lung",
        "attack": "heart",
    }  # fmt: skip
    assert tree_rows["lung"]["residual_share"] == pytest.approx(40 / 60)
    assert tree_rows["heart"]["residual_share"] is None


def test_a_node_of_several_parents_hangs_under_the_first(toy_hierarchy: Hierarchy) -> None:
    rows = run_audit(labelled(toy_hierarchy, {"a": ["dog"]})).shared()["overview"]["tree"]

    assert {line["node"]: line["parent"] for line in rows}["dog"] == "mammal"


def test_rare_nodes_are_not_in_the_tree() -> None:
    counts = [(999, ["asthma"]), (1, ["attack"])]

    assert {line["node"] for line in shown(counts=counts)["tree"]} == {"asthma", "body", "lung"}


def test_residual_shares_have_their_interval() -> None:
    lines = {line["node"]: line for line in shown()["residuals"]}

    assert set(lines) == {"body", "lung"}
    lung = lines["lung"]
    assert (lung["instances"], lung["of"]) == (40, 60)
    assert lung["share"] == pytest.approx(40 / 60)
    assert lung["low"] < lung["share"] < lung["high"]


def test_lists_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOP", 1)
    monkeypatch.setattr(module, "TREE_NODES", 2)
    overview = shown()

    assert len(shown(counts=FOUND, body=SICK)["pairs"]) == len(overview["residuals"]) == 1
    assert len(overview["branches"]) == 2
    assert [line["node"] for line in overview["tree"]] == ["body", "lung"]
