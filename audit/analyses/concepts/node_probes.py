"""How well a layer orders the instances below nodes against others, and against their siblings'.

Discriminants are fitted on half of the instances and order the other. The placement of an instance
is the share of the other side that lies on its right side; the mean over a side is the area under
the curve, the variance over instances tells how sure it is (DeLong, DeLong and Clarke-Pearson
1988). No score is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from audit.analyses.concepts.probes import placements
from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.engine.statistics.resampling import unit_keys
from audit.hierarchies.hierarchy import Hierarchy

LEAST_INSTANCES = 11
"""Instances below a node, and elsewhere, from which it is tested; as many groups where there are
some."""
BLOCK = 128
"""Nodes whose scores are computed at a time."""
CLOSEST = 10
"""Siblings that the hardest one is sought among: those whose scores lie closest."""
REACH = 1.96
"""Half of a 95 % interval in standard errors."""
OUT = -1
"""In place of 0 and 1 where an instance is of neither side."""


@dataclass(frozen=True, eq=False)
class Below:
    """Which instances are below which nodes.

    Args:
        member: Whether an instance is at or below each tested node, shape (instances, tested).
        tested: Those with enough instances below them and elsewhere, ascending.
        families: Of each parent of at least two of them the children's places among them.
        rows_of: The instances below each of these parents, ascending.
        unit: The number of each instance's group, or its own, shape (instances,).
        fitted: For each split and each of its halves, the instances of it; units are whole.
    """

    member: BoolArray
    tested: IntArray
    families: Mapping[int, IntArray]
    rows_of: Mapping[int, IntArray]
    unit: IntArray
    fitted: Sequence[BoolArray]


def membership(hierarchy: Hierarchy, labels: pl.Series) -> Sparse:
    """1 where an instance has a label at or below a node, shape (instances, nodes)."""
    places = pl.DataFrame({"node": hierarchy.nodes}).with_row_index("column")
    rows = pl.DataFrame({"node": labels}).with_row_index("row").explode("node")
    found = rows.join(places, on="node")
    ends = found["row"].to_numpy(), found["column"].to_numpy()
    shape = (len(labels), len(hierarchy))
    direct = csr_array((np.ones(len(found), np.int64), ends), shape=shape)
    member = csr_array(direct @ hierarchy.closure)
    member.data = np.minimum(member.data, 1)
    return member


def instances_below(
    hierarchy: Hierarchy,
    member: Sparse,
    ids: Sequence[str],
    groups: Sequence[str | None] | None,
    seeds: Iterable[int],
) -> Below:
    """Find the nodes that can be tested, and deal groups, or instances, to halves.

    Args:
        member: As `membership` gives it.
        groups: The group of each instance, None for one without; None without any.
    """
    named = list(ids)
    if groups is not None:
        pairs = zip(ids, groups, strict=True)
        named = [one if group is None else f"\0{group}" for one, group in pairs]
    number = {name: place for place, name in enumerate(dict.fromkeys(named))}
    unit = np.array([number[name] for name in named], np.int64)
    size = np.bincount(unit)
    of_unit = csr_array((np.ones(len(unit), np.int64), (unit, np.arange(len(unit)))))
    own = csr_array(of_unit @ member)
    whole = own.data == np.repeat(size, np.diff(own.indptr))
    inside, all_of = (
        np.bincount(of, minlength=len(hierarchy)) for of in (own.indices, own.indices[whole])
    )
    tested = np.flatnonzero(np.minimum(inside, len(size) - all_of) >= LEAST_INSTANCES)
    support = np.asarray(member.sum(axis=0)).reshape(-1)[tested]
    tested = tested[np.minimum(support, len(ids) - support) >= LEAST_INSTANCES]
    children = csr_array(hierarchy.child_matrix[:, tested])
    several, by_node = np.flatnonzero(np.diff(children.indptr) > 1).tolist(), csr_array(member.T)
    fitted = []
    for seed in seeds:
        half = np.argsort(np.argsort(unit_keys(list(number), seed))) % 2 == 0
        fitted += [half[unit], ~half[unit]]
    return Below(
        np.asarray(member[:, tested].toarray() > 0),
        tested,
        {parent: np.sort(row(children, parent)) for parent in several},
        {parent: np.sort(row(by_node, parent)) for parent in several},
        unit,
        fitted,
    )


def inverse(rows: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Applies the inverse of the covariance of rows, drawn to a sphere, to directions, as rows."""
    centred = rows - rows.mean(axis=0)
    covariance = centred.T @ centred / max(len(rows), 1)
    features = len(covariance)
    toward, mean = features / (features + len(rows)), float(np.trace(covariance)) / features
    sphere = toward * (mean or 1.0) * np.eye(features)
    factor = cho_factor((1 - toward) * covariance + sphere)
    return lambda directions: np.asarray(cho_solve(factor, directions.T).T)


