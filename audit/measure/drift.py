"""Drift: how the use of nodes differs between the values of a column, such as periods or sites."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray
from audit.base.declared import NONE, schema
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.two_rates import TwoSides, two_sides
from audit.measure.measure import Measurements
from audit.sharing.bins import difference_at_limit
from audit.sharing.told import Rounding

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
"""Least expected count in each of the four cells of a value and a node for it to be tested."""
LEAST_GROUPS = 11
"""Least number of groups on each side for a value to be tested: the variance is over groups."""

DriftTables: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]


class Value(NamedTuple):
    """A value of a column, held against all others together.

    Args:
        known: Whether each instance has a value, shape (n_instances,).
        here: Whether it has this one, same shape.
    """

    column: str
    name: str
    known: BoolArray
    here: BoolArray


def values_compared(measured: Measurements, column: str) -> Iterator[Value]:
    """The values of a column that are compared; of two the second, of one none."""
    names, place = measured.loaded.dataset.values_of(column)
    for one in range(len(names) == 2, len(names) if len(names) > 1 else 0):
        yield Value(column, names[one], place >= 0, place == one)


def drift_tables(measured: Measurements) -> DriftTables:
    """`DRIFT_VALUES` and `DRIFT_NODES` of the policy's drift columns.

    Each value is compared with all others of its column by `two_sides`; of two values, only the
    second is. All columns form one family, which depends on margins only: nodes below the root with
    enough effective instances expected with and without them on both sides. If the same instances
    carry a node and its child, only the child is in it.
    """
    values, rows = list[pl.DataFrame](), list[pl.DataFrame]()
    for column in measured.policy.drift:
        values.append(_value_counts(measured, column, measured.loaded.dataset.instances[column]))
        rows.extend(_compared(measured, one) for one in values_compared(measured, column))
    tested = pl.concat([pl.DataFrame(schema=DRIFT_NODES), *rows])
    q_value = benjamini_hochberg(tested["p_value"].to_numpy(), len(tested))
    differs = q_value <= measured.policy.false_discovery_rate.value
    by_value = pl.concat([pl.DataFrame(schema=DRIFT_VALUES), *values])
    return by_value, tested.with_columns(q_value=q_value, differs=differs).select(*DRIFT_NODES)


def _value_counts(measured: Measurements, column: str, value_of: pl.Series) -> pl.DataFrame:
    """`DRIFT_VALUES` of one column: how many instances and labels each of its values has."""
    labels = np.diff(measured.loaded.dataset.direct.indptr).astype(np.int64)
    frame = pl.DataFrame({"value": value_of, "labels": labels}).drop_nulls("value")
    counts = pl.len().cast(pl.Int64).alias("instances"), pl.col("labels").sum()
    named = frame.group_by("value").agg(*counts).with_columns(column=pl.lit(column, pl.String))
    return named.select(*DRIFT_VALUES).sort("value")


def _compared(measured: Measurements, value: Value) -> pl.DataFrame:
    """`DRIFT_NODES` of one value, with its p values for q values and none that differs yet."""
    carriers, groups = measured.loaded.aggregated[value.known], measured.loaded.group_of
    carriers.data = np.minimum(carriers.data, 1)
    every, nodes = csr_array(np.ones((carriers.shape[0], 1), np.int64)), len(measured.hierarchy)
    group = None if groups is None else groups[value.known]
    found = two_sides(carriers, every, np.zeros(nodes, np.int64), group, value.here[value.known])
    family = _family(measured, found)
    found, names = found[family], np.array(measured.hierarchy.nodes, np.object_)
    (low, high), (k, there), (n, n_there) = found.interval, found.k, found.n
    return pl.DataFrame(
        {
            "column": [value.column] * len(family),
            "value": [value.name] * len(family),
            "node": names[family].tolist(),
            "instances": k,
            "of": n,
            "elsewhere": there,
            "of_elsewhere": n_there,
            "difference": found.difference,
            "low": low,
            "high": high,
            "p_value": found.p_value,
            "q_value": found.p_value,
            "differs": [False] * len(family),
            "worth": np.minimum(found.effective.sum(axis=0) / found.n.sum(axis=0), 1.0),
        },
        schema=DRIFT_NODES,
    )


def _family(measured: Measurements, found: TwoSides) -> IntArray:
    """Indices of the nodes to test: expected often enough, not the root, of a chain the lowest."""
    judged = (found.expected >= LEAST_EXPECTED) & (found.groups.min(axis=0) >= LEAST_GROUPS)
    edges = measured.hierarchy.edges.tocoo()
    judged[edges.col[measured.support[edges.row] == measured.support[edges.col]]] = False
    judged[measured.hierarchy.root] = False
    return np.flatnonzero(judged)


def surely_apart(found: TwoSides, place: int, rounding: Rounding) -> float:
    """Least size of the difference at a place of ``found``, by the 95 % interval of told counts.

    Below 0 where they may be alike, or no count is told.
    """
    carried, bins = map(rounding.bins, ("instances", NONE))
    if not (carried.tells and found.difference[place]):
        return -1.0
    k = carried.all_told(found.k[:, place])
    n, effective = found.n[:, place], bins.all_told(found.effective[:, place])
    step = 1 if found.difference[place] > 0 else -1
    return difference_at_limit(bins, k[::step], n[::step], effective[::step])
