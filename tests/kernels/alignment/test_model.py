"""All metrics of a model together: what is measured where, and what is absent and why."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
from scipy.sparse import csr_array

from audit.alignment.metrics import model as module
from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.model import Predicted, default_scopes, model_metrics, moves_of
from audit.base.dag import Sparse
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.metric_list import METRICS

UNITS = ["a", "b", "c", "d"]


ONE_ANSWER, ANSWERS = Predicted(True, False), Predicted(False, False)


KEYS = {"aggregation", "threshold", "up", "depth_from", "depth_to", "average"}


NEED_ANSWER = {"accuracy", "accuracy_alignment", "recovered", "lost", "mistake_severity"}


NEED_SCORES = {"uncertainty_alignment", "abstraction_match"}


def test_numbers_are_those_worked_by_hand(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse
) -> None:
    found = model_metrics(Batch(toy_hierarchy, gold, scores, UNITS), ONE_ANSWER, scopes=["mammal"])
    by_key = {
        (row["name"], row["scope"], *sorted(row["parameters"].items())): (row["value"], row["n"])
        for row in found.measured
    }
    down = ("aggregation", "descendants")

    assert by_key["accuracy", "all", down, ("depth_to", 3)] == (2 / 4, 4)
    assert by_key["accuracy", "mammal", down, ("depth_to", 2)] == (1 / 2, 2)
    up = (down, ("depth_from", 3), ("depth_to", 1))
    assert by_key["accuracy_alignment", "all", *up] == (1 / 2, 2)
    assert by_key["lost", "all", *up] == (1 / 2, 2)
    assert by_key["hierarchical_precision", "all", ("average", "micro")] == (6 / 8, 4)
    assert by_key["mistake_severity", "all"] == (3 / 2, 2)
    assert len(by_key) == len(found.measured)


@pytest.mark.parametrize(
    ("single_label", "set_valued", "absent"),
    [
        (True, False, {"f1"}),
        (False, False, NEED_ANSWER),
        (True, True, {"f1"} | NEED_SCORES),
        (False, True, NEED_ANSWER | NEED_SCORES),
    ],
)
def test_what_a_prediction_cannot_tell_is_absent_with_a_reason(
    toy_hierarchy: Hierarchy,
    gold: Sparse,
    scores: Sparse,
    single_label: bool,
    set_valued: bool,
    absent: set[str],
) -> None:
    found = model_metrics(
        Batch(toy_hierarchy, gold, scores, UNITS), Predicted(single_label, set_valued)
    )
    reasons = {one["name"]: one["reason"] for one in found.absent}

    assert set(reasons) == absent | {"subgraph_preference"}
    assert {row["name"] for row in found.measured} == {m.name for m in METRICS} - set(reasons)
    for name in absent:
        assert ("scores" if name in NEED_SCORES else "one answer") in reasons[name]


def test_ties_and_residual_shares_stand_beside(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse
) -> None:
    found = model_metrics(Batch(toy_hierarchy, gold, scores, UNITS), ONE_ANSWER)

    assert {row["name"] for row in found.beside} == {"ties", "residual_from", "residual_to"}
    assert [row["value"] for row in found.beside if row["name"] == "ties"] == [1, 1, 0]


def test_a_flat_hierarchy_has_nothing_to_align() -> None:
    edges = pl.DataFrame({"child": ["a", "b"], "parent": ["r", "r"]})
    flat, one = Hierarchy.build(edges, name="flat"), csr_array([[1.0, 0.0, 0.0]])
    found = model_metrics(Batch(flat, one, one, ["u"]), ONE_ANSWER)

    reasons = {one["name"]: one["reason"] for one in found.absent}
    assert reasons["recovered"].startswith("the hierarchy has no depth")
    assert {row["name"] for row in found.measured} >= {"accuracy", "hierarchical_f1"}


def test_scopes_are_the_best_supported_inner_nodes(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse], monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = array([{"dog": 1}] * 30 + [{"bird": 1}] * 5)

    assert default_scopes(toy_hierarchy, gold) == ("animal", "mammal", "pet")
    assert default_scopes(toy_hierarchy, gold[1:]) == ("animal",)
    monkeypatch.setattr(module, "MAX_SCOPES", 2)
    assert default_scopes(toy_hierarchy, gold) == ("animal", "mammal")


def test_moves_never_reach_the_root() -> None:
    chain = pl.DataFrame({"child": list("abcd"), "parent": list("bcde")})
    moves = [
        moves_of(Hierarchy.build(chain[place:], name="chain"), "depth")[2] for place in range(4)
    ]

    assert moves == [
        [(2, 1), (3, 2), (4, 1), (4, 2), (4, 3)],
        [(2, 1), (3, 1), (3, 2)],
        [(2, 1)],
        [],
    ]
