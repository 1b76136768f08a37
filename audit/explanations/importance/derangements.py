"""Random reassignments among members of groups: to other groups, or of whole groups."""

from __future__ import annotations

import numpy as np

from audit.base.dag import BoolArray, IntArray

_ROUNDS = 60


def random_derangement(group: IntArray, rng: np.random.Generator) -> IntArray:
    """A random permutation that gives each member the place of a member of another group.

    A random permutation whose misplaced members change places with others, drawn at random, until
    none is misplaced.

    Args:
        group: The group of each member, numbered from 0, shape (n,); all different if members are
            alone.
        rng: Where randomness comes from.

    Returns:
        The place of another member for each, shape (n,), none twice. Of a group of more than half,
        as many members as the others cannot serve are drawn at random and have -1.
    """
    sizes = np.bincount(group, minlength=1)
    unserved = max(2 * int(sizes.max()) - len(group), 0)
    left_out = rng.choice(np.flatnonzero(group == sizes.argmax()), unserved, replace=False)
    served = np.delete(np.arange(len(group)), left_out)
    other = np.full(len(group), -1)
    other[served] = served[_derangement(group[served], rng)]
    return other


def _derangement(group: IntArray, rng: np.random.Generator) -> IntArray:
    """A random permutation that serves everybody, which no group of more than half prevents."""
    n = len(group)
    other = rng.permutation(n)
    for number in range(_ROUNDS):
        wrong = np.flatnonzero(group[other] == group)
        if len(wrong) == 0:
            break
        _exchange(other, wrong, np.arange(n) if number % 2 == 0 else wrong, group, rng)
    for member in np.flatnonzero(group[other] == group).tolist():
        if group[other[member]] == group[member]:
            may = _may_exchange(other, np.int64(member), np.arange(n), group)
            partner = int(rng.choice(np.flatnonzero(may)))
            other[[member, partner]] = other[[partner, member]]
    return other


def _exchange(
    other: IntArray, wrong: IntArray, partners: IntArray, group: IntArray, rng: np.random.Generator
) -> None:
    """Let half of the misplaced change places, in place, with random partners where both may."""
    half = wrong[rng.random(len(wrong)) < 0.5]
    partner, first = np.unique(rng.choice(partners, len(half)), return_index=True)
    member = half[first]
    may = _may_exchange(other, member, partner, group) & ~np.isin(partner, member)
    member, partner = member[may], partner[may]
    other[member], other[partner] = other[partner], other[member]


def _may_exchange(
    other: IntArray, member: IntArray | np.int64, partner: IntArray, group: IntArray
) -> BoolArray:
    """Whether neither of two members is misplaced once they have changed places."""
    return np.asarray(
        (group[other[partner]] != group[member]) & (group[other[member]] != group[partner])
    )


def random_reassignment(group: IntArray, rng: np.random.Generator) -> IntArray:
    """A random permutation of groups, carried over to their members.

    All permutations are equally likely, the one that leaves every group in its place among them,
    as the null distribution of a permutation test must have it. The members of a group get the
    places of the members of one other, in turn from a random one on; a group that stays in its
    place leaves each member theirs.

    Args:
        group: The group of each member, numbered from 0 without gaps, shape (n,); all different if
            members are alone.
        rng: Where randomness comes from.

    Returns:
        The place of a member for each, shape (n,); some recur if groups differ in size.
    """
    by_group = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    other = rng.permutation(len(sizes))
    offset = np.where(other == np.arange(len(sizes)), 0, rng.integers(sizes[other]))
    at = group[by_group]
    turn = np.arange(len(group)) - starts[at] + offset[at]
    result = np.empty(len(group), np.int64)
    result[by_group] = by_group[starts[other[at]] + turn % sizes[other[at]]]
    return result
