"""Place a small graph in layers, so that edges lead from each layer to later ones.

Layers, places that stand for the edges that pass a layer, and an order within each layer with few
crossings (“Methods for Visual Understanding of Hierarchical System Structures”, Sugiyama, Tagawa
and Toda).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TypeAlias

Edge: TypeAlias = tuple[int, int]
"""From a node to another one, by their numbers."""

SWEEPS = 12
"""Passes over the layers, in turn from both ends."""


@dataclass(frozen=True, slots=True)
class Layered:
    """A graph in layers.

    Args:
        layers: The places of each layer in order: numbers of nodes, and beyond them those of
            places where a longer edge passes.
        paths: The places of each edge, from the earlier layer to the later one.
        against: Whether each edge leads from the later layer to the earlier one.
    """

    layers: tuple[tuple[int, ...], ...]
    paths: tuple[tuple[int, ...], ...]
    against: tuple[bool, ...]


def layered(nodes: int, edges: Sequence[Edge]) -> Layered:
    """Deal nodes into layers and order each of these.

    Args:
        nodes: Number of nodes, from 1 on.
        edges: Edges between different nodes; those that come first decide the direction. An edge
            that would close a cycle leads against it.
    """
    against = _against(nodes, edges)
    forward = [edge[::-1] if back else edge for edge, back in zip(edges, against, strict=True)]
    layer = _layers(nodes, forward)
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for node in range(nodes):
        rows[layer[node]].append(node)
    paths = tuple(_path(edge, layer, rows) for edge in forward)
    links = [link for path in paths for link in pairwise(path)]
    return Layered(_ordered(rows, links), paths, against)


def places(
    layered: Layered, sizes: Sequence[Sequence[float]], gap: float
) -> tuple[tuple[float, ...], ...]:
    """Centres across the layers: each place near those it is linked to, none nearer than a gap.

    Returns:
        The centre of each place; the lowest side of any is 0.
    """
    links = [link for path in layered.paths for link in pairwise(path)]
    near = _neighbours(links)
    at: dict[int, float] = {}
    for row, size in zip(layered.layers, sizes, strict=True):
        steps = [0.0, *((one + two) / 2 + gap for one, two in pairwise(size))]
        whole = sum(steps)
        below = 0.0
        for place, step in zip(row, steps, strict=True):
            below += step
            at[place] = below - whole / 2
    for sweep in range(SWEEPS):
        every = list(zip(layered.layers, sizes, strict=True))
        for row, size in every[:: 1 if sweep % 2 == 0 else -1]:
            wanted = [fmean([at[one] for one in near.get(place, [place])]) for place in row]
            at |= zip(row, _spread(wanted, size, gap), strict=True)
    low = min(
        at[place] - one / 2
        for row, size in zip(layered.layers, sizes, strict=True)
        for place, one in zip(row, size, strict=True)
    )
    return tuple(tuple(round(at[place] - low, 2) for place in row) for row in layered.layers)


def _against(nodes: int, edges: Iterable[Edge]) -> tuple[bool, ...]:
    """Which edges would close a cycle with those before them."""
    above: list[set[int]] = [set() for _ in range(nodes)]
    layers = []
    for start, end in edges:
        back = _reaches(above, end, start)
        above[end if back else start].add(start if back else end)
        layers.append(back)
    return tuple(layers)


def _reaches(above: Sequence[set[int]], start: int, end: int) -> bool:
    seen, open_ = {start}, [start]
    while open_:
        further = above[open_.pop()] - seen
        seen |= further
        open_ += further
    return end in seen


def _layers(nodes: int, edges: Sequence[Edge]) -> list[int]:
    """The longest path to each node; a node that none leads to stands right before the next."""
    layer = [0] * nodes
    for _ in range(nodes):
        for start, end in edges:
            layer[end] = max(layer[end], layer[start] + 1)
    ends = {end for _, end in edges}
    for node in range(nodes):
        after = [layer[end] for start, end in edges if start == node]
        if node not in ends and after:
            layer[node] = min(after) - 1
    return layer


def _path(edge: Edge, layer: Sequence[int], rows: list[list[int]]) -> tuple[int, ...]:
    """The places of an edge, with a new one in each layer that it passes."""
    start, end = edge
    passed = []
    for between in range(layer[start] + 1, layer[end]):
        passed.append(sum(map(len, rows)))
        rows[between].append(passed[-1])
    return (start, *passed, end)


def _neighbours(links: Iterable[Edge]) -> dict[int, list[int]]:
    near: dict[int, list[int]] = {}
    for start, end in links:
        near.setdefault(start, []).append(end)
        near.setdefault(end, []).append(start)
    return near


def _ordered(rows: Sequence[Sequence[int]], links: Sequence[Edge]) -> tuple[tuple[int, ...], ...]:
    """The order with fewest crossings among those that sweeps over the layers give."""
    near = _neighbours(links)
    best = order = tuple(map(tuple, rows))
    for sweep in range(SWEEPS):
        order = _swept(order, near, 1 if sweep % 2 == 0 else -1)
        best = min(best, order, key=lambda one: _crossings(one, links))
    return best


def _swept(
    order: tuple[tuple[int, ...], ...], near: dict[int, list[int]], step: int
) -> tuple[tuple[int, ...], ...]:
    """Each layer in the order of the means of what its places are linked to in the layer before."""
    rows = list(map(list, order))[::step]
    for before, row in pairwise(rows):
        at = {place: number for number, place in enumerate(before)}
        own = {place: number for number, place in enumerate(row)}
        means = {
            place: fmean([at[one] for one in near.get(place, ()) if one in at] or [own[place]])
            for place in row
        }
        row.sort(key=lambda place: (means[place], own[place]))
    return tuple(map(tuple, rows[::step]))


def _crossings(order: Sequence[Sequence[int]], links: Sequence[Edge]) -> int:
    at = {
        place: (number, spot) for number, row in enumerate(order) for spot, place in enumerate(row)
    }
    ends = [(*at[start], at[end][1]) for start, end in links]
    return sum(
        one[0] == two[0] and (one[1] - two[1]) * (one[2] - two[2]) < 0
        for number, one in enumerate(ends)
        for two in ends[:number]
    )


def _spread(wanted: Sequence[float], sizes: Sequence[float], gap: float) -> list[float]:
    """The places nearest to those wanted, by squares, at which none is nearer than a gap.

    Less the room that they need at least, the places must not fall: neighbours that would are
    moved to their mean (pooled adjacent violators).
    """
    room = [0.0]
    for one, two in pairwise(sizes):
        room.append(room[-1] + (one + two) / 2 + gap)
    blocks: list[tuple[float, int]] = []
    for want, least in zip(wanted, room, strict=True):
        mean, n = want - least, 1
        while blocks and blocks[-1][0] > mean:
            before, m = blocks.pop()
            mean, n = (before * m + mean * n) / (m + n), m + n
        blocks.append((mean, n))
    level = [mean for mean, n in blocks for _ in range(n)]
    return [one + least for one, least in zip(level, room, strict=True)]
