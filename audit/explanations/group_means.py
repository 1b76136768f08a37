"""Means of groups of rows, the same to the last bit in whatever order the rows come."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def group_means(rows: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """The mean of a column in each group.

    The sum of floats depends on their order, and joins and groups of Polars come in another order
    each time: here the values of a group are added from the lowest to the highest.

    Args:
        rows: Rows in any order.
        by: The columns that name a group; null is a value of its own.
        value: A column of floats; null values are left out.

    Returns:
        The columns ``by`` and ``value``, a row per group, null for a group without a value; groups
        are in the order of their lowest values. Empty without rows.
    """
    ordered = rows.select(*by, value).sort(value, *by).rechunk()
    return ordered.group_by(by, maintain_order=True).agg(pl.col(value).mean())
