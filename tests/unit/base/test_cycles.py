"""Strongly connected components and shortest cycles, against networkx."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.dag import (
    Sparse,
    condensed,
    edge_matrix,
    one_way,
    shortest_cycle,
    strong_components,
)

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


def test_no_nodes_have_no_components_and_no_cycle() -> None:
    empty = graph(n=0)

    assert strong_components(empty).tolist() == []
    assert condensed(empty, strong_components(empty)).shape == (0, 0)
    assert shortest_cycle(empty) == []


@pytest.mark.parametrize(
    ("edges", "cycle"),
    [
        ([], []),
        ([(0, 1), (1, 2)], []),
        ([(1, 1)], [1, 1]),
        ([(0, 1), (1, 2), (2, 0), (2, 3), (3, 2)], [2, 3, 2]),
        ([(0, 1), (1, 2), (2, 3), (3, 0), (1, 3)], [0, 1, 3, 0]),
    ],
)
def test_shortest_cycle_by_hand(edges: Edges, cycle: list[int]) -> None:
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
