"""The pairs that a model confuses most, beside the data."""

from __future__ import annotations

from typing import Any

import pytest

from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.results.overview import MOST_CONFUSED, overview
from audit.results.result import AuditResult
from audit.results.tables import MODEL
from audit.runs.audit import run_audit
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted

COUNTS = [(40, ["dog"]), (30, ["cow"]), (20, ["tool"]), (5, ["dog", "tool"])]


MIXED = {"dog": {"dog": 0.5, "cow": 0.5}, "cow": {"cow": 0.75, "dog": 0.25}}


def result(hierarchy: Hierarchy, *, min_cell: int = 1, part: int | None = None) -> AuditResult:
    labels = repeated(COUNTS)
    scores = {name: MIXED.get(given[0], {"tool": 1.0}) for name, given in labels.items()}
    dataset = labelled(hierarchy, labels)
    model = predicted(dataset, dict(list(scores.items())[:part]))
    return run_audit(dataset, Policy(min_cell=min_cell), predictions=model)


def beside(found: AuditResult) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = found.shared()["overview"]["data_beside_model"]
    return rows


def test_the_most_confused_pairs_of_labels_stand_first(toy_hierarchy: Hierarchy) -> None:
    rows = beside(result(toy_hierarchy))
    confusions = [row["confusion"] for row in rows]

    assert (rows[0]["a"], rows[0]["b"]) == ("cow", "dog")
    assert confusions == sorted(confusions, reverse=True)


def test_no_related_pair_and_no_unlabelled_node_is_shown(toy_hierarchy: Hierarchy) -> None:
    rows = beside(result(toy_hierarchy))

    assert {row["relation"] for row in rows}.isdisjoint({"ancestor", "overlap"})
    assert {node for row in rows for node in (row["a"], row["b"])} <= {"cow", "dog", "tool"}


def test_what_the_data_never_has_together_has_joint_zero(toy_hierarchy: Hierarchy) -> None:
    (row,) = [r for r in beside(result(toy_hierarchy)) if (r["a"], r["b"]) == ("cow", "dog")]

    assert (row["joint"], row["rate"]) == (0, 0.0)
    assert row["co_predicted"] == 0


def test_each_rate_is_a_share_of_its_own_instances(toy_hierarchy: Hierarchy) -> None:
    labels = repeated([(10, ["dog", "tool"]), (10, ["cow"])])
    dataset = labelled(toy_hierarchy, labels)
    scores = {name: {"dog": 0.9, "tool": 0.9} for name in list(labels)[:10]}
    found = run_audit(dataset, Policy(), predictions=predicted(dataset, scores))
    (row,) = [r for r in beside(found) if (r["a"], r["b"]) == ("dog", "tool")]

    assert (row["rate"], row["co_predicted_rate"]) == (10 / 20, 10 / 10)
    assert row["confusion"] == pytest.approx(1)


def test_ties_stand_in_node_order_and_the_list_ends() -> None:
    leaves = [f"n{number:02}" for number in range(12)]
    flat = tree(f"{' '.join(leaves)} < top")
    dataset = labelled(flat, {leaf: [leaf] for leaf in leaves})
    scores = {leaf: dict.fromkeys(leaves, 0.5) for leaf in leaves}
    found = run_audit(dataset, Policy(), predictions=predicted(dataset, scores))
    shown = [(row["a"], row["b"]) for row in beside(found)]

    assert len(shown) == MOST_CONFUSED
    assert shown == sorted(shown)


def test_without_predictions_every_list_is_empty(toy_hierarchy: Hierarchy) -> None:
    shown = overview(run_audit(labelled(toy_hierarchy, {"a": ["dog"]})), [])

    assert not any(shown[name] for name in (*MODEL, "data_beside_model"))


def test_a_label_and_one_above_it_are_no_pair_that_is_confused(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, {"a": ["dog"], "b": ["mammal"], "c": ["tool"]})
    model = predicted(dataset, {name: {"dog": 0.75, "tool": 0.25} for name in "abc"})
    rows = beside(run_audit(dataset, Policy(), predictions=model))

    assert {(row["a"], row["b"]) for row in rows} == {("dog", "tool"), ("mammal", "tool")}
