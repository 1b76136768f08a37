"""Nodes of a hierarchy: how well a layer, and the model's answers, tell what is below each.

Discriminants are fitted on half of the instances and order the other. The placement of an instance
is the share of the other side that lies on its right side; the mean over a side is the area under
the curve, the variance over instances tells how sure it is (DeLong, DeLong and Clarke-Pearson
1988). No score is cut.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.special import stdtrit

from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.probes import scaled
from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.base.errors import InputError, first_cases
from audit.engine.statistics.intervals import LEVEL
from audit.engine.statistics.resampling import unit_keys
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import title_of_node

LEAST_INSTANCES = 11
"""Instances below a node, and elsewhere, from which it is tested; as many groups where there are
some."""
MOST_INSTANCES = 50_000
"""Instances that nodes are measured on."""
BLOCK = 128
"""Nodes whose scores are computed at a time."""
CLOSEST = 10
"""Siblings that the hardest one is sought among: those whose scores lie closest."""
REACH = 1.96
"""Half of a 95 % interval in standard errors."""
Area: TypeAlias = tuple[float, float, float]
"""An area under the curve and its interval, NaN where there is none."""
_Fitted: TypeAlias = tuple[Callable[[FloatArray], FloatArray], FloatArray]
"""Of one half the inverse covariance, applied to rows, and the direction of each tested node."""
_Pair: TypeAlias = tuple[int, int, Area]
"""A node and its hardest sibling by their places, and the area between them."""


@dataclass(frozen=True, eq=False)
class Below:
    """Which instances are below which nodes.

    Args:
        member: Whether an instance is at or below each tested node, shape (instances, tested).
        tested: Those with enough instances below them and elsewhere, ascending.
        families: Of each parent of at least two of them the children's places among them.
        unit: The number of each instance's group, or its own, shape (instances,).
        halves: For each split and each of its halves, the instances of it; units are whole.
    """

    member: BoolArray
    tested: IntArray
    families: Mapping[int, IntArray]
    unit: IntArray
    halves: Sequence[BoolArray]

    def rows(self, parent: int) -> IntArray:
        """The instances below a tested child of a parent."""
        return np.flatnonzero(self.member[:, self.families[parent]].any(axis=1))


def node_frame(
    hierarchy: Hierarchy,
    layers: Mapping[str, NDArray[np.floating]],
    tested: str,
    instances: pl.DataFrame,
    seeds: Sequence[int],
) -> pl.DataFrame:
    """The table ``nodes`` on one layer, of nodes with enough instances below them and elsewhere.

    ``readable`` is the area of a node against all other instances, ``separable`` against the
    sibling that is hardest to tell from it, ``sibling``; ``best_layer`` separates the two best.
    ``probed`` and ``predicted`` are balanced accuracies of the node against all siblings, by the
    probe and by the model's answers where they are known; ``unused`` is their difference.

    Args:
        layers: Representations by layer, shape (instances, features).
        tested: The layer that areas are of; others only compete for ``best_layer``.
        instances: ``id``, ``labels``, what a model ``answers`` (lists; null where it is not known)
            and the ``group`` of each (null throughout: none have one).

    Raises:
        InputError: If no label is a node.
    """
    member = _membership(hierarchy, instances["labels"])
    kept = np.flatnonzero(np.diff(member.indptr))
    if not len(kept):
        labels = instances["labels"].explode().drop_nulls().unique(maintain_order=True)
        required = f"labels that are nodes of the hierarchy {hierarchy.name} are required"
        raise InputError(required, found=f"none among {first_cases(labels)}")
    drawn = np.argsort(unit_keys(instances["id"][kept].to_list(), seeds[0]), kind="stable")
    kept = np.sort(kept[drawn[:MOST_INSTANCES]])
    below = _below(hierarchy, csr_array(member[kept]), instances[kept], seeds)
    z = {name: scaled(layer[kept].astype(np.float64)) for name, layer in layers.items()}
    rows = _readable_rows(hierarchy, below, z[tested], instances["group"][kept])
    fitted = _fit(z[tested], below, siblings=True)
    hardest = _hardest(z[tested], below, fitted)
    said = _membership(hierarchy, instances["answers"][kept])[:, below.tested].toarray() > 0
    known = instances["answers"][kept].is_not_null().to_numpy()
    for parent, pairs in hardest.items():
        best = _best_children(z[tested], below, parent, fitted)
        for place, other, area in pairs:
            siblings = len(below.families[parent]) - 1
            rows[place] |= {"parent": hierarchy.nodes[parent], "siblings": siblings}
            if not np.isnan(area[0]):
                own, another = below.member[:, [place, other]].T
                rows[place] |= _with_ends("separable", area) | {"sibling": rows[other]["node"]}
                rows[place] |= {"best_layer": tested, "best_separable": area[0]}
                rows[place] |= {"sibling_instances": (another & ~own).sum()}
                rows[place] |= _among_siblings(below, parent, place, best, said, known)
    for name in [other for other in z if other != tested]:
        fitted = _fit(z[name], below, siblings=True, halves=2)
        for parent, pairs in hardest.items():
            own, other = np.array([pair[:2] for pair in pairs]).T
            areas = _areas(z[name], below, fitted, below.rows(parent), own, other)
            for place, (value, *_) in zip(own.tolist(), areas, strict=True):
                if value > rows[place].get("best_separable", np.nan):
                    rows[place] |= {"best_layer": name, "best_separable": value}
    found = TABLES["nodes"].frame(rows).with_columns(pl.selectors.float().fill_nan(None))
    named = pl.col("best_layer").fill_null(pl.lit(tested))
    return found.with_columns(named, title=title_of_node(hierarchy))


def _readable_rows(
    hierarchy: Hierarchy, below: Below, z: FloatArray, groups: pl.Series
) -> list[dict[str, Any]]:
    """The columns of ``nodes`` that need no siblings, a row a tested node."""
    every, grouped = np.arange(len(below.tested)), not groups.is_null().all()
    areas = _areas(z, below, _fit(z, below, siblings=False), np.arange(len(z)), every)
    rows = []
    for node, own, area in zip(below.tested, below.member.T, areas, strict=True):
        parent = next(iter(hierarchy.parents(hierarchy.nodes[node])), None)
        told = {"node": hierarchy.nodes[node], "depth": hierarchy.depth[node], "parent": parent}
        told |= {"instances": own.sum(), "siblings": 0, **_with_ends("readable", area)}
        rows.append(told | {"groups": len(np.unique(below.unit[own])) if grouped else None})
    return rows


def _with_ends(name: str, area: Area) -> dict[str, float]:
    """An area and the ends of its interval, as the columns NAME, ``NAME_low``, ``NAME_high``."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), area, strict=True))


