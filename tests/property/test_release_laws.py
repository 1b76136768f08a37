"""The law of small cells over two releases: both views leave each small difference possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.disclosure import protection
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from fixtures.attack import BODIES, Labels, attack, of_both
from fixtures.depth_reader import narrowed as narrowed_depths
from fixtures.depth_reader import read_depths
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted

Counted = list[tuple[int, list[str]]]
Releases = tuple[str, Counted, Counted, int]
"""Name of a hierarchy, an old release, what came since, and the smallest count shown."""

FEW_CAME: Releases = (
    "flat",
    [(40, ["asthma"]), (30, ["flu"]), (20, ["attack"]), (25, ["saw"])],
    [(2, ["asthma"]), (20, ["flu"]), (20, ["attack"]), (20, ["saw"])],
    5,
)
"""A count that two instances came to."""
FEW_CAME_WITHOUT: Releases = (
    "flat",
    [(40, ["asthma"]), (30, ["flu"]), (20, ["attack"])],
    [(30, ["asthma"]), (2, ["flu", "attack"])],
    5,
)
"""All but two of those that came."""
NEW_NODE: Releases = (
    "flat",
    [(40, ["flu"]), (33, ["attack"]), (9, ["attack", "flu"])],
    [(3, ["asthma", "attack"]), (2, ["asthma"]), (5, ["asthma", "attack", "flu"])],
    5,
)
"""A pair of which the old release has one node alone: it has none of the pair."""


@st.composite
def releases(draw: st.DrawFn) -> Releases:
    name = draw(st.sampled_from(sorted(BODIES)))
    hierarchy = BODIES[name]
    inside = ["lung"] if name == "labelled inside" else []
    leaves = [n for n in hierarchy.nodes if not hierarchy.children(n)] + inside
    sizes = st.one_of(st.integers(1, 6), st.integers(1, 30))
    sets = st.lists(st.sampled_from(leaves), max_size=draw(st.integers(1, 3)), unique=True)
    counted = st.lists(st.tuples(sizes, sets.map(sorted)), min_size=2, max_size=6)
    old, came, min_cell = draw(counted), draw(counted), draw(st.integers(3, 6))
    for release in (old, came):
        assume(sum(times for times, labels in release if labels) >= 4 * min_cell)
    return name, old, came, min_cell


@st.composite
def losing_depth(draw: st.DrawFn) -> Releases:
    """Most labels that came lie less deep than those of the old release."""
    name, min_cell = draw(st.sampled_from(sorted(DEPTHS))), draw(st.integers(3, 6))
    deep, shallow = DEPTHS[name]
    old, came = (
        draw(st.lists(st.tuples(st.integers(1, 25), sets_of(*both)), min_size=2, max_size=5))
        for both in ((deep, shallow), (shallow, deep))
    )
    for release in (old, came):
        assume(sum(times for times, labels in release if labels) >= 4 * min_cell)
    return name, old, came, min_cell


def sets_of(mostly: list[str], also: list[str]) -> st.SearchStrategy[list[str]]:
    """Sets of labels, most of which are among some."""
    label = st.one_of(*[st.sampled_from(mostly)] * 3, st.sampled_from(also))
    return st.lists(label, min_size=1, max_size=3, unique=True).map(sorted)


DEPTHS = {
    "nested": (["asthma", "other_lung"], ["heart", "flu"]),
    "labelled inside": (["asthma", "other_lung"], ["heart", "lung"]),
}
"""Hierarchies with labels at several depths: their deepest labels, and the others."""


def audited(
    name: str,
    counted: Counted,
    min_cell: int,
    reference: AuditResult | None = None,
    *,
    model: bool = False,
) -> AuditResult:
    labels = repeated(counted)
    dataset = labelled(BODIES[name], labels, persons=True)
    scores = {instance: dict.fromkeys(given, 1.0) for instance, given in labels.items()}
    right = predicted(dataset, scores, set_valued=True) if model else None
    policy = Policy(min_cell=min_cell, depth_loss=Threshold(value=0, reason="Any is reported."))
    return run_audit(dataset, policy, reference=reference, predictions=right)


def truth(counted: Counted, sets: Sequence[Labels]) -> dict[Labels, int]:
    found = dict.fromkeys(sets, 0)
    for times, labels in counted:
        found[frozenset(labels)] += times
    return found


UNINFORMATIVE: Releases = (
    "labelled inside",
    [(1, []), (12, ["asthma", "lung"])],
    [(1, ["lung"]), (11, ["asthma"])],
    3,
)
"""Labels at a node that says little: of two nodes in use, those of one tell those of the other."""
ONLY_UNINFORMATIVE: Releases = (
    "labelled inside",
    [(1, []), (12, ["asthma"])],
    [(1, ["asthma"]), (5, ["lung"]), (6, ["heart"])],
    3,
)
"""Five have a label that says little and no other, which tells how many came beside them."""
NONE_UNINFORMATIVE: Releases = (
    "labelled inside",
    [(18, ["asthma", "lung", "other_lung"]), (2, ["asthma"])],
    [(18, ["asthma", "lung", "other_lung"]), (2, ["asthma"])],
    3,
)
"""No finding tells of such instances, so that there are none."""
SUM_OF_FEW: Releases = (
    "labelled inside",
    [(2, ["lung"]), (30, ["asthma"]), (39, [])],
    [(2, ["lung"]), (30, ["asthma"]), (39, [])],
    5,
)
"""A sum beside a line that others tell, and no greater than a small cell itself."""
READS_AS_ALL_BUT_FEW: Releases = (
    "nested",
    [(8, []), (2, ["asthma", "flu"]), (29, ["other_lung"])],
    [(6, []), (4, ["other_lung"]), (6, ["asthma", "other_lung"]), (28, ["heart"])],
    5,
)
"""A total raised to what a part of it has: all but few in the part, all in the total."""


def narrowed(
    name: str,
    old: Counted,
    came: Counted,
    min_cell: int,
    *,
    guarded: bool = True,
    model: bool = False,
) -> list[str]:
    """Small cells that both views together narrow; unguarded: the second without the first."""
    hierarchy, new = BODIES[name], old + came
    sets = list(dict.fromkeys(frozenset(labels) for _, labels in new))
    first = audited(name, old, min_cell)
    second = audited(name, new, min_cell, first, model=model)
    if not guarded:
        second = replace(second, earlier=None)
    before, after = (
        attack(hierarchy, truth(counted, sets), run)
        for counted, run in ((old, first), (new, second))
    )
    return list(of_both(before, after, min_cell).broken(min_cell))


SCOPES_TELL_SUPPORTS: Releases = (
    "two branches",
    [(60, ["asthma"]), (60, ["attack"]), (30, ["asthma", "attack"])],
    [(12, ["asthma"]), (9, ["attack"]), (8, ["asthma", "attack"])],
    11,
)
"""Few that came have both, which the supports that came leave, as each has one of the two."""


@pytest.mark.slow
@given(releases())
@example(SCOPES_TELL_SUPPORTS)
@examples(30)
def test_what_is_told_of_a_model_beside_leaves_them_possible_too(found: Releases) -> None:
    assert narrowed(*found, model=True) == []


@given(releases())
@example(UNINFORMATIVE)
@example(ONLY_UNINFORMATIVE)
@example(NONE_UNINFORMATIVE)
@example(SUM_OF_FEW)
@example(READS_AS_ALL_BUT_FEW)
@example(FEW_CAME)
@example(FEW_CAME_WITHOUT)
@example(NEW_NODE)
@examples(60)
def test_both_views_leave_each_small_difference_possible(found: Releases) -> None:
    assert narrowed(*found) == []


@pytest.mark.parametrize("found", [FEW_CAME, FEW_CAME_WITHOUT, NEW_NODE])
def test_views_each_protected_alone_tell_small_differences(found: Releases) -> None:
    assert narrowed(*found, guarded=False) != []


MEAN_OF_FEW: Releases = (
    "nested",
    [(6, ["other_lung"]), (4, ["asthma"]), (20, ["other_lung"]), (2, [])],
    [(4, ["flu", "heart"]), (3, ["flu", "other_lung"]), (8, ["flu"]), (4, ["flu"])],
    4,
)
"""Labels of which few came at a depth, while their mean depth falls."""
FEW_AT_A_DEPTH: Releases = (
    "labelled inside",
    [(16, ["asthma"]), (15, ["asthma", "lung"]), (29, []), (3, ["other_lung"])],
    [(29, ["heart"]), (19, []), (2, ["heart", "lung", "other_lung"]), (26, ["heart", "lung"])],
    6,
)
"""The same, where few of those that came lie deep."""


@pytest.mark.slow
@given(losing_depth())
@example(MEAN_OF_FEW)
@example(FEW_AT_A_DEPTH)
@examples(30)
def test_a_loss_of_depth_leaves_them_possible_too(found: Releases) -> None:
    assert narrowed(*found) == []


@pytest.mark.parametrize("found", [MEAN_OF_FEW, FEW_AT_A_DEPTH])
def test_means_told_as_they_are_tell_small_cells(
    found: Releases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.results.shared_view.told_loss", lambda *_: {})

    assert narrowed(*found) != []


# --- labels by depth, with more labels in use than a program tells apart ------------------------

LEAVES = [[f"leaf{depth}{n}" for n in range(4)] for depth in (1, 2, 3, 4)]
DEEP = tree(
    " ".join([*LEAVES[0], "inner1"]) + " < top",
    " ".join([*LEAVES[1], "inner2"]) + " < inner1",
    " ".join([*LEAVES[2], "inner3"]) + " < inner2",
    " ".join(LEAVES[3]) + " < inner3",
)
"""Four leaves at each of four depths."""
Supports = list[list[int]]
"""Instances with each leaf, by depth."""
Pair = tuple[Supports, Supports, bool, int]
"""A release, a later one, whether that holds the first, and the smallest count shown."""

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


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    size = st.one_of(st.just(0), st.integers(1, 8), st.integers(1, 40))
    supports = st.lists(st.lists(size, min_size=4, max_size=4), min_size=4, max_size=4)
    old, came, contained = draw(supports), draw(supports), draw(st.booleans())
    now = [list(map(sum, zip(*both, strict=True))) for both in zip(old, came, strict=True)]
    min_cell = draw(st.integers(3, 11))
    for release in (old, came, now):
        assume(sum(map(sum, release)) >= 4 * min_cell)
    return old, now if contained else came, contained, min_cell


def beside_each_other(pair: Pair) -> tuple[AuditResult, AuditResult]:
    """Both releases, an instance for each label; the later one held against the first."""
    old, now, _, min_cell = pair
    policy = Policy(min_cell=min_cell, depth_loss=Threshold(value=0, reason="Any is reported."))

    def run(supports: Supports, reference: AuditResult | None = None) -> AuditResult:
        leaves = zip(chain.from_iterable(supports), chain.from_iterable(LEAVES), strict=True)
        counted = [(times, [leaf]) for times, leaf in leaves]
        dataset = labelled(DEEP, repeated(counted), persons=True)
        return run_audit(dataset, policy, reference=reference)

    first = run(old)
    return first, run(now, first)


def told_by_depths(pair: Pair) -> list[str]:
    """Small labels by depth that both views narrow."""
    old, now, contained, min_cell = pair
    first, second = beside_each_other(pair)
    found = read_depths(first.shared(), second.shared(), contained=contained)
    labels = ([0, *map(sum, release)][-len(found.depths) :] for release in (old, now))
    return list(narrowed_depths(found, *labels, min_cell))


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
@examples(30)
def test_labels_by_depth_leave_each_small_one_possible(pair: Pair) -> None:
    assert told_by_depths(pair) == []


@pytest.mark.parametrize("pair", [FEW_AT_ONE, FEW_LEFT_ONE, FEW_AT_TWO, TOLD_BY_THE_FIRST])
def test_depths_each_withheld_alone_tell_small_ones(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protection, "to_withhold", lambda *_: [])

    assert told_by_depths(pair) != []
