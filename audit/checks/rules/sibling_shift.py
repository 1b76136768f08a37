"""sibling_shift: one site or coder uses a node where others use its sibling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, IntArray, row
from audit.base.declared import NONE, Columns, chance, count, share, total
from audit.checks.check import Limit, first_unmet
from audit.checks.rows import Key, Row, Rows, check_of_rows, significant
from audit.checks.shared.carriers import carrying
from audit.checks.shared.evidence import BESIDE_ELSEWHERE
from audit.engine.statistics.association import independence_p_value
from audit.engine.statistics.intervals import newcombe
from audit.measure.measure import Measurements
from audit.results.findings import (
    share_evidence,
    times_limit,
)
from audit.sharing.intervals import difference_at_limit
from audit.sharing.told import Rounding

LEAST_UNITS = 30
"""Least number of instances below a parent, each once a child, for it to be tested."""
LEAST_EXCHANGE = 0.05
"""Share of what lies below a parent that rise and fall must reach at their cautious ends."""
AS_FREQUENT = 1.2
"""Ratio of two frequencies of a parent, up to which it counts as equally frequent."""


@dataclass(frozen=True, eq=False)
class Values:
    """A column of who codes: its values, and the place of each instance's among them, or -1."""

    name: str
    values: Sequence[str]
    value_of: IntArray


@dataclass(frozen=True, eq=False)
class Units:
    """What lies below a parent: each instance once for each child that it carries.

    Args:
        child: Place of each unit's child among them, shape (n_units,).
        value: Value of each unit's instance, shape (n_units,).
        group: Group of each unit's instance, shape (n_units,).
    """

    column: Values
    parent: int
    children: IntArray
    child: IntArray
    value: IntArray
    group: IntArray

    @cached_property
    def counts(self) -> FloatArray:
        """Units of each child and value, shape (n_children, n_values)."""
        shape = len(self.children), len(self.column.values)
        cells = np.bincount(self.child * shape[1] + self.value, minlength=shape[0] * shape[1])
        return cells.reshape(shape).astype(np.float64)

    @property
    def rises(self) -> FloatArray:
        """Share of each child in a value, less that in all others, shape (n_children, n_values)."""
        inside, every = self.counts, self.counts.sum(axis=1, keepdims=True)
        there, elsewhere = inside.sum(axis=0), every.sum() - inside.sum(axis=0)
        both = (there > 0) & (elsewhere > 0)
        there, elsewhere = np.where(both, there, 1), np.where(both, elsewhere, 1)
        return np.where(both, inside / there - (every - inside) / elsewhere, 0.0)


@dataclass(frozen=True, eq=False)
class Shift:
    """A parent whose children are used differently by one value of a column.

    Args:
        more: The child that it uses more; place among the children.
        effect: Design effect of groups, at least 1.
    """

    table: Units
    value: int
    more: int
    less: int
    effect: float
    p_value: float

    @property
    def exchange(self) -> float:
        """The smaller of rise and fall."""
        rises = self.table.rises[:, self.value]
        return float(min(rises[self.more], -rises[self.less]))

    def interval(self, child: int) -> tuple[float, float]:
        """Newcombe's interval of the rise of a child in the value, by effective numbers."""
        counts = self.table.counts
        inside = counts[:, self.value]
        sides = (inside, counts.sum(axis=1) - inside)
        (here, n), (there, m) = ((one[child] / one.sum(), one.sum() / self.effect) for one in sides)
        return newcombe(float(here), float(n), float(there), float(m))

    @property
    def cautious(self) -> float:
        """The smaller of the cautious ends of rise and fall; negative where one may be chance."""
        return min(self.interval(self.more)[0], -self.interval(self.less)[1])

    def reaches(self, rounding: Rounding) -> bool:
        """Whether rise and fall reach `LEAST_EXCHANGE` at their cautious ends, as limits read."""
        if not rounding.width:
            return self.cautious >= LEAST_EXCHANGE
        carried, bins = map(rounding.bins, ("instances", NONE))
        inside, every = self.table.counts[:, self.value], self.table.counts.sum(axis=1)
        sides = np.array([inside, every - inside])
        n = sides.sum(axis=1)
        m = bins.all_told(np.floor(n / self.effect + 0.5))
        more, less = carried.all_told(sides).T[[self.more, self.less]]
        ends = (more, n, m), (less[::-1], n[::-1], m[::-1])
        return carried.tells and min(difference_at_limit(bins, *e) for e in ends) >= LEAST_EXCHANGE

    @property
    def nodes(self) -> tuple[int, int]:
        """The child that is used more, then the one that is used less."""
        more, less = self.table.children[[self.more, self.less]].tolist()
        return more, less


