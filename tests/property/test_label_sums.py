"""The law of small cells where labels add up: more labels than a program tells apart.

Instances with each label add up to the labels at each depth, and these to all labels. A reader who
knows that leaves each small count of a label, or at a depth, possible.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from audit.disclosure import protection
from fixtures.depth_reader import (
    INNER,
    KINDS,
    LEAVES,
    Counted,
    DepthReader,
    Row,
    audited,
    narrowed,
    read_depths,
    told_of,
)
from fixtures.examples import examples

Supports = list[list[int]]
"""Instances with each leaf, by depth."""
Pair = tuple[Supports, Supports, bool, int]
"""A release, a later one, whether that holds the first, and the smallest count shown."""
Release = tuple[Counted, int]
"""Instances by their labels, and the smallest count shown."""

LABELS = [*chain.from_iterable(LEAVES), *INNER]


pytestmark = pytest.mark.usefixtures("depths_of_few_labels")


def withhold_nothing(patch: pytest.MonkeyPatch) -> None:
    """For the sums of labels, or by all labels at once."""
    patch.setattr(protection, "fewest", lambda *_: [])
    patch.setattr(protection.Protection, "_protect_whole", lambda *_: None)


FEW_AT_ONE: Pair = (
    [[30, 0, 0, 0], [40, 40, 40, 40], [50, 50, 50, 50], [0, 0, 0, 0]],
    [[33, 0, 0, 0], [60, 60, 60, 60], [80, 80, 80, 80], [0, 0, 0, 0]],
    True,
    11,
)
"""Three came at a depth, which the total and all other depths tell."""
FEW_LEFT_ONE: Pair = (
    [[33, 0, 0, 0], [40, 40, 40, 40], [50, 50, 50, 50], [0, 0, 0, 0]],
    [[30, 0, 0, 0], [60, 60, 60, 60], [80, 80, 80, 80], [0, 0, 0, 0]],
    False,
    11,
)
"""Three fewer."""
FEW_AT_TWO: Pair = (
    [[30, 0, 0, 0], [40, 40, 0, 0], [50, 50, 50, 50], [60, 60, 60, 60]],
    [[33, 0, 0, 0], [42, 40, 0, 0], [80, 80, 80, 80], [90, 90, 90, 90]],
    True,
    11,
)
"""Five came at two depths together, fewer than might at one of them."""
TOLD_BY_THE_FIRST: Pair = (
    [[0, 0, 0, 0], [40, 40, 0, 0], [50, 50, 50, 50], [60, 60, 60, 60]],
    [[5, 0, 0, 0], [42, 42, 0, 0], [80, 80, 80, 80], [90, 90, 90, 90]],
    True,
    11,
)
"""A small count, of which the first release tells that it is none, beside one that few came to."""
CODES_TAKEN_AWAY: Pair = (
    [[4, 7, 0, 7], [0, 0, 0, 5], [28, 4, 0, 4], [0, 0, 16, 0]],
    [[0, 0, 5, 0], [5, 0, 6, 0], [5, 8, 28, 26], [6, 19, 23, 4]],
    False,
    8,
)
"""Fewer labels at one depth, more at the others."""
AS_MANY_AS_NODES: Pair = (
    [[0, 0, 0, 0], [0, 0, 0, 0], [30, 0, 0, 0], [10, 10, 10, 10]],
    [[1, 0, 0, 0], [1, 1, 1, 1], [20, 0, 0, 0], [10, 10, 10, 10]],
    False,
    4,
)
"""A withheld count that is no more than the nodes in use, beside a small one."""
NODES_THEN: Pair = (
    [[1, 2, 2, 1], [0, 2, 1, 25], [1, 0, 1, 0], [1, 0, 1, 1]],
    [[1, 2, 0, 1], [2, 1, 1, 2], [1, 11, 5, 1], [1, 1, 1, 13]],
    False,
    4,
)
"""The first release tells how many nodes are in use, and so how few labels there can be."""
NODES_NO_LONGER: Pair = (
    [[1, 0, 0, 2], [0, 1, 0, 1], [0, 17, 12, 0], [1, 0, 0, 0]],
    [[0, 11, 0, 1], [1, 1, 0, 0], [1, 1, 0, 1], [19, 1, 0, 0]],
    False,
    3,
)
"""It tells so of nodes that are no longer in use, too."""
NODES_THAT_CAME: Pair = (
    [[2, 2, 14, 0], [1, 9, 1, 0], [0, 0, 1, 2], [0, 7, 1, 1]],
    [[2, 2, 29, 1], [13, 13, 3, 0], [1, 0, 1, 2], [0, 8, 1, 2]],
    True,
    4,
)
"""Of each node that is new in use a label came."""


FEW_BESIDE_EACH_OTHER: Pair = (
    [[30, 40, 0, 0], [40, 40, 40, 40], [50, 50, 50, 50], [0, 0, 0, 0]],
    [[53, 20, 0, 0], [60, 60, 60, 60], [80, 80, 80, 80], [0, 0, 0, 0]],
    False,
    11,
)
"""Three more at a depth, where many more have one label and many fewer the other."""
FEW_AT_ALL_OTHERS: Pair = (
    [[30, 40, 0, 0], [40, 40, 40, 40], [50, 50, 50, 50], [0, 0, 0, 0]],
    [[60, 70, 0, 0], [60, 60, 60, 60], [30, 30, 30, 33], [0, 0, 0, 0]],
    False,
    11,
)
"""Three more at two depths together, many more at one and many fewer at the other."""


def one_each(supports: Supports) -> Counted:
    """An instance for each label."""
    leaves = zip(chain.from_iterable(supports), chain.from_iterable(LEAVES), strict=True)
    return [(times, [leaf]) for times, leaf in leaves]


SIZES = st.one_of(st.just(0), st.integers(1, 8), st.integers(1, 40))


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    supports = st.lists(st.lists(SIZES, min_size=4, max_size=4), min_size=4, max_size=4)
    old, came, contained = draw(supports), draw(supports), draw(st.booleans())
    now = [list(map(sum, zip(*both, strict=True))) for both in zip(old, came, strict=True)]
    min_cell = draw(st.integers(3, 11))
    for release in (old, came, now):
        assume(sum(map(sum, release)) >= 4 * min_cell)
    return old, now if contained else came, contained, min_cell


def beside_each_other(pair: Pair) -> DepthReader:
    """Both releases, the later one held against the first."""
    old, now, contained, min_cell = pair
    first = audited(one_each(old), min_cell)
    return read_depths([audited(one_each(now), min_cell, first)], first, contained=contained)


@pytest.mark.slow
@given(pairs())
@example(FEW_AT_ONE)
@example(FEW_LEFT_ONE)
@example(FEW_AT_TWO)
@example(TOLD_BY_THE_FIRST)
@example(CODES_TAKEN_AWAY)
@example(AS_MANY_AS_NODES)
@example(NODES_THEN)
@example(NODES_NO_LONGER)
@example(NODES_THAT_CAME)
@example(FEW_BESIDE_EACH_OTHER)
@example(FEW_AT_ALL_OTHERS)
@examples(30)
def test_two_releases_leave_each_small_one_possible(pair: Pair) -> None:
    assert list(narrowed(beside_each_other(pair), pair[-1])) == []


@pytest.mark.parametrize("pair", [FEW_BESIDE_EACH_OTHER, FEW_AT_ALL_OTHERS])
def test_few_that_many_labels_make_up_are_possible_too(pair: Pair) -> None:
    assert list(narrowed(beside_each_other(pair), pair[-1])) == []


@pytest.mark.parametrize(
    "pair",
    [
        *(FEW_AT_ONE, FEW_LEFT_ONE, FEW_AT_TWO, TOLD_BY_THE_FIRST),
        *(FEW_BESIDE_EACH_OTHER, FEW_AT_ALL_OTHERS),
    ],
)
def test_depths_each_withheld_alone_tell_small_ones(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    withhold_nothing(monkeypatch)

    assert list(narrowed(beside_each_other(pair), pair[-1])) != []


# --- one release ------------------------------------------------------------------------------

TOLD_BY_A_DEPTH: Release = (
    [
        *((60, [leaf]) for leaf in LEAVES[0]),
        (3, [LEAVES[1][0]]),
        (2, [LEAVES[1][1]]),
        (22, [LEAVES[2][0]]),
        (23, [LEAVES[2][1]]),
        (40, [LEAVES[3][0]]),
        (40, [LEAVES[3][1]]),
    ],
    11,
)
"""Five labels at a depth, of two nodes: neither is more than four."""
TOLD_BY_LEAVES: Release = (
    [
        *((times, [leaf]) for times, leaf in zip((9, 26, 32, 10), LEAVES[0], strict=True)),
        *((times, [leaf]) for times, leaf in zip((7, 31, 28, 7), LEAVES[1], strict=True)),
        *((times, [leaf]) for times, leaf in zip((12, 17, 34, 1), LEAVES[2], strict=True)),
        *((times, [leaf]) for times, leaf in zip((40, 6, 37), LEAVES[3], strict=False)),
        *((times, [node]) for times, node in zip((8, 2, 1), INNER, strict=True)),
        (22, [LEAVES[0][0]]),
    ],
    11,
)
"""One instance with a node above leaves, which their counts and that of their depth tell."""
ONE_LABEL_EACH: Release = (
    [
        *((times, [leaf]) for times, leaf in zip((29, 2), LEAVES[0][1:], strict=False)),
        *((times, [leaf]) for times, leaf in zip((16, 1), LEAVES[1], strict=False)),
        *((times, [leaf]) for times, leaf in zip((2, 3, 25), LEAVES[2][1:], strict=True)),
        *((32, [LEAVES[3][0]]), (1, [LEAVES[3][3]])),
    ],
    7,
)
"""No instance has two labels, so that the instances of nodes add up to those of the one above."""


@st.composite
def releases(draw: st.DrawFn) -> Release:
    """Labels of which at least nine are in use; some instances have several."""
    used = draw(st.lists(st.sampled_from(LABELS), min_size=9, max_size=len(LABELS), unique=True))
    counted = [(max(1, draw(SIZES)), [label]) for label in used]
    several = st.lists(st.sampled_from(used), min_size=2, max_size=3, unique=True).map(sorted)
    times = st.integers(1, draw(st.sampled_from([2, 20])))
    counted += draw(st.lists(st.tuples(times, several), max_size=4))
    min_cell = draw(st.integers(3, 11))
    return [*counted, (3 * min_cell, [LABELS[0]])], min_cell


@pytest.mark.slow
@given(releases())
@example(TOLD_BY_A_DEPTH)
@example(TOLD_BY_LEAVES)
@example(ONE_LABEL_EACH)
@examples(30)
def test_one_release_leaves_each_small_one_possible(release: Release) -> None:
    assert list(narrowed(read_depths([audited(*release)]), release[1])) == []


@pytest.mark.parametrize("release", [TOLD_BY_A_DEPTH, TOLD_BY_LEAVES, ONE_LABEL_EACH])
def test_counts_each_withheld_alone_tell_small_ones(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    withhold_nothing(monkeypatch)

    assert list(narrowed(read_depths([audited(*release)]), release[1])) != []


@pytest.mark.parametrize("release", [TOLD_BY_A_DEPTH, TOLD_BY_LEAVES, ONE_LABEL_EACH])
def test_no_count_is_withheld_in_vain(release: Release) -> None:
    """Each that is withheld for the sums would tell a small one, were it told beside the others.

    A node that is withheld, and so left out of the tree, counts as told to be no small one. In
    few other releases a count stays withheld that those withheld after it have made needless.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protection.Protection, "_protect_whole", lambda *_: None)
        found = read_depths([audited(*release)])
        withhold_nothing(patch)
        alone = exactly_told(read_depths([audited(*release)]))
    large = [label for label in found.depth if found.one(label, 0, 1) @ found.truth >= release[1]]
    rows = [*found.rows, *((found.one(label, 0, 1), release[1], np.inf) for label in large)]
    for name in alone.keys() - exactly_told(found).keys():
        form, count = alone[name]
        found.rows = [*rows, (form, count, count)]
        assert list(narrowed(found, release[1])) != [], f"{name} is withheld in vain"


def exactly_told(found: DepthReader) -> dict[str, tuple[Row, float]]:
    """Labels, and depths, of which a view tells the count itself."""
    forms = {label: found.one(label, 0, 1) for label in found.depth}
    forms |= {str(depth): found.at(depth, 0, 1) for depth in found.depths}
    singly = [(row, low) for row, low, high in found.rows if low == high and len(set(row)) == 2]
    return {
        name: (form, count)
        for name, form in forms.items()
        for row, count in singly
        if np.array_equal(row, form)
    }


# --- with a model, beside other views ---------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_drawn_releases_of_every_kind_leave_each_small_one_possible(kind: str, seed: int) -> None:
    assert told_of(kind, seed)[1] == []
