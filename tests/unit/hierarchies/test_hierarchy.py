"""Hierarchy: the toy by hand, building, refusing, extending, networkx and the two views."""

from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
import pytest

from audit.base.dag import SYNTHETIC_ROOT
from audit.base.errors import HierarchyError, InputError, SchemaError
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.hierarchies.relations import RELATIONS, relate_two
from fixtures import toy as by_hand
from fixtures.toy import toy


def build(*edges: tuple[str, str], nodes: list[str] | None = None) -> Hierarchy:
    frame = pl.DataFrame(edges, schema={"child": pl.String, "parent": pl.String}, orient="row")
    declared = None if nodes is None else pl.DataFrame({"node": nodes})
    return Hierarchy.build(frame, declared, name="built")


def test_nodes_stand_in_code_point_order() -> None:
    assert toy().nodes == by_hand.NODES
    assert build(("é", "Z"), ("a", "Z"), ("10", "Z"), ("9", "Z")).nodes == (
        "10",
        "9",
        "Z",
        "a",
        "é",
    )


def test_measures_of_the_toy() -> None:
    hierarchy = toy()

    for name in ("depth", "height", "level"):
        measured = dict(zip(hierarchy.nodes, getattr(hierarchy, name).tolist(), strict=True))
        assert measured == getattr(by_hand, name.upper()), name
    assert hierarchy.closure.toarray().tolist() == [list(row) for row in by_hand.CLOSURE]
    assert np.array_equal(hierarchy.below.toarray(), np.array(by_hand.CLOSURE).T)
    assert hierarchy.nodes[hierarchy.root] == "object"
    assert tuple(hierarchy.nodes[i] for i in hierarchy.branches) == by_hand.BRANCHES
    assert tuple(np.array(hierarchy.nodes)[hierarchy.leaf]) == by_hand.LEAVES
    assert np.array_equal(hierarchy.assignable, hierarchy.leaf)


@pytest.mark.parametrize("node", by_hand.NODES)
def test_ancestors_and_descendants_are_strict_unless_asked(node: str) -> None:
    above = by_hand.ANCESTORS[node]
    below = tuple(other for other in by_hand.NODES if node in by_hand.ANCESTORS[other])

    assert toy().ancestors(node) == above
    assert toy().descendants(node) == below
    assert toy().ancestors(node, with_self=True) == tuple(sorted((*above, node)))
    assert toy().descendants(node, with_self=True) == tuple(sorted((*below, node)))


def test_parents_and_children() -> None:
    assert toy().parents("dog") == ("mammal", "pet")
    assert toy().children("mammal") == ("cow", "dog")
    assert toy().parents("object") == ()
    assert toy().children("dog") == ()


@pytest.mark.parametrize(("a", "b", "relation", "lca"), by_hand.PAIRS)
def test_relation_of_a_pair_either_way(a: str, b: str, relation: str, lca: str) -> None:
    hierarchy = toy()
    ends, expected = (hierarchy.index(a), hierarchy.index(b)), (relation, hierarchy.index(lca))

    assert relate_two(hierarchy, *ends) == expected
    assert relate_two(hierarchy, *reversed(ends)) == expected


def test_the_toy_has_every_pair_and_every_relation() -> None:
    assert len(by_hand.PAIRS) == len(by_hand.NODES) * (len(by_hand.NODES) - 1) // 2
    assert {relation for *_, relation, _ in by_hand.PAIRS} == set(RELATIONS)


def test_an_unknown_node_is_refused_by_name() -> None:
    assert "unicorn" not in toy()
    with pytest.raises(SchemaError, match=r"toy is required\nFound: 'unicorn'"):
        toy().index("unicorn")


def test_several_tops_hang_under_one_synthetic_root() -> None:
    hierarchy = build(("a", "x"), ("b", "y"))

    assert hierarchy.nodes[hierarchy.root] == SYNTHETIC_ROOT
    assert hierarchy.children(SYNTHETIC_ROOT) == ("x", "y")
    assert not hierarchy.assignable[hierarchy.root]


def test_a_single_top_stays_the_root() -> None:
    assert SYNTHETIC_ROOT not in toy()


