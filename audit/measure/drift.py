"""Drift: how the use of nodes differs between the values of a column, such as periods or sites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.base.schemas import schema
from audit.disclosure import MOST_LABELS
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import newcombe
from audit.engine.statistics.two_rates import GroupSums, difference_p_value, effective_counts
from audit.measure.measure import Measurements
from audit.results.findings import CheckResult
from audit.results.parts import DriftPart, ValueCells
from audit.results.shared_values import SHIFTS

DRIFT_VALUES = schema(("column value", pl.String), ("instances labels", pl.Int64))
"""One row per value of a column: its instances, and their direct labels."""

DRIFT_NODES = schema(
    ("column value node", pl.String),
    ("instances of elsewhere of_elsewhere", pl.Int64),
    ("difference low high p_value q_value", pl.Float64),
    ("differs", pl.Boolean),
    ("smallest", pl.Int64),
    ("worth", pl.Float64),
)
"""One row per value and tested node: instances that carry the node there and elsewhere, the
difference of the shares with its interval, the smallest count above 0 of instances with or
without the node in any value, and the effective number of instances that one counts as, given its
group; at most 1."""

LEAST_EXPECTED = 5
"""Least expected count in each of the four cells of a value and a node for the node to be
tested.
"""
LEAST_GROUPS = 11
"""Least number of groups on each side for a value to be tested: the variance is taken over
groups.
"""

DriftTables: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]


@dataclass(frozen=True, eq=False)
class _Side:
    """Sums over the groups of the instances of one value, or of all others.

    Args:
        sizes: Of the instances of each group, whether there are any, and their square, shape (3,).
        carriers: Of the carriers of each node, their square, and times the group's instances,
            shape (3, n_nodes).
        shares: Of the shares of the groups' instances that carry each node, and their squares,
            shape (2, n_nodes).
    """

    sizes: IntArray
    carriers: IntArray
    shares: FloatArray

    @classmethod
    def of(cls, size: IntArray, carriers: Sparse) -> Self:
        """The sums of groups, from their instances and carriers, shape (n_groups, n_nodes)."""
        sums = carriers.sum(axis=0), carriers.power(2).sum(axis=0), carriers.T @ size
        sizes = size.sum(), np.count_nonzero(size), (size**2).sum()
        own = csr_array(carriers.multiply(1 / np.maximum(size, 1)[:, None]))
        shares = np.array([own.sum(axis=0), own.power(2).sum(axis=0)], np.float64)
        return cls(np.array(sizes, np.int64), np.array(sums, np.int64), shares)

    def other(self, before: _Side, after: _Side) -> _Side:
        """The same where some groups are as after, and not as before."""
        return _Side(
            self.sizes - before.sizes + after.sizes,
            self.carriers - before.carriers + after.carriers,
            self.shares - before.shares + after.shares,
        )

    @property
    def n(self) -> int:
        return int(self.sizes[0])

    @property
    def groups(self) -> int:
        return int(self.sizes[1])

    @property
    def k(self) -> IntArray:
        """Instances that carry each node, shape (n_nodes,)."""
        return np.asarray(self.carriers[0])

    @property
    def by_group(self) -> GroupSums:
        return GroupSums(self.shares[0], self.shares[1], self.groups, self.n)

    def spread(self, share: FloatArray) -> FloatArray:
        """Squared deviations of the groups' carriers from a share of each node, (n_nodes,)."""
        _, squares, products = self.carriers.astype(np.float64)
        return np.asarray(squares - 2 * share * products + share**2 * float(self.sizes[2]))


def drift_tables(measured: Measurements) -> DriftTables:
    """`DRIFT_VALUES` and `DRIFT_NODES` of the policy's drift columns.

    Each value is compared with all others of its column; of two values, only the second is. The p
    value is that of Fisher's exact test, doubled, on `effective_counts`, as in a comparison of two
    runs. A node whose share of the instances differs in the other direction than the mean share of
    the groups is not told. All columns form one family, which depends on margins only: nodes below
    the root with enough effective instances expected with and without them on both sides. If the
    same instances carry a node and its child, only the child is in it. Newcombe's interval of the
    difference uses the effective numbers of instances.
    """
    values, rows = list[pl.DataFrame](), list[pl.DataFrame]()
    for column in measured.policy.drift:
        found = measured.loaded.dataset.instances[column]
        values.append(_values(measured, column, found))
        rows.extend(_column(measured, column))
    tested = pl.concat([pl.DataFrame(schema=_TESTED), *rows])
    by_value = pl.concat([pl.DataFrame(schema=DRIFT_VALUES), *values])
    return by_value, _judged(measured, tested)