def _shifts(measured: Measurements) -> Rows:
    """Report parents one of whose children takes the place of another in a value of a column.

    Every parent with two or more children in use is tested in each column of `coding_columns`;
    where groups are there, by their design effect. One above more than half of the leaves is none:
    what lies below it differs by whom a site sees.
    """
    policy, values_of = measured.policy, measured.loaded.dataset.values_of
    columns = [Values(one, *values_of(one)) for one in policy.coding_columns]
    tables = (table for column in columns for table in _tables(measured, column))
    grouped = measured.loaded.group_of is not None
    shifts = [shift for table in tables if (shift := shift_of(table, grouped=grouped))]
    found = significant(measured, shifts, (one.p_value for one in shifts), len(shifts))
    told = [(shift, q) for shift, q in found if shift.reaches(measured.rounding)]
    return Rows(
        len(shifts),
        "parents with children to choose from, in each column of who codes",
        [_row(measured, *one, [shift for shift, _ in told], len(shifts)) for one in told],
        first_unmet(
            (
                policy.coding_columns,
                "the policy names no column of who codes, such as site, coder or year: "
                "coding_columns",
            )
        ),
    )


def _tables(measured: Measurements, column: Values) -> Iterator[Units]:
    """What lies below every parent that is tested."""
    used, loaded = measured.support > 0, measured.loaded
    for parent in np.flatnonzero(used & ~measured.hierarchy.uninformative).tolist():
        children = row(measured.hierarchy.child_matrix, parent)
        children = children[used[children]]
        if len(children) > 1 and measured.support[parent] * len(children) >= LEAST_UNITS:
            each = [row(loaded.carriers, child) for child in children.tolist()]
            child = np.repeat(np.arange(len(children)), [len(one) for one in each])
            instance = np.concatenate(each)
            known = column.value_of[instance] >= 0
            instance, child = instance[known], child[known]
            group = instance if loaded.group_of is None else loaded.group_of[instance]
            yield Units(column, parent, children, child, column.value_of[instance], group)


def shift_of(table: Units, *, grouped: bool) -> Shift | None:
    """The largest exchange of a table, tested; None where the table is not tested.

    Of the values the one is named whose exchange is largest for its size.
    """
    counts = table.counts
    kept = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if counts.sum() < LEAST_UNITS or min(kept.shape) < 2:
        return None
    effect = design_effect(table) if grouped else 1.0
    there = counts.sum(axis=0)
    size = np.sqrt(there * (there.sum() - there))
    rises = table.rises
    value = int(np.argmax(np.minimum(rises.max(axis=0), -rises.min(axis=0)) * size))
    more, less = int(np.argmax(rises[:, value])), int(np.argmin(rises[:, value]))
    return Shift(table, value, more, less, effect, independence_p_value(kept, effect))


def design_effect(table: Units) -> float:
    """Mean over the cells of squared sums over groups, by squares over units; at least 1.

    The residual of a unit in a cell is ``(1[child] - share)(1[value] - share)``. Sums over groups
    are expanded into products of counts, so that time grows with the units and the cells.
    """
    counts, total = table.counts, len(table.child)
    shape = counts.shape
    group = np.unique(table.group, return_inverse=True)[1]
    a, b = counts.sum(axis=1) / total, counts.sum(axis=0) / total
    n = np.bincount(group).astype(np.float64)
    of_child, of_value = (
        csr_array((np.ones(total), (group, place)), shape=(len(n), size))
        for place, size in zip((table.child, table.value), shape, strict=True)
    )
    cell = table.child * shape[1] + table.value
    cells, number = np.unique(group * (shape[0] * shape[1]) + cell, return_counts=True)
    of_group, at = np.divmod(cells, shape[0] * shape[1])
    child, value = np.divmod(at, shape[1])

    def summed(weight: FloatArray) -> FloatArray:
        sums = np.bincount(at, number * weight, shape[0] * shape[1])
        return sums.astype(np.float64).reshape(shape)

    both = summed(number.astype(np.float64))
    with_value = summed(of_value[of_group, value])
    with_child = summed(of_child[of_group, child])
    p, q = a[:, None], b[None, :]
    squares = (
        both
        + p**2 * _squares(of_value)[None, :]
        + q**2 * _squares(of_child)[:, None]
        + p**2 * q**2 * float((n**2).sum())
        - 2 * p * with_value
        - 2 * q * with_child
        + 2 * p * q * (summed(n[of_group]) + (of_child.T @ of_value).toarray())
        - 2 * p**2 * q * np.asarray(of_value.T @ n)[None, :]
        - 2 * p * q**2 * np.asarray(of_child.T @ n)[:, None]
    )
    rows, columns = counts.sum(axis=1)[:, None], counts.sum(axis=0)[None, :]
    alone = (
        counts * (1 - p) ** 2 * (1 - q) ** 2
        + (rows - counts) * (1 - p) ** 2 * q**2
        + (columns - counts) * p**2 * (1 - q) ** 2
        + (total - rows - columns + counts) * p**2 * q**2
    )
    some = alone > 0
    return max(1.0, float((squares[some] / alone[some]).mean()) if some.any() else 1.0)


