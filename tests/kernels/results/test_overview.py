"""Tables of the view: ranks, caps and ties that a whole release seldom meets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.results import overview as module
from audit.runs.audit import run_audit
from fixtures import brute_force as plain
from fixtures.labelled import labelled, repeated, tree
from fixtures.strategies import hierarchies, label_sets

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
    want = {of: sorted(some)[: module.EACH] for of, some in counted.items() if of}
    for first in (1, 2, 40):
        monkeypatch.setattr(module, "CANDIDATES", first)
        told: dict[int, list[tuple[int, str, str]]] = {}
        for row in shown(1, FOUND, SICK)["frequent_pairs"]:
            told.setdefault(row["depth"], []).append((-row["instances"], row["a"], row["b"]))
            if row["shrunk_ratio"] is not None:
                ratio = row["instances"] / row["expected_length"]
                assert min(1, ratio) <= row["shrunk_ratio"] <= max(1, ratio)
                assert row["ratio_low"] < row["shrunk_ratio"] < row["ratio_high"]
        assert told == want


def test_groups_widen_the_interval_of_a_frequent_pair() -> None:
    labels = repeated(FOUND)
    widths = list[float]()
    for size in (1, 4):
        groups = {one: f"p{int(one[1:]) // size}" for one in labels}
        data = labelled(SICK, labels, groups=groups)
        rows = run_audit(data, Policy(min_cell=1)).shared()["overview"]
        told = {(row["a"], row["b"]): row for row in rows["frequent_pairs"]}["heart", "lung"]
        widths.append(told["ratio_high"] - told["ratio_low"])

    assert widths[0] < widths[1]


def test_the_tree_hangs_each_node_under_one_shown_parent() -> None:
    tree_rows = {line["node"]: line for line in shown()["tree"]}

    assert {node: line["parent"] for node, line in tree_rows.items()} == {
        "body": None, "lung": "body", "heart": "body", "asthma": "lung", "other_lung": "lung",
        "attack": "heart",
    }  # fmt: skip
    assert tree_rows["lung"]["residual_share"] == pytest.approx(40 / 60)
    assert tree_rows["heart"]["residual_share"] is None


def test_rare_nodes_are_not_in_the_tree() -> None:
    counts = [(999, ["asthma"]), (1, ["attack"])]

    assert {line["node"] for line in shown(counts=counts)["tree"]} == {"asthma", "body", "lung"}


def test_lists_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOP", 1)
    monkeypatch.setattr(module, "TREE_NODES", 2)
    overview = shown()

    assert len(shown(counts=FOUND, body=SICK)["pairs"]) == len(overview["residuals"]) == 1
    assert [line["node"] for line in overview["tree"]] == ["body", "lung"]


def test_of_parents_with_the_same_catch_alls_the_lowest_is_listed() -> None:
    """All labels of the body are of the lungs, and all of these of one part."""
    nested = tree("lung < body", "part < lung", "asthma other < part", titles={"other": "Other"})
    labels = repeated([(40, ["other"]), (20, ["asthma"])])
    found = run_audit(labelled(nested, labels)).shared()["overview"]["residuals"]

    assert [(row["node"], row["instances"], row["of"]) for row in found] == [("part", 40, 60)]


WARD = tree("asthma cough < lung", "attack < heart", "lung heart < body", "saw hammer < tool",
            "body tool < top")  # fmt: skip


def told(labels: dict[str, list[str]], hierarchy: Hierarchy = WARD) -> dict[str, Any]:
    run = run_audit(labelled(hierarchy, labels), Policy(min_cell=1))
    found: dict[str, Any] = run.shared()["overview"]["coverage"]
    return found


def many(counts: dict[str, int]) -> dict[str, list[str]]:
    return {f"{node}{i}": [node] for node, n in counts.items() for i in range(n)}


@given(hierarchies(titled=False).flatmap(lambda h: st.tuples(st.just(h), label_sets(h))))
def test_depths_and_branches_equal_counting(drawn: tuple[Hierarchy, list[frozenset[str]]]) -> None:
    hierarchy, sets = drawn
    assume(any(sets))
    labels = {f"i{n}": sorted(own) for n, own in enumerate(sets)}
    found = told(labels, hierarchy)
    given_labels = [label for own in sets for label in own]

    assert sum(row["labels"] for row in found["depths"]) == len(given_labels)
    assert sum(row["in_use"] for row in found["depths"]) == len(set(given_labels))
    parents = plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    assert all(hierarchy.nodes[hierarchy.root] in parents[b["node"]] for b in found["branches"])


def drifting(counts: dict[str, dict[str, int]]) -> tuple[dict[str, list[str]], dict[str, str]]:
    labels = {
        f"{site}{node}{i}": [node]
        for site, own in counts.items()
        for node, n in own.items()
        for i in range(n)
    }
    return labels, {instance: instance[0] for instance in labels}


def drift_shown(counts: dict[str, dict[str, int]], min_cell: int) -> list[dict[str, object]]:
    labels, site = drifting(counts)
    dataset = labelled(WARD, labels, strata={"site": site})
    policy = Policy(drift=("site",), min_cell=min_cell)
    found: list[dict[str, object]] = run_audit(dataset, policy).shared()["overview"]["coverage"][
        "drift"
    ]
    return found


SITES = {
    "x": {"asthma": 80, "saw": 20},
    "y": {"asthma": 20, "saw": 80},
    "z": {"asthma": 50, "saw": 50},
}


def test_drift_tells_values_and_the_nodes_that_differ() -> None:
    rows = drift_shown(SITES, 1)

    assert [(row["value"], row["instances"], row["differing"]) for row in rows] == [
        ("x", 100, 2), ("y", 100, 2), ("z", 100, 0),
    ]  # fmt: skip
    assert rows[0]["labels_per_instance"] == 1