MOST_CELLS = 5_000
"""Number of cells up to which all counts of values are protected in one program."""
MOST_WHOLE = 500
"""The same, where cells are told apart by all labels of an instance."""


def value_cells(
    measured: Measurements, checks: Iterable[CheckResult], drift: DriftPart | None
) -> Iterator[ValueCells]:
    """What drift and findings of `SHIFTS` count, by the values of all of their columns."""
    shifts = [one for check in checks if check.name in SHIFTS for one in check.findings]
    columns = [*dict.fromkeys((*measured.policy.drift, *(one.key[0] for one in shifts)))]
    if not columns:
        return
    parents = sorted({one.key[2] for one in shifts if one.check == SHIFTS[1]})
    named = [] if drift is None else drift.nodes.filter("differs")["node"].to_list()
    direct, nodes = measured.loaded.dataset.direct, measured.hierarchy.nodes
    frame = measured.loaded.dataset.instances.select(
        place=pl.int_range(pl.len()),
        labels=pl.Series(np.diff(direct.indptr).astype(np.int64)),
        values=pl.concat_list(pl.col(columns).cast(pl.String)),
        held=pl.lit(None, _NAMES),
    )
    each = list[pl.DataFrame]()
    if len(np.unique(direct.indices)) <= MOST_LABELS:
        own = np.split(np.array(nodes)[direct.indices], direct.indptr[1:-1])
        held = frame.with_columns(held=pl.Series([sorted(one) for one in own], dtype=_NAMES))
        used = [nodes[node] for node in np.flatnonzero(measured.support).tolist()]
        each = [_cells(measured, held, None, used, used)]
    if not each or len(each[0]) > MOST_WHOLE:
        each = [_cells(measured, frame, None, parents, named)]
    if len(each[0]) > MOST_CELLS:
        each = [_cells(measured, frame, None).with_columns(nodes=pl.lit(None, _NAMES))]
        each += [_cells(measured, frame, parent, [parent]) for parent in parents]
    yield ValueCells(pl.concat(each).with_columns(columns=pl.lit(columns, _NAMES)))


_NAMES = pl.List(pl.String)
_CARRIED = pl.DataFrame(schema=schema(("place", pl.Int64), ("node parent", pl.String)))


def _cells(
    measured: Measurements,
    frame: pl.DataFrame,
    below: str | None,
    parents: Iterable[str] = (),
    named: Iterable[str] = (),
) -> pl.DataFrame:
    """Instances, all or those below a parent, by values, labels and nodes.

    Nodes are those that are named, and children of parents; parents stand once for each child.
    """
    hierarchy = measured.hierarchy
    tree: list[tuple[int, str | None]] = [
        (child, parent)
        for parent in parents
        for child in row(hierarchy.child_matrix, hierarchy.index(parent)).tolist()
    ]
    tree += [(hierarchy.index(node), None) for node in {*named}]
    carried = (
        pl.DataFrame({"place": row(measured.loaded.carriers, node).astype(np.int64)}).with_columns(
            node=pl.lit(hierarchy.nodes[node]), parent=pl.lit(parent, pl.String)
        )
        for node, parent in tree
    )
    lists = (
        pl.concat([_CARRIED, *carried])
        .group_by("place")
        .agg(nodes=pl.col("node").unique().sort(), parents=pl.col("parent").drop_nulls().sort())
    )
    by = "values", "labels", "held", "nodes", "parents"
    return (
        frame.join(lists, on="place", how="inner" if below else "left")
        .with_columns(pl.col("nodes", "parents").fill_null([]))
        .group_by(by)
        .agg(instances=pl.len().cast(pl.Int64))
        .sort(by)
        .with_columns(parent=pl.lit(below, pl.String))
    )


_LATER = ("low", "high", "q_value", "differs")
_TESTED = {name: kind for name, kind in DRIFT_NODES.items() if name not in _LATER}


def _values(measured: Measurements, column: str, found: pl.Series) -> pl.DataFrame:
    labels = np.diff(measured.loaded.dataset.direct.indptr).astype(np.int64)
    frame = pl.DataFrame({"value": found, "labels": labels}).drop_nulls("value")
    by_value = frame.group_by("value").agg(
        pl.len().cast(pl.Int64).alias("instances"), pl.col("labels").sum()
    )
    named = by_value.with_columns(column=pl.lit(column, pl.String))
    return named.select(*DRIFT_VALUES).sort("value")