def apart(rows: FloatArray, inside: BoolArray) -> FloatArray:
    """Mean of inside ones less mean of all others, NaN without both, shape (columns, features)."""
    own = inside.astype(np.float64)
    sums, count = own.T @ rows, own.sum(axis=0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums / count - (rows.sum(axis=0) - sums) / (len(rows) - count))


def areas(
    z: FloatArray,
    below: Below,
    directions: Sequence[FloatArray],
    rows: IntArray,
    own: IntArray,
    other: IntArray | None = None,
) -> list[tuple[float, float, float]]:
    """Areas of tested nodes against all others, or of the instances of just one of two nodes.

    Placements are means over the halves; one in which nothing is judged, or was fitted, does not
    count.

    Args:
        directions: Per half of ``below`` that of each tested node, shape (tested, features).
        rows: The instances that are judged.
        own: Places among the tested nodes, shape (n,); so is ``other``.
    """
    found, judged = [], [np.flatnonzero(~fitted[rows]) for fitted in below.fitted]
    for start in range(0, len(own), BLOCK):
        block = slice(start, start + BLOCK)
        side = np.asfortranarray(below.member[np.ix_(rows, own[block])].astype(np.int64))
        if other is not None:
            side[side == below.member[np.ix_(rows, other[block])]] = OUT
        sums, times = (np.zeros(side.shape, order="F") for _ in range(2))
        for places, direction in zip(judged, directions, strict=False):
            toward = direction[own[block]] - (0 if other is None else direction[other[block]])
            scores = np.asfortranarray(z[rows[places]] @ toward.T)
            for column in range(side.shape[1]):
                there = side[places, column] != OUT
                inside = side[places, column][there] == 1
                if inside.any() and not inside.all() and not np.isnan(scores[0, column]):
                    at = places[there]
                    sums[at, column] += placements(scores[there, column], inside)
                    times[at, column] += 1
        placed = np.divide(sums, times, out=np.full(side.shape, np.nan), where=times > 0)
        columns = range(side.shape[1])
        found += [area(placed[:, one], side[:, one], below.unit[rows]) for one in columns]
    return found


def area(placed: FloatArray, side: IntArray, unit: IntArray) -> tuple[float, float, float]:
    """The area that placements make, and its interval; NaN without two units on each side.

    Residuals are summed in a unit before they are squared. The variance of a side is at least that
    of one misplaced instance among its own, and of the inside ones at least the binomial's over
    their number.

    Args:
        placed: Shape (n,), NaN where an instance was not judged.
        side: 1 inside, 0 elsewhere, `OUT` for neither, shape (n,).
        unit: The number of each instance's group, or its own.
    """
    sides = [np.flatnonzero((side == one) & ~np.isnan(placed)) for one in (1, 0)]
    units = [np.count_nonzero(np.bincount(unit[rows])) for rows in sides]
    if min(units) < 2:
        return np.nan, np.nan, np.nan
    value = float(placed[sides[0]].mean())
    pulls = np.zeros((2, int(unit.max()) + 1))
    for pull, rows, n in zip(pulls, sides, units, strict=True):
        left = (placed[rows] - placed[rows].mean()) / len(rows)
        pull[:] = np.bincount(unit[rows], left, len(pull)) * np.sqrt(n / (n - 1))
    least = [(n + 2.0) ** -2 for n in units]
    least[0] = max(least[0], value * (1 - value) / (units[0] + 2))
    floors = [one / n for one, n in zip(least, units, strict=True)]
    own = [max(float(pull @ pull), floor) for pull, floor in zip(pulls, floors, strict=True)]
    error = float(np.sqrt(max(sum(own) + 2 * float(pulls[0] @ pulls[1]), sum(floors))))
    return value, max(value - REACH * error, 0.0), min(value + REACH * error, 1.0)


