"""Components, cycles, shortcuts and common ancestors of graphs, against networkx and by hand."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.base import dag
from audit.base.dag import (
    Sparse,
    condensed,
    edge_ends,
    edge_matrix,
    one_way,
    shortcuts,
    shortest_cycle,
    strong_components,
)
from fixtures.examples import examples

Edges = list[tuple[int, int]]


N = 7


EDGES = st.lists(st.tuples(*[st.integers(0, N - 1)] * 2), max_size=18)


def graph(*edges: tuple[int, int], n: int = N) -> Sparse:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return edge_matrix(ends[:, 0], ends[:, 1], n)


def oracle(edges: Edges, n: int = N) -> nx.DiGraph[int]:
    drawn: nx.DiGraph[int] = nx.DiGraph()
    drawn.add_nodes_from(range(n))
    drawn.add_edges_from(edges)
    return drawn


@given(EDGES)
def test_components_are_those_of_networkx_in_the_order_of_their_first_nodes(edges: Edges) -> None:
    expected = sorted(map(sorted, nx.strongly_connected_components(oracle(edges))))
    component = strong_components(graph(*edges))

    assert [np.flatnonzero(component == c).tolist() for c in range(len(expected))] == expected
    assert set(component.tolist()) == set(range(len(expected)))


@given(EDGES)
def test_the_condensation_is_that_of_networkx(edges: Edges) -> None:
    component = strong_components(graph(*edges))
    members = [set(np.flatnonzero(component == c).tolist()) for c in range(component.max() + 1)]
    expected = nx.condensation(oracle(edges), members)
    found = condensed(graph(*edges), component)

    assert found.shape == (len(expected), len(expected))
    assert set(zip(*map(list, found.nonzero()), strict=True)) == set(expected.edges)


def test_shortest_cycle_by_hand() -> None:
    for edges, cycle in [
        ([], []),
        ([(0, 1), (1, 2)], []),
        ([(1, 1)], [1, 1]),
        ([(0, 1), (1, 2), (2, 0), (2, 3), (3, 2)], [2, 3, 2]),
        ([(0, 1), (1, 2), (2, 3), (3, 0), (1, 3)], [0, 1, 3, 0]),
    ]:
        assert shortest_cycle(graph(*edges)) == cycle


def assert_closed_walk(cycle: list[int], edges: Edges) -> None:
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1
    assert set(pairwise(cycle)) <= set(edges)


@given(EDGES)
def test_a_shortest_cycle_is_as_short_as_any_of_networkx(edges: Edges) -> None:
    cycle = shortest_cycle(graph(*edges))
    expected = min(map(len, nx.simple_cycles(oracle(edges))), default=0)

    assert max(len(cycle) - 1, 0) == expected
    if cycle:
        assert_closed_walk(cycle, edges)


def reversible(cycle: list[int], edges: set[tuple[int, int]]) -> bool:
    return all((b, a) in edges for a, b in pairwise([*cycle, cycle[0]]))


@given(EDGES)
def test_a_shortest_cycle_with_an_edge_in_one_direction_only(edges: Edges) -> None:
    lengths = [
        len(cycle) for cycle in nx.simple_cycles(oracle(edges)) if not reversible(cycle, set(edges))
    ]
    matrix = graph(*edges)
    cycle = shortest_cycle(matrix, np.arange(N), one_way(matrix))

    assert max(len(cycle) - 1, 0) == min(lengths, default=0)
    if cycle:
        assert_closed_walk(cycle, edges)
        assert (cycle[-1], cycle[-2]) not in edges


@given(EDGES)
def test_edges_of_one_way_have_no_reverse(edges: Edges) -> None:
    expected = {(a, b) for a, b in edges if (b, a) not in edges}

    assert set(zip(*map(list, one_way(graph(*edges)).nonzero()), strict=True)) == expected


def told(edges: list[tuple[int, int]], n: int) -> dict[tuple[int, int], int]:
    matrix = graph(*edges, n=n)
    child, parent = (ends.tolist() for ends in edge_ends(matrix))
    return {
        edge: through
        for edge, through in zip(
            zip(child, parent, strict=True), shortcuts(matrix).tolist(), strict=True
        )
        if through >= 0
    }


@st.composite
def acyclic(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int]:
    n = draw(st.integers(1, 9))
    order = draw(st.permutations(range(n)))
    pairs = [(order[i], order[j]) for i in range(n) for j in range(i)]
    return draw(st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([])), n


def assert_as_networkx(edges: list[tuple[int, int]], n: int) -> None:
    oracle: nx.DiGraph[int] = nx.DiGraph(edges)
    kept = set(nx.transitive_reduction(oracle).edges)
    found = told(edges, n)

    assert set(found) == set(edges) - kept
    for (child, parent), through in found.items():
        candidates = [p for p in oracle[child] if p != parent and nx.has_path(oracle, p, parent)]
        assert through == min(candidates)


@examples(100)
@given(acyclic())
def test_shortcuts_are_what_the_transitive_reduction_leaves_out(
    drawn: tuple[list[tuple[int, int]], int],
) -> None:
    assert_as_networkx(*drawn)


@pytest.mark.parametrize("seed", range(3))
def test_more_edges_than_are_looked_at_at_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag, "_AT_ONCE", 70)
    random = np.random.default_rng(seed)
    pairs = np.sort(random.integers(0, 400, (1200, 2)), axis=1)
    edges = {(int(child), int(parent)) for parent, child in pairs if parent != child}

    assert_as_networkx(sorted(edges), 400)


def test_a_chain_of_very_many_nodes() -> None:
    n = 1_500
    assert told([*((i, i + 1) for i in range(n - 1)), (0, n - 1)], n) == {(0, n - 1): 1}


def test_levels_leave_out_a_cycle_and_what_is_below() -> None:
    edges = graph((0, 1), (1, 0), (2, 0), (4, 3), (5, 4), (5, 3), n=6)

    assert [nodes.tolist() for nodes in dag.levels(edges)] == [[3], [4], [5]]
    assert dag.longest_from_top(edges).tolist() == [0, 0, 0, 0, 1, 2]


def lowest(edges: dag.Sparse, a: int, b: int) -> int:
    depth, height = dag.longest_from_top(edges), dag.longest_from_top(csr_array(edges.T))
    ancestors = dag.CommonAncestors(dag.closure(edges), depth, height)
    return int(ancestors.lowest(np.array([a]), np.array([b]))[0])


def test_lowest_common_ancestor_ties_go_on_to_node_order() -> None:
    assert lowest(graph((1, 0), (2, 0), (3, 1), (3, 2), (4, 1), (4, 2), n=5), 3, 4) == 1


def test_lowest_common_ancestor_of_separate_tops_is_none() -> None:
    assert lowest(graph(n=2), 0, 1) == -1
