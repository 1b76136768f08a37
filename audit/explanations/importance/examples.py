"""Examples behind the rows of attributions, and the subsets of them that are averaged over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray

Subset = Literal["all", "right", "wrong", "common"]

SUBSETS: tuple[Subset, ...] = ("all", "right", "wrong", "common")
"""All examples, those that a model gets right, those it gets wrong, those that all get wrong."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples, which are pairs of an instance and a target label, in code-point order.

    Args:
        of_row: The example of each row of the attributions.
        cluster: The cluster of each example: its group, or its instance if it has no group, since
            the targets of one instance share its text.
    """

    of_row: IntArray
    cluster: IntArray


def examples_of(rows: pl.DataFrame) -> Examples:
    """The examples that rows of attributions are about."""
    of_row = codes(rows, ("id", "target"))
    alone = pl.col("group").is_null()
    clusters = codes(
        rows.select(alone=alone, cluster=pl.when(alone).then("id").otherwise("group")),
        ("alone", "cluster"),
    )
    _, first = np.unique(of_row, return_index=True)
    return Examples(of_row, clusters[first])


def codes(frame: pl.DataFrame, columns: Sequence[str]) -> IntArray:
    """Number rows from 0 by the values of columns, in the order of these values."""
    keys = frame.select(columns).unique().sort(columns).with_row_index("code")
    joined = frame.join(keys, on=columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["code"].to_numpy().astype(np.int64)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The different pairs of two columns of numbers from 0, sorted.

    Args:
        left: First number of each pair.
        right: Second number of each pair.
        of_row: The pair of each row.
    """

    left: IntArray
    right: IntArray
    of_row: IntArray


def pairs_of(left: IntArray, right: IntArray) -> Pairs:
    """The different pairs that rows of two columns make."""
    base = int(right.max(initial=0)) + 1
    keys, of_row = np.unique(left * base + right, return_inverse=True)
    return Pairs(keys // base, keys % base, of_row)


def members(rows: pl.DataFrame, example: IntArray) -> dict[Subset, BoolArray]:
    """Which rows of judged models belong to each subset, shape (n_rows,) each.

    A row is right where the model gives the target as it is given in truth, and wrong where it does
    not; if either is unknown, it is neither. An example is common if every model, with every seed,
    has a row for it that is wrong.

    Args:
        rows: ``model, seed, gold, predicted``.
        example: The example of each row.
    """
    right = rows.select((pl.col("gold") == pl.col("predicted")).fill_null(False))
    wrong = rows.select((pl.col("gold") != pl.col("predicted")).fill_null(False))
    wrong_rows = wrong.to_series().to_numpy()
    run = codes(rows, ("model", "seed"))
    missed = pairs_of(example[wrong_rows], run[wrong_rows])
    runs_missing = np.bincount(missed.left, minlength=int(example.max(initial=-1)) + 1)
    return {
        "all": np.ones(len(rows), np.bool_),
        "right": right.to_series().to_numpy(),
        "wrong": wrong_rows,
        "common": wrong_rows & (runs_missing[example] == int(run.max(initial=-1)) + 1),
    }