class Siblings(NamedTuple):
    """Discriminants between siblings, by the covariance of what nodes leave unexplained.

    Args:
        directions: Per half the direction of each tested node, shape (tested, features).
        best: Per parent, the child of the highest score, shape (instances below it, splits).
        closest: Per parent, the siblings of each child whose scores lie closest, as pairs of
            places among the tested nodes.
    """

    directions: Sequence[FloatArray]
    best: Mapping[int, IntArray]
    closest: Mapping[int, IntArray]


def fit_siblings(z: FloatArray, below: Below, halves: int | None = None) -> Siblings:
    """Fit the discriminants on every half, or on the first ones; z has the shape (n, features)."""
    fitted_on = below.fitted[:halves]
    best = {parent: np.zeros((len(rows), len(fitted_on) // 2), np.int64)
            for parent, rows in below.rows_of.items()}  # fmt: skip
    gaps = {parent: np.zeros((len(own), len(own))) for parent, own in below.families.items()}
    directions = []
    for number, fitted in enumerate(fitted_on):
        left = unexplained(z, below.member, fitted)
        solve = inverse(left[fitted])
        directions.append(solve(np.nan_to_num(apart(z[fitted], below.member[fitted]))))
        for parent, rows in below.rows_of.items():
            at, judged, learned = below.families[parent], rows[~fitted[rows]], rows[fitted[rows]]
            own = below.member[learned][:, at].astype(np.float64)
            mean = (own.T @ z[learned]) / np.maximum(own.sum(axis=0), 1)[:, None]
            solved = solve(mean)
            scores = z[judged] @ solved.T - (mean * solved).sum(axis=1) / 2
            best[parent][~fitted[rows], number // 2] = scores.argmax(axis=1)
            told = z[judged] @ directions[-1][at].T
            gaps[parent] += _separations(told, below.member[judged][:, at])
    closest = {}
    for parent, at in below.families.items():
        order = np.argsort(gaps[parent], axis=1, kind="stable")[:, :CLOSEST]
        pairs = np.column_stack([np.repeat(at, order.shape[1]), at[order.reshape(-1)]])
        closest[parent] = pairs[pairs[:, 0] != pairs[:, 1]]
    return Siblings(directions, best, closest)


def unexplained(z: FloatArray, member: BoolArray, fitted: BoolArray) -> FloatArray:
    """What nodes leave of the features of all instances: residuals of a regression on some."""
    marks, own = member.astype(np.float64), z[fitted]
    mean, of_fit = own.mean(axis=0), marks[fitted]
    gram = of_fit.T @ of_fit + 1e-6 * len(own) * np.eye(marks.shape[1])
    return np.asarray(z - mean - marks @ np.linalg.solve(gram, of_fit.T @ (own - mean)))


def _separations(scores: FloatArray, member: BoolArray) -> FloatArray:
    """How far apart two children's instances are by the difference of their scores.

    In standard deviations, shape (children, children); infinite for a child and itself, 0 where
    there is nothing to tell it from.
    """
    own = member.astype(np.float64)
    n = np.maximum(own.sum(axis=0), 1)[:, None]
    mean, squares = own.T @ scores / n, own.T @ scores**2 / n
    cross = (own * scores).T @ scores / n
    gap = np.diag(mean)[:, None] - mean
    spread = np.maximum(np.diag(squares)[:, None] - 2 * cross + squares - gap**2, 0)
    apart = (gap + gap.T) / np.sqrt(np.maximum(spread + spread.T, 1e-300))
    there = own.any(axis=0)
    apart = np.where(np.logical_and.outer(there, there), np.clip(apart, -1e6, 1e6), 0.0)
    np.fill_diagonal(apart, np.inf)
    return apart
