"""Changes of nodes that are one: exchanges of siblings, single children, and whole branches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import erfc

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.runs.compare.counts import FALSE_DISCOVERY_RATE

EXCHANGED = 0.5
"""Largest part of the smaller change that a rise and a fall may differ by in an exchange, and that
their parent may change by."""
_CHANCE = FALSE_DISCOVERY_RATE.value
_EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels at or below nodes in two releases, on average over groups; shape (n_nodes,) each.

    Variances are those of the averages, and 0 where both releases are the same data.
    """

    old: FloatArray
    new: FloatArray
    variance_old: FloatArray
    variance_new: FloatArray

    def apart(self, factor: float = 1.0) -> FloatArray:
        """Labels in NEW less a factor times those in OLD."""
        return np.asarray(self.new - factor * self.old)

    def variance(self, factor: float = 1.0) -> FloatArray:
        """Variance of `apart`."""
        return np.asarray(self.variance_new + factor**2 * self.variance_old)


def chance(apart: FloatArray | float, variance: FloatArray | float) -> FloatArray:
    """Two-sided chance of normal values as far from 0; without variance, whether they are 0."""
    apart, variance = np.atleast_1d(apart), np.atleast_1d(variance)
    z = np.abs(apart) / np.sqrt(2 * np.where(variance > 0, variance, 1.0))
    return np.where(variance > 0, erfc(z), np.abs(apart) <= _EQUAL)


@dataclass(frozen=True, eq=False)
class Changed:
    """Changed nodes, and what is known of all nodes.

    Args:
        changed: Whether each node changed, shape (n_nodes,).
        difference: How much its share changed, NaN if that is unknown, same shape.
        labels: Labels at or below it.
        known: Whether the same nodes are below it in both releases, so that its labels compare.
        above: 1 where the column is the row or an ancestor of it, shape (n_nodes, n_nodes).
        children: Children of each node, ascending, those of the root left out.
    """

    changed: BoolArray
    difference: FloatArray
    labels: Labels
    known: BoolArray
    above: Sparse
    children: dict[int, list[int]]

    @cached_property
    def lines(self) -> dict[int, list[int]]:
        """Changed nodes strictly above each changed node."""
        places = np.flatnonzero(self.changed).tolist()
        return {
            node: [a for a in row(self.above, node).tolist() if self.changed[a] and a != node]
            for node in places
        }


@dataclass(frozen=True)
class Exchange:
    """Children of one parent of which some gained what others lost, the largest change first."""

    parent: int
    members: tuple[int, ...]


@dataclass(frozen=True)
class Folded:
    """Changes that others account for.

    Args:
        into: For each folded change, the unfolded one that it is told with.
        exchanges: Exchanges by their largest change, which stands for the others.
        branches: Changes that stand for several below them, which changed by one factor.
    """

    into: dict[int, int]
    exchanges: dict[int, Exchange]
    branches: frozenset[int]


def fold_nodes(of: Changed) -> Folded:
    """Find the changes that are one: exchanges first, then single children, then branches.

    A change is folded into the change below it that differs most in its direction if the labels
    that it has beside that one's have not changed, or went the other way. A change stands for those
    below it whose labels changed by the same factor, if so did its unchanged children together. A
    node of an exchange stands, with the exchange, for the changes below it in either case.
    """
    exchanges = list(_exchanges(of))
    into = {node: one.members[0] for one in exchanges for node in one.members[1:]}
    told = {node for one in exchanges for node in one.members}
    alone = [node for node in of.lines if node not in told and of.known[node]]
    order = sorted(alone, key=lambda node: (-len(row(of.above, node)), node))
    labels = of.labels
    into |= _into_children(of.lines, order, of.difference, labels.apart(), labels.variance())
    below: dict[int, list[int]] = defaultdict(list)
    for node in order:
        for other in of.lines[node]:
            below[other].append(node)
    branches = set[int]()
    tops = [node for node in of.lines if of.known[node] and (node in told or node not in into)]
    for node in sorted(tops, key=lambda node: (len(row(of.above, node)), node)):
        if node not in into or node in told:
            parts = [c for c in below[node] if c not in into]
            own = _of_member(of, node, parts) if node in told else {}
            own |= _of_branch(of, node, [c for c in parts if c not in own])
            into |= own
            branches |= {node} if list(own.values()).count(node) > 1 else set()
    into = {node: _end(into, node) for node in into}
    return Folded(into, {one.members[0]: one for one in exchanges}, frozenset(branches))


