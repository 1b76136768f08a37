"""Possible strata: columns that the user did not name and that divide the instances."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import polars as pl

from audit.data.label_format import INSTANCES
from audit.data.records import STRATUM, pick
from audit.data.sources import Source

MOST_VALUES = 20
"""Largest number of values of a column that is a possible stratum."""
LEAST_INSTANCES = 2
"""Least average number of instances per value; a column with fewer is taken for an id."""
_YEAR, _PART = r"\d{4}", r"\d{1,2}"
_DAY = rf"^(?:{_YEAR}[-/.]{_PART}[-/.]{_PART}|{_PART}[-/.]{_PART}[-/.]{_YEAR}|\d{{8}})(?:[ T].*)?$"
"""A day as it is written, with or without a time."""


def candidates(frame: pl.DataFrame, taken: Collection[str]) -> list[str]:
    """Columns without a role that have 2 to `MOST_VALUES` different plain values.

    Args:
        frame: A table as read.
        taken: Columns that have a role, in addition to those of every dataset's instances.
    """
    not_tried = {name.strip().lower() for name in (*taken, *INSTANCES)}
    return [
        name
        for name, dtype in frame.schema.items()
        if name.strip().lower() not in not_tried
        and not (dtype.is_nested() or dtype.is_temporal() or dtype in (pl.Binary, pl.Object))
        and 1 < frame[name].drop_nulls().n_unique() <= MOST_VALUES
    ]


def unnamed_columns(
    frame: pl.DataFrame, instance: str, taken: Collection[str], source: Source
) -> pl.DataFrame:
    """A frame of ``instance`` and each possible stratum of a table, one row per instance.

    In a possible stratum each instance has at most one value, at least `LEAST_INSTANCES` instances
    share a value on average, and the values are not days.

    Args:
        frame: The table as read, with one or more rows per instance.
        instance: Column of the instance's id.
        taken: Columns that have a role.
        source: The dataset, for messages.
    """
    named = {f"{STRATUM}{name}": name for name in candidates(frame, (instance, *taken))}
    picked = pick(frame, source, instance=instance, **named).drop_nulls("instance")
    by_instance = picked.group_by("instance", maintain_order=True)
    first, last = by_instance.min(), by_instance.max()
    parting = [role for role in named if _parts(first[role], last[role])]
    return first.select("instance", *parting).rename({role: named[role] for role in parting})


def _parts(first: pl.Series, last: pl.Series) -> bool:
    """Whether a column parts the instances, from the first and the last value of each."""
    there = first.drop_nulls()
    values = there.unique()
    return (
        there.equals(last.drop_nulls())
        and 1 < len(values) <= len(there) / LEAST_INSTANCES
        and not values.str.contains(_DAY).all()
    )


def together(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Join frames of `unnamed_columns`; the first of equal names wins, missing values are null."""
    first, *others = frames
    for frame in others:
        new = list(_new(first.columns, frame.columns))
        first = first.join(frame.select("instance", *new), on="instance", how="left")
    return first


def _new(there: Collection[str], names: Iterable[str]) -> Iterator[str]:
    taken = {name.strip().lower() for name in there}
    return (name for name in names if name.strip().lower() not in taken)
