"""What holds for every hierarchy, against networkx and against plain Python sets."""

from __future__ import annotations

from itertools import combinations, permutations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.base.dag import SYNTHETIC_ROOT
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import RELATIONS, relate, relate_two
from fixtures.strategies import hierarchies, label_sets, trees, trees_of_paths

Parents = dict[str, set[str]]


def parents_of(hierarchy: Hierarchy) -> Parents:
    found: Parents = {node: set() for node in hierarchy.nodes}
    for child, parent in hierarchy.edge_frame().iter_rows():
        found[child].add(parent)
    return found


def above(parents: Parents, node: str) -> set[str]:
    """The node and all its ancestors."""
    return {node}.union(*(above(parents, parent) for parent in parents[node]))


def children(parents: Parents, node: str) -> set[str]:
    return {child for child in parents if node in parents[child]}


def depth(parents: Parents, node: str) -> int:
    return max((1 + depth(parents, parent) for parent in parents[node]), default=0)


def height(parents: Parents, node: str) -> int:
    return max((1 + height(parents, child) for child in children(parents, node)), default=0)


def level(parents: Parents, node: str) -> int:
    return 1 + min((level(parents, child) for child in children(parents, node)), default=0)


def lowest(parents: Parents, a: str, b: str) -> str:
    common = above(parents, a) & above(parents, b)
    return min(common, key=lambda node: (-depth(parents, node), height(parents, node), node))


def relation(parents: Parents, a: str, b: str) -> str:
    if a in above(parents, b) or b in above(parents, a):
        return "ancestor"
    if parents[a] & parents[b]:
        return "sibling"
    if any({a, b} <= above(parents, node) for node in parents):
        return "overlap"
    return "same_branch" if parents[lowest(parents, a, b)] else "cross_branch"


def related(hierarchy: Hierarchy, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Relation and lowest common ancestor of each pair, as the hierarchy says."""
    ends = np.array([[hierarchy.index(node) for node in pair] for pair in pairs], np.int64)
    a, b = ends.reshape(-1, 2).T
    relations, ancestors = relate(hierarchy, a, b)
    named = zip(relations.tolist(), ancestors.tolist(), strict=True)
    return [(RELATIONS[relation], hierarchy.nodes[ancestor]) for relation, ancestor in named]


@given(hierarchies())
def test_closure_equals_networkx(hierarchy: Hierarchy) -> None:
    graph = hierarchy.to_networkx()

    for node in hierarchy.nodes:
        # networkx follows child -> parent, so its descendants lie above
        assert set(hierarchy.ancestors(node)) == nx.descendants(graph, node)
        assert set(hierarchy.descendants(node)) == nx.ancestors(graph, node)


@given(hierarchies())
def test_there_is_one_root_above_everything(hierarchy: Hierarchy) -> None:
    root = hierarchy.nodes[hierarchy.root]

    assert [node for node, above in parents_of(hierarchy).items() if not above] == [root]
    assert hierarchy.descendants(root, with_self=True) == hierarchy.nodes


@given(hierarchies())
def test_distances_equal_plain_recursion(hierarchy: Hierarchy) -> None:
    parents = parents_of(hierarchy)

    assert hierarchy.depth.tolist() == [depth(parents, node) for node in hierarchy.nodes]
    assert hierarchy.height.tolist() == [height(parents, node) for node in hierarchy.nodes]
    assert hierarchy.level.tolist() == [level(parents, node) for node in hierarchy.nodes]


@given(hierarchies())
def test_relations_and_lowest_common_ancestors_equal_sets(hierarchy: Hierarchy) -> None:
    parents = parents_of(hierarchy)
    pairs = list(permutations(hierarchy.nodes, 2))

    assert related(hierarchy, pairs) == [
        (relation(parents, a, b), lowest(parents, a, b)) for a, b in pairs
    ]


@given(hierarchies())
def test_two_nodes_alone_are_related_as_among_all_pairs(hierarchy: Hierarchy) -> None:
    pairs = list(permutations(hierarchy.nodes, 2))
    alone = [relate_two(hierarchy, hierarchy.index(a), hierarchy.index(b)) for a, b in pairs]

    assert [(name, hierarchy.nodes[lca]) for name, lca in alone] == related(hierarchy, pairs)


@given(hierarchies(), st.data())
def test_relabelling_nodes_permutes_everything(hierarchy: Hierarchy, data: st.DataObject) -> None:
    moved = [node for node in hierarchy.nodes if node != SYNTHETIC_ROOT]
    names = data.draw(st.permutations([f"n{i}" for i in range(len(moved))]))
    new_name = dict(zip(moved, names, strict=True)) | {SYNTHETIC_ROOT: SYNTHETIC_ROOT}
    other = Hierarchy.from_networkx(
        nx.relabel_nodes(hierarchy.to_networkx(), new_name), name="relabelled"
    )
    to = np.array([other.index(new_name[node]) for node in hierarchy.nodes])

    for measure in ("depth", "height", "level", "assignable"):
        assert np.array_equal(getattr(other, measure)[to], getattr(hierarchy, measure)), measure
    assert [other.titles[i] for i in to] == list(hierarchy.titles)
    assert np.array_equal(other.closure.toarray()[np.ix_(to, to)], hierarchy.closure.toarray())
    pairs = list(combinations(hierarchy.nodes, 2))
    renamed = [(new_name[a], new_name[b]) for a, b in pairs]
    relations = [relation for relation, _ in related(hierarchy, pairs)]
    assert [relation for relation, _ in related(other, renamed)] == relations


@given(hierarchies())
def test_networkx_round_trip_keeps_everything(hierarchy: Hierarchy) -> None:
    assert Hierarchy.from_networkx(hierarchy.to_networkx(), name="x").sha256 == hierarchy.sha256


@given(st.one_of(trees(), trees_of_paths()))
def test_in_a_tree_nothing_overlaps(hierarchy: Hierarchy) -> None:
    assert max(map(len, parents_of(hierarchy).values())) <= 1
    pairs = list(combinations(hierarchy.nodes, 2))
    assert all(relation != "overlap" for relation, _ in related(hierarchy, pairs))


@given(hierarchies().flatmap(lambda drawn: st.tuples(st.just(drawn), label_sets(drawn))))
def test_drawn_labels_are_nodes(drawn: tuple[Hierarchy, list[frozenset[str]]]) -> None:
    hierarchy, labels = drawn

    assert all(label in hierarchy for instance in labels for label in instance)
