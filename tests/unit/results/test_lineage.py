"""What lies above the nodes of findings: the hierarchy alone, of nodes that are told alone."""

from __future__ import annotations

import networkx as nx
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.results.shared_tables import lineage
from fixtures import results

NODES = [f"n{number}" for number in range(8)]


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[str, str]]:
    pairs = [(NODES[i], NODES[j]) for i in range(8) for j in range(i)]
    return draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12))


@given(graphs(), st.sets(st.sampled_from(NODES)), st.sets(st.sampled_from(NODES)), st.data())
def test_pictured_nodes_above_are_those_that_can_be_reached(
    edges: list[tuple[str, str]], pictured: set[str], named: set[str], data: st.DataObject
) -> None:
    titled = data.draw(st.sets(st.sampled_from(NODES)))
    titles = {node: f"title {node}" if node in titled else None for node in NODES}
    checks = [{"findings": [{"nodes": [{"id": node} for node in named]}]}]
    table = pl.DataFrame(edges, schema={"child": pl.String, "parent": pl.String}, orient="row")
    rows = lineage(checks, [{"node": node} for node in pictured], table, titles)

    graph = nx.DiGraph(edges)
    graph.add_nodes_from(NODES)
    children = {child for child, _ in edges}
    assert [row["node"] for row in rows] == sorted(
        node for node in named if node in children | pictured
    )
    for row in rows:
        reached = {row["node"], *nx.descendants(graph, row["node"])}
        assert row["above"] == sorted(reached & pictured)
        near = nx.single_source_shortest_path_length(graph, row["node"])
        told = {titles[node]: steps for node, steps in near.items() if titles[node]}
        if row["node"] in titled or not told:
            assert row["below"] is None
        else:
            assert told[row["below"]] == min(told.values())


def test_only_nodes_of_shown_findings_have_a_line() -> None:
    shared = results.rich_result().shared()
    named = {
        node["id"]
        for check in shared["checks"]
        for finding in check["findings"]
        for node in finding["nodes"]
    }
    lines = shared["overview"]["lineage"]
    assert lines
    assert {line["node"] for line in lines} <= named
    assert all(set(line) == {"node", "above", "below"} for line in lines)
