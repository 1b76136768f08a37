"""Where the nodes of findings lie in the hierarchy, so that a reader finds them in its picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl


def lineage(
    checks: Sequence[Mapping[str, Any]],
    tree: Sequence[Mapping[str, Any]],
    edges: pl.DataFrame,
    titles: Mapping[str, str | None],
) -> list[dict[str, Any]]:
    """What is above each node that a shown finding names.

    Args:
        checks: The shared view's checks.
        tree: The overview's tree: the nodes that are pictured.
        edges: ``child, parent`` of the nodes in use.
        titles: Title of each node.

    Returns:
        ``node, above, below`` in the order of the nodes: the pictured nodes that are it or lie
        above it, and the nearest title above one that has none of its own. A node that the
        hierarchy lacks has no line. It says something of the hierarchy alone, and of no count.
    """
    parents: dict[str, list[str]] = {}
    for child, parent in edges.select("child", "parent").sort("child", "parent").iter_rows():
        parents.setdefault(child, []).append(parent)
    pictured = {row["node"] for row in tree}
    named = {node["id"] for check in checks for one in check["findings"] for node in one["nodes"]}
    return [
        {
            "node": node,
            "above": sorted(pictured.intersection(_upwards(node, parents))),
            "below": None
            if titles.get(node)
            else next(filter(None, map(titles.get, _upwards(node, parents))), None),
        }
        for node in sorted(named)
        if node in parents or node in pictured
    ]


def _upwards(node: str, parents: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A node and all above it, the nearest first, each once."""
    seen, level = {node}, [node]
    while level:
        yield from level
        above = dict.fromkeys(parent for one in level for parent in parents.get(one, ()))
        level = [one for one in above if one not in seen]
        seen.update(level)
