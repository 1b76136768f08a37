"""The lines of a tree that is drawn of values on a hierarchy, however deep it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from audit.base.dag import FloatArray, row
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A line of a drawn tree: a node below one of its parents, or how many were left out there."""

    lead: str
    """What stands before the node: the branches that lead to it."""
    level: int
    """Number of lines above it that lead to it; 0 for the root."""
    node: int | None
    """Index of the node; None if the line counts the nodes left out."""
    parent: int | None = None
    """Index of the node that it is drawn below; None for the root."""
    left_out: int = 0
    again: bool = False
    """Whether what is below the node is drawn further up, below another of its parents."""


def tree_lines(hierarchy: Hierarchy, values: FloatArray, floor: float) -> Iterator[TreeLine]:
    """Draw the nodes with a value above 0 from the root down, the largest value first.

    What is still to be drawn waits in a list, so that no depth ends it.

    Args:
        hierarchy: The hierarchy.
        values: A value of each node, shape (n_nodes,).
        floor: Nodes below this value are left out unless one below them has it; a line below their
            parent counts them.

    Yields:
        The root, even without a value, and then a line for each parent of each node.
    """
    reach = _reach(hierarchy, values)
    drawn: set[int] = set()
    waiting: list[tuple[TreeLine, str]] = [(TreeLine("", 0, hierarchy.root), "")]
    while waiting:
        line, below = waiting.pop()
        if line.node is None:
            yield line
            continue
        kept, left_out = _reached(hierarchy, values, reach, line.node, floor)
        again = line.node in drawn and bool(kept or left_out)
        drawn.add(line.node)
        yield TreeLine(line.lead, line.level, line.node, line.parent, again=again)
        parts: list[tuple[int | None, int]] = [(node, 0) for node in kept]
        parts += [(None, left_out)] if left_out else []
        last = len(parts) - 1
        for at, (node, few) in [] if again else reversed([*enumerate(parts)]):
            lead, under = below + "├└"[at == last] + "─ ", below + "│ "[at == last] + "  "
            waiting.append((TreeLine(lead, line.level + 1, node, line.node, few), under))


def left_out_words(left_out: int, least: float) -> str:
    """What a line says that counts nodes left out.

    Args:
        left_out: Their number.
        least: The share of the whole that they do not reach.

    >>> left_out_words(3, 0.01)
    '3 more with less than 1% of the total each'
    """
    return f"{left_out:,} more with less than {least * 100:.4g}% of the total each"


def _reach(hierarchy: Hierarchy, values: FloatArray) -> FloatArray:
    """The largest value of each node and its descendants, shape (n_nodes,)."""
    edges = hierarchy.edges.tocoo()
    if (values[edges.row] <= values[edges.col]).all():
        return values
    spread = hierarchy.closure.multiply(values[:, np.newaxis])
    return np.asarray(spread.max(axis=0).todense()).ravel()


def _reached(
    hierarchy: Hierarchy, values: FloatArray, reach: FloatArray, node: int, floor: float
) -> tuple[list[int], int]:
    """Children with a value, the largest first, and how many more do not reach the floor."""
    reached = [i for i in row(hierarchy.child_matrix, node).tolist() if reach[i]]
    reached.sort(key=lambda i: (-values[i], i))
    kept = [i for i in reached if reach[i] >= floor]
    return kept, len(reached) - len(kept)
