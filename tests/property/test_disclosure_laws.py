"""The law of small cells: a linear program over everything published leaves each one possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from audit.disclosure import protection, shown_change
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.runs.audit import run_audit
from fixtures.attack import BODIES, Labels, Row, attack
from fixtures.examples import examples
from fixtures.explained_attack import KINDS, tried
from fixtures.labelled import labelled, repeated
from fixtures.predicted import predicted


@st.composite
def releases(draw: st.DrawFn) -> tuple[str, list[tuple[int, list[str]]], int]:
    name = draw(st.sampled_from(sorted(BODIES)))
    hierarchy = BODIES[name]
    inside = ["lung"] if name == "labelled inside" else []
    leaves = [n for n in hierarchy.nodes if not hierarchy.children(n)] + inside
    sizes = st.one_of(st.integers(1, 6), st.integers(1, 30))
    sets = st.lists(st.sampled_from(leaves), max_size=draw(st.integers(1, 3)), unique=True)
    counted = draw(st.lists(st.tuples(sizes, sets.map(sorted)), min_size=2, max_size=7))
    min_cell = draw(st.integers(3, 6))
    assume(sum(times for times, labels in counted if labels) >= 4 * min_cell)
    return name, counted, min_cell


def narrowed(
    name: str, counted: list[tuple[int, list[str]]], min_cell: int, seed: int | None = None
) -> list[str]:
    """Small cells that are told; with a seed beside scores of a model, which contradict some."""
    hierarchy, truth = BODIES[name], dict[Labels, int]()
    for times, labels in counted:
        truth[frozenset(labels)] = truth.get(frozenset(labels), 0) + times
    policy = Policy(
        min_cell=min_cell,
        least_joint=Threshold(value=2, reason="More pairs are reported."),
        excess_ratio=Threshold(value=1, reason="The same."),
        false_discovery_rate=Threshold(value=0.9, reason="The same."),
    )
    dataset = labelled(hierarchy, repeated(counted), persons=True)
    scores = None if seed is None else predicted(dataset, doubted(repeated(counted), seed))
    result = run_audit(dataset, policy, predictions=scores)
    return list(attack(hierarchy, truth, result).broken(min_cell))


def doubted(labels: Mapping[str, Sequence[str]], seed: int) -> dict[str, dict[str, float]]:
    """Scores of each label in use: high for those given, but for one in four another is."""
    draw = np.random.default_rng(seed)
    used = sorted({label for its in labels.values() for label in its})
    scores = {}
    for instance, its in labels.items():
        taken = {used[draw.integers(len(used))] if draw.random() < 0.25 else x for x in its}
        high = np.where([x in taken for x in used], 0.9, 0.05) + draw.uniform(0, 0.05, len(used))
        scores[instance] = dict(zip(used, (high / high.sum()).tolist(), strict=True))
    return scores


LAST_CHILD = ("flat", [(40, ["asthma"]), (30, ["flu"]), (20, ["attack"]), (2, ["saw"])], 5)
"""One small sibling: on single labels it is what the others leave."""
NEITHER = (
    "two branches",
    [(30, ["asthma"]), (20, ["attack"]), (2, ["asthma", "attack"]), (9, ["asthma", "other_lung"])],
    4,
)
"""A small joint that the two supports tell, as every instance has a label."""
NO_RESIDUAL = ("nested", [(30, ["other_lung"]), (3, ["asthma"]), (10, ["flu"])], 6)
"""Specific instances that two residual shares, one inside the other, tell."""

BELOW_THE_PICTURE = (
    "nested",
    [(27, ["heart"]), (3, ["heart", "other_lung"]), (2, ["asthma", "heart"]), (2, [])],
    6,
)
"""What a node too small for the picture has beyond its child."""
BELOW_NO_PICTURE = (
    "nested",
    [(11, ["heart"]), (1, ["flu", "other_lung"]), (4, ["flu"]), (31, [])],
    4,
)
"""Labels two steps below the smallest node of the picture."""
ALL_BUT_ONE_CHILD = (
    "nested",
    [
        (5, ["heart"]),
        (19, ["flu"]),
        (1, ["flu", "heart", "other_lung"]),
        (1, ["asthma", "flu", "heart"]),
        (20, []),
    ],
    5,
)
"""The same beside shown joints."""
ALL_WITH_A_LABEL = (
    "nested",
    [(1, ["heart"]), (13, ["asthma", "heart", "other_lung"]), (2, [])],
    3,
)
"""All but one instance carry a label that is not in the picture."""
NO_SHARE_OF_NONE = (
    "two branches",
    [(16, ["asthma"]), (32, ["other_heart"]), (1, ["asthma", "other_lung"]), (5, [])],
    6,
)
"""No instance of a branch has residual labels alone, which its withheld share does not tell."""
SHARE_OF_FEW = (
    "two branches",
    [(1, ["other_lung"]), (1, ["asthma", "attack"]), (25, ["attack", "other_heart"]), (3, [])],
    6,
)
"""The same where few have: the count below the root is told by a share that is withheld."""
ON_BOTH_SIDES = (
    "diamond",
    [(5, ["both"]), (30, ["attack"]), (2, ["asthma"]), (2, ["asthma", "attack"])],
    3,
)
"""Few instances with two labels under branches that share a label."""
BEHIND_AN_EXCESS = ("flat", [(8, ["asthma", "saw"]), (15, ["attack", "saw"]), (3, ["attack"])], 4)
"""The instances in excess between two branches are of one pair, whose counts are withheld."""
BEHIND_DIGITS = (
    "diamond",
    [
        (171, ["asthma", "both"]),
        (79, ["attack"]),
        (1, ["asthma", "attack", "both"]),
        (4, ["asthma", "both"]),
    ],
    4,
)
"""One instance more or fewer with labels of two branches changes the digits of their ratio."""
BEHIND_A_PART = (
    "three siblings",
    [(2, ["asthma", "flu"]), (154, ["attack", "flu"]), (300, ["attack", "flu", "other_lung"])],
    6,
)
"""The share that a pair of labels has of a pair, whose own count is withheld."""


@pytest.mark.slow
@given(releases(), st.integers(0, 10_000))
@examples(30)
def test_suspect_labels_leave_each_small_cell_possible(
    release: tuple[str, list[tuple[int, list[str]]], int], seed: int
) -> None:
    assert narrowed(*release, seed) == []


@pytest.mark.slow
@given(releases())
@example(LAST_CHILD)
@example(NEITHER)
@example(NO_RESIDUAL)
@example(BELOW_THE_PICTURE)
@example(BELOW_NO_PICTURE)
@example(ALL_BUT_ONE_CHILD)
@example(ALL_WITH_A_LABEL)
@example(NO_SHARE_OF_NONE)
@example(SHARE_OF_FEW)
@example(ON_BOTH_SIDES)
@example(BEHIND_AN_EXCESS)
@example(BEHIND_DIGITS)
@example(BEHIND_A_PART)
@examples(60)
def test_everything_published_leaves_each_small_cell_possible(
    release: tuple[str, list[tuple[int, list[str]]], int],
) -> None:
    assert narrowed(*release) == []


@pytest.mark.parametrize("release", [LAST_CHILD, NEITHER, NO_RESIDUAL])
def test_counts_each_protected_alone_tell_small_cells(
    release: tuple[str, list[tuple[int, list[str]]], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in ("_protect_beside", "_free_sums", "_protect_whole"):
        monkeypatch.setattr(protection.Protection, step, lambda *_: None)

    assert narrowed(*release) != []


@pytest.mark.parametrize(
    ("release", "where", "what"),
    [
        (BEHIND_AN_EXCESS, "audit.results.shared_view.SharedView._tells", lambda *_: True),
        (
            BEHIND_DIGITS,
            "audit.results.overview._steady_ratio",
            lambda w, e, _: w and round(w / e, 2),
        ),
        (BEHIND_A_PART, "audit.results.shared_findings.WHOLE", "nothing"),
    ],
)
def test_numbers_of_pairs_each_protected_alone_tell_small_cells(
    release: tuple[str, list[tuple[int, list[str]]], int],
    where: str,
    what: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(where, what)

    assert narrowed(*release) != []


@pytest.mark.slow
def test_tables_of_explanations_leave_each_small_cell_possible() -> None:
    found = list(tried(2 * len(KINDS), first=5000))

    assert [(kind, seed, lines) for kind, seed, _, lines in found if lines] == []
    assert sum(counts["small"] for *_, counts, _ in found) > 60


@pytest.mark.parametrize(
    ("seed", "where", "what"),
    [
        (1007, "audit.results.shared_view.analysis_counts", lambda _: ()),
        (13, "audit.results.shared_tables._beside", lambda steps, *_: [own for _, own in steps]),
    ],
)
def test_steps_each_protected_alone_tell_small_cells(
    seed: int, where: str, what: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((_, _, _, right),) = tried(1, first=seed)
    monkeypatch.setattr(where, what)
    ((_, _, _, wrong),) = tried(1, first=seed)

    assert right == []
    assert wrong != []


def test_counts_far_from_each_other_are_all_shown() -> None:
    counted = [(30, ["asthma"]), (20, ["attack"]), (12, ["asthma", "attack"]), (25, ["flu"])]
    shared = run_audit(
        labelled(BODIES["three siblings"], repeated(counted), persons=True),
        Policy(min_cell=5),
    ).shared()

    assert {type(row["instances"]) for row in shared["overview"]["tree"]} == {int}
    assert [row["instances"] for row in shared["overview"]["branch_pairs"]] == [12]


@given(
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(2, 12),
)
def test_two_releases_side_by_side_leave_a_small_difference_possible(
    old: int, came: int, others: int, others_came: int, min_cell: int
) -> None:
    """Unknown: instances of the old release with and without the node, and those that came."""
    assume(min(old + others, came + others_came) >= 4 * min_cell)
    x = np.array([old, others, came, others_came], float)
    sizes = old + others, old + others + came + others_came
    counts = old, old + came
    shown = shown_change(*counts, *sizes, min_cell)
    rows = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0], [1, 0, 1, 0]], float)
    ranges: list[tuple[float, float]] = [(size, size) for size in sizes]
    for count, told, size in zip(counts, shown, sizes, strict=True):
        bound = told if isinstance(told, int) else int(told[1:])
        ranges.append(
            (bound, bound)
            if isinstance(told, int)
            else (1, bound - 1)
            if told[0] == "<"
            else (bound + 1, size)
        )
        assert ranges[-1][0] <= count <= ranges[-1][1]
    used = [(min(n, 1), size if n else 0) for n, size in zip(counts, sizes, strict=True)]
    for cell in range(4):
        if 0 < x[cell] < min_cell:
            low, high = ends(np.eye(4)[cell], rows, ranges)
            base = ends(np.eye(4)[cell], rows, [*ranges[:2], *used])
            both_small = all(isinstance(told, str) and told[0] == "<" for told in shown)
            assert low <= max(1, base[0]) + 1e-6
            assert high >= min(min_cell - 1 - both_small, base[1]) - 1e-6


def ends(row: Row, rows: Row, ranges: list[tuple[float, float]]) -> tuple[float, float]:
    """The least and the most of a sum under two-sided bounds."""
    low, high = np.array(ranges, float).T
    found = [
        linprog(sign * row, A_ub=np.vstack([rows, -rows]), b_ub=np.concatenate([high, -low]))
        for sign in (1, -1)
    ]
    assert all(solved.success for solved in found)
    return float(found[0].fun or 0), -float(found[1].fun or 0)
