"""Heads and instances in two splits, tuples that are there twice, and heads that nearly are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, IntArray, Sparse, UIntArray
from audit.base.schemas import schema
from audit.engine.statistics.resampling import mixed
from audit.entailment.dataset import SPLITS, EntailmentDataset, plain, with_share

KEY = ("head", "instance")
"""What may not be in two splits."""
SAME_KEY = tuple(map(plain, KEY))
"""What is one key: texts that differ in case or blanks alone are the same."""

SHARED = schema(
    ("split other", pl.String),
    ("keys shared", pl.Int64),
    ("share low high", pl.Float64),
)
"""One row per pair of splits: the different (head, instance) of ``other``, the later one, and those
that stand in ``split`` too, with their share and its Wilson interval."""

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
    """Keys in two splits by pair, columns `SHARED`, and their tuples, columns `MISPLACED`."""
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
    schema = {name: SHARED[name] for name in ("split", "other", "keys", "shared")}
    table = with_share(pl.DataFrame(counts, schema=schema), "shared", "keys")
    return table.select(*SHARED), _misplaced(known, several)


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


SHINGLE = 5
"""Characters of a shingle; a shorter text is one shingle, filled up with blanks."""
BANDS, ROWS = 16, 4
"""Bands of the signature of a text and minima in each: `BANDS` * `ROWS` hashes in all."""
NEIGHBOURS = 32
"""Texts with a band in common with which each is compared: the next ones in order."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_AT_ONCE = 100_000
"""Pairs that are verified at a time."""


def miss_rate(similarity: float) -> float:
    """Chance that a pair of a Jaccard similarity s is not a candidate: (1 - s^rows)^bands.

    >>> round(miss_rate(0.8), 5)
    0.00022
    """
    return float((1 - similarity**ROWS) ** BANDS)


@dataclass(frozen=True, eq=False)
class Shingles:
    """Sets of shingles of texts.

    Args:
        starts: Where the shingles of each text start, shape (n_texts + 1,).
    """

    keys: UIntArray
    starts: IntArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def of(self, text: int) -> set[int]:
        """The keys of one text."""
        return set(self.keys[self.starts[text] : self.starts[text + 1]].tolist())


def shingles_of(texts: Sequence[str]) -> Shingles:
    """The character shingles of texts, none of which may be empty."""
    padded = [text.ljust(SHINGLE) for text in texts]
    lengths = np.array([len(text) for text in padded], np.int64) - SHINGLE + 1
    starts = np.concatenate([[0], np.cumsum(lengths)])
    letters = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), np.uint32)
    within = np.arange(starts[-1]) + np.repeat(np.arange(len(texts)) * (SHINGLE - 1), lengths)
    keys = np.zeros(len(within), np.uint64)
    for place in range(SHINGLE):
        keys *= _STEP
        keys += letters[within + place] + np.uint64(1)
    return Shingles(mixed(keys), starts)


def similar_pairs(shingles: Shingles, least: float) -> tuple[IntArray, FloatArray]:
    """Pairs of texts whose sets of shingles have at least this Jaccard similarity.

    Candidates are pairs that agree in all minima of a band of their MinHash signatures (*On the
    resemblance and containment of documents*); the similarity of each is then computed, so that no
    pair is wrong. A pair is missed with the chance `miss_rate` of its similarity, and where more
    than `NEIGHBOURS` texts agree in every band in which it does.

    Args:
        least: The least similarity, above 0.

    Returns:
        Two columns of places i < j, in order, shape (n_pairs, 2), and similarities, shape
        (n_pairs,). Texts without a shingle do not occur.
    """
    if len(shingles) < 2:
        return np.empty((0, 2), np.int64), np.empty(0)
    candidates = _candidates(_signatures(shingles))
    similarity = _similarities(shingles, candidates) if len(candidates) else np.empty(0)
    kept = similarity >= least
    return candidates[kept], similarity[kept]


def _signatures(shingles: Shingles) -> UIntArray:
    """A number for each band of each text, shape (n_texts, `BANDS`)."""
    odd = mixed(np.arange(1, BANDS * ROWS + 1, dtype=np.uint64) * _STEP) | np.uint64(1)
    bands = np.zeros((len(shingles), BANDS), np.uint64)
    for place, factor in enumerate(odd):
        least = np.minimum.reduceat(shingles.keys * factor, shingles.starts[:-1])
        bands[:, place // ROWS] = mixed(bands[:, place // ROWS] * _STEP + least)
    return bands


def _candidates(bands: UIntArray) -> IntArray:
    pairs = []
    for band in bands.T:
        order = np.argsort(band, kind="stable")
        ordered = band[order]
        for ahead in range(1, min(NEIGHBOURS, len(order) - 1) + 1):
            same = np.flatnonzero(ordered[ahead:] == ordered[:-ahead])
            if not len(same):
                break
            pairs.append(np.sort(np.column_stack([order[same], order[same + ahead]]), axis=1))
    return np.unique(np.concatenate(pairs), axis=0) if pairs else np.empty((0, 2), np.int64)


def _similarities(shingles: Shingles, pairs: IntArray) -> FloatArray:
    """Exact Jaccard similarity of pairs of texts, shape (n_pairs,)."""
    texts, places = np.unique(pairs, return_inverse=True)
    lengths = np.diff(shingles.starts)[texts]
    within = np.repeat(shingles.starts[texts] - np.cumsum(lengths) + lengths, lengths)
    keys = shingles.keys[within + np.arange(lengths.sum())]
    _, column = np.unique(keys, return_inverse=True)
    row = np.repeat(np.arange(len(texts)), lengths)
    has: Sparse = csr_array((np.ones(len(row)), (row, column)))
    has.sum_duplicates()
    has.data[:] = 1.0
    sizes = np.diff(has.indptr).astype(np.float64)
    left, right = places.reshape(pairs.shape).T
    found = np.empty(len(pairs))
    for start in range(0, len(pairs), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        both = np.asarray(has[left[some]].multiply(has[right[some]]).sum(axis=1)).ravel()
        found[some] = both / (sizes[left[some]] + sizes[right[some]] - both)
    return found


SIMILARITY = 0.8
"""Least Jaccard similarity of the character shingles of near duplicates."""

NEAR = schema(
    ("split other", pl.String),
    ("heads near", pl.Int64),
    ("share low high", pl.Float64),
    ("same_instance", pl.Int64),
)
"""One row per pair of splits: the different heads of ``other``, the later one, and those of which
``split`` has a near duplicate, with their share and its Wilson interval; ``same_instance`` counts
those that have an instance in common with it."""

NEAR_HEADS = schema(
    ("split other head other_head", pl.String),
    ("similarity", pl.Float64),
    ("same_instance", pl.Boolean),
)
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
