"""The most specific labels of each record, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.engine.pairs.margins import most_specific
from audit.hierarchies.hierarchy import Hierarchy
from fixtures import brute_force_counts as plain
from fixtures.brute_force import parents_of
from fixtures.labelled import tree
from fixtures.strategies import hierarchies, label_sets, matrix_of


def found(hierarchy: Hierarchy, labels: list[frozenset[str]]) -> csr_array:
    direct = matrix_of(hierarchy, labels)
    return most_specific(direct, csr_array(direct @ hierarchy.strict_closure))


@given(st.data(), hierarchies(titled=False))
def test_a_label_above_another_of_its_record_is_left_out(
    data: st.DataObject, hierarchy: Hierarchy
) -> None:
    labels = data.draw(label_sets(hierarchy))
    parents = parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())

    specific = found(hierarchy, labels)

    assert [
        {hierarchy.nodes[place] for place in specific.indices[slice(*ends)]}
        for ends in zip(specific.indptr, specific.indptr[1:], strict=False)
    ] == [plain.most_specific(parents, own) for own in labels]
    assert specific.has_canonical_format
    assert specific.dtype == np.int64
    assert set(specific.data.tolist()) <= {1}


def test_worked_by_hand() -> None:
    hierarchy = tree("x < left", "x y < right", "left right < top")
    given = [
        {"top", "left", "x"},  # all in one line
        {"left", "right"},  # neither above the other
        {"left", "right", "x"},  # both above the third
        {"left", "y"},
        {"top"},
        set(),
    ]

    specific = found(hierarchy, [frozenset(own) for own in given]).toarray()

    nodes = hierarchy.nodes  # left, right, top, x, y
    assert [[nodes[place] for place in np.flatnonzero(row)] for row in specific] == [
        ["x"],
        ["left", "right"],
        ["x"],
        ["left", "y"],
        ["top"],
        [],
    ]
