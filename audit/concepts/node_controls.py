"""Controls of a node that is not read: would the probe read a concept in as many instances?

*Even*: as many random instances get a made-up concept of accuracy .9, a shift of all features whose
root mean square Mahalanobis length is `LENGTH`. *Unmoved*: the same without the shift, in which
there is nothing to read. *Own*: a node that the probe reads, cut down to as many instances.
A shift of some instances changes the covariance by rank two, so that nothing is factored anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.sparse import csr_array
from scipy.special import ndtri

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.concepts.halves import OUT, Area, Half, Units, area, place, shrunk
from audit.concepts.verdicts import LIMIT

LENGTH = 2.563
"""Mahalanobis length of a shift that a perfect discriminant gets right in nine of ten cases."""
DRAWS, ENOUGH = 10, 9
"""Draws of a control, and how many of them must be read."""
LEAST_KNOWN = 5
"""Nodes that the probe reads, of as many instances, from which they are a control."""
RATIO, LARGEST = 1.2, 2_000
"""Sizes of controls are rounded down to a grid of this ratio, and to the largest."""
AT_ONCE = 12
"""Sizes whose draws are judged together."""
SURE = 0.01
"""P value up to which an unmoved draw is told to be below the limit."""
READ_AT = 15.3
"""What `needed` is at an area of .84, at which the control reads in nine of ten draws."""
FEWEST = 20
"""The least number of instances that is said to be needed."""
TELLABLE = 0.55
"""Mean area of the control from which the number that is needed can be told."""


@dataclass(frozen=True)
class Control:
    """Draws of one size.

    Args:
        areas: Area of each draw; fewer where a draw could not be judged.
    """

    size: int
    areas: Sequence[Area]

    @property
    def read(self) -> int:
        """Draws whose area is at the limit or above."""
        return sum(one.value >= LIMIT for one in self.areas)

    @property
    def told(self) -> int:
        """Draws that are told to be below the limit."""
        return sum(one.p_at_limit <= SURE for one in self.areas)

    @property
    def needed(self) -> int | None:
        """About how many instances a concept of accuracy .9 needs to be read, to one digit.

        From the theory of centroids: at n instances the area is Phi(L^2 / sqrt(2 (L^2 + x))), x
        the noise, which falls as 1 / n. None where it reads, or where nothing can be told.
        """
        if self.read >= ENOUGH or not self.areas:
            return None
        mean = float(np.mean([one.value for one in self.areas]))
        if mean < TELLABLE:
            return None
        noise = LENGTH**4 / (2 * float(ndtri(min(mean, 0.999))) ** 2) - LENGTH**2
        number = self.size * noise / READ_AT
        digit = 10 ** math.floor(math.log10(max(number, 1)))
        return max(FEWEST, int(round(number / digit) * digit))


def on_grid(units: int) -> int:
    """The largest size of the grid that is no larger, from ten on.

    >>> [on_grid(units) for units in (10, 13, 14, 100, 10**6)]
    [10, 12, 14, 89, 2000]
    """
    step = math.floor(math.log(units / 10) / math.log(RATIO) + 1e-9)
    sizes = [math.floor(10 * RATIO**one + 1e-9) for one in (step, step + 1)]
    return min(LARGEST, max(size for size in sizes if size <= units))


def made_up(
    z: FloatArray,
    halves: Sequence[Half],
    units: Units,
    sizes: Sequence[int],
    seed: int,
    *,
    moved: bool = True,
) -> dict[int, Control]:
    """Draws of random units with a made-up concept, or with none, of each size.

    Args:
        z: Representations, centred, shape (n, features).
        moved: Whether they have the concept.
    """
    found: dict[int, Control] = {}
    every = np.ones(len(z), np.bool_)
    for start in range(0, len(sizes), AT_ONCE):
        some = sizes[start : start + AT_ONCE]
        inside, shift = _drawn(z, units, every, some, seed, moved=moved)

        def scores(place: int, inside: BoolArray = inside, shift: FloatArray = shift) -> FloatArray:
            half = halves[place]
            own, others, p = _means(z, half, inside)
            direction, gained = moved_direction(half, np.stack([shift, own - others], axis=1), p)
            return np.asarray(z[half.judged] @ direction.T + inside[half.judged] * gained)

        placed = place([half.judged for half in halves], scores, inside.astype(np.int64))
        for number, size in enumerate(some):
            columns = slice(DRAWS * number, DRAWS * (number + 1))
            found[size] = _control(size, placed[:, columns], inside[:, columns], units.of_row)
    return found


def dealt_anew(
    residuals: FloatArray,
    halves: Sequence[Half],
    units: Units,
    rows: IntArray,
    size: int,
    seed: int,
) -> Control:
    """Draws of random units among the instances of two siblings, with a made-up concept.

    Args:
        rows: The instances of just one of the two, ascending.
    """
    among = np.zeros(len(residuals), np.bool_)
    among[rows] = True
    inside, shift = _drawn(residuals, units, among, [size], seed, moved=True)
    of_pair, own_rows = inside[rows], residuals[rows]
    place_of = np.cumsum(among) - 1
    judged = [place_of[half.judged[among[half.judged]]] for half in halves]

    def scores(place: int) -> FloatArray:
        half = halves[place]
        own, others, p = _means(residuals, half, inside)
        fitted = place_of[half.fitted[among[half.fitted]]]
        rest = ~of_pair[fitted]
        with np.errstate(divide="ignore", invalid="ignore"):
            siblings = rest.T.astype(np.float64) @ own_rows[fitted] / rest.sum(axis=0)[:, None]
        basis = np.stack([shift, own - others, own - siblings], axis=1)
        direction, gained = moved_direction(half, basis, p)
        return np.asarray(own_rows[judged[place]] @ direction.T + of_pair[judged[place]] * gained)

    placed = place(judged, scores, of_pair.astype(np.int64))
    return _control(size, placed, of_pair, units.of_row[rows])


def _drawn(
    z: FloatArray,
    units: Units,
    among: BoolArray,
    sizes: Sequence[int],
    seed: int,
    *,
    moved: bool,
) -> tuple[BoolArray, FloatArray]:
    """The instances of the draws of each size, (n, draws), and their shifts, (draws, features)."""
    inside, mixed = [], np.empty((DRAWS * len(sizes), len(z)))
    for number, size in enumerate(sizes):
        rng = np.random.default_rng((seed, size))
        inside += [units.drawn(size, among, rng) for _ in range(DRAWS)]
        if moved:
            mixed[DRAWS * number :][:DRAWS, units.rows] = rng.normal(size=(DRAWS, len(z)))
    shift = (
        LENGTH * (mixed @ z) / math.sqrt(z.size) if moved else np.zeros((len(inside), z.shape[1]))
    )
    return np.column_stack(inside), shift


def _means(
    z: FloatArray, half: Half, inside: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean of each draw's instances of a half and of all others there, shape (draws, features)
    each, and the share of the former, shape (draws,)."""
    there = np.zeros(len(z), np.bool_)
    there[half.fitted] = True
    own = csr_array((inside & there[:, None]).T.astype(np.float64))
    sums = np.asarray(own @ z)
    count = np.count_nonzero(inside[half.fitted], axis=0)[:, None]
    n = len(half.fitted)
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums / count, (half.mean * n - sums) / (n - count), count[:, 0] / n


