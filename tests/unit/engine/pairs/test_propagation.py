"""Aggregation on the toy and on what has no labels."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from audit.engine.pairs.propagation import aggregate
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.toy import NODES


def line(*labels: str) -> list[int]:
    return [int(node in labels) for node in NODES]


def aggregated(hierarchy: Hierarchy, *rows: list[int]) -> csr_array:
    return aggregate(csr_array(np.array(rows, np.int64)), hierarchy.closure)


def test_a_label_below_a_diamond_counts_once_at_its_top(toy_hierarchy: Hierarchy) -> None:
    found = aggregated(toy_hierarchy, line("dog")).toarray()[0]

    reached = dict(zip(NODES, found.tolist(), strict=True))
    assert reached == {
        "animal": 1, "bird": 0, "cow": 0, "dog": 1, "mammal": 1, "object": 1, "pet": 1, "tool": 0,
    }  # fmt: skip


def test_labels_add_up_where_they_meet(toy_hierarchy: Hierarchy) -> None:
    found = aggregated(toy_hierarchy, line("cow", "dog", "mammal", "tool")).toarray()[0]

    reached = dict(zip(NODES, found.tolist(), strict=True))
    assert (reached["mammal"], reached["animal"], reached["pet"], reached["object"]) == (3, 3, 1, 4)


def test_an_instance_without_labels_is_an_empty_row(toy_hierarchy: Hierarchy) -> None:
    found = aggregated(toy_hierarchy, line(), line("cow"), line())

    assert np.diff(found.indptr).tolist() == [0, 4, 0]


def test_values_are_whole_and_in_canonical_order(toy_hierarchy: Hierarchy) -> None:
    found = aggregated(toy_hierarchy, line("dog", "bird"), line("tool", "cow"))

    assert found.dtype == np.int64
    assert found.has_canonical_format
    for start, end in zip(found.indptr[:-1], found.indptr[1:], strict=True):
        assert (np.diff(found.indices[start:end]) > 0).all()


def test_no_instance_gives_no_row(toy_hierarchy: Hierarchy) -> None:
    none = csr_array((0, len(NODES)), dtype=np.int64)

    assert aggregate(none, toy_hierarchy.closure).shape == (0, len(NODES))


def test_scores_are_summed_as_they_are(toy_hierarchy: Hierarchy) -> None:
    scores = np.zeros((1, len(NODES)))
    scores[0, [NODES.index("cow"), NODES.index("dog")]] = (0.25, 0.5)
    found = aggregate(csr_array(scores), toy_hierarchy.closure).toarray()[0]

    assert found[NODES.index("mammal")] == 0.75
    assert found[NODES.index("pet")] == 0.5
