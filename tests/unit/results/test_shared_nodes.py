"""What a shared view tells of single nodes: its own rows, and nothing else."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from audit.results.shared_tables import shared_node, shared_titles
from fixtures import results


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    return results.rich_result().shared()


def test_each_row_is_one_of_the_view(shared: dict[str, Any]) -> None:
    overview = shared["overview"]
    pairs = [*overview["pairs"], *overview["branch_pairs"], *overview["data_beside_model"]]
    for node in shared_titles(shared):
        told = shared_node(shared, node)
        assert told is not None
        for row in (told.picture, told.branch, told.coverage, told.residual):
            assert row is None or row["node"] == node
        assert all(row in overview["tree"] for row in (*told.above, *told.below))
        assert all(row["scope"] == node for row in told.metrics)
        for row in (*told.pairs, *told.beside_model):
            assert {node, row["node"]} == {row["a"], row["b"]}
            assert any(pair.items() <= row.items() for pair in pairs)


def test_every_pictured_node_is_told_below_its_parent(shared: dict[str, Any]) -> None:
    tree = shared["overview"]["tree"]
    assert tree
    for row in tree:
        told = shared_node(shared, row["node"])
        assert told is not None
        assert told.picture == row
        assert row["parent"] is None or row["parent"] in {one["node"] for one in told.above}
        assert told.below == [one for one in tree if one["parent"] == row["node"]]


def test_codes_that_the_hierarchy_lacks_are_no_nodes(shared: dict[str, Any]) -> None:
    view = deepcopy(shared)
    finding = next(one for check in view["checks"] for one in check["findings"])
    finding["nodes"].append({"id": "4O1", "title": None})
    placed = {line["node"] for line in view["overview"]["lineage"]}

    assert placed <= set(shared_titles(view))
    for code in ("4O1", "no such node", ""):
        assert shared_node(view, code) is None
