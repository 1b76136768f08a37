"""Laws of layers: edges lead onward, places keep apart, and crossings are few."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, permutations, product

import networkx as nx
from hypothesis import example, given
from hypothesis import strategies as st

from audit._reports.charts.layered_layout import Edge, Layered, layered, places
from fixtures.examples import examples

NODES = 8


@st.composite
def graphs(draw: st.DrawFn, most: int = NODES) -> tuple[int, list[Edge]]:
    """A number of nodes, and different edges between different ones."""
    nodes = draw(st.integers(1, most))
    every = [(a, b) for a, b in product(range(nodes), repeat=2) if a != b]
    edges = st.lists(st.sampled_from(every), unique=True, max_size=14) if every else st.just([])
    return nodes, draw(edges)


def layer_of(graph: Layered) -> dict[int, int]:
    return {place: number for number, row in enumerate(graph.layers) for place in row}


@given(graphs())
def test_every_node_stands_once_and_every_edge_passes_one_layer_after_the_other(
    drawn: tuple[int, list[Edge]],
) -> None:
    nodes, edges = drawn
    graph = layered(nodes, edges)
    standing = [place for row in graph.layers for place in row]
    assert len(standing) == len(set(standing))
    assert {place for place in standing if place < nodes} == set(range(nodes))
    assert all(any(place < nodes for place in row) for row in graph.layers)
    layer = layer_of(graph)
    passed = [place for path in graph.paths for place in path[1:-1]]
    assert sorted(passed) == sorted(place for place in standing if place >= nodes)
    for (start, end), path, back in zip(edges, graph.paths, graph.against, strict=True):
        assert (path[0], path[-1]) == ((end, start) if back else (start, end))
        assert all(layer[after] == layer[before] + 1 for before, after in pairwise(path))


@given(graphs())
def test_edges_lead_against_the_layers_only_where_they_close_a_cycle(
    drawn: tuple[int, list[Edge]],
) -> None:
    nodes, edges = drawn
    kept = nx.DiGraph()
    kept.add_nodes_from(range(nodes))
    for edge, back in zip(edges, layered(nodes, edges).against, strict=True):
        kept.add_edge(*edge)
        closes = not nx.is_directed_acyclic_graph(kept)
        assert back == closes
        if closes:
            kept.remove_edge(*edge)
            kept.add_edge(*edge[::-1])


@given(graphs())
def test_without_a_cycle_a_node_stands_behind_the_longest_path_to_it(
    drawn: tuple[int, list[Edge]],
) -> None:
    nodes, every = drawn
    edges = [edge for edge in every if edge[0] < edge[1]]
    layer = layer_of(layered(nodes, edges))
    plain = nx.DiGraph(edges)
    for node in plain:
        if plain.in_degree(node):
            below = plain.subgraph(nx.ancestors(plain, node) | {node})
            assert layer[node] == nx.dag_longest_path_length(below)


@given(graphs(), st.data())
def test_places_of_a_layer_keep_their_order_and_a_gap(
    drawn: tuple[int, list[Edge]], data: st.DataObject
) -> None:
    graph = layered(*drawn)
    sizes = [
        data.draw(st.lists(st.floats(1, 200), min_size=len(row), max_size=len(row)))
        for row in graph.layers
    ]
    centres = places(graph, sizes, 14)
    lowest = []
    for at, size in zip(centres, sizes, strict=True):
        for (one, wide), (two, next_wide) in pairwise(zip(at, size, strict=True)):
            assert two - one >= (wide + next_wide) / 2 + 14 - 0.02
        lowest += [one - wide / 2 for one, wide in zip(at, size, strict=True)]
    assert abs(min(lowest)) < 0.02


def crossings(graph: Layered, rows: Sequence[Sequence[int]]) -> int:
    """How many pairs of links between neighbouring layers cross in an order of the places."""
    links = [link for path in graph.paths for link in pairwise(path)]
    spot = {place: number for row in rows for number, place in enumerate(row)}
    layer = {place: number for number, row in enumerate(rows) for place in row}
    return sum(
        layer[a] == layer[c] and (spot[a] - spot[c]) * (spot[b] - spot[d]) < 0
        for number, (a, b) in enumerate(links)
        for c, d in links[:number]
    )


def fewest(graph: Layered) -> int:
    """The fewest crossings of any order of the places, by trying all."""
    orders = product(*(permutations(row) for row in graph.layers))
    return min(crossings(graph, rows) for rows in orders)


@examples(20)
@given(graphs(5))
@example((4, [(0, 3), (1, 2)]))
@example((6, [(0, 5), (1, 4), (2, 3), (0, 4)]))
def test_few_edges_cross(drawn: tuple[int, list[Edge]]) -> None:
    nodes, edges = drawn
    graph = layered(nodes, edges[:5])
    crossed = crossings(graph, graph.layers)
    assert fewest(graph) <= crossed <= fewest(graph) + 1
    if len(graph.layers) == 2 and len(edges) < 3:
        assert crossed == 0
