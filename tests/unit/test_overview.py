"""The numbers behind the pictures, worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from audit import overview as module
from audit.hierarchy import Hierarchy
from audit.policy import Policy
from audit.run import run_audit
from fixtures.labelled import labelled, repeated, tree

OTHER = {"other_lung": "Other"}
BODY = tree("lung heart < body", "asthma other_lung < lung", "attack < heart", titles=OTHER)
COUNTS = [(40, ["other_lung"]), (20, ["asthma", "attack"]), (30, ["attack"]), (10, [])]


def shown(min_cell: int | None = None, counts: Any = None) -> dict[str, list[dict[str, Any]]]:
    dataset = labelled(BODY, repeated(counts or COUNTS))
    overview: dict[str, list[dict[str, Any]]] = run_audit(
        dataset, Policy(min_cell=min_cell)
    ).shared()["overview"]
    return overview


def test_branches_stand_by_instances() -> None:
    assert shown()["branches"] == [
        {"node": "lung", "title": None, "instances": 60, "share": 0.6},
        {"node": "heart", "title": None, "instances": 50, "share": 0.5},
    ]


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


def test_frequent_pairs_are_of_labels_and_no_ancestors() -> None:
    (pair,) = shown()["pairs"]

    assert (pair["a"], pair["b"], pair["instances"]) == ("asthma", "attack", 20)
    assert shown(min_cell=21)["pairs"] == []


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

    assert len(overview["pairs"]) == len(overview["residuals"]) == 1
    assert len(overview["branches"]) == 2
    assert [line["node"] for line in overview["tree"]] == ["body", "lung"]


def test_without_labels_every_list_is_empty() -> None:
    pictures = shown(counts=[(3, [])])
    del pictures["coverage"]

    assert set(map(tuple, pictures.values())) == {()}