def _membership(hierarchy: Hierarchy, labels: pl.Series) -> Sparse:
    """1 where an instance has a label at or below a node, shape (instances, nodes)."""
    places = pl.DataFrame({"node": hierarchy.nodes}).with_row_index("column")
    found = labels.alias("node").to_frame().with_row_index("row").explode("node")
    row, column = found.join(places, on="node").select("row", "column").to_numpy().T
    shape = (len(labels), len(hierarchy))
    direct = csr_array((np.ones(len(row), np.int64), (row, column)), shape=shape)
    member = csr_array(direct @ hierarchy.closure)
    member.data[:] = 1
    return member


def _below(
    hierarchy: Hierarchy, member: Sparse, instances: pl.DataFrame, seeds: Sequence[int]
) -> Below:
    """Find the nodes that can be tested, and deal groups, or instances, to halves."""
    ids, groups, n = instances["id"], instances["group"], len(hierarchy)
    names = ids.zip_with(groups.is_null(), "\0" + groups)
    named = names.unique(maintain_order=True)
    unit = names.replace_strict(named, range(len(named)), return_dtype=pl.Int64).to_numpy()
    size = np.bincount(unit)
    of_unit = csr_array((np.ones(len(unit), np.int64), (unit, np.arange(len(unit)))))
    inside = csr_array(of_unit @ member)
    whole = inside.data == np.repeat(size, np.diff(inside.indptr))
    counted = (inside.indices, inside.indices[whole], member.indices)
    some, every, support = (np.bincount(of, minlength=n) for of in counted)
    sides = (some, len(size) - every, support, len(ids) - support)
    tested = np.flatnonzero(np.min(sides, axis=0) >= LEAST_INSTANCES)
    children, halves = csr_array(hierarchy.child_matrix[:, tested]), []
    several = np.flatnonzero(np.diff(children.indptr) > 1).tolist()
    families = {parent: np.sort(row(children, parent)) for parent in several}
    for seed in seeds:
        half = np.argsort(np.argsort(unit_keys(named.to_list(), seed))) % 2 == 0
        halves += [half[unit], ~half[unit]]
    return Below(member[:, tested].toarray() > 0, tested, families, unit, halves)


