"""What the report shows of a model: the top pairs beside the data's, and what is withheld."""

from __future__ import annotations

from typing import Any

import pytest

from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.results.model_overview import MOST_CONFUSED, model_overview
from audit.results.result import AuditResult
from audit.results.shared_metrics import shared_metrics
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


def test_confusion_has_an_interval_around_it(toy_hierarchy: Hierarchy) -> None:
    (row,) = [r for r in beside(result(toy_hierarchy)) if (r["a"], r["b"]) == ("cow", "dog")]

    assert row["confusion_low"] < row["confusion"] < row["confusion_high"]


def test_small_cells_of_data_or_model_withhold_what_is_derived(toy_hierarchy: Hierarchy) -> None:
    labels = repeated([(50, ["dog"]), (50, ["cow"]), (5, ["dog", "cow"])])
    dataset = labelled(toy_hierarchy, labels)
    scores = {name: {"dog": 0.7, "cow": 0.6 if i < 4 else 0.4} for i, name in enumerate(labels)}
    model = predicted(dataset, scores)
    found = run_audit(dataset, Policy(min_cell=11), predictions=model)
    (row,) = beside(found)

    assert (row["joint"], row["co_predicted"]) == ("<11", "<11")
    assert row["rate"] is row["co_predicted_rate"] is row["confusion"] is None
    assert row["confusion_low"] is row["confusion_high"] is None


def test_sums_of_exchanges_tell_no_few_of_them_beside_the_others() -> None:
    """Answers are sets; labels of two branches are exchanged on 40 instances, and on a few more."""
    world = tree("a b < left", "c d < right", "left right < top")

    def sums(few: int) -> list[object]:
        labels = repeated([(90, ["a", "b"]), (40, ["a"]), (few, ["b", "d"]), (90, ["c", "d"])])
        given = {("a",): "c", ("b", "d"): "a"}
        answers = {
            name: dict.fromkeys(given.get(tuple(own), own), 1.0) for name, own in labels.items()
        }
        data = labelled(world, labels, persons=True)
        model = predicted(data, answers, set_valued=True, single_label=False)
        shared = run_audit(data, Policy(), predictions=model).shared()["overview"]
        of_branches = [row["observed"] for row in shared["branch_exchanges"]]
        return [*of_branches, *(row["exchanges"] for row in shared["exchanges"])]

    told = [sums(few) for few in (5, 9)]
    assert told[0] == told[1]
    assert any(str(one).startswith(">") for one in told[0])


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
    found = run_audit(labelled(toy_hierarchy, {"a": ["dog"]}))
    empty = model_overview(found, (), {})

    assert set(empty) == {
        "scopes", "behaviours", "exchanges", "branch_exchanges", "exchanged_pairs", "answers",
        "data_beside_model",
    }  # fmt: skip
    assert not any(empty.values())


def test_scopes_are_told_once_with_their_titles() -> None:
    titled = tree("a b < left", "c < right", "left right < top", titles={"left": "Left"})
    labels = repeated([(40, ["a"]), (40, ["c"])])
    dataset = labelled(titled, labels)
    scores = {name: {given[0]: 1.0} for name, given in labels.items()}
    found = run_audit(dataset, Policy(), predictions=predicted(dataset, scores))

    scopes = found.shared()["overview"]["scopes"]
    assert [(s["node"], s["title"]) for s in scopes] == [("left", "Left"), ("right", None)]


def test_examples_are_named_only_where_nothing_is_suppressed(toy_hierarchy: Hierarchy) -> None:
    open_, closed = (
        result(toy_hierarchy, min_cell=cell).shared()["overview"]["behaviours"] for cell in (1, 11)
    )

    assert any(behaviour["examples"] for behaviour in open_)
    assert not any(behaviour["examples"] for behaviour in closed)


def test_a_small_behaviour_is_a_bound_without_a_share(toy_hierarchy: Hierarchy) -> None:
    labels = repeated([(5, ["dog"]), (60, ["cow"])])
    dataset = labelled(toy_hierarchy, labels)
    scores = {
        name: {"dog": 1.0} if given == ["dog"] else {"dog": 0.5, "cow": 0.5}
        for name, given in labels.items()
    }
    found = run_audit(dataset, Policy(min_cell=11), predictions=predicted(dataset, scores))
    told = {b["name"]: b for b in found.shared()["overview"]["behaviours"]}

    assert told["confident"]["instances"] == "<11"
    assert told["confident"]["share"] is None
    assert told["confident"]["low"] is None


def test_mass_outside_a_cut_tells_of_how_few_answers_it_is() -> None:
    """Where each answer is one node, the mean is how many of them lie above the cut."""
    outside = {**METRIC, "name": "residual_from", "low": 0.0}
    few, many = ({**outside, "value": n / 200, "n": 200} for n in (3, 23))

    assert shared_metric(few, 11)["value"] is None
    assert shared_metric(many, 11)["value"] == 0.1


def shared_metric(metric: dict[str, Any], min_cell: int) -> dict[str, Any]:
    (found,) = shared_metrics([metric], min_cell)
    return found


