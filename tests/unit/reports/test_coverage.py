"""The chapter on coverage: sentences and tables from a made-up shared view."""

from __future__ import annotations

from typing import Any

from audit._reports.chapters.coverage import coverage
from audit._reports.words.parts import Node
from audit.results.printed import Count

ROUNDING = {"bin": 10}
NODE = {
    "node": "401", "title": None, "share": 0.283, "elsewhere_share": 0.214, "difference": 0.069,
    "low": 0.02, "high": 0.116,
}  # fmt: skip
UNTOLD = {**dict.fromkeys(NODE), "node": "401.9", "title": "Unspecified"}
FOUND: dict[str, Any] = {
    "branches": [{"node": "001-999", "title": "Diseases", "assignable": 1200, "in_use": 300}],
    "depths": [
        {"depth": 3, "nodes": 4, "in_use": 1, "labels": Count(5, ROUNDING), "share": None},
        {"depth": 4, "nodes": 1200, "in_use": 299, "labels": 5000, "share": 0.999},
    ],
    "tail": {
        "assignable": 1204, "in_use": 300, "rare_below": 11, "rare": 120, "most_used": 20,
        "most_used_share": 0.24,
    },
    "drift": [
        {"column": "site", "value": "a", "instances": None, "labels_per_instance": None,
         "differing": None, "nodes": []},
        {"column": "site", "value": "b", "instances": 900, "labels_per_instance": 4.5,
         "differing": 2, "nodes": [NODE, UNTOLD]},
    ],
}  # fmt: skip


def built(rounding: Any = None, **changed: Any) -> Any:
    return coverage({"rounding": rounding, "overview": {"coverage": {**FOUND, **changed}}})


def test_sentences_give_use_tail_and_concentration() -> None:
    assert " ".join(built().sentences) == (
        "300 nodes are in use as labels; the hierarchy has 1,204 assignable nodes. 120 of those in "
        "use are used on fewer than 11 instances. The 20 most used nodes take 24.0% of all labels."
    )


def test_where_every_count_is_shown_rare_means_once() -> None:
    found = built(tail={**FOUND["tail"], "rare_below": 2})

    assert "are used on only one instance" in found.sentences[1]


def test_one_node_is_told_in_the_singular() -> None:
    tail = {**FOUND["tail"], "in_use": 1, "rare": 1, "most_used": 1}
    first, second, third = built(tail=tail).sentences
    assert first.startswith("1 node is in use as labels")
    assert second == "1 of those in use is used on fewer than 11 instances."
    assert third.startswith("One node takes")


def test_a_share_of_no_labels_is_none() -> None:
    row = {"depth": 3, "nodes": 4, "in_use": 0, "labels": 0, "share": None}
    assert built(depths=[row]).depths.rows == (("3", "4", "0", "0", "–"),)


def test_nodes_of_rounded_counts_are_in_use_where_these_are_not_few() -> None:
    (first, _) = built(ROUNDING, tail={**FOUND["tail"], "rare": None}).sentences
    assert first.startswith("300 nodes are in use as labels on 11 instances or more;")


def test_an_untold_share_and_unused_nodes_are_not_told() -> None:
    assert len(built(tail={**FOUND["tail"], "most_used_share": None}).sentences) == 2
    unused = {**FOUND["tail"], "in_use": 0, "rare": 0, "most_used": 0, "most_used_share": None}
    assert len(built(tail=unused).sentences) == 1


def test_tables_hold_each_row_of_the_view() -> None:
    found = built()

    assert found.branches.rows == ((Node("001-999", "Diseases"), "1,200", "300", "25.0%"),)
    assert found.depths.rows == (
        ("3", "4", "1", "<11", "–"),
        ("4", "1,200", "299", "5,000", "99.9%"),
    )
    assert found.values.rows == (
        ("site", "a", "–", "–", "not compared"),
        ("site", "b", "900", "4.50", "2"),
    )
    assert found.drift.rows == (
        ("site", "b", Node("401"), "28.3%", "21.4%", "+6.9", "+2.0 to +11.6"),
        ("site", "b", Node("401.9", "Unspecified"), *["–"] * 4),
    )


def test_without_drift_or_branches_their_tables_are_absent() -> None:
    found = built(branches=[], drift=[])

    assert (found.branches, found.values, found.drift) == (None, None, None)
