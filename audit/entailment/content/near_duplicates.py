"""Heads of one split that are nearly those of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from audit.entailment.content.min_hash import shingles_of, similar_pairs
from audit.entailment.content.shared_keys import pairs_of_splits
from audit.entailment.content.totals import with_share
from audit.entailment.dataset import EntailmentDataset

SIMILARITY = 0.8
"""Least Jaccard similarity of the character shingles of near duplicates."""

NEAR: dict[str, Any] = {
    "split": pl.String,
    "other": pl.String,
    "heads": pl.Int64,
    "near": pl.Int64,
    "share": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "same_instance": pl.Int64,
}
"""One row per pair of splits: the different heads of ``other``, the later one, and those of which
``split`` has a near duplicate, with their share and its Wilson interval; ``same_instance`` counts
those that have an instance in common with it."""

NEAR_HEADS: dict[str, Any] = {
    "split": pl.String,
    "other": pl.String,
    "head": pl.String,
    "other_head": pl.String,
    "similarity": pl.Float64,
    "same_instance": pl.Boolean,
}
"""One row per head of ``other`` with a near duplicate in ``split``: the most similar one, of
several the first by name. The same string in both splits is none: the splits of AbsPyramid keep
(head, instance) together, not heads."""


def near_duplicates(dataset: EntailmentDataset) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Near duplicates by pair of splits, columns `NEAR`, and the heads, columns `NEAR_HEADS`.

    Heads are compared in lower case with all but letters and digits as one blank.
    """
    pairs = pairs_of_splits(dataset)
    known = dataset.tuples.drop_nulls("split")
    places = known.select("head", "split").unique()
    similar = _similar_heads(places["head"].unique().sort()) if pairs else _similar_heads()
    instances = known.select("head", "split", instance=pl.col("instance").str.to_lowercase())
    found = [_between(similar, places, instances.unique(), split, other) for split, other in pairs]
    heads = pl.concat([pl.DataFrame(schema=NEAR_HEADS), *found])
    counts = [
        {
            "split": split,
            "other": other,
            "heads": places.filter(split=other).height,
            "near": near.height,
            "same_instance": int(near["same_instance"].sum()),
        }
        for (split, other), near in zip(pairs, found, strict=True)
    ]
    schema = {name: NEAR[name] for name in ("split", "other", "heads", "near", "same_instance")}
    return with_share(pl.DataFrame(counts, schema=schema), "near", "heads").select(*NEAR), heads


def _similar_heads(heads: pl.Series | None = None) -> pl.DataFrame:
    """Pairs of different heads in both orders: ``head, other_head, similarity``."""
    if heads is None:
        heads = pl.Series("head", dtype=pl.String)
    plain = heads.str.to_lowercase().str.replace_all(r"[\W_]+", " ").str.strip_chars()
    pairs, similarity = similar_pairs(shingles_of(plain.to_list()), SIMILARITY)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return pl.DataFrame(
        {
            "head": heads.gather(both[:, 0]),
            "other_head": heads.gather(both[:, 1]),
            "similarity": np.tile(similarity, 2),
        }
    )


def _between(
    similar: pl.DataFrame, places: pl.DataFrame, instances: pl.DataFrame, split: str, other: str
) -> pl.DataFrame:
    """The heads of the second split with a near duplicate in the first, columns `NEAR_HEADS`."""
    of_split = places.filter(split=split).select(other_head="head")
    of_other = places.filter(split=other).select("head")
    near = similar.join(of_other, on="head", how="semi").join(of_split, on="other_head", how="semi")
    best = near.sort(-pl.col("similarity"), "other_head").unique(
        "head", keep="first", maintain_order=True
    )
    theirs = instances.filter(split=other).select("head", "instance")
    ours = instances.filter(split=split).select("instance", other_head="head")
    common = near.join(theirs, on="head").join(ours, on=["other_head", "instance"], how="semi")
    return (
        best.sort("head")
        .with_columns(
            split=pl.lit(split),
            other=pl.lit(other),
            same_instance=pl.col("head").is_in(common["head"].implode()),
        )
        .select(*NEAR_HEADS)
    )
