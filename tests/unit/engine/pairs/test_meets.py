"""Where two nodes meet downwards, against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.engine.pairs.scan import Meets
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.brute_force import above, at_or_below, parents_of
from fixtures.strategies import hierarchies


@given(hierarchies(), st.data())
def test_meets_are_the_lower_node_or_the_most_carried_below_both(
    hierarchy: Hierarchy, data: st.DataObject
) -> None:
    nodes = hierarchy.nodes
    parents = parents_of(nodes, hierarchy.edge_frame().iter_rows())
    carried = {node: data.draw(st.integers(0, 3)) for node in nodes}
    meets = Meets(hierarchy.closure, np.array([carried[node] for node in nodes], np.int64))

    for node in nodes:
        reached, where = meets.of(hierarchy.index(node))
        found = {
            nodes[other]: nodes[place]
            for other, place in zip(reached.tolist(), where.tolist(), strict=True)
        }
        assert reached.tolist() == sorted(reached.tolist())
        assert found == {
            other: meet
            for other in nodes
            if (meet := _meet(parents, carried, node, other)) is not None
        }


def _meet(
    parents: dict[str, set[str]], carried: dict[str, int], node: str, other: str
) -> str | None:
    if node == other or other in above(parents, node):
        return node
    if node in above(parents, other):
        return other
    shared = at_or_below(parents, node) & at_or_below(parents, other)
    return min(shared, key=lambda below: (-carried[below], below), default=None)
