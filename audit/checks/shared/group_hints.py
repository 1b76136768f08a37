"""Columns that behave as groups where none is named, by the pairs that vanish with them; and groups
that behave as strata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.data.unnamed_columns import may_be_groups
from audit.engine.statistics.association import poisson_p_value
from audit.engine.statistics.expectation import expectation, label_pairs
from audit.engine.statistics.grouped import Scales
from audit.engine.statistics.resampling import unit_keys
from audit.measure.measure import Measurements, once
from audit.measure.pair_excess import judge_pairs

LEAST_FOR_GROUPS = 4
"""Least number of reported pairs by which columns are tried as groups."""
MOST_PART = 0.5
"""Least share of the reported pairs that must vanish for a column to be told."""
BEYOND_CHANCE = 2
"""How many more pairs must vanish than with the column's values shuffled."""
AS_MANY = 0.01
"""Share of the pairs by which columns may differ and take as many: the finest of them is told."""
LARGE_GROUPS = 30
"""Least average number of instances of a group for groups to be tried as strata."""
HARDLY_ALIKE = 0.1
"""Share of the labels of an instance that another of its group has too, beyond chance, from which
on instances repeat each other, so that the groups are no strata."""


@dataclass(frozen=True, eq=False)
class GroupHint:
    """A column as groups.

    Args:
        column: Its name.
        values: Number of its values.
        vanished: Reported pairs (``a, b``) that vanish with it.
        by_chance: Number of pairs that vanish with its values shuffled.
    """

    column: str
    values: int
    vanished: pl.DataFrame
    by_chance: int


@once
def group_columns(measured: Measurements) -> dict[str, pl.Series]:
    """Columns that may be groups, each with its values; none where a group column is named."""
    dataset = measured.loaded.dataset
    if dataset.instances["group"].is_not_null().any():
        return {}
    strata = dataset.instances.select(measured.loaded.columns)
    columns = (*strata.iter_columns(), *dataset.unnamed.iter_columns())
    return {column.name: column for column in columns if may_be_groups(column)}


@once
def group_hint(measured: Measurements) -> GroupHint | None:
    """The column by which most pairs vanish, of those that take as many the finest; or none."""
    if len(measured.excess.found) < LEAST_FOR_GROUPS:
        return None
    pairs, hints = len(measured.excess.found), list(_hints(measured))
    most = max((len(hint.vanished) for hint in hints), default=0)
    near = [hint for hint in hints if len(hint.vanished) >= most - AS_MANY * pairs]
    for hint in sorted(near, key=lambda one: (-one.values, one.column))[:1]:
        if len(hint.vanished) >= max(MOST_PART * pairs, hint.by_chance + BEYOND_CHANCE):
            return hint
    return None


def _hints(measured: Measurements) -> Iterator[GroupHint]:
    ids = measured.loaded.dataset.instances["instance"].to_list()
    orders = [np.argsort(unit_keys(ids, seed), kind="stable") for seed in (0, 1)]
    for name, values in group_columns(measured).items():
        place = np.empty(len(ids), np.int64)
        place[orders[0]] = orders[1]
        both = (measured.loaded.groups_by(one) for one in (values, values.gather(place)))
        vanished, by_chance = (_vanished(measured, groups) for groups in both)
        yield GroupHint(name, values.drop_nulls().n_unique(), vanished, len(by_chance))


def _vanished(measured: Measurements, groups: IntArray) -> pl.DataFrame:
    """The reported pairs that are none by the design effect of groups, each record weighing one."""
    records = measured.loaded.parted_by(measured.policy.strata, groups)
    assert records.grouped is not None
    strata, branch_of = records.weighed, measured.hierarchy.first_branch
    expected = expectation(strata, branch_of, label_pairs(strata, branch_of))
    found = measured.excess.found
    a, b = (found[end].to_numpy() for end in ("a", "b"))
    joint = found["expected_length"].to_numpy()
    scale, *_ = Scales(records.grouped, expected).of(a, b, joint)
    effective = found["observed"].to_numpy() / scale
    gone = poisson_p_value(effective, joint / scale) > measured.excess.threshold
    gone |= effective < measured.policy.least_joint.value
    return found.select("a", "b").filter(pl.Series(gone))


@once
def found_within_groups(measured: Measurements) -> pl.DataFrame | None:
    """Pairs (``a, b``) that are reported with the groups as strata; None where these are not tried.

    Few large groups whose instances hardly resemble each other may be sites with habits of their
    own: as groups they leave hardly any pair to be found.
    """
    alike = measured.loaded.alike
    if alike is None or alike.share >= HARDLY_ALIKE:
        return None
    if alike.records < LARGE_GROUPS * int((alike.size > 0).sum()):
        return None
    columns, alone = (*measured.policy.strata, "group"), np.arange(measured.n_instances)
    records = measured.loaded.parted_by(columns, alone)
    blocks = (rows.drop("observed") for rows in measured.pairs.blocks())
    _, within = judge_pairs(measured.hierarchy, records, blocks, measured.policy)
    return within.found.select("a", "b")
