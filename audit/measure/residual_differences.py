"""Differences in residual use between the values of a column, or from a reference run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.base import dag
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import NONE, schema
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import newcombe
from audit.engine.statistics.two_rates import difference_p_value
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.measure.residual_use import Share, residual_share
from audit.sharing.told import Rounding

REFERENCE = "reference"
"""Column name of a comparison with an earlier run."""
LEAST_EXPECTED = 5
"""Least expected effective count, residual and not, on each side for a share to be compared."""

DIFFERENCES = schema(
    ("column value parent", pl.String),
    ("k n", pl.Int64),
    ("n_effective", pl.Float64),
    ("k_elsewhere n_elsewhere", pl.Int64),
    ("n_effective_elsewhere difference low high p_value q_value", pl.Float64),
)
"""One row per parent and compared value; ``elsewhere`` is all other values, or the reference."""


def residual_differences(measured: Measurements) -> pl.DataFrame:
    """Compare residual shares between values of the strata and splits, and with the reference.

    Shares are compared by `difference_p_value` at effective numbers of instances. q values are
    Benjamini-Hochberg over all comparisons whose margins allow a test; intervals are Newcombe's at
    95 %.

    Returns:
        Columns `DIFFERENCES`, in order of column, value and parent; empty if no column has two
        values and there is no reference.
    """
    rows = [*_between_values(measured), *_against_reference(measured)]
    alike = ((*row[:3], *_at_one_design_effect(*row[3:])) for row in rows)
    compared = [row for row in alike if _comparable(*row[3:])]
    p_values = _p_values([row[3:] for row in compared])
    q_values = benjamini_hochberg(p_values, len(compared))
    lines = [
        (
            *(column, value, parent),
            *(here.k, here.n, here.effective, there.k, there.n, there.effective),
            here.value - there.value,
            *newcombe(here.value, here.worth(), there.value, there.worth()),
            p,
            q,
        )
        for (column, value, parent, here, there), p, q in zip(
            compared, p_values.tolist(), q_values.tolist(), strict=True
        )
    ]
    return pl.DataFrame(lines, schema=DIFFERENCES, orient="row")


_Row = tuple[str, str, str, Share, Share]


def _between_values(measured: Measurements) -> Iterator[_Row]:
    """Each value against all others of its column; of two values the second alone.

    Parents that are not comparable at their numbers of instances are left out, as no effective
    number is larger.
    """
    below = measured.loaded.at_nodes
    parents = [
        (
            measured.hierarchy.nodes[parent],
            below.labelled_below(parent),
            below.only_residual(parent),
        )
        for parent in map(measured.hierarchy.index, _enough(measured)["parent"])
    ]
    for column in ("split", *measured.policy.strata):
        values, place = measured.loaded.dataset.values_of(column)
        enough = [_enough_in(place, len(values), *rows) for _, *rows in parents]
        for number in range(len(values) == 2, len(values)):
            sides = place == number, (place >= 0) & (place != number)
            for (parent, *rows), numbers in zip(parents, enough, strict=True):
                if numbers[number]:
                    here, there = (_share(measured, side, *rows) for side in sides)
                    yield column, values[number], parent, here, there


def _enough_in(value_of: IntArray, n: int, labelled: IntArray, only: IntArray) -> BoolArray:
    """Whether enough residual and other instances are expected of each of n values and the rest."""
    below, k = (
        np.bincount(own[own >= 0], minlength=n) for own in (value_of[labelled], value_of[only])
    )
    every = below.sum()
    pooled = k.sum() / max(every, 1)
    return np.asarray(np.minimum(below, every - below) * min(pooled, 1 - pooled) >= LEAST_EXPECTED)


def remaining_difference(
    measured: Measurements, line: Mapping[str, Any], below: Sequence[Mapping[str, Any]]
) -> float:
    """Least difference of a line's shares, as in `apart`, without the instances that have a label
    below the parents of other lines; 0 if a side has none left.

    Of a reference there are only counts: those of the topmost others are subtracted.

    Args:
        line: A line of `residual_differences`.
        below: The other lines: of the same column, on parents below at any depth.
    """
    at = [measured.hierarchy.index(one["parent"]) for one in below]
    if line["column"] == REFERENCE:
        left = _less(line, [below[i] for i in _topmost(measured.hierarchy, at)])
        return apart(*left, measured.rounding)
    at_nodes, parent = measured.loaded.at_nodes, measured.hierarchy.index(line["parent"])
    left_out = np.zeros(measured.n_instances, np.bool_)
    for node in at:
        left_out[at_nodes.labelled_below(node)] = True
    here, there = (
        _share(
            measured,
            side & ~left_out,
            at_nodes.labelled_below(parent),
            at_nodes.only_residual(parent),
        )
        for side in measured.loaded.dataset.having(line["column"], line["value"])
    )
    return apart((here.k, here.n), (there.k, there.n), measured.rounding)


_Part: TypeAlias = tuple[int, int]
"""A part, and the whole that it is of."""


def apart(here: _Part, there: _Part, rounding: Rounding) -> float:
    """Least difference of two shares within their bins, below 0 if they may be equal; 0 of none."""
    if not (here[1] and there[1]):
        return 0.0
    (low, high), (least, most) = (
        [k / n for k, n in (bins.at_limit(*side), bins.at_upper_limit(*side))]
        for side, bins in zip((here, there), map(rounding.bins, ("instances", NONE)), strict=True)
    )
    return float(max(low - most, least - high))


def _topmost(hierarchy: Hierarchy, nodes: Sequence[int]) -> Iterator[int]:
    """Places of the nodes that are below no other one."""
    for place, node in enumerate(nodes):
        if set(dag.row(hierarchy.strict_closure, node).tolist()).isdisjoint(nodes):
            yield place


def _less(line: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> tuple[_Part, _Part]:
    """Part and whole of both shares of a line, less the counts of others."""

    def left(name: str) -> int:
        return max(int(line[name]) - sum(int(one[name]) for one in others), 0)

    n, elsewhere = left("n"), left("n_elsewhere")
    return (min(left("k"), n), n), (min(left("k_elsewhere"), elsewhere), elsewhere)


def _against_reference(measured: Measurements) -> Iterator[_Row]:
    """The shares of this release against those of an earlier run's table."""
    if measured.reference is None:
        return
    both = _enough(measured).join(
        _all_kinds(measured.reference.residuals), on="parent", suffix="_then"
    )
    for row in both.sort("parent").iter_rows(named=True):
        here = Share(row["k"], row["n"], row["n_effective"], row["groups"])
        there = Share(row["k_then"], row["n_then"], row["n_effective_then"], row["groups_then"])
        yield REFERENCE, "", row["parent"], here, there


