"""Top branches: each node in one, in several or in none, against a search by hand."""

from __future__ import annotations

import pytest
from hypothesis import given

from audit.explorer.run.node_places import top_branches
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.labelled import tree
from fixtures.strategies import hierarchies


def by_hand(hierarchy: Hierarchy) -> list[int]:
    """The same by the words of its definition, node by node."""
    leaves = {node for node in hierarchy.nodes if not hierarchy.children(node)}

    def wide(node: str) -> bool:
        return 2 * len(leaves & set(hierarchy.descendants(node, with_self=True))) > len(leaves)

    def replaced(node: str) -> list[str]:
        below = list(hierarchy.children(node))
        wide_ones = [child for child in below if wide(child)]
        levels = {len(set(hierarchy.children(child)) - leaves) for child in wide_ones}
        if len(wide_ones) != 1 or levels == {0}:
            return below
        return [child for child in below if child not in wide_ones] + replaced(wide_ones[0])

    found = set(replaced(hierarchy.nodes[hierarchy.root]))
    tops = sorted(node for node in found if not found & set(hierarchy.ancestors(node)))
    above = [set(hierarchy.ancestors(node, with_self=True)) & set(tops) for node in hierarchy.nodes]
    return [tops.index(found.pop()) if len(found) == 1 else -1 for found in above]


@given(hierarchies())
def test_they_are_those_of_a_search_by_hand(hierarchy: Hierarchy) -> None:
    assert top_branches(hierarchy).tolist() == by_hand(hierarchy)


@pytest.mark.parametrize(
    ("edges", "branches"),
    [
        (("x y z < root", "a b < x", "c < y"), {"x": "x a b", "y": "y c", "z": "z"}),
        (("x y < root", "a d < x", "b d < y"), {"x": "x a", "y": "y b", "": "d"}),
        (("flat rest < root", "a b c < flat"), {"flat": "flat a b c", "rest": "rest"}),
        (
            ("most rest < root", "x y < most", "a b < x", "c d < y"),
            {"x": "x a b", "y": "y c d", "rest": "rest", "": "most"},
        ),
    ],
)
def test_a_branch_that_has_nearly_all_gives_way_to_those_below(
    edges: tuple[str, ...], branches: dict[str, str]
) -> None:
    hierarchy = tree(*edges)
    number = dict(zip(hierarchy.nodes, top_branches(hierarchy).tolist(), strict=True))

    assert number.pop("root") == -1
    tops = sorted(top for top in branches if top)
    wanted = {
        node: tops.index(top) if top else -1 for top, of in branches.items() for node in of.split()
    }
    assert number == wanted