def _fit(
    z: FloatArray, below: Below, *, siblings: bool, halves: int | None = None
) -> list[_Fitted]:
    """Discriminants on each of the first ``halves`` halves, or all: of nodes against all others, or
    against siblings, by the covariance of what nodes leave unexplained."""
    found = []
    for half in below.halves[:halves]:
        left, marks = z[half] - z[half].mean(axis=0), below.member[half].astype(np.float64)
        apart = _apart(z[half], marks)
        if siblings:
            gram = marks.T @ marks + 1e-6 * len(left) * np.eye(marks.shape[1])
            left, apart = left - marks @ np.linalg.solve(gram, marks.T @ left), np.nan_to_num(apart)
        solve = _inverse(left)
        found.append((solve, solve(apart)))
    return found


def _inverse(rows: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """A function: the inverse covariance of rows, shrunk to a sphere, times rows of directions."""
    centred = rows - rows.mean(axis=0)
    covariance = centred.T @ centred / max(len(rows), 1)
    features = len(covariance)
    toward, mean = features / (features + len(rows)), float(np.trace(covariance)) / features
    sphere = toward * (mean or 1.0) * np.eye(features)
    factor = cho_factor((1 - toward) * covariance + sphere)
    return lambda directions: np.asarray(cho_solve(factor, directions.T).T)


def _apart(rows: FloatArray, own: FloatArray) -> FloatArray:
    """Mean of marked ones less mean of all others, NaN without both, shape (columns, features)."""
    sums, count = own.T @ rows, own.sum(axis=0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums / count - (rows.sum(axis=0) - sums) / (len(rows) - count))


def _areas(
    z: FloatArray,
    below: Below,
    fitted: Sequence[_Fitted],
    rows: IntArray,
    own: IntArray,
    other: IntArray | None = None,
) -> Iterator[Area]:
    """The area of each ``own`` node against all other ``rows``, or those of an ``other`` alone.

    Placements are means over the halves in which something is judged, and was fitted.
    """
    judged = [np.flatnonzero(~half[rows]) for half in below.halves[: len(fitted)]]
    for start in range(0, len(own), BLOCK):
        block = slice(start, start + BLOCK)
        side = below.member[np.ix_(rows, own[block])].astype(np.float64)
        towards = [directions[own[block]] for _, directions in fitted]
        if other is not None:
            side[side == below.member[np.ix_(rows, other[block])]] = np.nan
            against = (directions[other[block]] for _, directions in fitted)
            towards = [one - two for one, two in zip(towards, against, strict=True)]
        parts = zip(judged, towards, strict=True)
        scores = [np.asfortranarray(z[rows[at]] @ toward.T) for at, toward in parts]
        for column in range(side.shape[1]):
            sums, times = np.zeros((2, len(rows)))
            for places, score in zip(judged, scores, strict=True):
                there = ~np.isnan(side[places, column])
                at, told = places[there], score[there, column]
                inside = side[at, column] == 1
                if inside.any() and not inside.all() and not np.isnan(told[0]):
                    sums[at] += placements(told, inside)
                    times[at] += 1
            placed = np.divide(sums, times, out=np.full(len(rows), np.nan), where=times > 0)
            yield area_of(placed, side[:, column], below.unit[rows])


def placements(score: FloatArray, inside: BoolArray) -> FloatArray:
    """Of inside ones the share of others with a lower score, of others that of inside ones above.

    Equal scores count as half. The mean over the inside ones is the area under the curve.
    """
    from scipy.stats import rankdata

    beyond, n = rankdata(score), int(inside.sum())
    for side in (inside, ~inside):
        beyond[side] -= rankdata(score[side])
    return np.where(inside, beyond / (len(score) - n), (n - beyond) / n)


def area_of(placed: FloatArray, side: FloatArray, unit: IntArray) -> Area:
    """The area that placements make, and its interval; NaN without two units on each side.

    Residuals are summed in a unit before they are squared. The variance of a side is at least that
    of one misplaced instance among its own, and of the inside ones at least the binomial's over
    their number. Placements are NaN where none was judged, sides 1, 0, and NaN for neither.
    """
    sides = [np.flatnonzero((side == one) & ~np.isnan(placed)) for one in (1, 0)]
    units = [np.count_nonzero(np.bincount(unit[rows])) for rows in sides]
    if min(units) < 2:
        return np.nan, np.nan, np.nan
    value, pulls = float(placed[sides[0]].mean()), []
    for rows, n in zip(sides, units, strict=True):
        left = (placed[rows] - placed[rows].mean()) / len(rows)
        pulls.append(np.bincount(unit[rows], left, int(unit.max()) + 1) * np.sqrt(n / (n - 1)))
    least = [(n + 2.0) ** -2 for n in units]
    least[0] = max(least[0], value * (1 - value) / (units[0] + 2))
    floors = [one / n for one, n in zip(least, units, strict=True)]
    own = [max(float(pull @ pull), floor) for pull, floor in zip(pulls, floors, strict=True)]
    error = float(np.sqrt(max(sum(own) + 2 * float(pulls[0] @ pulls[1]), sum(floors))))
    return value, max(value - REACH * error, 0.0), min(value + REACH * error, 1.0)


def _hardest(z: FloatArray, below: Below, fitted: Sequence[_Fitted]) -> dict[int, list[_Pair]]:
    """Of each node in a family the sibling that it is hardest to tell from, by their parent."""
    every = dict[int, Any]()
    for parent in below.families:
        pairs = _closest(z, below, parent, fitted)
        areas = _areas(z, below, fitted, below.rows(parent), *pairs.T)
        for (place, other), area in zip(pairs.tolist(), areas, strict=True):
            found = (np.isnan(area[0]), np.nan_to_num(area[0]), parent, other, area)
            every[place] = min(every.get(place, found), found, key=lambda one: one[:4])
    hardest = defaultdict[int, list[_Pair]](list)
    for place, (_, _, parent, other, area) in every.items():
        hardest[parent].append((place, other, area))
    return hardest


def _closest(z: FloatArray, below: Below, parent: int, fitted: Sequence[_Fitted]) -> IntArray:
    """Each child with up to `CLOSEST` siblings of closest scores, as places, shape (pairs, 2)."""
    rows, own = below.rows(parent), below.families[parent]
    gaps = np.zeros((len(own), len(own)))
    for half, (_, directions) in zip(below.halves, fitted, strict=False):
        judged = rows[~half[rows]]
        scores, marks = z[judged] @ directions[own].T, below.member[judged][:, own].astype(float)
        n = np.maximum(marks.sum(axis=0), 1)[:, None]
        mean, squares = marks.T @ scores / n, marks.T @ scores**2 / n
        cross, gap = (marks * scores).T @ scores / n, np.diag(mean)[:, None] - mean
        spread = np.maximum(np.diag(squares)[:, None] - 2 * cross + squares - gap**2, 0)
        apart = (gap + gap.T) / np.sqrt(np.maximum(spread + spread.T, 1e-300))
        there = marks.any(axis=0)
        gaps += np.where(np.logical_and.outer(there, there), np.clip(apart, -1e6, 1e6), 0.0)
    np.fill_diagonal(gaps, np.inf)
    order = np.argsort(gaps, axis=1, kind="stable")[:, : min(CLOSEST, len(own) - 1)]
    return np.column_stack([np.repeat(own, order.shape[1]), own[order.reshape(-1)]])


def _best_children(z: FloatArray, below: Below, parent: int, fitted: Sequence[_Fitted]) -> IntArray:
    """Of each instance below a parent the child of the highest score, shape (instances, splits)."""
    rows, own = below.rows(parent), below.families[parent]
    best = np.zeros((len(rows), len(fitted) // 2), np.int64)
    for number, (half, (solve, _)) in enumerate(zip(below.halves, fitted, strict=True)):
        learned, judged = rows[half[rows]], ~half[rows]
        marks = below.member[learned][:, own].astype(np.float64)
        mean = (marks.T @ z[learned]) / np.maximum(marks.sum(axis=0), 1)[:, None]
        scores = z[rows[judged]] @ solve(mean).T - (mean * solve(mean)).sum(axis=1) / 2
        best[judged, number // 2] = own[scores.argmax(axis=1)]
    return best


def _among_siblings(
    below: Below, parent: int, place: int, best: IntArray, said: BoolArray, known: BoolArray
) -> dict[str, float]:
    """Balanced accuracies of a node, ``probed`` and ``predicted``, and ``unused``, their gap."""
    rows = below.rows(parent)
    own, answered = below.member[rows, place], (best == place).mean(axis=1)
    probe, right = np.where(own, answered, 1 - answered), said[rows, place] == own
    found = {"probed": (probe[own].mean() + probe[~own].mean()) / 2}
    sides = (own & known[rows], ~own & known[rows])
    least = min(side.sum() for side in sides)
    if least < 2:
        return found
    gaps = [(probe - right)[side] for side in sides]
    gap = sum(one.mean() for one in gaps) / 2
    # each variance is at least that of one difference of 1 among its instances
    variances = [max(one.var(ddof=1), 1 / len(one)) / len(one) for one in gaps]
    reach = float(stdtrit(least - 1, (1 + LEVEL) / 2)) * np.sqrt(sum(variances)) / 2
    predicted = sum(right[side].mean() for side in sides) / 2
    return found | {"predicted": predicted, **_with_ends("unused", (gap, gap - reach, gap + reach))}
