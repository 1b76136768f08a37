"""Drift: how the use of nodes differs between the values of a column, such as periods or sites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.declared import schema
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import newcombe
from audit.engine.statistics.two_rates import GroupSums, difference_p_value, effective_counts
from audit.measure.measure import Measurements

DRIFT_VALUES = schema(("column value", pl.String), ("instances labels", pl.Int64))
"""One row per value of a column: its instances, and their direct labels."""

DRIFT_NODES = schema(
    ("column value node", pl.String),
    ("instances of elsewhere of_elsewhere", pl.Int64),
    ("difference low high p_value q_value", pl.Float64),
    ("differs", pl.Boolean),
    ("worth", pl.Float64),
)
"""One row per value and tested node: instances that carry the node there and elsewhere, the
difference of the shares with its interval, and the effective number of instances that one counts
as, given its group; at most 1."""

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
    for one in range(len(values) == 2, len(values)):
        chosen = np.flatnonzero(place[known] == one)
        of, own = np.unique(number[chosen], return_inverse=True)
        inside, sizes = _by(own, carriers[known[chosen]]), np.bincount(own, minlength=len(of))
        touched = by_group[of]
        rest = _Side.of(size[of] - sizes, csr_array(touched - inside))
        there = whole.other(_Side.of(size[of], touched), rest)
        yield from _compared(measured, column, values[one], _Side.of(sizes, inside), there)


def _by(number: IntArray, rows: Sparse) -> Sparse:
    """Sums of the rows of each number from 0, shape (n_numbers, n_columns)."""
    n, ones = len(number), np.ones(len(number), np.int64)
    shape = int(number.max(initial=-1)) + 1, n
    return csr_array(csr_array((ones, (number, np.arange(n))), shape=shape) @ rows)


def _compared(
    measured: Measurements,
    column: str,
    value: str,
    here: _Side,
    there: _Side,
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
