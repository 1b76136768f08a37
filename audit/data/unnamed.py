"""Columns that nobody named: possible strata, and groups."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from audit.base.table import Table
from audit.data.loading import Read
from audit.data.rows import columns_read

MOST_VALUES = 20
"""Largest number of values of a column that is a possible stratum."""
_LEAST_GROUPS, _LEAST_REPEATED, _REPEATING = 30, 20, 0.02
"""Least numbers of values of a column that may be groups, and of those that several instances
share, and least share of the instances that are not the first of their value."""
_LONGEST = 40
"""Mean number of characters from which on values are texts."""
_PART = r"\d{1,2}"
_DAY = rf"^(?:\d{{4}}[-/.]{_PART}[-/.]{_PART}|{_PART}[-/.]{_PART}[-/.]\d{{4}})(?:[ T].*)?$"


def unnamed_columns(every: Sequence[Read], instances: pl.Series) -> pl.DataFrame:
    """Possible strata, and groups where none are named, that nobody named, a row an instance.

    Instances have at most one value of such a column, and two on average have the same.
    """
    found = pl.DataFrame({"instance": instances})
    for one in every:
        taken = {*columns_read(one.columns, one.table.schema), *found.columns, "group", "split"}
        if names := _candidates(one.table, taken, groups=not one.columns.group):
            by_instance = one.by_instance(names).group_by("instance")
            first, last = (
                found.select("instance").join(part, "instance", "left", maintain_order="left")
                for part in (by_instance.min(), by_instance.max())
            )
            alike = (name for name in names if first[name].equals(last[name]))
            found = found.hstack(first.select(one for one in alike if _may_part(first[one])))
    return found.drop("instance")


def _candidates(table: Table, taken: Collection[str], *, groups: bool) -> list[str]:
    others = {name.lower() for name in taken}
    return [
        name
        for name, dtype in table.schema.items()
        if not (name.lower() in others or dtype.is_nested() or dtype.is_temporal())
        and dtype not in (pl.Binary, pl.Object)
        and (table.head[name].drop_nulls().n_unique() <= MOST_VALUES or groups)
        and not _is_text(table.head[name])
    ]


def _is_text(values: pl.Series) -> bool:
    length = values.str.len_chars().mean() if values.dtype == pl.String else None
    return isinstance(length, float) and length > _LONGEST


def _may_part(values: pl.Series) -> bool:
    different, known = values.drop_nulls().unique(), len(values) - values.null_count()
    few = 1 < len(different) <= min(known / 2, MOST_VALUES)
    return (few and not different.str.contains(_DAY).all()) or may_be_groups(values)


def may_be_groups(values: pl.Series) -> bool:
    """Whether instances with these values, one each or null, may come in groups by them."""
    sizes = values.drop_nulls().value_counts(name="size")["size"]
    repeated, further = int((sizes > 1).sum()), int(sizes.sum()) - len(sizes)
    return (
        len(sizes) >= _LEAST_GROUPS
        and repeated >= _LEAST_REPEATED
        and further >= _REPEATING * len(values)
    )
