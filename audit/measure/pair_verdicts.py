"""How the pairs of a pair table were judged, and the table with these verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.engine.pairs.entailed import entailed_by, in_line, places_of
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.scan import Rules
from audit.engine.pairs.sums import Sums
from audit.engine.statistics.association import poisson_p_value, shrunk_ratio
from audit.engine.statistics.expectation import Expectation
from audit.engine.statistics.fdr import benjamini_hochberg, pairs_apart

ENTAILED_SHARE = 0.1
"""Share of the smaller support that one label may explain; above it a pair is not judged."""


@dataclass(frozen=True, eq=False)
class Family:
    """The pairs that are judged, decided by margins alone.

    Args:
        used: Nodes that enough records carry, shape (n_nodes,).
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).
        left_out: ``a * n_nodes + b`` of pairs too much of which one label explains, ascending.
    """

    used: BoolArray
    closure: Sparse
    left_out: IntArray

    @cached_property
    def size(self) -> int:
        """How many there are, those without a joint record included."""
        return pairs_apart(self.used, self.closure) - len(self.left_out)

    @cached_property
    def _outside(self) -> IntArray:
        """``a * n_nodes + b`` of all pairs that are left out or in line, ascending."""
        return np.union1d(self.left_out, in_line(self.closure))

    def members(self, a: IntArray, b: IntArray) -> IntArray:
        """Places of those pairs that belong to it; the pairs in the order of (a, b)."""
        chosen = self.used[a] & self.used[b]
        chosen[places_of(self._outside, a * len(self.used) + b)] = False
        return np.flatnonzero(chosen)


def family(
    strata: Strata, entailed: Sums, alone: IntArray, closure: Sparse, least: float
) -> Family:
    """The family of the pairs of a dataset.

    Args:
        strata: The records that take part.
        entailed: From `audit.engine.pairs.entailed.count_entailed`, of all records.
        alone: Records with a single most specific label, by label, shape (n_nodes,).
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).
        least: Records from which a node is used.
    """
    support = strata.support
    used = support >= max(least, 1)
    of_others = entailed_by(alone, closure)
    counts = entailed.joint.copy()
    place = np.searchsorted(entailed.keys, of_others.keys)
    counts[place] -= of_others.joint
    a, b = np.divmod(entailed.keys, len(used))
    many = counts > ENTAILED_SHARE * np.minimum(support[a], support[b])
    return Family(used, closure, entailed.keys[many & used[a] & used[b]])


@dataclass(frozen=True, eq=False)
class Excesses:
    """Judged pairs with more records than are expected: all whose p value is below 1.

    Args:
        lines: Where each stands in the pair table, ascending, shape (n_pairs,).
        a: First nodes, same shape.
        b: Second nodes.
        observed: Joint records without a label below both.
        expected: Joint records that length lets expect.
        p_value: One-sided, for excess.
    """

    lines: IntArray
    a: IntArray
    b: IntArray
    observed: FloatArray
    expected: FloatArray
    p_value: FloatArray

    @classmethod
    def joined(cls, parts: list[Excesses]) -> Excesses:
        """Those of several parts of a table, in order."""
        kinds: dict[str, type[np.generic]] = dict.fromkeys(("lines", "a", "b"), np.int64)
        kinds |= dict.fromkeys(("observed", "expected", "p_value"), np.float64)
        columns = (
            np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
            for name, kind in kinds.items()
        )
        return cls(*columns)

    def __getitem__(self, chosen: IntArray) -> Excesses:
        return Excesses(
            self.lines[chosen],
            self.a[chosen],
            self.b[chosen],
            self.observed[chosen],
            self.expected[chosen],
            self.p_value[chosen],
        )


def excesses(
    pairs: pl.DataFrame, start: int, known: Family, expected: Expectation, rules: Rules
) -> Excesses:
    """The excesses among some lines of the pair table.

    Args:
        pairs: ``a, b, joint, joint_entailed``.
        start: Number of their first line.
        known: The pairs that are judged.
        expected: What length lets expect.
        rules: What makes an excess one; its threshold is not used.
    """
    a, b = ends_of(pairs)
    places = known.members(a, b)
    a, b, observed = a[places], b[places], observed_of(pairs)[places]
    many = np.flatnonzero(observed >= rules.least_joint)
    a, b, observed, places = a[many], b[many], observed[many], places[many]
    joint = expected.joint(a, b)
    more = np.flatnonzero((observed >= rules.factor * joint) & (joint > 0))
    found = observed[more], joint[more]
    return Excesses(start + places[more], a[more], b[more], *found, poisson_p_value(*found))


def ends_of(pairs: pl.DataFrame) -> tuple[IntArray, IntArray]:
    """Both nodes of each line of a pair table, by index."""
    a, b = (pairs[end].to_physical().to_numpy().astype(np.int64) for end in ("a", "b"))
    return a, b


def observed_of(pairs: pl.DataFrame) -> FloatArray:
    """Joint records of each line without a label below both nodes."""
    return (pairs["joint"] - pairs["joint_entailed"]).to_numpy().astype(np.float64)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """How the pairs of a table were judged.

    Args:
        known: The pairs that were judged.
        expected: What length lets expect.
        excesses: Those with an excess.
        explained: What all finds but itself let expect of each, NaN where its p value is above the
            threshold, shape as of ``excesses``.
        found_rank: Rank among the reported pairs, from 1, 0 where it is none, same shape.
    """

    known: Family
    expected: Expectation
    excesses: Excesses
    explained: FloatArray
    found_rank: IntArray

    @cached_property
    def q_value(self) -> FloatArray:
        """After Benjamini and Hochberg within the family, shape as of ``excesses``."""
        return benjamini_hochberg(self.excesses.p_value, self.known.size)

    @cached_property
    def _of_excesses(self) -> pl.DataFrame:
        """What is told of each excess, a line each; null where its p value is above the threshold.

        ``p_value`` and ``q_value`` are told of all.
        """
        explained = self.explained
        shrunk, low, high = shrunk_ratio(self.excesses.observed, explained)
        columns = {
            "p_value": self.excesses.p_value,
            "q_value": self.q_value,
            "explained": explained,
            "shrunk_ratio": shrunk,
            "ratio_low": low,
            "ratio_high": high,
        }
        rank = pl.Series("found_rank", self.found_rank).replace(0, None)
        return pl.DataFrame(columns, nan_to_null=True).with_columns(rank)

    def marked(self, pairs: pl.DataFrame, start: int = 0) -> pl.DataFrame:
        """Lines of the pair table, the first being ``start``, with what `judged` needs of each.

        ``expected_length``, null where a pair is not of the family, and ``excess``, its place among
        the excesses, null where it is none.
        """
        a, b = ends_of(pairs)
        places = self.known.members(a, b)
        expected = np.full(len(pairs), np.nan)
        expected[places] = self.expected.joint(a[places], b[places])
        first, last = np.searchsorted(self.excesses.lines, (start, start + len(pairs)))
        none = pl.repeat(None, len(pairs), dtype=pl.UInt32, eager=True)
        numbers = pl.Series(np.arange(first, last, dtype=np.uint32))
        return pairs.with_columns(
            pl.Series("expected_length", expected, nan_to_null=True),
            none.scatter(self.excesses.lines[first:last] - start, numbers).alias("excess"),
        )

    def judged(self, marked: pl.LazyFrame) -> pl.LazyFrame:
        """The table with `audit.counting.pair_table.JUDGED`, made as its lines are read."""
        expected, observed = pl.col("expected_length"), pl.col("joint") - pl.col("joint_entailed")
        told = {column.name: _looked_up(column) for column in self._of_excesses}
        one = pl.when(expected.is_not_null()).then(1.0)
        chances = [pl.coalesce(told.pop(name), one).alias(name) for name in ("p_value", "q_value")]
        return marked.with_columns(
            pl.when(expected > 0).then(observed / expected).alias("ratio"), *chances, **told
        ).drop("excess")


def _looked_up(column: pl.Series) -> pl.Expr:
    """The lines of a column at the places in ``excess``; null where there is none."""
    return pl.col("excess").map_batches(
        column.gather, return_dtype=column.dtype, is_elementwise=True
    )
