"""Bars of a tree on a DAG: each within the bar above it, none of the values counted twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.data.weighted_dag import InstanceTree, WeightedDag
from fixtures.labelled import tree
from fixtures.strategies import hierarchies


def test_the_bar_of_a_node_with_two_parents_is_divided_among_them() -> None:
    hierarchy = tree("A B < root", "a1 d < A", "b1 d < B")
    dag = WeightedDag(hierarchy, {"a1": 0.3, "b1": 0.2, "d": 0.5})
    lines = [*InstanceTree(dag).lines()]

    shown = {line.node: (line.label, line.label_bar[1]) for line in lines}
    assert shown["root"] == pytest.approx((1.0, 1.0))
    assert shown["A"] == pytest.approx((0.8, 0.55))
    assert shown["B"] == pytest.approx((0.7, 0.45))
    assert [line.label_bar for line in lines if line.node == "d"] == [
        pytest.approx((0.0, 0.25)),
        pytest.approx((0.55, 0.25)),
    ]


@given(st.data())
def test_bars_lie_within_each_other_and_beside_each_other(data: st.DataObject) -> None:
    hierarchy = data.draw(hierarchies(titled=False))
    values = data.draw(st.dictionaries(st.sampled_from(hierarchy.nodes), st.floats(0.01, 9)))
    lines = [*InstanceTree(WeightedDag(hierarchy, values)).lines()]

    above: list[tuple[float, float]] = []
    ends: list[float] = []
    for line in lines:
        start, length = line.label_bar
        if above[: line.level]:
            begin, room = above[line.level - 1]
            assert start >= max(begin, ends[line.level]) - 1e-9
            assert start + length <= begin + room + 1e-9
        above[line.level :] = [line.label_bar]
        ends[line.level :] = [start + length, start]
    assert lines[0].label_bar == (0.0, float(bool(values)))


@given(st.data())
def test_where_every_node_has_one_parent_a_bar_is_as_long_as_its_value(
    data: st.DataObject,
) -> None:
    hierarchy = data.draw(hierarchies(titled=False))
    nodes = st.sampled_from(hierarchy.nodes)
    values = data.draw(st.dictionaries(nodes, st.floats(0.01, 9), min_size=1))
    if any(len(hierarchy.parents(node)) > 1 for node in hierarchy.nodes):
        return

    for line in InstanceTree(WeightedDag(hierarchy, values)).lines():
        assert line.label_bar[1] == pytest.approx(line.label_share)
