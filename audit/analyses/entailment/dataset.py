"""Tuples of an abstraction entailment graph as read, those models are asked about, and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from audit.analyses.entailment.declared import ALL, TABLES
from audit.base.dag import BoolArray, IntArray
from audit.base.declared import schema
from audit.base.readings import Reading
from audit.engine.statistics.intervals import wilson
from audit.engine.statistics.resampling import GroupBootstrap, group_bootstrap

TEST, TRAIN = "test", "train"
"""Names of the splits that are measured, and learned from."""
EVERY_SPLIT = "all"
"""Stands for the whole data set where no split is the test set."""


@dataclass(frozen=True, eq=False)
class Questions:
    """What models are asked about."""

    tuples: pl.DataFrame
    split: str

    @cached_property
    def valid(self) -> BoolArray:
        """Whether each tuple is valid, shape (n,)."""
        return self.tuples["valid"].to_numpy()

    @cached_property
    def keys(self) -> pl.Series:
        """Head and instance of each row, joined: the groups that are drawn, and kept in a fold."""
        return self.tuples.select(pl.concat_str("head", "instance", separator="\0")).to_series()

    @cached_property
    def drawn(self) -> GroupBootstrap:
        """The bootstrap over groups of one head and instance."""
        group = self.keys.rank("dense").cast(pl.Int64) - 1
        return group_bootstrap(group.to_numpy(), self.keys.unique().sort().to_list())

    @cached_property
    def parts(self) -> Mapping[str, IntArray]:
        """Rows of each relation, and of all, as `parts_by_relation`."""
        return parts_by_relation(self.tuples["relation"])


def questions_of(dataset: EntailmentDataset) -> Questions:
    """The tuples of the test set, or all of them where there is none."""
    test = dataset.tuples.filter(pl.col("split") == TEST)
    return Questions(dataset.tuples, EVERY_SPLIT) if test.is_empty() else Questions(test, TEST)


def parts_by_relation(relation: pl.Series) -> Mapping[str, IntArray]:
    """Rows of each relation in report order, and of all of them where there are several."""
    values = relation.to_numpy()
    rows = {name: np.flatnonzero(values == name) for name in RELATIONS}
    present = {name: own for name, own in rows.items() if len(own)}
    return present if len(present) < 2 else present | {ALL: np.arange(len(values))}


def totals(dataset: EntailmentDataset) -> pl.DataFrame:
    """Count tuples by relation and split, ``quality_totals``."""
    counts = pl.concat(
        [
            dataset.tuples.group_by(relation=relation, split=split).agg(
                tuples=pl.len().cast(pl.Int64), valid=pl.col("valid").sum().cast(pl.Int64)
            )
            for relation in (pl.col("relation"), pl.lit(ALL))
            for split in (pl.col("split"), pl.lit(ALL))
        ]
    ).drop_nulls("split")
    return in_report_order(with_share(counts, "valid", "tuples")).select(
        *TABLES["quality_totals"].columns
    )


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


NOUN, VERB, EVENT = "Noun-Entail", "Verb-Entail", "Event-Entail"
"""The relations of AbsPyramid."""
ENTAILS, HYPERNYM = "Entails", "Hypernym"
"""The relations of files of two columns: premise and hypothesis, hyponym and hypernym."""
RELATIONS = (NOUN, VERB, EVENT, ENTAILS, HYPERNYM)
"""All relations, in report order."""
WHOLE = frozenset((EVENT, ENTAILS, HYPERNYM))
"""Relations whose instance is the whole head and whose concept is the whole tail."""
SPLITS = ("train", "valid", "test")
"""Names of splits, in report order; a file may have others, which follow by name."""

TUPLES = schema(
    ("id head relation tail instance concept", pl.String),
    ("valid", pl.Boolean),
    ("split", pl.String),
    ("votes_valid votes row", pl.Int64),
)
"""One row per kept tuple, in the order of the files. ``id`` is unique. ``split`` is null if the
file has none. ``votes_valid`` of ``votes`` annotators hold it valid; both are null where nobody's
vote is known. ``row`` counts the records of all files from 1, those that were refused included."""

VOTES = schema(("id annotator", pl.String), ("valid", pl.Boolean))
"""One row per vote whose annotator is known, sorted by ``id`` and ``annotator``."""


def plain(name: str) -> pl.Expr:
    """A column of text in lower case with single blanks, to compare texts by."""
    return pl.col(name).str.to_lowercase().str.replace_all(r"\s+", " ")


@dataclass(frozen=True, eq=False)
class EntailmentDataset:
    """Tuples of a head event, a relation, a tail event, an instance, a concept, and validity.

    Args:
        tuples: The tuples, columns `TUPLES`.
        votes: Votes by annotator, columns `VOTES`; empty where votes are counts, or unknown.
        rows_read: Number of records read; each was kept or refused.
        refused: Number of records refused, by reason.
        sources: The files.
        numbered: Whether ids are the numbers of records from 0, since the files have none.
        readings: What labels were taken to mean.
    """

    tuples: pl.DataFrame
    votes: pl.DataFrame
    rows_read: int
    refused: Mapping[str, int]
    sources: tuple[Path, ...]
    numbered: bool = False
    readings: tuple[Reading, ...] = ()
