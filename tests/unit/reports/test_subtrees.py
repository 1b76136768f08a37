"""Which of a node's metrics are told."""

from __future__ import annotations

from typing import Any

from audit._reports.chapters.model_metrics import subtrees


def _metric(
    scope: str, start: int, end: int, value: float | None = 0.5, n: int = 40
) -> dict[str, Any]:
    return {
        "name": "accuracy_alignment",
        "scope": scope,
        "value": value,
        "low": None,
        "high": None,
        "n": n,
        "parameters": {"depth_from": start, "depth_to": end},
    }


def _subtrees(metrics: list[dict[str, Any]], depths: dict[str, int]) -> list[tuple[str, int, int]]:
    found = subtrees(metrics, ("accuracy_alignment",), {"a": "A"}, depths)
    return [(one.node.text, one.depth_from, one.depth_to) for one in found]


def test_the_cut_ends_at_the_nodes_own_depth_and_starts_deepest() -> None:
    metrics = [_metric("a", *cut) for cut in ((4, 3), (3, 2), (4, 2), (4, 1))]
    assert _subtrees(metrics, {"a": 2}) == [("A (a)", 4, 2)]


def test_where_the_depth_is_not_known_the_cut_ends_nearest_the_root() -> None:
    metrics = [_metric("b", *cut) for cut in ((4, 0), (3, 1), (4, 1), (4, 2))]
    assert _subtrees(metrics, {}) == [("b", 4, 1)]


def test_the_whole_is_no_subtree() -> None:
    assert _subtrees([_metric("all", 2, 1)], {}) == []
