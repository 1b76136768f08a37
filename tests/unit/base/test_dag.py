"""Arithmetic on edge matrices, on the toy and on small graphs worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from audit.base import dag
from fixtures.toy import EDGES, NODES, PAIRS

INDEX = {node: i for i, node in enumerate(NODES)}


def graph(*edges: tuple[int, int], n: int) -> dag.Sparse:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return dag.edge_matrix(ends[:, 0], ends[:, 1], n)


def toy_edges() -> dag.Sparse:
    return graph(*((INDEX[child], INDEX[parent]) for child, parent in EDGES), n=len(NODES))


def test_edge_matrix_counts_a_repeated_edge_once() -> None:
    matrix = graph((0, 1), (0, 1), n=2)

    assert matrix.toarray().tolist() == [[0, 1], [0, 0]]


def test_closure_of_a_deep_chain_takes_what_a_parent_reaches_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken, stretches, n = 0, dag._stretches, 700

    def counted(*of: Any) -> Any:
        nonlocal taken
        found = stretches(*of)
        taken += len(found)
        return found

    monkeypatch.setattr(dag, "_stretches", counted)
    reach = dag.closure(graph(*((i + 1, i) for i in range(n - 1)), n=n))

    assert np.array_equal(reach.toarray(), np.tril(np.ones((n, n))))
    assert reach.has_canonical_format
    assert reach.nnz <= taken <= 2 * (reach.nnz + n)  # squaring it takes n times as many


def test_levels_leave_out_a_cycle_and_what_is_below() -> None:
    edges = graph((0, 1), (1, 0), (2, 0), (4, 3), (5, 4), (5, 3), n=6)

    assert [nodes.tolist() for nodes in dag.levels(edges)] == [[3], [4], [5]]
    assert dag.longest_from_top(edges).tolist() == [0, 0, 0, 0, 1, 2]


def lowest(edges: dag.Sparse, a: int, b: int) -> int:
    depth, height = dag.longest_from_top(edges), dag.longest_from_top(csr_array(edges.T))
    ancestors = dag.CommonAncestors(dag.closure(edges), depth, height)
    return int(ancestors.lowest(np.array([a]), np.array([b]))[0])


def test_lowest_common_ancestors_of_the_toy() -> None:
    found = [NODES[lowest(toy_edges(), INDEX[a], INDEX[b])] for a, b, *_ in PAIRS]

    assert found == [lca for *_, lca in PAIRS]


def test_lowest_common_ancestor_ties_go_on_to_node_order() -> None:
    assert lowest(graph((1, 0), (2, 0), (3, 1), (3, 2), (4, 1), (4, 2), n=5), 3, 4) == 1


def test_lowest_common_ancestor_of_separate_tops_is_none() -> None:
    assert lowest(graph(n=2), 0, 1) == -1


def test_no_pairs_give_no_answers() -> None:
    edges, none = toy_edges(), np.array([], np.int64)

    assert dag.among(dag.sharing_descendant(edges, dag.closure(edges)), none).shape == (0,)
    assert lowest(edges, 0, 0) == 0