def _control(size: int, placed: FloatArray, inside: BoolArray, unit: IntArray) -> Control:
    side = inside.astype(np.int64)
    areas = [area(placed[:, one], side[:, one], unit) for one in range(side.shape[1])]
    return Control(size, [one for one in areas if one is not None])


def moved_direction(half: Half, basis: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The discriminant of each draw after its instances are shifted, without factoring anew.

    With delta the shift, b the difference of the means before it and p the share of the shifted,
    the covariance S becomes S + X C X', X = [delta, b], C = (1 - g) p (1 - p) [[1, 1], [1, 0]]; g,
    and the sphere that S is drawn to, stay those of the unmoved instances.

    Args:
        basis: The shift of each draw, the mean of its instances less that of all others, and less
            that of those that it is told from where these are some; shape (draws, 2 or 3,
            features).
        p: Share of the half's instances, shape (draws,).

    Returns:
        Directions, shape (draws, features), and what a shift adds to a score, shape (draws,). NaN
        for a draw that has no instances on one side of the half.
    """
    end = np.zeros(basis.shape[1])
    end[[0, -1]] = 1.0
    x = np.nan_to_num(basis)
    solved = half.solve(x.reshape(-1, x.shape[2])).reshape(x.shape)
    c = np.zeros((len(x), len(end), len(end)))
    c[:, 0, 0] = c[:, 0, 1] = c[:, 1, 0] = (1 - half.toward) * p * (1 - p)
    gram = x @ solved.transpose(0, 2, 1)
    inner = np.linalg.solve(np.eye(len(end)) + c @ gram, end[None, :, None])
    direction = (solved * inner).sum(axis=1)
    direction[np.isnan(basis).any(axis=(1, 2))] = np.nan
    return direction, (direction * x[:, 0]).sum(axis=1)


def cut_down(
    z: FloatArray,
    halves: Sequence[Half],
    units: Units,
    size: int,
    seed: int,
    known: Sequence[BoolArray],
) -> Control:
    """Draws of nodes that are read, in turn, each cut down to random units; the rest is left out.

    Returns:
        As many draws as decide whether enough are read.
    """
    rng, areas = np.random.default_rng((seed, size)), list[Area]()
    for draw in range(DRAWS):
        node = known[draw % len(known)]
        inside = units.drawn(size, node, rng)
        side = np.where(node & ~inside, OUT, inside.astype(np.int64))
        every = z @ np.column_stack([without(z, half, side) for half in halves])

        def scores(number: int, every: FloatArray = every) -> FloatArray:
            return np.asarray(every[halves[number].judged, number][:, None])

        placed = place([half.judged for half in halves], scores, side[:, None])
        found = area(placed[:, 0], side, units.of_row)
        areas += [] if found is None else [found]
        if draw + 1 - Control(size, areas).read > DRAWS - ENOUGH:
            break
    return Control(size, areas)


def without(z: FloatArray, half: Half, side: IntArray) -> FloatArray:
    """The discriminant of a half without what is left out of it, shape (features,).

    Args:
        z: Representations, shape (n, features).
        side: 1 for instances of the node, 0 for others, `OUT` for what is left out, shape (n,).
    """
    of_side = side[half.fitted]
    own, gone = (z[half.fitted[of_side == one]] for one in (1, OUT))
    if not len(own):
        return np.full(z.shape[1], np.nan)
    n, left = len(half.fitted), len(half.fitted) - len(gone)
    sums = n * half.mean - gone.sum(axis=0)
    covariance = n * (half.covariance + np.outer(half.mean, half.mean)) - gone.T @ gone
    covariance /= left
    covariance -= np.outer(sums / left, sums / left)
    _, factor = shrunk(covariance, left)
    others = (sums - own.sum(axis=0)) / (left - len(own))
    return np.asarray(cho_solve(factor, own.mean(axis=0) - others))
