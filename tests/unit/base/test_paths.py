"""Paths and shortcuts of directed acyclic graphs, against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base import dag
from audit.base.dag import Sparse, edge_ends, edge_matrix, shortcuts
from fixtures.examples import examples


def graph(edges: list[tuple[int, int]], n: int) -> Sparse:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return edge_matrix(ends[:, 0], ends[:, 1], n)


def told(edges: list[tuple[int, int]], n: int) -> dict[tuple[int, int], int]:
    matrix = graph(edges, n)
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


def test_by_hand() -> None:
    assert told([(0, 1), (1, 2), (0, 2)], 3) == {(0, 2): 1}
    assert told([(0, 1), (0, 2), (1, 3), (2, 3)], 4) == {}
    assert told([], 2) == {}


def test_a_chain_of_very_many_nodes() -> None:
    n = 5_000
    assert told([*((i, i + 1) for i in range(n - 1)), (0, n - 1)], n) == {(0, n - 1): 1}
