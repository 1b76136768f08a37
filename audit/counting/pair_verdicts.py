"""What was judged of pairs of nodes, and by what, as a run keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Self, TypeAlias

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray
from audit.base.declared import schema
from audit.engine.statistics.expectation import Expectation

ENDS = schema(("a b", pl.UInt32))
"""Columns with the numbers of both nodes of a pair, from 0 in node order."""
CHANCES = schema(("p_value q_value", pl.Float64))
"""Columns that are kept of each judged pair whose p value is below 1."""
TOLD = schema(
    ("explained effective shrunk_ratio ratio_low ratio_high group_squares", pl.Float64),
    ("groups found_rank", pl.Int64),
)
"""Columns that are kept of the few of these that passed, or were measured over groups."""

ReadTable: TypeAlias = Callable[[str], pl.LazyFrame]
"""Gives a restricted table of a run by its name."""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What was judged of pairs, and by what.

    Args:
        used: Nodes that enough records carry, shape (n_nodes,).
        left_out: ``a * n_nodes + b`` of pairs of these that were not judged, because one label
            explains too much of them, ascending.
        expected: What record length lets expect of every pair.
        judged: `ENDS` and `CHANCES` of the judged pairs with p values below 1, in order; those of
            others are 1.
        told: `ENDS` and columns of `TOLD` of some of these, in order.
    """

    used: BoolArray
    left_out: IntArray
    expected: Expectation
    judged: pl.DataFrame
    told: pl.DataFrame

    @cached_property
    def keys(self) -> tuple[IntArray, IntArray]:
        """``a * n_nodes + b`` of each row of ``judged``, and of ``told``, ascending."""
        return keys_of(self.judged, len(self.used)), keys_of(self.told, len(self.used))

    def tables(self) -> dict[str, pl.DataFrame | pl.LazyFrame]:
        """``judged_pairs``, p values null of those left out; ``pair_margins``, ``pair_strata``."""
        a, b = np.divmod(self.left_out, len(self.used))
        left_out = pl.DataFrame({"a": a, "b": b}, schema=ENDS)
        judged = pl.concat([self.judged, left_out], how="diagonal").sort("a", "b").lazy()
        judged = judged.join(self.told.lazy(), on=["a", "b"], how="left", maintain_order="left")
        shares, factor = np.ascontiguousarray(self.expected.share.T), self.expected.factor
        share = pl.Series(shares, dtype=pl.Array(pl.Float64, shares.shape[1]))
        return {
            "judged_pairs": judged,
            "pair_margins": pl.DataFrame(
                {"judged": self.used, "facet": self.expected.facet, "share": share.arr.to_list()},
            ),
            "pair_strata": pl.DataFrame(
                {
                    "weight": self.expected.size,
                    "factor": [own.ravel().tolist() for own in factor],
                },
                schema_overrides={"factor": pl.List(pl.Float64)},
            ),
        }

    @classmethod
    def read(cls, table: ReadTable) -> Self:
        """The verdicts of a run, from the tables that `tables` gave, by name."""
        judged, margins, strata = (
            table(name).collect() for name in ("judged_pairs", "pair_margins", "pair_strata")
        )
        n_strata, facet = len(strata), margins["facet"].to_numpy()
        share, factor = (
            column.explode(empty_as_null=False).to_numpy()
            for column in (margins["share"], strata["factor"])
        )
        facets = isqrt(len(factor) // n_strata) if n_strata else int(facet.max(initial=0)) + 1
        none = judged["p_value"].is_null()
        return cls(
            used=margins["judged"].to_numpy(),
            left_out=keys_of(judged.filter(none), len(margins)),
            expected=Expectation(
                size=strata["weight"].to_numpy(),
                share=np.ascontiguousarray(share.reshape(len(margins), n_strata).T),
                facet=facet,
                factor=factor.reshape(n_strata, facets, facets),
            ),
            judged=judged.filter(~none).select(*ENDS, *CHANCES),
            told=judged.drop(CHANCES).filter(pl.any_horizontal(pl.exclude(*ENDS).is_not_null())),
        )


def ends_of(pairs: pl.DataFrame) -> tuple[IntArray, IntArray]:
    """Numbers of both nodes of each row of a table of pairs."""
    a, b = (pairs[end].to_numpy().astype(np.int64) for end in ("a", "b"))
    return a, b


def keys_of(pairs: pl.DataFrame, n_nodes: int) -> IntArray:
    """The key ``a * n_nodes + b`` of each pair of a table, shape (n_pairs,)."""
    a, b = ends_of(pairs)
    return np.asarray(a * n_nodes + b)
