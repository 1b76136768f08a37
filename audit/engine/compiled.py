"""Innermost loops over pairs, compiled by numba; each has an equivalent in NumPy or scipy.

This module is imported only where numba is installed and the work is worth the wait for it. The
order of summation does not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

VALUE_BITS = 11
"""Bits of a number that hold a value; its slot is above them."""
_SHIFT, _VALUE = np.uint32(VALUE_BITS), np.uint32(2**VALUE_BITS - 1)


@njit(cache=True, nogil=True)
def in_order_of_slots(
    bounds: NDArray[np.integer[Any]],
    nodes: NDArray[np.integer[Any]],
    values: NDArray[np.int64],
    slot_of: NDArray[np.int64],
    slots: int,
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Put the nodes of each instance in the order of their slots, and list each slot's instances.

    Args:
        bounds: Start of the nodes of each instance, shape (n_instances + 1,).
        nodes: Nodes of the instances, in any order within each, shape (n_stored,).
        values: Their values, less than ``2**VALUE_BITS``, shape (n_stored,).
        slot_of: Slot of each node, shape (n_nodes,); negative: it has none and is left out.

    Returns:
        The arguments ``packed``, ``begins``, ``starts`` and ``places`` of `add_pairs`.
    """
    instances = len(bounds) - 1
    starts = np.zeros(slots + 1, np.int64)
    following = np.zeros(instances, np.int32)
    kept = 0
    for instance in range(instances):
        following[instance] = kept
        for stored in range(bounds[instance], bounds[instance + 1]):
            slot = slot_of[nodes[stored]]
            if slot >= 0:
                starts[slot + 1] += 1
                kept += 1
    for slot in range(slots):
        starts[slot + 1] += starts[slot]
    begin, free = following.copy(), starts[:-1].copy()
    instance_of, value_of = np.empty(kept, np.int32), np.empty(kept, np.uint32)
    for instance in range(instances):
        for stored in range(bounds[instance], bounds[instance + 1]):
            slot = slot_of[nodes[stored]]
            if slot >= 0:
                instance_of[free[slot]] = instance
                value_of[free[slot]] = values[stored]
                free[slot] += 1
    packed, places = np.empty(kept, np.uint32), np.empty(kept, np.int32)
    begins = np.empty(kept, np.int32)
    for slot in range(slots):
        for stored in range(starts[slot], starts[slot + 1]):
            instance = instance_of[stored]
            place = following[instance]
            following[instance] = place + 1
            packed[place] = np.uint32(slot) << _SHIFT | value_of[stored]
            places[stored] = place
            begins[stored] = begin[instance]
    return packed, begins, starts, places


@njit(cache=True, nogil=True)
def add_pairs(
    first: int,
    stop: int,
    packed: NDArray[np.uint32],
    begins: NDArray[np.int32],
    starts: NDArray[np.int64],
    places: NDArray[np.int32],
    entropy: NDArray[np.float64],
    joint: NDArray[np.int64],
    confusion: NDArray[np.float64],
) -> None:
    """Add the pairs of some slots with the slots before them to the triangle.

    Indices are unsigned, for numba asks of every other whether it counts from the end.

    Args:
        packed: Slots of the instances, ascending within each, above their values, (n_stored,).
        begins: For each stored value the start of its instance, ordered by slot, (n_stored,).
        starts: Start of the stored values of each slot, shape (n_slots + 1,).
        places: Positions of those values in ``packed``, shape (n_stored,).
        entropy: Table of the entropy of two values in bits, indexed by both values.
        joint: The triangle's joint counts, those of slot b with all a < b at b (b - 1) / 2 + a.
        confusion: The triangle's summed entropies, likewise.
    """
    for b in range(first, stop):
        base = b * (b - 1) // 2
        met, bits = joint[base : base + b], confusion[base : base + b]
        for stored in range(starts[b], starts[b + 1]):
            own = np.uint32(places[stored])
            of_value = entropy[packed[own] & _VALUE]
            for place in range(np.uint32(begins[stored]), own):
                other = packed[place]
                slot = other >> _SHIFT
                met[slot] += 1
                bits[slot] += of_value[other & _VALUE]


@njit(cache=True, nogil=True)
def list_outside(
    starts: NDArray[np.int64],
    nodes: NDArray[np.int64],
    values: NDArray[np.int32],
    outside: NDArray[np.bool_],
    entropy: NDArray[np.float64],
    keys: NDArray[np.int64],
    bits: NDArray[np.float64],
) -> None:
    """List the pairs of nodes of each instance in which at least one node has no slot.

    Args:
        starts: Start of the nodes of each instance, shape (n_instances + 1,).
        nodes: Nodes of the instances, ascending within each, shape (n_stored,).
        values: Their values, shape (n_stored,).
        outside: Which nodes have no slot, shape (n_nodes,).
        entropy: Table of the entropy of two values in bits, indexed by both values.
        keys: Output: ``a * n_nodes + b`` of each pair, a before b, shape (n_pairs,).
        bits: Output: the entropy of each pair, shape (n_pairs,).
    """
    place, n_nodes = 0, len(outside)
    for instance in range(len(starts) - 1):
        for second in range(starts[instance], starts[instance + 1]):
            for first in range(starts[instance], second):
                if outside[nodes[first]] or outside[nodes[second]]:
                    keys[place] = nodes[first] * n_nodes + nodes[second]
                    bits[place] = entropy[values[first], values[second]]
                    place += 1


