"""`audit.metrics` says of lists and arrays what an audit says of the same data."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csr_array

import audit
from audit import metrics
from audit.base.errors import AuditError, SchemaError
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.examples import examples
from fixtures.labelled import labelled
from fixtures.predicted import predicted
from fixtures.strategies import hierarchies
from fixtures.toy import EDGES, NODES, toy

NAMES = ("bird", "cow", "dog", "tool")
TRUE = ["dog", "cow", "tool", "bird"]
SOFTMAX = np.array([[0, 0.25, 0.75, 0], [0.25, 0, 0.5, 0.25], [0, 0, 0.25, 0.75], [1, 0, 0, 0.0]])
RECORDS = [{"id": node, "parents": [up for one, up in EDGES if one == node]} for node in NODES]


def audited(
    hierarchy: Hierarchy,
    labels: Sequence[Sequence[str]],
    scores: Sequence[dict[str, float]],
    **kind: bool,
) -> dict[str, float]:
    """What `run_audit` finds of the same data, by the names of `HierarchicalMetrics.compute`."""
    dataset = labelled(hierarchy, {str(i): own for i, own in enumerate(labels)})
    given = predicted(dataset, {str(i): own for i, own in enumerate(scores)}, **kind)
    result = audit.run_audit(dataset, predictions=given)
    return {
        named(m["name"], m["parameters"]): m["value"]
        for m in result.metric_rows
        if m["scope"] == "all"
    }


def named(name: str, parameters: dict[str, Any]) -> str:
    if "depth_from" in parameters:
        return f"{name}/depth={parameters['depth_from']}->{parameters['depth_to']}"
    if "depth_to" in parameters:
        return f"{name}/depth={parameters['depth_to']}"
    further = [f"up={parameters['up']}"] if "up" in parameters else []
    return "/".join([name, *further, *([parameters["average"]] if "average" in parameters else [])])


def same(found: dict[str, float], expected: dict[str, float | None]) -> bool:
    return found.keys() == expected.keys() and all(
        math.isnan(found[key]) if value is None else found[key] == pytest.approx(value, abs=1e-12)
        for key, value in expected.items()
    )


@st.composite
def answered(draw: st.DrawFn) -> tuple[Hierarchy, list[str], list[dict[str, float]]]:
    """One label an instance, and scores in 64ths that sum to one."""
    hierarchy = draw(hierarchies(titled=False))
    node = st.sampled_from(hierarchy.nodes)
    labels = draw(st.lists(node, min_size=1, max_size=5))
    lines = []
    for _ in labels:
        chosen = draw(st.lists(node, min_size=1, max_size=4, unique=True))
        cuts = sorted(
            draw(st.sets(st.integers(1, 63), min_size=len(chosen) - 1, max_size=len(chosen) - 1))
        )
        parts = [end - start for start, end in pairwise([0, *cuts, 64])]
        lines.append({name: part / 64 for name, part in zip(chosen, parts, strict=True)})
    return hierarchy, labels, lines


@examples(40)
@given(answered(), st.integers(1, 4))
def test_batches_give_the_numbers_of_an_audit_of_the_same_softmax(
    world: tuple[Hierarchy, list[str], list[dict[str, float]]], size: int
) -> None:
    hierarchy, labels, lines = world
    metric, merged = (metrics.HierarchicalMetrics(hierarchy) for _ in "ab")
    for start in range(0, len(labels), size):
        batch = slice(start, start + size)
        metric.update(lines[batch], labels[batch])
        one = metrics.HierarchicalMetrics(hierarchy)
        one.update(lines[batch], labels[batch])
        merged.merge(one)

    expected = audited(hierarchy, [[label] for label in labels], lines)
    assert same(metric.compute(), expected)
    assert same(merged.compute(), expected)
    metric.reset()
    assert metric.compute() == {}


@examples(40)
@given(answered())
def test_functions_give_the_numbers_of_an_audit(
    world: tuple[Hierarchy, list[str], list[dict[str, float]]],
) -> None:
    hierarchy, labels, lines = world
    expected = audited(hierarchy, [[label] for label in labels], lines)
    deepest = int(hierarchy.depth.max())
    found: dict[str, float] = {
        "mistake_severity": metrics.mistake_severity(labels, lines, hierarchy=hierarchy)
    }
    for average in ("micro", "macro"):
        for name in ("precision", "recall", "f1"):
            function = getattr(metrics, f"hierarchical_{name}")
            found[f"hierarchical_{name}/{average}"] = function(
                labels, lines, hierarchy=hierarchy, average=average
            )
    for depth in range(1, deepest + 1):
        found[f"accuracy/depth={depth}"] = metrics.accuracy(
            labels, lines, hierarchy=hierarchy, depth=depth
        )
    for key in expected:
        if "->" in key:
            name, depths = key.split("/depth=")
            fine, coarse = map(int, depths.split("->"))
            function = getattr(metrics, name)
            first = () if name in ("uncertainty_alignment", "abstraction_match") else (labels,)
            found[key] = function(*first, lines, hierarchy=hierarchy, fine=fine, coarse=coarse)

    assert same(found, expected)


@examples(40)
@given(st.data())
def test_sets_of_labels_give_the_numbers_of_an_audit_of_predicted_sets(data: st.DataObject) -> None:
    hierarchy = data.draw(hierarchies(titled=False))
    sets = st.lists(st.sets(st.sampled_from(hierarchy.nodes), max_size=3), min_size=2, max_size=2)
    true, said = data.draw(sets.filter(any)), data.draw(sets.filter(any))
    answered = [(own, one) for own, one in zip(true, said, strict=True) if one]
    assume(any(len(own) != 1 or len(one) != 1 for own, one in answered))  # else one answer each
    expected = audited(hierarchy, [sorted(own) for own in true],
                       [dict.fromkeys(own, 1.0) for own in said], set_valued=True)  # fmt: skip

    found = {
        f"hierarchical_{name}/{average}": getattr(metrics, f"hierarchical_{name}")(
            true, said, hierarchy=hierarchy, average=average
        )
        for name in ("precision", "recall", "f1")
        for average in ("micro", "macro")
    }
    own = {name for name in expected if name.startswith("f1/")}
    deep = hierarchy.depth.max() > 1
    assert own == {"f1/up=0"} | ({"f1/up=1", "f1/depth=1"} if deep else set())
    assert same(found, {name: at for name, at in expected.items() if name not in own})


def pandas() -> Any:
    return pytest.importorskip("pandas")


def indicator(labels: Sequence[str]) -> Any:
    return np.array([[int(name == label) for name in NAMES] for label in labels])


WAYS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "list": lambda: (TRUE, {}),
    "array of text": lambda: (np.array(TRUE), {}),
    "array of objects": lambda: (np.array(TRUE, dtype=object), {}),
    "sets": lambda: ([{label} for label in TRUE], {}),
    "series": lambda: (pandas().Series(TRUE), {}),
    "polars series": lambda: (pl.Series(TRUE), {}),
    "class numbers": lambda: ([NAMES.index(x) for x in TRUE], {"classes": NAMES}),
    "array of numbers": lambda: (np.array([NAMES.index(x) for x in TRUE]), {"classes": NAMES}),
    "indicator": lambda: (indicator(TRUE), {"classes": NAMES}),
    "indicator of floats": lambda: (indicator(TRUE).astype(float), {"classes": NAMES}),
    "nested list": lambda: (indicator(TRUE).tolist(), {"classes": NAMES}),
    "sparse array": lambda: (csr_array(indicator(TRUE)), {"classes": NAMES}),
    "sparse matrix": lambda: (coo_matrix(indicator(TRUE)), {"classes": NAMES}),
    "frame": lambda: (pandas().DataFrame(indicator(TRUE), columns=NAMES), {}),
    "polars frame": lambda: (pl.DataFrame(indicator(TRUE), schema=list(NAMES)), {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_labels_may_come_in_many_ways(way: str) -> None:
    given, options = WAYS[way]()
    said = ["dog", "dog", "tool", "bird"]

    assert metrics.hierarchical_f1(given, given, hierarchy=toy(), **options) == 1
    found = metrics.hierarchical_f1(given, said, hierarchy=toy(), **options)
    assert found == metrics.hierarchical_f1(TRUE, said, hierarchy=toy()) == 6 / 7


@pytest.mark.parametrize("make", [np.asarray, csr_array, lambda x: x.tolist(),
                                  lambda x: pandas().DataFrame(x, columns=NAMES)])  # fmt: skip
def test_scores_may_come_in_many_ways(make: Callable[[Any], Any]) -> None:
    found = metrics.accuracy(TRUE, make(SOFTMAX), hierarchy=toy(), classes=NAMES)

    assert found == 3 / 4


def test_tensors_are_arrays() -> None:
    torch = pytest.importorskip("torch")
    scores = torch.tensor(SOFTMAX, dtype=torch.bfloat16, requires_grad=True)
    metric = metrics.HierarchicalMetrics(toy(), classes=NAMES)
    metric.update(scores, torch.tensor([NAMES.index(label) for label in TRUE]))

    assert metric.compute()["accuracy/depth=3"] == 3 / 4


def test_a_hierarchy_may_be_records_or_a_path(tmp_path: Any) -> None:
    path = tmp_path / "toy.csv"
    path.write_text("child,parent\n" + "".join(f"{c},{p}\n" for c, p in EDGES))

    found = {
        metrics.hierarchical_recall(TRUE, TRUE[::-1], hierarchy=h)
        for h in (toy(), RECORDS, path, str(path))
    }
    assert len(found) == 1


def test_preference_and_confusion_are_those_of_equations_3_and_4() -> None:
    options: dict[str, Any] = {"hierarchy": toy(), "classes": NAMES}

    assert metrics.subgraph_preference(SOFTMAX, ["mammal"], ["bird", "tool"], **options) == 1 / 2
    table = metrics.concept_confusion(SOFTMAX, **options)
    both = table.filter((pl.col("a") == "cow") & (pl.col("b") == "dog"))
    assert both["confusion"].item() == pytest.approx(
        -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75)) / 4
    )


def test_the_class_gives_the_numbers_of_one_batch_when_it_is_called() -> None:
    metric = metrics.HierarchicalMetrics(toy(), classes=NAMES)
    first, second = metric(SOFTMAX[:2], TRUE[:2]), metric(SOFTMAX[2:], TRUE[2:])

    assert (first["accuracy/depth=3"], second["accuracy/depth=3"]) == (1 / 2, 1)
    assert metric.compute()["accuracy/depth=3"] == 3 / 4


@pytest.mark.parametrize(
    ("true", "said", "options", "message"),
    [
        (["unicorn"], ["dog"], {}, "unicorn"),
        (["dog"], ["dog", "cow"], {}, "1 and 2 instances"),
        ([0], [0], {}, "names of their classes"),
        ([7], [0], {"classes": NAMES}, "names of their classes"),
        (np.eye(3), np.eye(3), {}, "3 columns, 8 classes"),
        ([[0.5, 0.5]], ["dog"], {"classes": ["dog", "cow"]}, "true labels must be"),
        (["dog"], [[-0.5, 0.5]], {"classes": ["dog", "cow"]}, "not negative"),
        (["dog"], [[0.5, math.nan]], {"classes": ["dog", "cow"]}, "not negative"),
        (["dog"], [3.5], {}, "labels, lists of labels"),
        (["dog"], ["dog"], {"classes": None, "hierarchy": {"a": "b", "b": "a"}}, "cycle"),
    ],
)
def test_what_cannot_be_measured_is_told(
    true: Any, said: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(AuditError, match=message):
        metrics.hierarchical_f1(true, said, **{"hierarchy": toy()} | options)


def test_one_answer_is_asked_for_where_it_is_needed_and_batches_are_of_one_kind() -> None:
    with pytest.raises(SchemaError, match="one answer per instance"):
        metrics.accuracy(TRUE, [{label} for label in TRUE], hierarchy=toy())
    with pytest.raises(SchemaError, match="scores are required"):
        metrics.abstraction_match([{label} for label in TRUE], hierarchy=toy())
    metric = metrics.HierarchicalMetrics(toy(), classes=NAMES)
    metric.update(SOFTMAX, TRUE)
    with pytest.raises(SchemaError, match="of one kind"):
        metric.update(SOFTMAX / 2, TRUE)


def test_only_the_same_metrics_are_merged() -> None:
    metric = metrics.HierarchicalMetrics(toy(), classes=NAMES)
    metric.update(SOFTMAX, TRUE)
    sets, strict = (
        metrics.HierarchicalMetrics(toy(), classes=NAMES, threshold=t) for t in (0.5, 0.9)
    )
    sets.update([{label} for label in TRUE], TRUE)
    strict.update(SOFTMAX, TRUE)
    for other in (sets, strict):
        with pytest.raises(SchemaError, match="of one kind"):
            metric.merge(other)
    with pytest.raises(SchemaError, match="same hierarchy can be merged"):
        metric.merge(metrics.HierarchicalMetrics({"dog": "mammal", "cow": "mammal"}))


def test_what_another_process_has_seen_comes_pickled_and_is_merged() -> None:
    here, there = (metrics.HierarchicalMetrics(toy(), classes=NAMES) for _ in "ab")
    here.update(SOFTMAX[:2], TRUE[:2])
    there.update(SOFTMAX[2:], TRUE[2:])
    sent = pickle.loads(pickle.dumps(there))

    assert sent.compute()["accuracy/depth=3"] == there.compute()["accuracy/depth=3"] == 1
    here.merge(sent)
    assert here.compute()["accuracy/depth=3"] == 3 / 4


def test_undefined_numbers_are_nan() -> None:
    assert math.isnan(metrics.accuracy_alignment(TRUE, TRUE, hierarchy=toy()))
    assert math.isnan(metrics.hierarchical_f1([], [], hierarchy=toy()))


def test_the_page_s_example_says_what_it_gives() -> None:
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")
    block = re.findall(r"```python\n(.*?)```", page, re.S)[0]
    _, tree, *calls = filter(None, block.split("\n"))
    names: dict[str, Any] = {"audit": audit}
    exec(tree, names)

    assert len(calls) == 2
    for call in calls:
        code, said = call.split("  # ")
        assert round(eval(code, names), 3) == float(said)
