"""What few kinds of instance show to be possible, beside a program over all of them."""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from audit.disclosure import (
    Cell,
    Release,
    carried,
    inference,
    is_small,
    labelled_below,
    protect,
    protected,
    protection,
    together,
    told,
)
from audit.disclosure.feasibility import are_possible
from audit.disclosure.told import Told
from audit.disclosure.whole import Sum, worthiest
from audit.results.published_cells import pair_cells
from audit.runs.audit import run_audit
from fixtures.attack import BODIES
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated

MIN_CELL = 5
NO_KIND = np.zeros(0, np.int64)


@st.composite
def sums(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums over up to 60 kinds, with ranges that some numbers of them keep, or nearly."""
    n_sums, n_kinds = draw(st.integers(1, 5)), draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    rows = rng.integers(draw(st.sampled_from([0, -1])), 2, (n_sums, n_kinds)).astype(float)
    true = rows @ np.where(rng.random(n_kinds) < 0.2, rng.integers(0, 40, n_kinds), 0)
    low = true + rng.integers(-2, 2, n_sums)
    width = np.where(rng.random(n_sums) < 0.5, 0, rng.integers(0, 4, n_sums))
    return rows, np.where(rng.random(n_sums) < 0.2, -np.inf, low), low + width


@given(sums())
def test_it_is_possible_where_a_program_over_all_kinds_has_a_solution(
    drawn: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    rows, low, high = drawn
    bounded = np.isfinite(low)
    solved = linprog(
        np.zeros(rows.shape[1]),
        A_ub=np.vstack([rows, -rows[bounded]]),
        b_ub=np.concatenate([high, -low[bounded]]),
    )

    ((found, few, _),) = are_possible([([rows], low, high, NO_KIND)])
    assert found == solved.success
    again = are_possible([([rows], low, high, few), ([rows], low, high, NO_KIND)])
    assert [one[0] for one in again] == [found] * 2, "kinds to begin with change nothing"


def test_no_kind_of_instance_gives_no_sum() -> None:
    none = np.zeros((1, 0))

    asked = [([none], np.array([low]), np.array([2.0]), NO_KIND) for low in (0.0, 1.0)]
    assert [found for found, *_ in are_possible(asked)] == [True, False]


@st.composite
def releases(draw: st.DrawFn) -> tuple[Release, dict[Cell, int]]:
    """Instances of six leaves under two branches, and published counts of theirs."""
    leaves = "abcdef"
    sets = st.sets(st.sampled_from(leaves), min_size=1, max_size=4)
    sizes = st.one_of(st.integers(1, 6), st.integers(1, 60))
    times = draw(st.lists(st.tuples(sets, sizes), min_size=2, max_size=8))
    parents = {leaf: ("left" if leaf < "d" else "right",) for leaf in leaves}
    parents |= {"left": ("top",), "right": ("top",)}
    carrying = [(labels | {parents[label][0] for label in labels}, n) for labels, n in times]
    nodes = sorted(set().union(*(labels for labels, _ in carrying)))
    labels = [node for node in nodes if node in leaves]
    counts = {
        together(carried(a), carried(b)): sum(n for some, n in carrying if {a, b} <= some)
        for a, b in product(nodes, nodes)
        if a <= b
    }
    kept = draw(st.sets(st.sampled_from(sorted(counts)), min_size=1))
    labelled = sum(n for _, n in times)
    supports = {node: counts[carried(node)] for node in nodes} | {"top": labelled}
    assertions = sum(supports[label] for label in labels)
    depths = dict.fromkeys(labels, 2)
    release = Release(labelled, assertions, parents, supports, depths, frozenset())
    return release, {cell: counts[cell] for cell in kept}


@given(releases())
@examples(25)
def test_a_value_is_reached_where_the_least_program_reaches_it(
    drawn: tuple[Release, dict[Cell, int]],
) -> None:
    """With others as one, with a few kinds of many, and without any where it was reached before."""
    release, counts = drawn

    def left(cell: Cell) -> tuple[int, int]:
        n = counts.get(cell, 0)
        return (1, MIN_CELL - 1) if is_small(n, MIN_CELL) else (n, n)

    def programs() -> list[tuple[inference.Form, inference.Inference]]:
        forms = [form for cell in counts for form in (((1, cell),), ((1, None), (-1, cell)))]
        return [(form, inference.Inference.of(form, Told(release, counts, ()))) for form in forms]

    for sign, wanted in ((1, 1), (-1, MIN_CELL - 1)):
        end, solved = ((1,), sign, wanted, left), programs()
        goals = [sign * one.least(form, (1,), sign, left)[0] for form, one in solved]
        reach = [goal <= sign * wanted + 1e-6 for goal in goals]

        assert inference.reached(programs(), *end) == set(np.flatnonzero(reach).tolist())
        assert [one.reached(form, *end[:-1]) for form, one in solved] == reach
        with patch.object(inference, "MANY", 0), patch.object(inference, "TOGETHER", 0):
            assert inference.reached(programs(), *end) == set(np.flatnonzero(reach).tolist())
            few = [one.least(form, *end[:2], left, wanted=wanted)[0] for form, one in programs()]
            assert [sign * goal <= sign * wanted + 1e-6 for goal in few] == reach


@pytest.mark.parametrize("types", [8, 3])
@given(releases())
@examples(25)
def test_what_is_withheld_is_the_same_however_programs_are_tried_first(
    types: int, drawn: tuple[Release, dict[Cell, int]]
) -> None:
    """Over few kinds, or many as one; where each label is a kind of its own and where not."""
    release, counts = drawn
    with patch.object(told, "TYPES", types):
        with patch.object(protection, "reached", lambda *_: set()):
            alone = protected(counts, release, MIN_CELL)
        with patch.object(inference, "MANY", 0):
            first = protected(counts, release, MIN_CELL)
        with patch.object(inference, "MANY", 2**62):
            whole = protected(counts, release, MIN_CELL)

    assert alone == first == whole


@given(releases(), releases())
@examples(25)
def test_what_was_decided_is_taken_over_where_all_that_decides_it_is_the_same(
    drawn: tuple[Release, dict[Cell, int]], other: tuple[Release, dict[Cell, int]]
) -> None:
    """Without a program; of other counts, of another release or limit, all is decided anew."""
    release, counts = drawn
    before = protect(counts, release, MIN_CELL)
    fewer = dict(list(counts.items())[1:])
    with patch.object(protection.Protection, "_protect", side_effect=AssertionError):
        same = protect(counts, release, MIN_CELL, before=before.decided())

    assert same.shown == before.shown
    for others in ((*other, MIN_CELL), (release, fewer, MIN_CELL), (release, counts, 4)):
        asked, told_, limit = others
        taken = protect(told_, asked, limit, before=before.decided())
        assert taken.shown == protect(told_, asked, limit).shown


def worths(seed: int) -> tuple[np.ndarray, list[Sum], np.ndarray, int]:
    """What a few classes of label are worth, alone and in sums, their sizes, and the most taken."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(2, 5))

    def some() -> list[np.ndarray]:
        return [draw.random(n) < 0.5 for _ in range(draw.integers(3))]

    sums = [(float(draw.integers(-6, 7)), some(), some()) for _ in range(draw.integers(1, 5))]
    return draw.integers(-3, 3, n) / 2, sums, draw.integers(1, 4, n), int(draw.integers(1, 4))


@pytest.mark.parametrize("seeds", [range(start, start + 10) for start in range(0, 40, 10)])
def test_the_instance_that_is_worth_most_is_that_of_all_there_can_be(seeds: range) -> None:
    for seed in seeds:
        each, sums, sizes, most = worths(seed)
        worth = {
            has: float(each @ has)
            + sum(
                weight
                for weight, met, missed in sums
                if all(np.any(one * has) for one in met)
                and not any(np.any(one * has) for one in missed)
            )
            for has in product(*(range(size + 1) for size in sizes))
        }
        found, counts = worthiest(each, sums, sizes, most)

        assert found == pytest.approx(worth[tuple(counts.tolist())]), seed
        assert found == pytest.approx(max(n for has, n in worth.items() if 1 <= sum(has) <= most))


def test_a_program_sees_the_sets_next_to_a_cell_first() -> None:
    """Those of its node, above and below, of pairs with it and beside it; of these small ones."""
    children = {
        "a": "left",
        "b": "left",
        "c": "right",
        "d": "right",
        **dict.fromkeys("efghi", "far"),
    }
    parents = {node: (above,) for node, above in children.items()}
    parents |= dict.fromkeys(("left", "right", "far"), ("top",)) | {"a1": ("a",), "a2": ("a",)}
    labels = {node: 2 for node in parents if node not in ("left", "right", "far")}
    supports = {**dict.fromkeys(parents, 50), "top": 400, "b": 30, "c": 20, "d": 2, "e": 3, "a1": 9}
    release = Release(400, 500, parents, supports, labels, frozenset())
    counts = release.carrying | {
        labelled_below("a"): 40,
        together(carried("a"), carried("c")): 20,
        together(carried("b"), carried("d")): 2,
    }
    sets, codes = told.nearest(((1, carried("a")),), Told(release, counts, ()))
    names = [f"{scope} {node}" for scope, node in sets]

    assert names[:5] == ["below a", "strictly_below a", "below a1", "below a2", "below left"]
    assert names[5:8] == ["below c", "below b", "below top"]
    assert names[8:10] == ["below d", "below e"], "whose counts are the smallest"
    assert len(np.unique(codes)) == told.TYPES == 8


def test_those_who_carry_two_nodes_by_different_labels_can_be_all_with_two_labels() -> None:
    """Of 60 instances with 90 labels 30 have two at most; ``both`` alone is below both nodes."""
    sets = [(30, ["asthma", "attack"]), (20, ["both"]), (10, ["asthma"])]
    result = run_audit(labelled(BODIES["diamond"], repeated(sets), persons=True))
    release = result.release
    cell = pair_cells(release, "heart", "lung")["instances"]
    form = ((1, cell),)
    program = inference.Inference.of(form, Told(release, {cell: 30}, ()))

    def free(cell: Cell) -> tuple[int, int]:
        return 0, release.total(cell)

    assert cell.differing
    assert program.least(form, (1,), 1, free)[0] == pytest.approx(0)
    assert program.least(form, (1,), -1, free)[0] == pytest.approx(30)
