"""Answers that a model leans to: labels that it gives in place of several others."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from audit.base.dag import IntArray

LEAST_LABELS = 3
"""Least number of labels in whose place a model gives an answer that it leans to."""
ONE_WAY = 0.75
"""Least share of a pair's exchanges in which the same one of the two is the answer."""


@dataclass(frozen=True, eq=False)
class Leaning:
    """An answer that a model gives in place of several labels.

    Args:
        answer: Index of its node.
        rows: Lines of the table of exchanged pairs, the one of largest excess first, shape
            (n_labels,).
    """

    answer: int
    rows: IntArray


def leanings(table: pl.DataFrame) -> list[Leaning]:
    """The answers that a model leans to, in node order; empty where it leans to none.

    A pair belongs to an answer where at least `ONE_WAY` of its exchanges give that answer, so that
    no pair belongs to two; an answer needs `LEAST_LABELS` of them.

    Args:
        table: From `exchanged_pairs`.
    """
    one_way = ONE_WAY * pl.col("observed")
    answer = pl.when(pl.col("forth") >= one_way).then("b").when(pl.col("back") >= one_way).then("a")
    leaning = (
        table.with_row_index("row")
        .with_columns(answer=answer)
        .drop_nulls("answer")
        .sort("answer", "excess", "a", "b", descending=[False, True, False, False])
        .group_by("answer", maintain_order=True)
        .agg("row")
        .filter(pl.col("row").list.len() >= LEAST_LABELS)
    )
    return [Leaning(answer, rows.to_numpy()) for answer, rows in zip(*leaning, strict=True)]
