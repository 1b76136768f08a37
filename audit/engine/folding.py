"""Few findings: pairs that others explain are folded into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Sparse: TypeAlias = csr_array[Any, tuple[int, int]]
IntArray: TypeAlias = NDArray[np.int64]


def pairs_above(a: IntArray, b: IntArray, closure: Sparse) -> list[list[int]]:
    """For each pair the other given pairs at or above it, node by node, in the order given.

    Args:
        a: First nodes, shape (n_pairs,).
        b: Second nodes; a pair may stand in either order, once.
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).

    Time grows with the pairs times the ancestors of both nodes.
    """
    n = np.int64(closure.shape[0])
    keys = np.minimum(a, b) * n + np.maximum(a, b)
    order = np.argsort(keys)
    ordered = keys[order]
    found = []
    for own, first, second in zip(keys.tolist(), a.tolist(), b.tolist(), strict=True):
        left = closure.indices[closure.indptr[first] : closure.indptr[first + 1]].astype(np.int64)
        right = closure.indices[closure.indptr[second] : closure.indptr[second + 1]]
        above = np.minimum(left[:, None], right) * n + np.maximum(left[:, None], right)
        wanted = np.unique(above)
        wanted = wanted[wanted != own]
        place = np.searchsorted(ordered, wanted).clip(max=len(ordered) - 1)
        found.append(sorted(order[place[ordered[place] == wanted]].tolist()))
    return found


def fold(
    order: Sequence[int],
    above: Sequence[Sequence[int]],
    stands_without: Callable[[int, Sequence[int]], bool],
    stands_alone: Callable[[int], bool],
) -> dict[int, tuple[int, ...]]:
    """Fold findings into those that explain them.

    From the deepest up, a finding above standing ones is measured again without their instances;
    where it does not hold it is folded into them. Then, from the top down, one that
    does not hold on its own account is folded into the deepest standing finding above it.

    Args:
        order: Findings, each before all that lie above it.
        above: For each finding those above it.
        stands_without: Whether a finding holds without the instances of those.
        stands_alone: Whether a finding holds on its own account.

    Returns:
        For each folded finding the standing ones that explain it; what is not in it stands.
    """
    into: dict[int, tuple[int, ...]] = {}
    explaining: dict[int, list[int]] = {finding: [] for finding in order}
    for finding in order:
        below = explaining[finding]
        if below and not stands_without(finding, below):
            into[finding] = tuple(below)
            continue
        for other in above[finding]:
            explaining[other].append(finding)
    rank = {finding: place for place, finding in enumerate(order)}
    for finding in reversed(order):
        standing = [other for other in above[finding] if other not in into]
        if finding not in into and standing and not stands_alone(finding):
            into[finding] = (min(standing, key=lambda other: rank[other]),)
    return {finding: _standing(into, finding) for finding in into}


def _standing(into: Mapping[int, tuple[int, ...]], finding: int) -> tuple[int, ...]:
    """What a finding is folded into in the end."""
    if finding not in into:
        return (finding,)
    return tuple(sorted({end for other in into[finding] for end in _standing(into, other)}))


def topmost(findings: Sequence[int], above: Sequence[Sequence[int]]) -> list[int]:
    """Those of some findings that lie below no other of them, in the order given.

    Args:
        findings: Places in ``above``.
        above: For each finding those above it.

    >>> topmost([0, 1, 2], [[2, 3], [3], [3], []])
    [1, 2]
    """
    others = set(findings)
    return [finding for finding in findings if others.isdisjoint(above[finding])]


def most_specific(node: int, support: IntArray, children: Sparse) -> int:
    """The end of the chain of nodes with equal support that begins at a node.

    A chain goes on while exactly one child has the support of its parent: the same instances
    carry both.

    Args:
        node: Where it begins.
        support: Instances carrying each node, shape (n_nodes,).
        children: 1 where the column is a child of the row, shape (n_nodes, n_nodes).
    """
    while True:
        below = children.indices[children.indptr[node] : children.indptr[node + 1]]
        equal = below[support[below] == support[node]]
        if len(equal) != 1:
            return node
        node = int(equal[0])
