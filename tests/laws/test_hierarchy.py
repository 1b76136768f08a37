"""What holds for every hierarchy, against networkx and plain recursion."""

from __future__ import annotations

from collections.abc import Callable

import networkx
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from fixtures.doors import SYNTHETIC_ROOT
from fixtures.strategies import hierarchies


def farthest(hierarchy: audit.Hierarchy, towards: Callable[[str], tuple[str, ...]]) -> list[int]:
    """Edges of the longest way from each node in one direction."""

    def far(node: str) -> int:
        return max((1 + far(other) for other in towards(node)), default=0)

    return [far(node) for node in hierarchy.nodes]


@given(hierarchies())
def test_what_lies_above_and_below_is_that_of_networkx(hierarchy: audit.Hierarchy) -> None:
    graph = hierarchy.to_networkx()  # whose edges lead from children to parents
    edges = set(hierarchy.edge_frame().rows())
    root = hierarchy.nodes[hierarchy.root]
    for place, node in enumerate(hierarchy.nodes):
        above, below = networkx.descendants(graph, node), networkx.ancestors(graph, node)
        assert set(hierarchy.ancestors(node)) == above
        assert set(hierarchy.descendants(node)) == below
        assert set(hierarchy.ancestors(node, with_self=True)) == above | {node}
        assert set(hierarchy.parents(node)) == {up for child, up in edges if child == node}
        assert set(hierarchy.children(node)) == {child for child, up in edges if up == node}
        assert bool(hierarchy.leaf[place]) == (not below)
    assert [node for node in hierarchy.nodes if not hierarchy.parents(node)] == [root]
    assert hierarchy.nodes == tuple(sorted(hierarchy.nodes))


@given(hierarchies())
def test_distances_are_those_of_plain_recursion(hierarchy: audit.Hierarchy) -> None:
    def level(node: str) -> int:
        return 1 + min((level(child) for child in hierarchy.children(node)), default=0)

    assert hierarchy.depth.tolist() == farthest(hierarchy, hierarchy.parents)
    assert hierarchy.height.tolist() == farthest(hierarchy, hierarchy.children)
    assert hierarchy.level.tolist() == [level(node) for node in hierarchy.nodes]
    frame = hierarchy.node_frame()
    for node, branch, branches in frame.select("node", "branch", "branches").iter_rows():
        top = set(hierarchy.children(hierarchy.nodes[hierarchy.root]))
        assert set(branches) == set(hierarchy.ancestors(node, with_self=True)) & top
        assert branch == min(branches, default=None)


@given(hierarchies(), st.data())
def test_other_names_permute_everything_and_a_graph_gives_the_hierarchy_back(
    hierarchy: audit.Hierarchy, data: st.DataObject
) -> None:
    graph = hierarchy.to_networkx()
    assert audit.Hierarchy.from_networkx(graph, name="again").sha256 == hierarchy.sha256
    named = [node for node in hierarchy.nodes if node != SYNTHETIC_ROOT]
    order = data.draw(st.permutations(range(len(named))))
    to = {node: f"n{place}" for node, place in zip(named, order, strict=True)}
    to[SYNTHETIC_ROOT] = SYNTHETIC_ROOT
    other = audit.Hierarchy.from_networkx(networkx.relabel_nodes(graph, to), name="other")
    for node in hierarchy.nodes:
        old, new = hierarchy.index(node), other.index(to[node])
        assert set(other.ancestors(to[node])) == {to[one] for one in hierarchy.ancestors(node)}
        assert other.titles[new] == hierarchy.titles[old]
        for name in ("depth", "height", "level", "assignable"):
            assert getattr(other, name)[new] == getattr(hierarchy, name)[old], name


def built(*edges: tuple[str, str], nodes: object = None) -> audit.Hierarchy:
    frame = pl.DataFrame(edges, schema={"child": pl.String, "parent": pl.String}, orient="row")
    return audit.Hierarchy.build(frame, None if nodes is None else pl.DataFrame(nodes), name="h")


def test_tops_hang_below_a_root_and_an_edge_counts_once() -> None:
    one = built(
        ("a", SYNTHETIC_ROOT), ("a", SYNTHETIC_ROOT), nodes={"node": ["a", "b", SYNTHETIC_ROOT]}
    )
    assert one.children(SYNTHETIC_ROOT) == ("a", "b")
    assert one.repeated_edges == 1
    assert not one.assignable[one.root]
    alone = built(nodes={"node": ["a"]})
    assert (alone.depth.tolist(), alone.level.tolist(), len(alone.branches)) == ([0], [1], 0)


def test_what_is_declared_overrules_that_leaves_are_labels_and_nodes_are_added() -> None:
    told = {"node": ["a", "b", "x"], "assignable": [None, False, True]}
    own = built(("a", "x"), ("b", "x"), nodes=told)
    assert own.assignable.tolist() == [True, False, True]
    added = {"node": ["c"], "title": ["C"], "assignable": [True]}
    wider = own.extend(pl.DataFrame({"child": ["c"], "parent": ["a"]}), pl.DataFrame(added))
    assert (wider.parents("c"), wider.titles[wider.index("c")]) == (("a",), "C")
    assert len(own) == 3


@pytest.mark.parametrize(
    ("edges", "shown"),
    [
        ([("a", "a")], "a -> a"),
        ([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "c")], "c -> d -> c"),
    ],
)
def test_a_shortest_cycle_is_shown(edges: list[tuple[str, str]], shown: str) -> None:
    with pytest.raises(audit.AuditError) as caught:
        built(*edges)
    assert caught.value.found == shown


@pytest.mark.parametrize(
    ("edges", "nodes"), [([], None), ([], {"node": ["a", "a"]}), ([], {"node": ["a", ""]})]
)
def test_what_is_no_hierarchy_is_refused(edges: list[tuple[str, str]], nodes: object) -> None:
    with pytest.raises(audit.AuditError):
        built(*edges, nodes=nodes)
    with pytest.raises(audit.AuditError):
        built(("a", "b")).index("c")


def test_a_graph_of_several_relations_or_with_one_stated_is_refused() -> None:
    for graph, relations in (
        (networkx.MultiDiGraph([("b", "a", "is_a"), ("c", "a", "part_of")]), None),
        (networkx.DiGraph([("b", "a")]), ("part_of",)),
    ):
        with pytest.raises(audit.AuditError):
            audit.load_hierarchy(graph, relations=relations)


def test_every_edge_with_an_end_that_is_no_node_is_counted_and_shown() -> None:
    edges = pl.DataFrame({"child": ["d", "d", "c"], "parent": ["a", "lost", "lost"]})
    nodes = pl.DataFrame({"node": ["a", "c", "d"]})

    with pytest.raises(audit.AuditError) as caught:
        audit.Hierarchy.build(edges, nodes, name="h")
    assert caught.value.found.startswith("2 edges")
    assert "'d -> lost', 'c -> lost'" in caught.value.found
