"""Columns that nobody named, and that may part the instances or group them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.arrays import at_once
from audit.base.dag import IntArray
from audit.base.table import Table
from audit.data.numbered import NOBODY

LEAST, GREATEST = "least: ", "greatest: "
"""What the names of columns of both ends begin with."""
MOST_VALUES = 20
"""Largest number of values of a column that is a possible stratum."""
_LEAST_GROUPS, _LEAST_REPEATED, _REPEATING = 30, 20, 0.02
"""Least numbers of values of a column that may be groups, and of those that several instances
share, and least share of the instances that are not the first of their value."""
_LONGEST = 40
"""Mean number of characters from which on values are texts."""
_PART = r"\d{1,2}"
_DAY = rf"^(?:\d{{4}}[-/.]{_PART}[-/.]{_PART}|{_PART}[-/.]{_PART}[-/.]\d{{4}})(?:[ T].*)?$"


class Extremes:
    """The least and the greatest value of some columns of each instance."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._parts = [pl.DataFrame(schema={"instance": pl.UInt32})]

    def add(self, instance: NDArray[np.uint32], row: pl.Series, values: pl.DataFrame) -> None:
        """Add rows: the number of the instance and of the row of each of its labels, and values."""
        if not self.names:
            return
        own = values[row].with_columns(instance=instance).filter(pl.col("instance") != NOBODY)
        ends = pl.col(self.names)
        found = own.group_by("instance").agg(
            ends.min().name.prefix(LEAST), ends.max().name.prefix(GREATEST)
        )
        self._parts.append(found)
        if sum(map(len, self._parts)) > 2 * len(self._parts[0]) + at_once():
            self._parts = [self.found]

    @property
    def found(self) -> pl.DataFrame:
        """``instance``, and both ends of each column, named with `LEAST` and `GREATEST` before."""
        every = pl.concat(self._parts, how="diagonal")
        least, greatest = (
            [prefix + name for name in self.names if every.width > 1]
            for prefix in (LEAST, GREATEST)
        )
        return every.group_by("instance").agg(pl.col(least).min(), pl.col(greatest).max())


def unnamed_columns(every: Iterable[pl.DataFrame], order: IntArray) -> pl.DataFrame:
    """Possible strata, and groups where none are named, that nobody named, a row an instance.

    Instances have at most one value of such a column, and two on average have the same.

    Args:
        every: From `Extremes`, of each table.
        order: Place of each instance by its number.
    """
    places, found = pl.DataFrame({"place": np.arange(len(order))}), dict[str, pl.Series]()
    for one in every:
        here = one.with_columns(place=order[one["instance"].to_numpy()])
        values = places.join(here, on="place", how="left", maintain_order="left")
        met = {name.lower() for name in found}
        for least in (name for name in here.columns if name.startswith(LEAST)):
            name = least.removeprefix(LEAST)
            alike = name.lower() not in met and values[least].equals(values[GREATEST + name])
            if alike and _may_be_stratum_or_group(values[least]):
                found[name] = values[least]
    return places.drop("place").with_columns(**found)


def candidates(table: Table, taken: Collection[str], *, groups: bool) -> list[str]:
    """The columns of a table, but those taken, that may be strata, or groups where they may."""
    others = {name.lower() for name in taken}
    return [
        name
        for name, dtype in table.schema.items()
        if not (name.lower() in others or dtype.is_nested() or dtype.is_temporal())
        and dtype not in (pl.Binary, pl.Object)
        and (table.head[name].drop_nulls().n_unique() <= MOST_VALUES or groups)
        and not _is_long_text(table.head[name])
    ]


def _is_long_text(values: pl.Series) -> bool:
    length = values.str.len_chars().mean() if values.dtype == pl.String else None
    return isinstance(length, float) and length > _LONGEST


def _may_be_stratum_or_group(values: pl.Series) -> bool:
    different, known = values.drop_nulls().unique(), len(values) - values.null_count()
    few = 1 < len(different) <= min(known / 2, MOST_VALUES)
    return (few and not different.str.contains(_DAY).all()) or may_be_groups(values)


def may_be_groups(values: pl.Series) -> bool:
    """Whether there are enough values, one an instance or null, and enough shared, for groups."""
    sizes = values.drop_nulls().value_counts(name="size")["size"]
    repeated, rest = int((sizes > 1).sum()), int(sizes.sum()) - len(sizes)
    return (
        len(sizes) >= _LEAST_GROUPS
        and repeated >= _LEAST_REPEATED
        and rest >= _REPEATING * len(values)
    )