@njit(cache=True, nogil=True)
def joint_of(
    first: int,
    stop: int,
    columns: NDArray[np.integer[Any]],
    ends: NDArray[np.int32],
    starts: NDArray[np.int32],
    places: NDArray[np.int32],
    n_nodes: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Joint counts of the nodes from ``first`` to before ``stop`` with the nodes after them.

    Indices are unsigned, for numba asks of every other whether it counts from the end.

    Args:
        columns: Nodes of the instances, ascending within each, shape (n_stored,).
        ends: For each stored value the end of its instance, ordered by node, shape (n_stored,).
        starts: Start of the stored values of each node, shape (n_nodes + 1,).
        places: Positions of those values in ``columns``, shape (n_stored,).

    Returns:
        The number of second nodes of each first node, those second nodes, and the joint counts.
    """
    widths = np.zeros(stop - first, np.int64)
    seconds = np.empty(4 * n_nodes, np.int32)
    counts = np.empty(4 * n_nodes, np.int32)
    counter = np.zeros(n_nodes, np.int32)
    found = np.uint32(0)
    for a in range(first, stop):
        for stored in range(starts[a], starts[a + 1]):
            for place in range(np.uint32(places[stored] + 1), np.uint32(ends[stored])):
                counter[np.uint32(columns[place])] += np.int32(1)
        if found + n_nodes > len(seconds):
            seconds = _twice(seconds)
            counts = _twice(counts)
        before = found
        for b in range(np.uint32(a + 1), np.uint32(n_nodes)):
            seconds[found] = b
            counts[found] = counter[b]
            found += np.uint32(counter[b] != 0)
            counter[b] = 0
        widths[a - first] = found - before
    return widths, seconds[:found], counts[:found]


@njit(cache=True, nogil=True)
def take_joint(
    first: int,
    stop: int,
    columns: NDArray[np.integer[Any]],
    ends: NDArray[np.int32],
    starts: NDArray[np.int32],
    places: NDArray[np.int32],
    less: NDArray[np.int64],
    bounds: NDArray[np.int64],
    seconds: NDArray[np.int64],
    sum_of_one: NDArray[np.int64],
    sum_of_other: NDArray[np.int64],
) -> None:
    """Take what the instances with both nodes lack of two weights from the sums of each pair.

    Args:
        columns, ends, starts, places: As for `joint_of`.
        less: What the instance of each stored value lacks, ordered by node, shape (n_stored, 2).
        bounds: Start of the pairs of each first node, shape (n_nodes + 1,).
        seconds: Second nodes of the pairs, shape (n_pairs,).
    """
    lacks = np.zeros((len(bounds) - 1, 2), np.int64)
    for a in range(first, stop):
        for stored in range(starts[a], starts[a + 1]):
            one, other = less[stored]
            for place in range(np.uint32(places[stored] + 1), np.uint32(ends[stored])):
                met = np.uint32(columns[place])
                lacks[met, 0] += one
                lacks[met, 1] += other
        for pair in range(bounds[a], bounds[a + 1]):
            b = seconds[pair]
            sum_of_one[pair] -= lacks[b, 0]
            sum_of_other[pair] -= lacks[b, 1]
            lacks[b] = 0


@njit(cache=True, nogil=True)
def deficits_of(
    first: int,
    stop: int,
    nodes: NDArray[np.integer[Any]],
    values: NDArray[np.int32],
    own: NDArray[np.int32],
    begins: NDArray[np.int32],
    ends: NDArray[np.int32],
    starts: NDArray[np.integer[Any]],
    deficit: NDArray[np.float64],
    n_nodes: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Summed deficits of the nodes from ``first`` to before ``stop`` beside smaller values.

    Args:
        nodes: Nodes of the instances, by ascending value within each, shape (n_stored,).
        values: Their values, shape (n_stored,).
        own: Values that have a smaller one in their instance, ordered by node, shape (n_larger,).
        begins: Start of the instance of each of those, a place in ``nodes``.
        ends: The first place there whose value is not smaller.
        starts: Start of each node in ``own``, shape (n_nodes + 1,).
        deficit: Table of what two values lack, indexed by both; above 0 where they differ.

    Returns:
        As `joint_of`, but second nodes are in the order in which they are met, and may be before
        the first one.
    """
    widths = np.zeros(stop - first, np.int64)
    seconds = np.empty(4 * n_nodes, np.int32)
    sums = np.empty(4 * n_nodes, np.float64)
    total = np.zeros(n_nodes, np.float64)
    found = 0
    for a in range(first, stop):
        if found + n_nodes > len(seconds):
            seconds = _twice(seconds)
            sums = _twice(sums)
        before = found
        for larger in range(starts[a], starts[a + 1]):
            lacks = deficit[own[larger]]
            for place in range(np.uint32(begins[larger]), np.uint32(ends[larger])):
                node = np.uint32(nodes[place])
                if total[node] == 0:
                    seconds[found] = node
                    found += 1
                total[node] += lacks[np.uint32(values[place])]
        for place in range(before, found):
            sums[place] = total[seconds[place]]
            total[seconds[place]] = 0
        widths[a - first] = found - before
    return widths, seconds[:found], sums[:found]


@njit(cache=True, nogil=True)
def _twice(values: NDArray[Any]) -> NDArray[Any]:
    grown = np.empty(2 * len(values), values.dtype)
    grown[: len(values)] = values
    return grown


@njit(cache=True, nogil=True)
def expected_joint(
    rarer: NDArray[np.int64],
    other: NDArray[np.int64],
    starts: NDArray[np.integer],
    strata: NDArray[np.integer],
    size: NDArray[np.float64],
    share: NDArray[np.float64],
    facet: NDArray[np.int64],
    missing: NDArray[np.float64],
    into: NDArray[np.float64],
) -> None:
    """Expected joint records of pairs, summed in order over the strata that the rarer node has.

    Args:
        rarer: The node of each pair that fewer strata have, shape (n_pairs,).
        other: The other node, same shape.
        starts: Where the strata of each node start among `strata`, shape (n_nodes + 1,).
        strata: Strata of each node, ascending.
        size: Number of records of each stratum, shape (n_strata,).
        share: Share of them that carry each node, shape (n_nodes, n_strata).
        facet: Facet of each node, shape (n_nodes,).
        missing: One minus the factor of two facets, shape (n_facets, n_facets, n_strata).
        into: Output, shape (n_pairs,).
    """
    for pair in range(len(rarer)):
        a, b = rarer[pair], other[pair]
        first, second, lacking = share[a], share[b], missing[facet[a], facet[b]]
        total = 0.0
        for place in range(starts[a], starts[a + 1]):
            stratum = strata[place]
            p, q = first[stratum], second[stratum]
            free = 1.0 - lacking[stratum] * ((1.0 - p) * (1.0 - q))
            total += free * ((p * q) * size[stratum])
        into[pair] = total


SPARSE_COST = 7.0
"""Measured cost of a pair in `count_later`, relative to a pair in `add_entropies`."""


@njit(cache=True, nogil=True, error_model="numpy")
def add_entropies(
    first: int,
    step: int,
    values: NDArray[np.float64],
    weighted: NDArray[np.float64],
    factors: int,
    entropy: NDArray[np.float64],
) -> None:
    """The same as in `score_loops`, without a division for each pair and instance.

    Beside the product of the sums it updates a numerator, such that numerator / product is the sum
    of the quotients: n/s + m/t = (n t + m s) / (s t).
    """
    n_instances, n_nodes = values.shape
    for node in range(first, n_nodes, step):
        product = np.ones(n_nodes - node - 1)
        numerator = np.zeros(n_nodes - node - 1)
        multiplied = 0
        for instance in range(n_instances):
            value = values[instance, node]
            if value == 0:
                continue
            own = weighted[instance, node]
            others = values[instance, node + 1 :]
            theirs = weighted[instance, node + 1 :]
            for i in range(len(product)):
                total = value + others[i]
                numerator[i] = numerator[i] * total + (own + theirs[i]) * product[i]
                product[i] *= total
            multiplied += 1
            if multiplied == factors:
                _settle(product, numerator, entropy[node, node + 1 :])
                multiplied = 0
        if multiplied:
            _settle(product, numerator, entropy[node, node + 1 :])


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(
    product: NDArray[np.float64], numerator: NDArray[np.float64], entropy: NDArray[np.float64]
) -> None:
    for i in range(len(product)):
        entropy[i] += np.log(product[i]) - numerator[i] / product[i]
        product[i] = 1.0
        numerator[i] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def count_later(
    places: NDArray[np.int64],
    ends: NDArray[np.int64],
    values: NDArray[np.float64],
    weighted: NDArray[np.float64],
    nodes: NDArray[np.int32],
    after: int,
    n_nodes: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The same as in `score_loops`."""
    joint = np.zeros(n_nodes - after, np.int64)
    entropy = np.zeros(n_nodes - after)
    for i in range(len(places)):
        value, own = values[places[i]], weighted[places[i]]
        for other in range(places[i] + 1, ends[i]):
            total = value + values[other]
            met = nodes[other] - after
            joint[met] += 1
            entropy[met] += np.log(total) - (own + weighted[other]) / total
    return joint, entropy
