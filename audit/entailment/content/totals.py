"""Tuples and valid tuples by relation and split: table 1 of AbsPyramid."""

from __future__ import annotations

import polars as pl

from audit.base.schemas import schema
from audit.engine.statistics.intervals import wilson
from audit.entailment.dataset import RELATIONS, SPLITS, EntailmentDataset

ALL = "All"
"""In place of a relation or a split: all of them together."""

TOTALS = schema(
    ("relation split", pl.String),
    ("tuples valid", pl.Int64),
    ("share low high", pl.Float64),
)
"""One row per relation and split that has tuples, with `ALL` for all relations and for all splits;
tuples without a split are in the latter alone. ``share`` is that of valid tuples, with its 95 %
Wilson interval."""


def totals(dataset: EntailmentDataset) -> pl.DataFrame:
    """Count tuples by relation and split, columns `TOTALS`."""
    counts = pl.concat(
        [
            dataset.tuples.group_by(relation=relation, split=split).agg(
                tuples=pl.len().cast(pl.Int64), valid=pl.col("valid").sum().cast(pl.Int64)
            )
            for relation in (pl.col("relation"), pl.lit(ALL))
            for split in (pl.col("split"), pl.lit(ALL))
        ]
    ).drop_nulls("split")
    return in_report_order(with_share(counts, "valid", "tuples")).select(*TOTALS)


def with_share(counts: pl.DataFrame, k: str, n: str) -> pl.DataFrame:
    """The share of two columns of counts with its Wilson interval, as ``share, low, high``.

    All three are null where there is nothing to have a share of.
    """
    low, high = wilson(counts[k].to_numpy(), counts[n].to_numpy())
    given = counts.with_columns(
        share=pl.col(k) / pl.col(n), low=pl.Series(low), high=pl.Series(high)
    )
    return given.with_columns(pl.when(pl.col(n) > 0).then(pl.col(name)) for name in _SHARE)


_SHARE = ("share", "low", "high")


def in_report_order(table: pl.DataFrame) -> pl.DataFrame:
    """A table by relation, and by split if it has one; what is of all comes last."""
    order = {name: place for place, name in enumerate((*RELATIONS, ALL))}
    splits = {name: place for place, name in enumerate(SPLITS)} | {ALL: len(SPLITS) + 1}
    keys = [pl.col("relation").replace_strict(order, return_dtype=pl.Int64)]
    if "split" in table.columns:
        place = pl.col("split").replace_strict(splits, default=len(SPLITS), return_dtype=pl.Int64)
        keys += [place, pl.col("split")]
    return table.sort(keys, maintain_order=True)