def test_tops_beside_a_stated_synthetic_root_hang_under_it() -> None:
    hierarchy = build(("a", SYNTHETIC_ROOT), nodes=["a", "b", SYNTHETIC_ROOT])

    assert hierarchy.children(SYNTHETIC_ROOT) == ("a", "b")
    assert hierarchy.depth.tolist() == [0, 1, 1]


def test_a_lone_node_is_root_and_leaf() -> None:
    hierarchy = build(nodes=["a"])

    assert hierarchy.depth.tolist() == hierarchy.height.tolist() == [0]
    assert hierarchy.level.tolist() == [1]
    assert len(hierarchy.branches) == 0
    assert hierarchy.node_frame()["branch"].to_list() == [None]


def test_a_repeated_edge_counts_once_and_is_told() -> None:
    hierarchy = build(("a", "x"), ("a", "x"), ("a", "x"), ("b", "x"))

    assert hierarchy.repeated_edges == 2
    assert hierarchy.edges.toarray().max() == 1


def test_a_shortest_cycle_is_shown() -> None:
    with pytest.raises(HierarchyError) as caught:
        build(("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "c"), ("d", "top"))

    assert caught.value.found == "c -> d -> c"


def test_a_node_that_is_its_own_parent_is_a_cycle() -> None:
    with pytest.raises(HierarchyError, match="a -> a"):
        build(("a", "a"))


@pytest.mark.parametrize(
    ("nodes", "message"), [(["a", "a"], "declared once"), (["a", ""], "needs an id")]
)
def test_bad_declarations_are_refused(nodes: list[str], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        build(nodes=nodes)


def test_no_node_at_all_is_refused() -> None:
    with pytest.raises(HierarchyError, match="at least one node"):
        build()


def test_declared_assignability_overrules_that_leaves_are() -> None:
    nodes = pl.DataFrame({"node": ["a", "b", "x"], "assignable": [None, False, True]})
    edges = pl.DataFrame({"child": ["a", "b"], "parent": ["x", "x"]})

    assert Hierarchy.build(edges, nodes, name="h").assignable.tolist() == [True, False, True]


def test_from_networkx_without_attributes() -> None:
    hierarchy = Hierarchy.from_networkx(nx.DiGraph([("a", "x"), ("b", "x")]), name="graph")

    assert hierarchy.titles == ("", "", "")
    assert hierarchy.assignable.tolist() == [True, True, False]


def test_extend_adds_nodes() -> None:
    wider = toy().extend(
        pl.DataFrame({"child": ["cat"], "parent": ["mammal"]}),
        pl.DataFrame({"node": ["cat"], "title": ["Cat"], "assignable": [True]}),
    )

    assert wider.parents("cat") == ("mammal",)
    assert wider.parents("dog") == ("mammal", "pet")
    assert [wider.titles[wider.index(node)] for node in ("cat", "dog", "cow")] == ["Cat", "", ""]
    assert len(toy()) == 8
    assert len(wider) == 9


def test_node_frame_lists_every_branch_of_a_node() -> None:
    frame = toy().node_frame()

    assert frame.columns == [
        "node",
        "title",
        "depth",
        "height",
        "level",
        "branch",
        "branches",
        "assignable",
    ]
    dog = frame.row(by_predicate=pl.col("node") == "dog", named=True)
    assert (dog["branch"], dog["branches"], dog["depth"]) == ("animal", ["animal", "pet"], 3)
    assert frame.row(by_predicate=pl.col("node") == "object", named=True)["branch"] is None


def test_a_graph_of_several_relations_is_refused() -> None:
    graph = nx.MultiDiGraph([("b", "a", "is_a"), ("c", "a", "part_of")])
    with pytest.raises(SchemaError, match="multigraph"):
        load_hierarchy(graph)
    with pytest.raises(InputError, match="of a graph"):
        load_hierarchy(nx.DiGraph([("b", "a")]), relations=("part_of",))


def test_edge_frame_gives_the_edges_back() -> None:
    assert toy().edge_frame().rows() == list(by_hand.EDGES)


def test_repr_says_name_and_size() -> None:
    assert repr(toy()) == "Hierarchy('toy': 8 nodes, 4 leaves, 3 branches, depth 3)"
