"""Whose explanation each example gets in the place of its own, at random (equation 6)."""

from __future__ import annotations

import numpy as np

from audit.base.dag import BoolArray, IntArray

_ROUNDS = 60
"""Rounds of exchanges at random, before those that are left exchange one by one."""


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
            return other
        half = wrong[rng.random(len(wrong)) < 0.5]
        drawn = rng.choice(np.arange(n) if number % 2 == 0 else wrong, len(half))
        partner, first = np.unique(drawn, return_index=True)
        member = half[first]
        may = _may_exchange(other, member, partner, group) & ~np.isin(partner, member)
        member, partner = member[may], partner[may]
        other[member], other[partner] = other[partner], other[member]
    for one in np.flatnonzero(group[other] == group).tolist():
        if group[other[one]] == group[one]:
            may = _may_exchange(other, np.array(one), np.arange(n), group)
            another = int(rng.choice(np.flatnonzero(may)))
            other[[one, another]] = other[[another, one]]
    return other


def _may_exchange(
    other: IntArray, member: IntArray, partner: IntArray, group: IntArray
) -> BoolArray:
    """Whether neither of two members is misplaced once they have changed places."""
    return np.asarray(
        (group[other[partner]] != group[member]) & (group[other[member]] != group[partner])
    )
