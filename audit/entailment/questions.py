"""The tuples, or instances, that models are asked about: those of the test set, by relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray
from audit.engine.statistics.resampling import GroupBootstrap, group_bootstrap
from audit.entailment.dataset import RELATIONS, EntailmentDataset

TEST, TRAIN = "test", "train"
"""Names of the splits that are measured, and learned from."""
EVERY_SPLIT = "all"
"""Stands for the whole data set where no split is the test set."""
ALL = "All"
"""Stands for all relations together."""


@dataclass(frozen=True, eq=False)
class Questions:
    """What models are asked about.

    Args:
        tuples: One row each, with the columns ``head, relation, instance`` and others.
        split: "test", or "all".
    """

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
    """Rows of each relation in report order, and of all of them where there are several.

    Args:
        relation: The relation of each row.
    """
    values = relation.to_numpy()
    rows = {name: np.flatnonzero(values == name) for name in RELATIONS}
    present = {name: own for name, own in rows.items() if len(own)}
    return present if len(present) < 2 else present | {ALL: np.arange(len(values))}