def _end(into: dict[int, int], node: int) -> int:
    while node in into:
        node = into[node]
    return node


def _exchanges(of: Changed) -> Iterator[Exchange]:
    taken = set[int]()
    for parent in sorted(of.children):
        if of.changed[parent]:
            continue
        waiting = [c for c in of.children[parent] if of.changed[c] and c not in taken]
        for members in exchanged(waiting, of.difference, abs(float(of.difference[parent]))):
            taken |= set(members)
            yield Exchange(parent, members)


def exchanged(
    children: Sequence[int], difference: FloatArray, of_parent: float
) -> Iterator[tuple[int, ...]]:
    """Siblings whose rises and falls cancel: in twos, then all that are left together."""
    size = {child: abs(float(difference[child])) for child in children}
    waiting, left = sorted(children, key=lambda c: (-size[c], c)), []
    while waiting:
        first = waiting.pop(0)
        off = {
            other: abs(float(difference[first] + difference[other]))
            for other in waiting
            if difference[first] * difference[other] < 0
        }
        fitting = [other for other in off if off[other] <= EXCHANGED * size[other]]
        second = min(fitting, key=lambda other: (off[other], other), default=None)
        if second is not None and of_parent <= EXCHANGED * size[second]:
            waiting.remove(second)
            yield first, second
        else:
            left.append(first)
    rises, falls = (sum(size[c] for c in left if sign * difference[c] > 0) for sign in (1, -1))
    if len(left) > 2 and max(abs(rises - falls), of_parent) <= EXCHANGED * min(rises, falls):
        yield tuple(left)


def _into_children(
    lines: Mapping[int, Sequence[int]],
    order: Sequence[int],
    by: FloatArray,
    apart: FloatArray,
    variance: FloatArray,
) -> dict[int, int]:
    """Changes that the greatest one below them in their direction accounts for, with that one."""
    into = dict[int, int]()
    sign, size = np.sign(by).tolist(), np.abs(by).tolist()
    greatest = dict[tuple[int, float], int]()
    for node in order:
        part = greatest.get((node, sign[node]))
        if part is not None and _nothing_left(apart, variance, node, part):
            into[node] = part
            continue
        for other in lines[node]:
            known = greatest.get((other, sign[node]))
            if known is None or (size[known], -known) < (size[node], -node):
                greatest[other, sign[node]] = node
    return into


def _nothing_left(apart: FloatArray, variance: FloatArray, node: int, part: int) -> bool:
    """Whether what a node has beside a part of it is 0 but for chance, or goes the other way."""
    rest, spread = float(apart[node] - apart[part]), float(variance[node] - variance[part])
    return _nothing(rest, spread, float(apart[node]))


def _nothing(rest: float, variance: float, whole: float) -> bool:
    return rest * whole <= 0 or bool(chance(rest, max(0.0, variance))[0] > _CHANCE)


def _of_member(of: Changed, node: int, below: list[int]) -> dict[int, int]:
    """The changes below a node of an exchange that together are all of its own, with the node."""
    along = [c for c in below if of.difference[c] * of.difference[node] > 0]
    among = set(along)
    tops = [c for c in along if among.isdisjoint(of.lines[c])]
    apart, variance = of.labels.apart(), of.labels.variance()
    rest = float(apart[node] - apart[tops].sum()), float(variance[node] - variance[tops].sum())
    return dict.fromkeys(along, node) if tops and _nothing(*rest, float(apart[node])) else {}


def _of_branch(of: Changed, node: int, below: list[int]) -> dict[int, int]:
    """The changes below a node that are no more than its own, with the node or one of theirs."""
    labels = of.labels
    if not below or not labels.old[node]:
        return {}
    factor = float(labels.new[node] / labels.old[node])
    apart, variance = labels.apart(factor), labels.variance(factor)
    still = [child for child in of.children[node] if not of.changed[child]]
    if still and chance(apart[still].sum(), variance[still].sum())[0] <= _CHANCE:
        return {}
    places: IntArray = np.array(below)
    q_value = benjamini_hochberg(chance(apart[places], variance[places]), len(places))
    into = {c: node for c, q in zip(below, q_value.tolist(), strict=True) if q > _CHANCE}
    own = [c for c in below if c not in into]
    return into | _into_children(of.lines, own, apart, apart, variance)
