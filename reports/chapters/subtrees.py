"""Metrics of subtrees: for each node, those between its own depth and the depths below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.chapters.model.metric_tables import ALL
from reports.charts.icicle_layout import size
from reports.words.metric_words import Metric
from reports.words.parts import Node

LINES = 24
"""Largest number of lines in a figure of subtrees."""


@dataclass(frozen=True, slots=True)
class Subtree:
    """A node, and metrics by name of the instances at or below it, between the same depths."""

    node: Node
    depth_from: int
    depth_to: int
    metrics: Mapping[str, Metric]


def subtrees(
    metrics: Sequence[Metric],
    names: Sequence[str],
    titles: Mapping[str, str | None],
    depths: Mapping[str, int],
) -> tuple[Subtree, ...]:
    """The scopes that have the first of the metrics, in node order.

    Args:
        metrics: All metrics.
        names: Names of the metrics; the first one is required, the others are optional.
        titles: Title of each node.
        depths: Depth of each node, if known.

    Of a node's pairs of cuts, the one with its own depth as coarse cut and the deepest fine cut is
    taken; if there is none, the one with the coarse cut nearest below the root.
    """
    scopes: dict[str, dict[tuple[int, int], dict[str, Metric]]] = {}
    for metric in metrics:
        if metric["scope"] != ALL and metric["name"] in names and (cut := _cut(metric)):
            scopes.setdefault(metric["scope"], {}).setdefault(cut, {})[metric["name"]] = metric
    return tuple(
        Subtree(Node(node, titles.get(node) or ""), *cut, cuts[cut])
        for node, cuts in sorted(scopes.items())
        for cut in [min(cuts, key=lambda cut: _distance(cut, depths.get(node)))]
        if names[0] in cuts[cut]
    )


def drawn(found: Sequence[Subtree], name: str) -> list[Subtree]:
    """Subtrees to draw: those with the metric defined and the most instances, ranked by it."""
    defined = [one for one in found if one.metrics[name]["value"] is not None]
    largest = sorted(defined, key=lambda one: (-_instances(one, name), one.node.id))[:LINES]
    return sorted(largest, key=lambda one: (-one.metrics[name]["value"], one.node.id))


def _cut(metric: Metric) -> tuple[int, int] | None:
    start, end = (metric["parameters"].get(name) for name in ("depth_from", "depth_to"))
    return None if start is None or end is None else (start, end)


def _distance(cut: tuple[int, int], depth: int | None) -> tuple[bool, bool, int, int]:
    start, end = cut
    return (end != depth, end < 1, end, -start)


def _instances(one: Subtree, name: str) -> int:
    n = one.metrics[name]["n"]
    return 0 if n is None else size(n)
