"""Columns of a table that nobody named and that tell instances apart: strata that might be."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from audit.loaders.common import pick
from audit.loaders.format import STRATUM

MOST_VALUES = 20
"""Values of a column up to which it may be a stratum that nobody named."""


def unnamed_columns(
    frame: pl.DataFrame, instance: str, taken: Collection[str], path: Path
) -> pl.DataFrame:
    """``instance`` and each other column of few values, one value an instance; a row an instance.

    Args:
        frame: The table as read.
        instance: Its column of the instance's id.
        taken: Columns that have a role, or a name that further columns may not have.
        path: The file, for messages.
    """
    few = [
        name
        for name, dtype in frame.drop(instance, *(set(taken) & set(frame.columns))).schema.items()
        if not dtype.is_nested() and 1 < frame[name].drop_nulls().n_unique() <= MOST_VALUES
    ]
    named = {f"{STRATUM}{name}": name for name in few}
    picked = pick(frame, path, instance=instance, **named).drop_nulls("instance")
    values = picked.group_by("instance").agg(pl.exclude("instance").n_unique())
    constant = [role for role in named if values[role].max() == 1]
    once = picked.unique("instance", keep="first", maintain_order=True)
    return once.select("instance", *constant).rename({role: named[role] for role in constant})
