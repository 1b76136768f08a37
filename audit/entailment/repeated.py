"""What a dataset has twice: heads and instances in two splits, and whole tuples."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from audit.base.schemas import schema
from audit.entailment.dataset import SPLITS, EntailmentDataset, plain, with_share
from audit.entailment.declared import TABLES

KEY = ("head", "instance")
"""What may not be in two splits."""
SAME_KEY = tuple(map(plain, KEY))
"""What is one key: texts that differ in case or blanks alone are the same."""


MISPLACED = schema(("id", pl.String), ("row", pl.Int64), ("head instance split home", pl.String))
"""One row per tuple whose (head, instance) is in several splits: its own, and its ``home``, the
one with most of its tuples, of several the first in report order."""

REPEATS = schema(
    ("id", pl.String),
    ("row", pl.Int64),
    ("relation split first first_split", pl.String),
)
"""One row per tuple that repeats all elements and the label of an earlier one, ``first``."""


def pairs_of_splits(dataset: EntailmentDataset) -> list[tuple[str, str]]:
    """All pairs of the dataset's splits, each in report order."""
    names = dataset.tuples["split"].drop_nulls().unique().to_list()
    order = {name: place for place, name in enumerate(SPLITS)}
    return list(combinations(sorted(names, key=lambda one: (order.get(one, len(order)), one)), 2))


def shared_keys(dataset: EntailmentDataset) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Keys in two splits by pair, and their tuples, columns `MISPLACED`."""
    known = dataset.tuples.drop_nulls("split").with_columns(key=pl.struct(SAME_KEY))
    pairs = pairs_of_splits(dataset)
    places = known.select("key", "split").unique()
    several = places.filter(pl.len().over("key") > 1)
    counts = [
        {
            "split": split,
            "other": other,
            "keys": places.filter(split=other).height,
            "shared": several.filter(pl.col("split").is_in([split, other]))
            .filter(pl.len().over("key") > 1)
            .height
            // 2,
        }
        for split, other in pairs
    ]
    schema = {
        name: TABLES["quality_shared_keys"].columns.types[name]
        for name in ("split", "other", "keys", "shared")
    }
    table = with_share(pl.DataFrame(counts, schema=schema), "shared", "keys")
    return table.select(*TABLES["quality_shared_keys"].columns), _misplaced(known, several)


def _misplaced(known: pl.DataFrame, several: pl.DataFrame) -> pl.DataFrame:
    among = known.join(several, on="key", how="semi", maintain_order="left")
    order = pl.col("split").replace_strict(
        SPLITS, range(len(SPLITS)), default=len(SPLITS), return_dtype=pl.Int64
    )
    counts = (
        among.group_by("key", "split")
        .agg(fewest=-pl.len().cast(pl.Int64))
        .sort("fewest", order, "split")
    )
    homes = counts.unique("key", keep="first", maintain_order=True).select("key", home="split")
    return among.join(homes, on="key", how="left", maintain_order="left").select(*MISPLACED)


def repeats(dataset: EntailmentDataset) -> pl.DataFrame:
    """Tuples that repeat an earlier one but for case and blanks, columns `REPEATS`."""
    texts = map(plain, ("head", "tail", "instance", "concept"))
    same = [pl.col("relation"), pl.col("valid"), *texts]
    doubled = dataset.tuples.filter(pl.struct(same).is_duplicated())
    firsts = doubled.with_columns(
        first=pl.col("id").first().over(same), first_split=pl.col("split").first().over(same)
    )
    return firsts.filter(pl.col("id") != pl.col("first")).select(*REPEATS)