METRIC = {
    "name": "accuracy", "scope": "all", "value": 0.9, "low": 0.8, "high": 0.95, "n": 1000,
    "parameters": {"depth_to": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "n", "shown"),
    [(0.9, 1000, True), (0.995, 1000, False), (0.005, 1000, False), (0.9, 10, False),
     (1.0, 1000, True), (0.0, 1000, True), (-0.005, 1000, False), (None, 1000, True)],
)  # fmt: skip
def test_a_share_is_withheld_where_it_gives_a_small_count_away(
    value: float | None, n: int, shown: bool
) -> None:
    found = shared_metric({**METRIC, "value": value, "n": n}, 11)

    assert (found["value"] == value and found["low"] == 0.8) == shown
    assert found["n"] == (n if n > 10 else "<11")


def test_without_suppression_a_metric_stands_as_it_is() -> None:
    assert shared_metric({**METRIC, "n": 3}, 1) == {**METRIC, "n": 3}


def shared_rows(*rows: tuple[str, float, int, int], min_cell: int = 11) -> list[dict[str, Any]]:
    """Metrics by name, value, n and depth, as they are shown beside each other."""
    metrics = [
        {**METRIC, "name": name, "value": value, "n": n, "parameters": {"depth_to": depth}}
        for name, value, n, depth in rows
    ]
    return shared_metrics(metrics, min_cell)


def test_of_a_flat_hierarchy_no_other_metric_tells_a_withheld_accuracy() -> None:
    right, *others = shared_rows(
        ("accuracy", 0.975, 200, 1),
        ("hierarchical_precision", 0.975, 200, 0),
        ("hierarchical_f1", 0.975, 200, 0),
    )

    assert [row["value"] for row in (right, *others)] == [None, None, None]


def test_a_mean_that_few_can_bring_about_is_withheld_without_an_accuracy() -> None:
    few, many = shared_rows(
        ("hierarchical_recall", 0.98, 200, 0), ("hierarchical_recall", 0.9, 200, 0)
    )

    assert (few["value"], many["value"]) == (None, 0.9)


def test_sums_over_depths_tell_no_withheld_accuracy_of_one_depth() -> None:
    coarse, fine, precision, severity = shared_rows(
        ("accuracy", 128 / 138, 138, 1),
        ("accuracy", 113 / 138, 138, 2),
        ("hierarchical_precision", 241 / 276, 138, 0),
        ("mistake_severity", 35 / 25, 25, 0),
    )

    assert (coarse["value"], fine["value"]) == (None, 113 / 138)
    assert precision["value"] is severity["value"] is None


def test_the_errors_behind_a_withheld_accuracy_are_not_counted_beside_it() -> None:
    coarse, fine, recovered = shared_rows(
        ("accuracy", 0.80, 200, 1), ("accuracy", 0.775, 200, 2), ("recovered", 0.5, 45, 1)
    )

    assert (coarse["value"], fine["value"]) == (None, 0.775)
    assert (recovered["n"], recovered["value"]) == (45, None)

    _, coarse, onwards = shared_rows(
        ("accuracy", 0.775, 200, 3), ("accuracy", 0.80, 200, 2), ("recovered", 0.5, 40, 1)
    )
    assert coarse["value"] is None
    assert onwards["n"] is None


def test_all_but_few_of_a_scope_are_a_bound() -> None:
    every, most = shared_rows(("hierarchical_recall", 0.5, 200, 0), ("accuracy", 0.5, 196, 1))

    assert (every["n"], every["value"]) == (200, 0.5)
    assert (most["n"], most["value"]) == (">189", None)


def test_a_metric_tells_no_support_that_is_withheld() -> None:
    two = tree("asthma < lung", "attack < heart", "lung heart < body")
    counts = [(100, ["asthma"]), (100, ["attack"]), (5, ["asthma", "attack"])]
    labels = repeated(counts)
    dataset = labelled(two, labels)
    scores = {name: {"asthma": 0.9 if int(i) % 2 else 0.2} for i, name in enumerate(labels)}
    policy = Policy(min_cell=11)
    shared = run_audit(dataset, policy, predictions=predicted(dataset, scores)).shared()
    supports = {row["node"]: row["instances"] for row in shared["overview"]["branches"]}
    hidden = {node for node, count in supports.items() if isinstance(count, str)}
    rows = [row for row in shared["metrics"] if row["scope"] in hidden]

    assert hidden
    assert rows
    assert all(row["value"] is None and not isinstance(row["n"], int) for row in rows)


def test_nodes_that_sum_to_all_tell_none_of_them_that_is_withheld() -> None:
    counts = {"all": (0.9, 650), "lung": (0.85, 400), "heart": (0.98, 250)}
    rows: list[dict[str, Any]] = [
        {**METRIC, "scope": scope, "value": value, "n": n} for scope, (value, n) in counts.items()
    ]
    errors = [
        {**row, "name": "lost", "value": 0.0, "n": round((1 - row["value"]) * row["n"]),
         "parameters": {"depth_from": 1, "depth_to": 0}}
        for row in rows
    ]  # fmt: skip
    shown = shared_metrics([*rows, *errors], 11)

    assert [row["value"] for row in shown] == [0.9, None, None, 0.0, None, None]
    assert [row["n"] for row in shown] == [650, 400, 250, 65, None, None]


def test_moves_of_nodes_that_sum_to_all_tell_none_that_is_withheld() -> None:
    counts = {"all": (0.5, 150), "lung": (0.7, 100), "heart": (0.1, 50)}
    rows = [
        {**METRIC, "name": "recovered", "scope": scope, "value": value, "n": n}
        for scope, (value, n) in counts.items()
    ]

    assert [row["value"] for row in shared_metrics(rows, 11)] == [0.5, None, None]
