"""Labels and predictions of one instance in one tree: what is a hit, a miss, or false."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from audit.data.weighted_dag import InstanceTree, WeightedDag
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.brute_force import at_or_below, parents_of
from fixtures.labelled import tree
from fixtures.strategies import hierarchies


def merged(
    hierarchy: Hierarchy,
    labels: Iterable[str],
    scores: dict[str, float] | None = None,
    **options: object,
) -> InstanceTree:
    predictions = None if scores is None else WeightedDag(hierarchy, scores)
    return InstanceTree(
        WeightedDag(hierarchy, dict.fromkeys(labels, 1.0)),
        predictions,
        **options,  # type: ignore[arg-type]
    )


@given(st.data())
def test_marks_are_those_of_a_loop_over_what_lies_below(data: st.DataObject) -> None:
    hierarchy = data.draw(hierarchies(titled=False))
    nodes = st.sampled_from(hierarchy.nodes)
    labels = data.draw(st.sets(nodes))
    scores = data.draw(st.dictionaries(nodes, st.floats(0.01, 1), min_size=1))
    threshold, single = data.draw(st.floats(0, 1)), data.draw(st.booleans())
    found = merged(hierarchy, labels, scores, threshold=threshold, single_label=single)

    highest = max(scores.values())
    best = next(node for node in hierarchy.nodes if scores.get(node) == highest)
    predicted = {best} if single else {node for node, s in scores.items() if s >= threshold}
    parents = parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    words = {(True, True): "hit", (True, False): "miss", (False, True): "false"}
    for index, node in enumerate(hierarchy.nodes):
        below = set(at_or_below(parents, node))
        state = (bool(below & labels), bool(below & predicted))
        assert found.mark(index) == words.get(state, "")


@given(st.data())
def test_every_node_stands_below_each_of_its_parents_unless_their_parts_stand_above(
    data: st.DataObject,
) -> None:
    hierarchy = data.draw(hierarchies(titled=False))
    nodes = st.sampled_from(hierarchy.nodes)
    labels = data.draw(st.sets(nodes, min_size=1))
    scores = data.draw(st.dictionaries(nodes, st.floats(0.01, 1), min_size=1))
    found = merged(hierarchy, labels, scores)
    lines = list(found.lines())

    parents = parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    reached = {n for n in hierarchy.nodes if set(at_or_below(parents, n)) & (labels | set(scores))}
    edges = [(child, parent) for child in reached for parent in parents[child]]
    assert {line.node for line in lines} == reached
    assert len(lines) == 1 + len(edges)
    for line in lines:
        assert 0 <= line.label_share <= 1 + 1e-12
        assert 0 <= line.score_share <= 1 + 1e-12
        assert len(line.also_below) == max(len(parents[line.node]) - 1, 0)
        assert set(line.also_below) <= set(parents[line.node])


def test_a_node_labelled_and_predicted_only_by_another_below_it_is_a_hit() -> None:
    family = tree("b c < a")
    found = {line.node: line.mark for line in merged(family, ["b"], {"c": 0.9}).lines()}

    assert found == {"a": "hit", "b": "miss", "c": "false"}


def test_scores_below_the_threshold_add_up_to_no_prediction() -> None:
    found = merged(tree("b c < a"), ["b"], {"b": 0.4, "c": 0.4}, threshold=0.5)

    assert [line.mark for line in found.lines()] == ["miss", "miss", ""]


def test_an_instance_without_predictions_has_no_marks() -> None:
    assert {line.mark for line in merged(tree("b c < a"), ["b"]).lines()} == {""}


def test_a_node_is_left_out_where_both_of_its_shares_are_too_small() -> None:
    found = merged(tree("b c d < a"), ["b", "c"], {"c": 0.01, "d": 0.99})
    lines = list(found.lines(0.6))

    assert [line.node for line in lines] == ["a", "d", ""]
    assert lines[-1].title == "2 more with less than 60% of the total each"


def test_an_instance_without_labels_shows_its_scores(toy_hierarchy: Hierarchy) -> None:
    lines = {line.node: line for line in merged(toy_hierarchy, [], {"dog": 0.75}).lines()}

    assert (lines["object"].label, lines["object"].score) == (0, 0.75)
    assert lines["dog"].mark == "false"


def test_no_depth_ends_it() -> None:
    depth = sys.getrecursionlimit() + 200
    chain = tree(*(f"n{i + 1:05} < n{i:05}" for i in range(depth)))

    assert len(list(merged(chain, [f"n{depth:05}"]).lines())) == depth + 1
