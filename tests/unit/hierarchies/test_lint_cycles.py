"""Cycles, which a hierarchy refuses: each set of nodes on one is told, the rest linted."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import HierarchyError
from audit.hierarchies.building import CyclicError
from audit.hierarchies.lint import LintResult, lint
from audit.hierarchies.reading import load_hierarchy
from fixtures.examples import examples
from fixtures.written import written

Edges = list[tuple[str, str]]


def write(folder: Path, edges: Edges, titles: dict[str, str] | None = None) -> Path:
    path = folder / "edges.csv"
    rows = [f"{a},{b},{(titles or {}).get(a, '')}" for a, b in edges]
    path.write_text("\n".join(["child,parent,title", *rows]))
    return path


def linted(folder: Path, edges: Edges, titles: dict[str, str] | None = None) -> LintResult:
    return lint(write(folder, edges, titles))


def test_a_hierarchy_still_refuses_a_cycle_and_says_who_lists_all(tmp_path: Path) -> None:
    path = write(tmp_path, [("a", "b"), ("b", "a")])
    with pytest.raises(CyclicError, match="a -> b -> a") as caught:
        load_hierarchy(path)

    assert isinstance(caught.value, HierarchyError)
    assert caught.value.where == str(path)
    assert "`audit lint` lists all cycles" in str(caught.value)


def test_each_set_of_nodes_below_each_other_is_one_finding(tmp_path: Path) -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("x", "y"), ("y", "x"), ("d", "a"), ("f", "f")]
    result = linted(tmp_path, edges)

    assert [one.cases for one in result.findings if one.rule == "cycle"] == [
        (("a", "b", "c", "a"),),
        (("x", "y", "x"),),
    ]
    assert all(one.severity == "error" for one in result.findings if one.rule == "cycle")
    assert result.hierarchy.nodes == ("(root)", "a", "d", "f", "x")
    assert result.hierarchy.parents("d") == ("a",)


def test_the_other_rules_go_on_where_each_cycle_is_one_node(tmp_path: Path) -> None:
    edges = [("a", "b"), ("b", "a"), ("d", "e"), ("e", "b"), ("d", "a"), ("g", "e"), ("h", "a")]
    result = linted(tmp_path, edges, {"d": "Odd", "h": "odd"})

    assert [(one.rule, one.cases) for one in result.findings] == [
        ("cycle", (("a", "b", "a"),)),
        ("redundant_edge", (("d", "e", "a"),)),
        ("title_clash", (("d", "h"),)),
    ]


def test_edges_that_become_one_are_not_said_to_be_repeated(tmp_path: Path) -> None:
    result = linted(tmp_path, [("a", "b"), ("b", "a"), ("c", "a"), ("c", "b"), ("d", "a")])

    assert result.hierarchy.repeated_edges == 0
    assert result.hierarchy.edge_frame().rows() == [("c", "a"), ("d", "a")]


NODES = st.sampled_from("abcdef")


@examples(40)
@given(edges=st.lists(st.tuples(NODES, NODES), min_size=1, max_size=14))
def test_cycles_are_those_of_networkx_and_what_is_left_is_its_condensation(
    edges: Edges, tmp_path_factory: pytest.TempPathFactory
) -> None:
    edges = [edge for edge in edges if edge[0] != edge[1]] or [("a", "b")]
    graph: nx.DiGraph[str] = nx.DiGraph(edges)
    cyclic = {
        frozenset(members)
        for members in nx.strongly_connected_components(graph)
        if len(members) > 1
    }
    result = linted(tmp_path_factory.mktemp("drawn"), edges)
    cycles = [one.cases[0] for one in result.findings if one.rule == "cycle"]

    assert len(cycles) == len(cyclic)
    for members in cyclic:
        (cycle,) = [cycle for cycle in cycles if set(cycle) <= members]
        shortest = min(map(len, nx.simple_cycles(graph.subgraph(members))))
        assert (cycle[0], len(cycle) - 1) == (cycle[-1], shortest)
        assert set(pairwise(cycle)) <= set(graph.edges)
    first = {n: min(c) for c in nx.strongly_connected_components(graph) for n in c}
    expected = {(first[a], first[b]) for a, b in edges if first[a] != first[b]}
    found = {edge for edge in result.hierarchy.edge_frame().iter_rows() if edge[1] != "(root)"}
    assert found == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tree.json", '{"a": {"b": {"a": {}, "c": {}}}}'),
        ("nodes.json", '[{"id": "a", "child_ids": ["b"]}, {"id": "b", "child_ids": ["a", "c"]}, '
                       '{"id": "c", "child_ids": []}]'),
        ("terms.obo", "\n".join(f"[Term]\nid: {a}\nis_a: {b}" for a, b in ("ab", "ba", "cb"))),
    ],
)  # fmt: skip
def test_cycles_of_every_format_are_told(tmp_path: Path, name: str, text: str) -> None:
    path = written(tmp_path / name, text)
    result = lint(path)

    assert result.findings[0].cases == (("a", "b", "a"),)
    assert result.hierarchy.parents("c") == ("a",)


def test_a_ring_of_very_many_nodes_is_one_short_finding(tmp_path: Path) -> None:
    ring = [(f"n{i}", f"n{(i + 1) % 5000}") for i in range(5000)]
    (finding,) = linted(tmp_path, ring).findings

    assert len(finding.cases[0]) == 5001
    assert len(finding.statement) < 500