def _column(measured: Measurements, column: str) -> Iterator[pl.DataFrame]:
    values, place = measured.loaded.dataset.values_of(column)
    carriers, known = measured.loaded.aggregated.copy(), np.flatnonzero(place >= 0)
    carriers.data = np.minimum(carriers.data, 1)
    group = known if measured.loaded.group_of is None else measured.loaded.group_of[known]
    number = np.unique(group, return_inverse=True)[1]
    by_group = _by(number, carriers[known])
    size = np.bincount(number, minlength=by_group.shape[0])
    whole = _Side.of(size, by_group)
    smallest = _smallest(place[known], carriers[known])
    for one in range(len(values) == 2, len(values)):
        chosen = np.flatnonzero(place[known] == one)
        of, own = np.unique(number[chosen], return_inverse=True)
        inside, sizes = _by(own, carriers[known[chosen]]), np.bincount(own, minlength=len(of))
        touched = by_group[of]
        rest = _Side.of(size[of] - sizes, csr_array(touched - inside))
        there = whole.other(_Side.of(size[of], touched), rest)
        yield from _compared(
            measured, column, values[one], _Side.of(sizes, inside), there, smallest
        )


def _by(number: IntArray, rows: Sparse) -> Sparse:
    """Sums of the rows of each number from 0, shape (n_numbers, n_columns)."""
    n, ones = len(number), np.ones(len(number), np.int64)
    shape = int(number.max(initial=-1)) + 1, n
    return csr_array(csr_array((ones, (number, np.arange(n))), shape=shape) @ rows)


def _smallest(value: IntArray, carriers: Sparse) -> IntArray:
    """Least count above 0 of carriers, or of others, of each node in any value, (n_nodes,)."""
    least = np.full(carriers.shape[1], len(value), np.int64)
    by_value = _by(value, carriers)
    for one, n in enumerate(np.bincount(value).tolist()):
        counts = by_value[[one]].toarray().ravel()
        for part in (counts, n - counts):
            least = np.where(part > 0, np.minimum(least, part), least)
    return least


def _compared(
    measured: Measurements,
    column: str,
    value: str,
    here: _Side,
    there: _Side,
    smallest: IntArray,
) -> Iterator[pl.DataFrame]:
    if min(here.groups, there.groups) < LEAST_GROUPS:
        return
    inside_of, outside_of = effective_counts(here.by_group, there.by_group)
    nodes = _family(measured, inside_of, outside_of)
    (own, size), (others, size_there) = (
        (np.rint(k[nodes]).astype(np.int64), n[nodes]) for k, n in (inside_of, outside_of)
    )
    k, k_there, n = here.k[nodes], there.k[nodes], here.n + there.n
    pooled = (here.k + there.k) / n
    spread = ((here.spread(pooled) + there.spread(pooled)) / n)[nodes]
    binomial = (pooled * (1 - pooled))[nodes]
    worth = np.minimum(binomial / np.maximum(spread, binomial), 1.0)
    difference = k / here.n - k_there / there.n
    p_value = difference_p_value(others, size_there, own, size)
    along = (own / size - others / size_there) * difference >= 0
    yield pl.DataFrame(
        {
            "column": [column] * len(nodes),
            "value": [value] * len(nodes),
            "node": [measured.hierarchy.nodes[i] for i in nodes.tolist()],
            "instances": k,
            "of": np.full(len(nodes), here.n),
            "elsewhere": k_there,
            "of_elsewhere": np.full(len(nodes), there.n),
            "difference": difference,
            "p_value": np.where(along, p_value, 1.0),
            "smallest": smallest[nodes],
            "worth": worth,
        },
        schema=_TESTED,
    )


def _family(measured: Measurements, *sides: tuple[FloatArray, IntArray]) -> IntArray:
    (k, n), (k_there, n_there) = sides
    carried, both = np.rint(k) + np.rint(k_there), n + n_there
    least = np.minimum(carried, both - carried) * (np.minimum(n, n_there) / both)
    edges = measured.hierarchy.edges.tocoo()
    same = measured.support[edges.row] == measured.support[edges.col]
    judged: BoolArray = least >= LEAST_EXPECTED
    judged[edges.col[same]] = False
    judged[measured.hierarchy.root] = False
    return np.flatnonzero(judged)


def _judged(measured: Measurements, tested: pl.DataFrame) -> pl.DataFrame:
    rate = measured.policy.false_discovery_rate.value
    q = benjamini_hochberg(tested["p_value"].to_numpy(), len(tested))
    differs = q <= rate
    cells = tested.select("instances", "of", "elsewhere", "of_elsewhere", "worth")
    intervals = [
        newcombe(k / n, n * worth, there / n_there, n_there * worth)
        for k, n, there, n_there, worth in cells.iter_rows()
    ]
    return tested.with_columns(
        pl.Series("low", [low for low, _ in intervals], pl.Float64),
        pl.Series("high", [high for _, high in intervals], pl.Float64),
        pl.Series("q_value", q, pl.Float64),
        pl.Series("differs", differs, pl.Boolean),
    ).select(*DRIFT_NODES)
