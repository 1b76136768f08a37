"""Controls: exact after a shift, by whole groups, and what is told where no control is read."""

from __future__ import annotations

import numpy as np
import pytest

from audit.concepts import node_controls
from audit.concepts.halves import Area, Half, Units
from audit.concepts.node_controls import Control, cut_down, dealt_anew, made_up, moved_direction

N, FEATURES = 300, 40


def made(seed: int = 0, n: int = N, features: int = FEATURES) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, features)) @ rng.normal(size=(features, features))
    return np.asarray(z - z.mean(axis=0))


def units(n: int = N, groups: list[str | None] | None = None) -> Units:
    return Units.of([f"i{row}" for row in range(n)], groups, range(2))


def refitted(z: np.ndarray, like: np.ndarray, inside: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The discriminant of moved rows, in plain steps; the sphere is that of unmoved rows."""
    n, features = z.shape
    toward = features / (features + n)
    size = like.var(axis=0).mean()
    shrunk = (1 - toward) * np.cov(z.T, bias=True) + toward * size * np.eye(features)
    return np.asarray(np.linalg.solve(shrunk, z[inside].mean(axis=0) - z[others].mean(axis=0)))


@pytest.mark.parametrize("features", [5, 40, 200])
@pytest.mark.parametrize("siblings", [False, True])
def test_an_update_of_the_factor_is_the_refit(features: int, siblings: bool) -> None:
    z, rng = made(1, features=features), np.random.default_rng(2)
    half = Half.of(z, units().fitted[0])
    rows = z[half.fitted]
    inside = rng.random(len(rows)) < 0.2
    others = ~inside & (rng.random(len(rows)) < 0.3) if siblings else ~inside
    shift = rng.normal(size=features)
    mean = rows[inside].mean(axis=0)
    basis = [shift, mean - rows[~inside].mean(axis=0)]
    basis += [mean - rows[others].mean(axis=0)] * siblings
    found, gained = moved_direction(half, np.array([basis]), np.array([inside.mean()]))
    moved = rows + inside[:, None] * shift
    expected = refitted(moved, rows, inside, others)
    assert np.abs(found[0] - expected).max() <= 1e-12 * np.abs(expected).max()
    assert gained[0] == pytest.approx(expected @ shift)


def test_what_is_left_out_of_a_half_is_as_if_it_had_never_been_there() -> None:
    z = made(3)
    half = Half.of(z, units().fitted[0])
    side = np.random.default_rng(4).choice([1, 0, node_controls.OUT], N, p=[0.1, 0.7, 0.2])
    left = [row for row in half.fitted if side[row] != node_controls.OUT]
    rows, inside = z[left], side[left] == 1
    expected = refitted(rows, rows, inside, ~inside)
    assert node_controls.without(z, half, side) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_shift_is_as_long_as_it_should_be_with_more_features_than_instances_too() -> None:
    z = np.random.default_rng(5).normal(size=(60, 200))
    shifts = [
        node_controls._drawn(z, units(60), np.ones(60, np.bool_), [12], seed, moved=True)[1]
        for seed in range(40)
    ]
    squares = (np.concatenate(shifts) ** 2).sum(axis=1)
    assert np.sqrt(squares.mean()) == pytest.approx(node_controls.LENGTH, rel=0.05)


def test_whole_groups_are_in_one_half_and_in_one_draw() -> None:
    groups: list[str | None] = [None if row < 3 else f"g{row % 40}" for row in range(N)]
    dealt = units(N, groups)
    assert len(dealt) == 43
    inside = dealt.drawn(12, np.ones(N, np.bool_), np.random.default_rng(0))
    for of_rows in (*dealt.fitted, inside):
        sides = {group: set() for group in groups}  # type: ignore[var-annotated]
        for row, group in enumerate(groups):
            sides[group].add(bool(of_rows[row]))
        assert all(len(own) == 1 for group, own in sides.items() if group is not None)
    assert dealt.count(inside) == 12
    alone = units(N, [f"g{row}" for row in range(N)])
    assert alone.fitted[0].sum() == N / 2


def test_made_up_concepts_are_read_and_none_is_where_nothing_was_moved() -> None:
    z = made(6)
    halves = [Half.of(z, fitted) for fitted in units().fitted]
    moved = made_up(z, halves, units(), [60], 0)[60]
    unmoved = made_up(z, halves, units(), [60], 0, moved=False)[60]
    assert moved.read >= 9
    assert unmoved.read == 0
    assert unmoved.told == 10
    rows = np.arange(0, N, 2)
    assert dealt_anew(z, halves, units(), rows, 60, 0).read >= 9
    known = [np.arange(N) % 5 == one for one in range(5)]
    far = z + 9 * np.eye(FEATURES)[np.arange(N) % 5] @ np.diag(z.std(axis=0))
    halves = [Half.of(far, fitted) for fitted in units().fitted]
    assert cut_down(far, halves, units(), 30, 0, known).read == 10


@pytest.mark.parametrize(
    ("areas", "needed"),
    [([0.76] * 10, None), ([0.5] * 10, None), ([0.7] * 10, 200), ([0.84] * 8 + [0.7] * 2, 50)],
)
def test_the_number_that_is_needed_has_one_digit_and_is_not_told_where_it_cannot_be(
    areas: list[float], needed: int | None
) -> None:
    assert Control(40, [Area(one, 0, 1, 0.5) for one in areas]).needed == needed
