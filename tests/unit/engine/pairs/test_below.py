"""Labels below a node, residual or not, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from audit.engine.pairs.propagation import LabelsBelow, labels_below
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.labelled import labelled, tree

HIERARCHY = tree("lung heart < body", "asthma other_lung < lung", "other_heart < heart")


def below(labels: dict[str, list[str]], *residual: str) -> LabelsBelow:
    dataset = labelled(HIERARCHY, labels)
    indices = np.array([HIERARCHY.index(node) for node in residual], np.int64)
    return labels_below(dataset.direct, HIERARCHY.strict_closure, indices)


RESIDUAL = ("other_lung", "other_heart")
LABELS = {
    "a": ["other_lung"],
    "b": ["other_lung", "asthma"],
    "c": ["other_lung", "other_heart"],
    "d": ["lung"],
    "e": [],
    "f": ["asthma"],
}


@pytest.mark.parametrize(
    ("parent", "labelled_below", "only"),
    [
        ("lung", [0, 1, 2, 5], [0, 2]),
        ("heart", [2], [2]),
        ("body", [0, 1, 2, 3, 5], [0, 2]),
        ("asthma", [], []),
    ],
)
def test_instances_below_a_node_and_those_only_residual(
    parent: str, labelled_below: list[int], only: list[int]
) -> None:
    found = below(LABELS, *RESIDUAL)

    assert found.labelled(HIERARCHY.index(parent)).tolist() == labelled_below
    assert found.only_residual(HIERARCHY.index(parent)).tolist() == only


def test_a_label_at_the_node_itself_is_not_below_it() -> None:
    found = below({"a": ["lung", "other_lung"], "b": ["lung"]}, *RESIDUAL)

    assert found.labelled(HIERARCHY.index("lung")).tolist() == [0]
    assert found.only_residual(HIERARCHY.index("lung")).tolist() == [0]


def test_without_residual_nodes_nothing_is_only_residual() -> None:
    found = below(LABELS)

    assert found.labelled(HIERARCHY.index("lung")).tolist() == [0, 1, 2, 5]
    assert found.only_residual(HIERARCHY.index("lung")).tolist() == []


def test_direct_labels_are_not_modified(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, {"a": ["cow", "dog"]})
    before = dataset.direct.toarray()
    labels_below(dataset.direct, toy_hierarchy.strict_closure, np.array([2]))

    assert np.array_equal(dataset.direct.toarray(), before)


def test_a_label_below_a_diamond_counts_below_both_sides(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, {"a": ["dog"], "b": ["cow"]})
    found = labels_below(dataset.direct, toy_hierarchy.strict_closure, np.array([], np.int64))

    assert found.labelled(toy_hierarchy.index("pet")).tolist() == [0]
    assert found.labelled(toy_hierarchy.index("object")).tolist() == [0, 1]