def _squares(counts: csr_array) -> FloatArray:
    return np.asarray(counts.power(2).sum(axis=0), np.float64).ravel()


def _row(
    measured: Measurements, shift: Shift, q_value: float, told: Sequence[Shift], family: int
) -> Row:
    hierarchy, table = measured.hierarchy, shift.table
    names, (more, less) = hierarchy.nodes, map(hierarchy.describe, shift.nodes)
    column, value = table.column.name, table.column.values[shift.value]
    frequency = _frequency(measured, shift)
    beside = (
        "; their parent is about as frequent there as elsewhere (ratio {frequency})"
        if 1 / AS_FREQUENT < frequency < AS_FREQUENT
        else "; besides, their parent is {frequency} times as frequent there as elsewhere"
    )
    alone = "" if measured.loaded.group_of is not None else " Each instance counts as one person."
    those = carrying(measured, names[shift.nodes[0]])
    cases = those[table.column.value_of[those] == shift.value]

    def key(one: Shift) -> Key:
        return column, value, names[one.table.parent]

    return Row(
        nodes=tuple(names[node] for node in shift.nodes),
        sentence=f"With the {column} {value!r}, {more} stands where others have {less}: "
        "{instances} of {of} instances below "
        f"{hierarchy.describe(table.parent)} have {more} ({{share}})[, elsewhere "
        f"{{elsewhere_share}}][; coded as elsewhere, {{points_share}} of all of them would have "
        f"{less}][{beside}].{alone}",
        evidence={
            **_evidence(shift),
            "points_share": shift.exchange,
            "frequency": frequency,
            "p_value": shift.p_value,
            "q_value": q_value,
            "family": family,
        },
        curator=f"Compare records of this {column} with others: where the same is coded in two "
        "ways, write one rule. Where other patients are seen there, waive the finding.",
        data_user=f"Do not compare the two nodes across values of {column}; their parent can be.",
        touched=len(cases),
        strength=shift.exchange,
        beyond=times_limit(shift.cautious, LEAST_EXCHANGE),
        key=key(shift),
        # Findings of a child that is exchanged, at or above this parent, in the same value.
        folded_into=tuple(
            key(other)
            for other in told
            if other.table.column is table.column
            and other.value == shift.value
            and any(table.parent in row(hierarchy.below, node) for node in other.nodes)
        ),
        cases=lambda: cases,
    )


def _evidence(shift: Shift) -> dict[str, float]:
    """Instances with either child in the value and elsewhere, and the rise with its interval."""
    counts = shift.table.counts
    inside, every = counts[:, shift.value], counts.sum(axis=1)
    of, of_elsewhere = int(inside.sum()), int((every - inside).sum())
    (k, elsewhere), (less, less_elsewhere) = (
        (int(inside[child]), int(every[child] - inside[child]))
        for child in (shift.more, shift.less)
    )
    low, high = shift.interval(shift.more)
    return {
        **share_evidence(k, of),
        "elsewhere": elsewhere,
        "of_elsewhere": of_elsewhere,
        "elsewhere_share": elsewhere / of_elsewhere,
        "difference": k / of - elsewhere / of_elsewhere,
        "difference_low": low,
        "difference_high": high,
        "less_instances": less,
        "less_elsewhere": less_elsewhere,
        "effective": of / shift.effect,
        "effective_elsewhere": of_elsewhere / shift.effect,
    }


def _frequency(measured: Measurements, shift: Shift) -> float:
    """Share of the value's instances that carry the parent, over that of all others."""
    column = shift.table.column.value_of
    carried = column[row(measured.loaded.carriers, shift.table.parent)]
    (here, there), (at, at_others) = (
        (int((values == shift.value).sum()), int(((values >= 0) & (values != shift.value)).sum()))
        for values in (carried, column)
    )
    return here / at * at_others / there


CHECK = check_of_rows(
    "sibling_shift",
    "Does one site or coder use a label where others use its sibling?",
    _shifts,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    needs="instances",
    evidence=Columns(
        share("share", "Share there", of="instances of", effective="effective"),
        BESIDE_ELSEWHERE,
        count("instances elsewhere less_instances less_elsewhere", "Instances", among="of"),
        count("of of_elsewhere", of=NONE),
        total("effective effective_elsewhere"),
        chance("points_share frequency p_value q_value family"),
    ),
    denominator="untold",
    nodes="Node|In place of",
)
