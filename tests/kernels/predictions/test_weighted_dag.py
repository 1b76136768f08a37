"""The weighted DAG of one instance: its values, and the tree that is drawn of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit import Hierarchy, WeightedDag
from audit.base.errors import SchemaError
from fixtures.brute_force import at_or_below, parents_of
from fixtures.labelled import tree
from fixtures.strategies import hierarchies


def lines(dag: WeightedDag, **options: object) -> list[str]:
    return dag.tree(**options).splitlines()  # type: ignore[arg-type]


def test_a_value_reaches_every_node_above_once(toy_hierarchy: Hierarchy) -> None:
    dag = WeightedDag(toy_hierarchy, {"dog": 0.7, "cow": 0.2})
    reached = dict(zip(toy_hierarchy.nodes, dag.aggregated.tolist(), strict=True))

    assert reached == pytest.approx({
        "animal": 0.9, "bird": 0, "cow": 0.2, "dog": 0.7, "mammal": 0.9, "object": 0.9,
        "pet": 0.7, "tool": 0,
    })  # fmt: skip


@given(st.data())
def test_aggregated_values_equal_plain_python(data: st.DataObject) -> None:
    hierarchy = data.draw(hierarchies(titled=False))
    value = st.floats(0, 1)
    values = data.draw(st.dictionaries(st.sampled_from(hierarchy.nodes), value, max_size=5))
    parents = parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    found = WeightedDag(hierarchy, values)

    for node, reached in zip(hierarchy.nodes, found.aggregated.tolist(), strict=True):
        below = at_or_below(parents, node)
        assert reached == pytest.approx(sum(values.get(other, 0) for other in below), abs=1e-12)


def plainly_spaced(hierarchy: Hierarchy) -> bool:
    """Whether no id holds the two blanks that a line has behind an id, or ends in a blank."""
    return all(node == " ".join(node.split()) for node in hierarchy.nodes)


@given(st.data())
def test_every_node_that_something_reaches_is_drawn(data: st.DataObject) -> None:
    hierarchy = data.draw(hierarchies(titled=False).filter(plainly_spaced))
    labels = data.draw(st.sets(st.sampled_from(hierarchy.nodes), min_size=1))
    dag = WeightedDag(hierarchy, dict.fromkeys(labels, 1.0))
    drawn = [line for line in lines(dag, titles=False) if not line.endswith("(see above)")]

    assert sum(dag.aggregated > 0) <= len(lines(dag))
    for node, reached in zip(hierarchy.nodes, dag.aggregated.tolist(), strict=True):
        named = [line for line in drawn if f"─ {node}  " in f"─ {line}"]
        assert bool(named) == (reached > 0)


DIAMOND = ("b c < a", "d < b", "d < c", "e f < d")
TOY = ("dog cow < mammal", "mammal < animal", "dog < pet", "animal pet tool < object")
DRAWN = [
    (TOY, {"dog": 0.7, "cow": 0.2, "tool": 0.05, "mammal": 0.05}, {}, [
        "object  1", "├─ animal  0.95", "│  └─ mammal  0.95 (own 0.05)", "│     ├─ dog  0.7",
        "│     └─ cow  0.2", "├─ pet  0.7", "│  └─ dog  0.7", "└─ tool  0.05"]),
    (DIAMOND, {"e": 0.25, "f": 0.75}, {}, [
        "a  1", "├─ b  1", "│  └─ d  1", "│     ├─ f  0.75", "│     └─ e  0.25", "└─ c  1",
        "   └─ d  1  (see above)"]),
    (("z b m < a",), {"z": 0.2, "b": 0.2, "m": 0.6}, {},
     ["a  1", "├─ m  0.6", "├─ b  0.2", "└─ z  0.2"]),
    (("b c d e < a",), {"b": 0.96, "c": 0.02, "d": 0.01, "e": 0.01}, {"least": 0.015}, [
        "a  1", "├─ b  0.96", "├─ c  0.02", "└─ 2 more with less than 1.5% of the total each"]),
    (("b c < a",), {"b": 0.75, "c": 0.25}, {"least": 0.25}, ["a  1", "├─ b  0.75", "└─ c  0.25"]),
    (("b c < a", "d < c"), {"b": 0.995, "d": 0.005}, {"least": 0.01},
     ["a  1", "├─ b  0.995", "└─ 1 more with less than 1% of the total each"]),
    (("b c < a",), {}, {}, ["a  0"]),
]  # fmt: skip
"""Edges, values, options, and the lines that are drawn."""


def test_the_tree_is_drawn_like_a_person_would() -> None:
    for edges, values, options, drawn in DRAWN:
        assert lines(WeightedDag(tree(*edges), values), **options) == drawn
    titled = WeightedDag(tree("b < a", titles={"b": "Bird"}), {"b": 1})
    assert lines(titled) == ["a  1", "└─ b Bird  1"]
    assert lines(titled, titles=False) == ["a  1", "└─ b  1"]
    few = WeightedDag(tree("b c < a"), {"b": 0.995, "c": 0.005})
    assert repr(few).splitlines()[-1] == "└─ 1 more with less than 1% of the total each"


def test_a_row_of_values_becomes_its_dag(toy_hierarchy: Hierarchy) -> None:
    values = np.zeros((2, len(toy_hierarchy)))
    values[1, toy_hierarchy.index("dog")] = 0.25
    dags = [WeightedDag.of_row(toy_hierarchy, csr_array(values), i) for i in (0, 1)]

    assert [dict(dag.values) for dag in dags] == [{}, {"dog": 0.25}]


def test_a_value_of_no_node_is_refused(toy_hierarchy: Hierarchy) -> None:
    with pytest.raises(SchemaError, match="elf"):
        WeightedDag(toy_hierarchy, {"dog": 1, "elf": 1})


@pytest.mark.parametrize("value", [-0.1, float("nan")])
def test_a_value_below_zero_or_no_number_is_refused(toy_hierarchy: Hierarchy, value: float) -> None:
    with pytest.raises(SchemaError, match="dog"):
        WeightedDag(toy_hierarchy, {"dog": value})