def _all_kinds(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("residual") == "all")


def _enough(measured: Measurements) -> pl.DataFrame:
    """The residual shares, of all kinds together, of parents with enough instances."""
    least = measured.policy.residual_instances.value
    return _all_kinds(measured.residuals).filter(pl.col("n") >= least)


def _share(
    measured: Measurements, inside: BoolArray, labelled: IntArray, residual: IntArray
) -> Share:
    """How many of the ``labelled`` that are ``inside`` have only residual labels; both by index."""
    labelled, residual = (rows[inside[rows]] for rows in (labelled, residual))
    return residual_share(labelled, residual, measured.loaded.group_of)


def p_of_difference(here: Share | None, there: Share | None) -> float | None:
    """The p value of equal shares, as in `residual_differences`; None where there is too little."""
    if here is None or there is None:
        return None
    both = _at_one_design_effect(here, there)
    return float(_p_values([both])[0]) if _comparable(*both) else None


def _at_one_design_effect(here: Share, there: Share) -> tuple[Share, Share]:
    """Both shares at the design effect of the one whose groups repeat each other more.

    A side with few residual instances shows little of how its groups hang together.
    """
    worth = min(side.effective / side.n if side.n else 1.0 for side in (here, there))
    return replace(here, effective=here.n * worth), replace(there, effective=there.n * worth)


def _comparable(here: Share, there: Share) -> bool:
    if not (here.n and there.n):
        return False
    pooled, least = (here.k + there.k) / (here.n + there.n), min(here.effective, there.effective)
    return least * min(pooled, 1 - pooled) >= LEAST_EXPECTED


def _p_values(compared: Sequence[tuple[Share, Share]]) -> FloatArray:
    """P values of equal shares, shape (n,)."""
    shares = [[(s.value * s.effective, s.effective, s.groups) for s in both] for both in compared]
    counts = np.rint(np.array(shares, np.float64).reshape(-1, 2, 3)).astype(np.int64)
    (k, n, groups), (k_there, n_there, groups_there) = counts.transpose(1, 2, 0)
    alone = np.array([all(s.groups >= s.n for s in both) for both in compared], np.bool_)
    single = difference_p_value(k_there, n_there, k, n)
    freedom = np.minimum(groups, groups_there) - 1
    return np.where(alone, single, difference_p_value(k_there, n_there, k, n, freedom))
