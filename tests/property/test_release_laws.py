"""The law of small cells over two releases: both views leave each small difference possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from audit.disclosure import Known
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.drift_lines import kept_values
from audit.results.result import AuditResult
from audit.results.shared_values import shown_by_values
from audit.runs.audit import run_audit
from fixtures.attack import BODIES, Labels, attack, of_chain
from fixtures.chain_attack import Chain, drawn
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated
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
ABOVE_OTHERS_AT_TIMES: Releases = (
    "labelled inside",
    [(79, ["asthma", "lung"]), (28, ["asthma"]), (3, ["heart", "other_lung", "lung"])],
    [(40, ["asthma", "lung"]), (30, ["asthma"]), (6, ["asthma"])],
    9,
)
"""A label beside its parent in some records, of which instances with rare labels have others."""
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
        second = replace(second, known=Known())
    before, after = (
        attack(hierarchy, truth(counted, sets), run)
        for counted, run in ((old, first), (new, second))
    )
    return list(of_chain(before, after, m=min_cell).broken(min_cell))


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


@pytest.mark.slow
@given(releases())
@example(FEW_CAME)
@examples(60)
def test_both_views_leave_each_small_difference_possible(found: Releases) -> None:
    assert narrowed(*found) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "found",
    [
        UNINFORMATIVE,
        ONLY_UNINFORMATIVE,
        NONE_UNINFORMATIVE,
        SUM_OF_FEW,
        READS_AS_ALL_BUT_FEW,
        ABOVE_OTHERS_AT_TIMES,
        FEW_CAME_WITHOUT,
        NEW_NODE,
    ],
)
def test_what_both_views_once_told_they_leave_possible(found: Releases) -> None:
    assert narrowed(*found) == []


def forgetful(kept: dict[str, Any]) -> dict[str, Any]:
    """What a release remembers of columns, but for instances without a label."""
    return {**kept, "values": [{**one, "without": None} for one in kept["values"]]}


CHAINS = (107, 108, 109, 116, 122)
"""Seeds of chains with columns, of which 48 small numbers were told or narrowed."""
OF_MANY = ((12, 12), (1, 24))
"""Seeds and labels of the same. In the last one findings of one name count several children."""
WITH_MANY = (101, 108)
"""The same, where too many labels are in use for a program of all sets of them."""
LATER = st.lists(
    st.tuples(st.integers(1, 30), st.sets(st.integers(0, 9), min_size=1, max_size=3)), max_size=4
)
"""Instances that come last, by numbers of the labels that there are."""
SECOND_WITHHOLDS: tuple[Releases, list[tuple[int, set[int]]]] = (
    (
        "flat",
        [(40, ["asthma"]), (30, ["flu"]), (20, ["attack"])],
        [(2, ["asthma"]), (20, ["flu"]), (20, ["attack"])],
        5,
    ),
    [(2, {0}), (20, {2}), (20, {1})],
)
"""The second withholds the count of asthma; the first and the third are 4 apart."""


@pytest.mark.slow
@given(releases(), LATER)
@example(SECOND_WITHHOLDS[0], SECOND_WITHHOLDS[1])
@examples(30)
def test_three_views_of_a_chain_leave_each_small_difference_possible(
    found: Releases, later: list[tuple[int, set[int]]]
) -> None:
    name, first, came, min_cell = found
    leaves = sorted({label for _, labels in (*first, *came) for label in labels})
    last = [(n, sorted({leaves[i % len(leaves)] for i in its})) for n, its in later]
    growing = [first, first + came, first + came + last]
    sets = list(dict.fromkeys(frozenset(labels) for _, labels in growing[-1]))
    runs = list[AuditResult]()
    for counted in growing:
        runs.append(audited(name, counted, min_cell, *runs[-1:]))
    views = zip(growing, runs, strict=True)
    attacks = [attack(BODIES[name], truth(counted, sets), run) for counted, run in views]
    assert list(of_chain(*attacks, m=min_cell).broken(min_cell)) == []


@pytest.mark.slow
@pytest.mark.parametrize("given", [*((seed,) for seed in CHAINS), *OF_MANY])
def test_three_views_with_columns_leave_what_once_was_told_possible(given: tuple[int, ...]) -> None:
    assert list(Chain(*drawn(*given)).broken()) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", WITH_MANY)
def test_so_do_three_views_of_more_labels_than_one_program_has(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.measure.drift.MOST_LABELS", 0)

    assert list(Chain(*drawn(seed)).broken()) == []


KEPT, OTHERS = "audit.checks.earlier.kept_values", "audit.results.shared_values.with_others"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("audit.results.shared_view.shown_by_values", lambda *all_: shown_by_values(*all_[:-1])),
        (OTHERS, lambda cells: cells.with_columns(beyond=pl.lit(0))),
        (KEPT, lambda *told: forgetful(kept_values(*told))),
        (KEPT, lambda *told: {**kept_values(*told), "others": []}),
    ],
)
def test_columns_and_nodes_each_protected_alone_tell_small_cells(
    where: str, what: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, what)

    assert any(list(Chain(*drawn(seed)).broken()) for seed in CHAINS)


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
    monkeypatch.setattr("audit.results.shared_view.depth_loss", lambda *_: {})

    assert narrowed(*found) != []
