"""The cuts that metrics move between: depths from the root, or the paper's levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from audit.base.choices import Aggregation, Levels
from audit.engine.scores.cuts import Cut, depth_cut, level_cut
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Moves:
    """Cuts of a hierarchy by their number, and which two are compared.

    Args:
        kind: ``depth`` or ``level``, as the parameters of metrics spell it.
        cuts: The cuts by depth or level; none is the root alone.
        pairs: Fine and coarse number of each comparison.
        aggregation: What an aggregated value is.
    """

    kind: str
    cuts: Mapping[int, Cut]
    pairs: tuple[tuple[int, int], ...]
    aggregation: Aggregation = "descendants"

    def at(self, number: int) -> Mapping[str, object]:
        """Parameters of a metric at one cut."""
        return {"aggregation": self.aggregation, f"{self.kind}_to": number}

    def between(self, fine: int, coarse: int) -> Mapping[str, object]:
        """Parameters of a metric between two cuts."""
        return {
            "aggregation": self.aggregation,
            f"{self.kind}_from": fine,
            f"{self.kind}_to": coarse,
        }


def moves_of(hierarchy: Hierarchy, levels: Levels, aggregation: Aggregation) -> Moves:
    """The moves of a hierarchy, from fine to coarse, each adjacent one and all from the leaves.

    ``depth`` takes the nodes at each depth with the leaves above it; ``paper`` the nodes whose
    shortest path to a leaf has so many nodes (*Abstraction Alignment*, section 3.1), of nested ones
    the topmost, and without the root, in which everything would agree.
    """
    if levels == "paper":
        highest = int(np.delete(hierarchy.level, hierarchy.root).max(initial=0))
        cuts = {at: _level_cut(hierarchy, at) for at in range(1, highest + 1)}
        return Moves("level", cuts, tuple(level_pairs(highest)), aggregation)
    deepest = int(hierarchy.depth.max())
    closure, depth, leaf = hierarchy.closure, hierarchy.depth, hierarchy.leaf
    cuts = {at: depth_cut(closure, depth, leaf, at) for at in range(1, deepest + 1)}
    return Moves("depth", cuts, tuple(depth_pairs(deepest)), aggregation)


def depth_pairs(deepest: int) -> list[tuple[int, int]]:
    """Pairs of depths to compare: each with the one above, the deepest with all; never the root.

    >>> depth_pairs(3)
    [(2, 1), (3, 1), (3, 2)]
    """
    adjacent = {(depth + 1, depth) for depth in range(1, deepest)}
    return sorted(adjacent | {(deepest, depth) for depth in range(1, deepest)})


def level_pairs(highest: int) -> list[tuple[int, int]]:
    """Pairs of levels to compare: each with the one above, the leaves with all.

    >>> level_pairs(3)
    [(1, 2), (1, 3), (2, 3)]
    """
    adjacent = {(level, level + 1) for level in range(1, highest)}
    return sorted(adjacent | {(1, level) for level in range(2, highest + 1)})


def _level_cut(hierarchy: Hierarchy, at: int) -> Cut:
    without_root = hierarchy.level.copy()
    without_root[hierarchy.root] = 0
    return level_cut(hierarchy.closure, without_root, at)
