"""The functions of `audit.metrics`, against plain Python."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import audit
from audit import metrics
from fixtures import brute_force as plain
from fixtures import brute_force_metrics as oracle
from fixtures import brute_force_scores as scored
from fixtures.small_worlds import World, score_worlds

THRESHOLD = 0.25


def same(found: float, wanted: oracle.Share) -> None:
    if wanted[0] is None:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(wanted[0], rel=1e-12, abs=1e-12)


def lines_of(world: World) -> tuple[list[set[str]], list[dict[str, float]]]:
    """Labels and scores as a user hands them over, zeros among them."""
    return world.golds, [dict(line) for _, line in sorted((world.scores or {}).items())]


def cuts_of(world: World) -> list[set[str]]:
    deepest = max(oracle.depth(world.parents, node) for node in world.parents)
    return [oracle.depth_cut(world.parents, at) for at in range(deepest + 1)]


@given(score_worlds(single=True))
def test_accuracy_at_every_depth_and_between_every_two_equals_plain_python(world: World) -> None:
    golds, scores = lines_of(world)
    given: Any = {"hierarchy": world.hierarchy}
    own, cuts = (golds, list(world.predicted.values())), cuts_of(world)
    for coarse, up in enumerate(cuts):
        found = metrics.accuracy(golds, scores, **given, depth=coarse)
        same(found, oracle.accuracy(world.parents, up, *own)["accuracy"])
        for fine, down in enumerate(cuts):
            moved = oracle.accuracy_alignment(world.parents, down, up, *own)
            for name, wanted in moved.items():
                function = getattr(metrics, name)
                same(function(golds, scores, **given, fine=fine, coarse=coarse), wanted)
    leaves = oracle.accuracy(world.parents, cuts[-1], *own)["accuracy"]
    same(metrics.accuracy(golds, scores, **given), leaves)
    same(
        metrics.mistake_severity(golds, scores, **given),
        oracle.mistake_severity(world.parents, *own)["mistake_severity"],
    )


@given(score_worlds())
def test_entropy_between_every_two_depths_equals_plain_python(world: World) -> None:
    _, scores = lines_of(world)
    cuts = cuts_of(world)
    for fine, down in enumerate(cuts):
        for coarse, up in enumerate(cuts):
            wanted = oracle.uncertainty_alignment(
                world.parents, down, up, list(world.predicted.values())
            )
            for name in ("uncertainty_alignment", "abstraction_match"):
                function = getattr(metrics, name)
                found = function(scores, hierarchy=world.hierarchy, fine=fine, coarse=coarse)
                same(found, wanted[name])


@given(score_worlds(), st.sampled_from(["micro", "macro"]), st.sampled_from([0.25, 0.5, 1.0]))
def test_precision_recall_and_f1_with_all_ancestors_equal_plain_python(
    world: World, average: str, threshold: float
) -> None:
    golds, scores = lines_of(world)
    single = all(sum(line.values()) == 1 for line in scores)
    answers = [oracle.best_node(line) for line in world.predicted.values()]
    decided = [
        {best} - {None} if single else {n for n, s in line.items() if s >= threshold}
        for best, line in zip(answers, world.predicted.values(), strict=True)
    ]
    wanted = oracle.hierarchical(world.parents, golds, decided, average)  # type: ignore[arg-type]
    for name, share in wanted.items():
        function = getattr(metrics, name)
        options: Any = {"average": average, "threshold": threshold}
        same(function(golds, scores, hierarchy=world.hierarchy, **options), share)
        sets = [set(one) for one in decided]
        same(function(golds, sets, hierarchy=world.hierarchy, average=average), share)


@given(score_worlds(), st.sampled_from(["values", "aggregated"]), st.booleans(), st.data())
def test_preference_of_one_part_over_another_equals_plain_python(
    world: World, on: Any, below: bool, data: st.DataObject
) -> None:
    _, scores = lines_of(world)
    named = [
        data.draw(st.lists(st.sampled_from(world.nodes), min_size=1, max_size=2)) for _ in "ab"
    ]
    first, second = (
        set().union(*(plain.at_or_below(world.parents, one) if below else {one} for one in nodes))
        for nodes in named
    )
    nested = any(
        a in plain.above(world.parents, b) or b in plain.above(world.parents, a)
        for a in first
        for b in second - first
    )
    given: Any = {"hierarchy": world.hierarchy, "below": below, "on": on}
    if on == "aggregated" and nested:
        with pytest.raises(audit.AuditError):
            metrics.subgraph_preference(scores, *named, **given)
        return
    wanted = oracle.subgraph_preference(
        world.parents, list(world.predicted.values()), first, second, on == "aggregated"
    )
    same(metrics.subgraph_preference(scores, *named, **given), wanted["subgraph_preference"])


@given(score_worlds())
def test_concept_confusion_of_every_pair_equals_plain_python(world: World) -> None:
    _, scores = lines_of(world)
    nodes = list(world.parents)
    table = metrics.concept_confusion(scores, hierarchy=world.hierarchy, threshold=THRESHOLD)
    values = [
        [
            math.fsum(s for n, s in line.items() if n in plain.at_or_below(world.parents, node))
            for node in nodes
        ]
        for line in scores
    ]
    rows = {(row["a"], row["b"]): row for row in table.to_dicts()}
    joint = scored.joints(values, THRESHOLD)
    bits = scored.confusion_sums(values, THRESHOLD)
    assert set(rows) == {(nodes[a], nodes[b]) for a, b in joint}
    for (a, b), n in joint.items():
        row = rows[nodes[a], nodes[b]]
        support = [sum(line[node] >= THRESHOLD for line in values) for node in (a, b)]
        assert [row["support_a"], row["support_b"], row["joint"]] == [*support, n]
        assert row["rate"] == pytest.approx(n / len(values), rel=1e-12)
        assert row["confusion"] == pytest.approx(bits[a, b] / len(values), rel=1e-12, abs=1e-12)
        assert row["lca"] == oracle.meeting(world.parents, nodes[a], nodes[b])


@given(score_worlds(single=True), st.integers(1, 7))
def test_numbers_of_batches_are_those_of_all_at_once(world: World, size: int) -> None:
    golds, scores = lines_of(world)
    whole = metrics.HierarchicalMetrics(world.hierarchy)
    whole.update(scores, golds)
    parts = metrics.HierarchicalMetrics(world.hierarchy)
    for start in range(0, len(golds), size):
        parts.update(scores[start : start + size], golds[start : start + size])
    wanted, found = whole.compute(), parts.compute()
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True)
    deepest = max(oracle.depth(world.parents, node) for node in world.parents)
    for depth in range(1, deepest + 1):
        alone = metrics.accuracy(golds, scores, hierarchy=world.hierarchy, depth=depth)
        assert wanted[f"accuracy/depth={depth}"] == pytest.approx(alone, nan_ok=True)


TREE = {"dog": "mammal", "cow": "mammal", "mammal": "animal", "bird": "animal", "saw": "tool"}
NAMES = ["bird", "cow", "dog", "saw"]
TRUE = ["dog", "cow", "saw", "bird"]
SAID = ["dog", "dog", "saw", "cow"]


def columns(labels: list[str]) -> np.ndarray:
    return np.array([[int(label == name) for name in NAMES] for label in labels])


WAYS: Mapping[str, Callable[[list[str]], tuple[Any, Any]]] = {
    "a list": lambda given: (given, None),
    "an array of text": lambda given: (np.array(given), None),
    "sets": lambda given: ([{label} for label in given], None),
    "a series": lambda given: (pl.Series(given), None),
    "numbers of classes": lambda given: ([NAMES.index(label) for label in given], NAMES),
    "an array of 0 and 1": lambda given: (columns(given), NAMES),
    "a sparse matrix": lambda given: (csr_array(columns(given)), NAMES),
    "a frame": lambda given: (pl.DataFrame(columns(given), schema=NAMES), None),
}


@pytest.mark.parametrize("way", WAYS)
def test_labels_give_the_same_numbers_however_they_are_handed_over(way: str) -> None:
    (true, classes), (said, _) = WAYS[way](TRUE), WAYS[way](SAID)
    options: Any = {"hierarchy": TREE, "classes": classes}

    assert metrics.hierarchical_precision(true, said, **options) == 8 / 11
    assert metrics.hierarchical_recall(true, said, **options) == 8 / 10
    assert metrics.hierarchical_f1(true, said, **options, average="macro") == pytest.approx(
        (1 + 4 / 6 + 1 + 2 / 5) / 4
    )


SOFTMAX = np.array([[0, 0.25, 0.75, 0], [0.25, 0, 0.5, 0.25], [0, 0, 0.25, 0.75], [1, 0, 0, 0.0]])


def test_tensors_are_arrays() -> None:
    torch = pytest.importorskip("torch")
    scores = torch.tensor(SOFTMAX, dtype=torch.bfloat16, requires_grad=True)
    metric = metrics.HierarchicalMetrics(TREE, classes=NAMES)
    metric.update(scores, torch.tensor([NAMES.index(label) for label in TRUE]))
    assert metric.compute()["accuracy/depth=3"] == 3 / 4


@pytest.mark.parametrize(
    ("true", "said", "options"),
    [
        (["unicorn"], ["dog"], {}),
        (["dog"], ["dog", "cow"], {}),
        ([0], [0], {}),
        ([7], [0], {"classes": NAMES}),
        (np.eye(3), np.eye(3), {}),
        ([[0.5, 0.5]], ["dog"], {"classes": ["dog", "cow"]}),
        (["dog"], [[-0.5, 0.5]], {"classes": ["dog", "cow"]}),
        (["dog"], [[0.5, math.nan]], {"classes": ["dog", "cow"]}),
        (["dog"], [3.5], {}),
        (["dog"], ["dog"], {"hierarchy": {"a": "b", "b": "a"}}),
    ],
)
def test_what_cannot_be_measured_is_refused(true: Any, said: Any, options: Any) -> None:
    with pytest.raises(audit.AuditError):
        metrics.hierarchical_f1(true, said, **{"hierarchy": TREE} | options)


def test_one_answer_or_scores_are_asked_for_where_they_are_needed() -> None:
    sets = [{label} for label in TRUE]
    with pytest.raises(audit.AuditError):
        metrics.accuracy(TRUE, sets, hierarchy=TREE)
    with pytest.raises(audit.AuditError):
        metrics.abstraction_match(sets, hierarchy=TREE)


def seen(first: int, last: int, **options: Any) -> metrics.HierarchicalMetrics:
    metric = metrics.HierarchicalMetrics(TREE, classes=NAMES, **options)
    metric.update(SOFTMAX[first:last], TRUE[first:last])
    return metric


def test_what_another_process_has_seen_comes_pickled_and_is_merged() -> None:
    here, sent = seen(0, 2), pickle.loads(pickle.dumps(seen(2, 4)))
    assert sent.compute()["accuracy/depth=3"] == 1
    here.merge(sent)
    assert here.compute() == pytest.approx(seen(0, 4).compute(), nan_ok=True)
    here.reset()
    assert here.compute() == {}


def test_only_what_is_measured_alike_is_merged_or_added() -> None:
    metric, sets = seen(0, 4), metrics.HierarchicalMetrics(TREE, classes=NAMES)
    sets.update([{label} for label in TRUE], TRUE)
    other = metrics.HierarchicalMetrics({"dog": "mammal", "cow": "mammal"})
    for unlike in (sets, seen(0, 4, threshold=0.9), other):
        with pytest.raises(audit.AuditError):
            metric.merge(unlike)
    with pytest.raises(audit.AuditError):
        metric.update(SOFTMAX / 2, TRUE)


def test_a_call_gives_the_numbers_of_its_batch() -> None:
    metric = metrics.HierarchicalMetrics(TREE, classes=NAMES)
    first, second = metric(SOFTMAX[:2], TRUE[:2]), metric(SOFTMAX[2:], TRUE[2:])
    assert (first["accuracy/depth=3"], second["accuracy/depth=3"]) == (1 / 2, 1)


def test_undefined_numbers_are_nan() -> None:
    assert math.isnan(metrics.accuracy_alignment(TRUE, TRUE, hierarchy=TREE))
    assert math.isnan(metrics.hierarchical_f1([], [], hierarchy=TREE))


def test_the_example_of_the_page_says_what_it_gives() -> None:
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")
    block = re.findall(r"```python\n(.*?)```", page, re.S)[0]
    _, tree, *calls = filter(None, block.split("\n"))
    names: dict[str, Any] = {"audit": audit}
    exec(tree, names)
    assert len(calls) == 2
    for call in calls:
        code, said = call.split("  # ")
        assert round(eval(code, names), 3) == float(said)
