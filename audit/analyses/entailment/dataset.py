"""Tuples of an entailment graph, what models are asked about, and counts by relation and split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from audit.analyses.entailment.declared import ALL
from audit.base.dag import IntArray
from audit.base.declared import schema
from audit.base.readings import Reading
from audit.engine.statistics.intervals import wilson
from audit.engine.statistics.resampling import GroupBootstrap, group_bootstrap

NOUN, VERB, EVENT = "Noun-Entail", "Verb-Entail", "Event-Entail"
"""The relations of AbsPyramid."""
ENTAILS, HYPERNYM = "Entails", "Hypernym"
"""The relations of files of two columns: premise and hypothesis, hyponym and hypernym."""
RELATIONS = (NOUN, VERB, EVENT, ENTAILS, HYPERNYM)
"""All relations, in report order."""
WHOLE = (EVENT, ENTAILS, HYPERNYM)
"""Relations whose instance is the whole head and whose concept is the whole tail."""
TRAIN, TEST = "train", "test"
"""Splits that are learned from, and measured."""
SPLITS = (TRAIN, "valid", TEST)
"""Names of splits, in report order; a file may have others, which follow by name."""
ELEMENTS = ("head", "relation", "tail", "instance", "concept")
"""The parts of a tuple, which are also the usual names of their columns."""
KEY = ["head", "relation", "instance"]
"""What concepts are told of; it may not be in two splits."""
TUPLES = schema(
    ("id head relation tail instance concept", pl.String),
    ("valid", pl.Boolean),
    ("split", pl.String),
    ("votes_valid votes row", pl.Int64),
)
"""One row per kept tuple, in the order of the files. ``id`` is unique. ``split`` is null if the
file has none. ``votes_valid`` of ``votes`` annotators hold it valid; both are null where nobody's
vote is known. ``row`` counts the records of all files from 1, those that were refused included."""


@dataclass(frozen=True, eq=False)
class EntailmentDataset:
    """Tuples, columns `TUPLES`, of ``rows_read`` records, of which some were ``refused`` by reason.

    They are ``numbered`` where ids are the numbers of records from 0, since the files have none.
    """

    tuples: pl.DataFrame
    rows_read: int
    refused: Mapping[str, int]
    sources: tuple[Path, ...]
    annotators: int = 0
    numbered: bool = False
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, eq=False)
class Questions:
    """What models are asked about: rows with ``head, relation, instance``, of the test or all."""

    rows: pl.DataFrame
    split: str

    @cached_property
    def keys(self) -> pl.Series:
        """Head and instance of each row, joined: the groups that are drawn, and kept in a fold."""
        return self.rows.select(pl.concat_str("head", "instance", separator="\0")).to_series()

    @cached_property
    def drawn(self) -> GroupBootstrap:
        """The bootstrap over groups of one head and instance."""
        group = self.keys.rank("dense").cast(pl.Int64) - 1
        return group_bootstrap(group.to_numpy(), self.keys.unique().sort().to_list())

    @cached_property
    def parts(self) -> Mapping[str, IntArray]:
        """Numbers of the rows of each relation, and under `ALL` of all where there are several."""
        return parts_by_relation(self.rows["relation"])


def questions_of(tuples: pl.DataFrame) -> Questions:
    """The tuples of the test set, or all of them where there is none."""
    test = tuples.filter(split=TEST)
    return Questions(tuples, "all") if test.is_empty() else Questions(test, TEST)


def parts_by_relation(relation: pl.Series) -> Mapping[str, IntArray]:
    """Numbers of rows by relation, in report order; under `ALL` all where there are several."""
    values = relation.to_numpy()
    rows = {name: np.flatnonzero(values == name) for name in RELATIONS}
    present = {name: own for name, own in rows.items() if len(own)}
    return present if len(present) < 2 else present | {ALL: np.arange(len(values))}


def over_all(rows: pl.DataFrame, *keys: str, **counted: pl.Expr) -> pl.DataFrame:
    """What is counted by some keys, and with `ALL` in place of each of them, in report order.

    Rows without a split are of no split, and of all.
    """
    parts = [
        rows.group_by(names).agg(**counted)
        for names in product(*((pl.col(key), pl.lit(ALL).alias(key)) for key in keys))
    ]
    return in_report_order(pl.concat(parts).drop_nulls(keys))


def in_report_order(table: pl.DataFrame) -> pl.DataFrame:
    """A table by relation, and by split if it has one; what is of all comes last."""
    order = [_place("relation", RELATIONS)]
    if "split" in table.columns:
        order += [place_of_split(), pl.col("split")]
    return table.sort(order, maintain_order=True)


def place_of_split() -> pl.Expr:
    """The place of a split among others; those of other names follow, what is of all comes last."""
    return _place("split", SPLITS)


def _place(name: str, known: tuple[str, ...]) -> pl.Expr:
    """The place of a value of a column among known ones; then come others, last `ALL`."""
    places = {value: place for place, value in enumerate(known)} | {ALL: len(known) + 1}
    return pl.col(name).replace_strict(places, default=len(known), return_dtype=pl.Int64)


def with_share(counts: pl.DataFrame, k: str, n: str) -> pl.DataFrame:
    """The share of two columns of counts with its Wilson interval, as ``share, low, high``.

    All three are null where there is nothing to have a share of.
    """
    low, high = wilson(counts[k].to_numpy(), counts[n].to_numpy())
    some, bounds = pl.when(pl.col(n) > 0), (pl.lit(pl.Series(end)) for end in (low, high))
    given = zip(("share", "low", "high"), (pl.col(k) / pl.col(n), *bounds), strict=True)
    return counts.with_columns(some.then(one).alias(name) for name, one in given)
