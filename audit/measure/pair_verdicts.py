"""Verdicts on the pairs of a pair table, and the table with its verdict columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.counting.pair_table import observed_ratio
from audit.engine.pairs.entailed import entailed_by, in_line, places_of
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.scan import Rules
from audit.engine.pairs.sums import Sums
from audit.engine.statistics.association import poisson_p_value, shrunk_ratio
from audit.engine.statistics.expectation import Expectation
from audit.engine.statistics.fdr import benjamini_hochberg, pairs_apart

ENTAILED_SHARE = 0.1
"""Largest share of the smaller support that one label may explain for a pair to be tested."""


@dataclass(frozen=True, eq=False)
class Family:
    """The family of tested pairs, which depends on margins only.

    Args:
        used: Nodes that enough records carry, shape (n_nodes,).
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).
        left_out: ``a * n_nodes + b`` of the pairs left out because one label explains too much of
            them, ascending.
    """

    used: BoolArray
    closure: Sparse
    left_out: IntArray

    @cached_property
    def size(self) -> int:
        """Number of pairs in the family, those without a joint record included."""
        return pairs_apart(self.used, self.closure) - len(self.left_out)

    @cached_property
    def _outside(self) -> IntArray:
        """``a * n_nodes + b`` of all pairs that are left out or in line, ascending."""
        return np.union1d(self.left_out, in_line(self.closure))

    def members(self, a: IntArray, b: IntArray) -> IntArray:
        """Positions of the given pairs, ordered by (a, b), that belong to the family."""
        chosen = self.used[a] & self.used[b]
        chosen[places_of(self._outside, a * len(self.used) + b)] = False
        return np.flatnonzero(chosen)


def family(
    strata: Strata, entailed: Sums, alone: IntArray, closure: Sparse, least: float
) -> Family:
    """Determine the family of tested pairs of a dataset.

    Args:
        strata: The records that take part.
        entailed: From `audit.engine.pairs.entailed.count_entailed`, of all records.
        alone: Records with a single most specific label, by label, shape (n_nodes,).
        closure: 1 where a is i or an ancestor of i, shape (n_nodes, n_nodes).
        least: Least number of records for a node to take part.
    """
    support = strata.support
    used = support >= least
    of_others = entailed_by(alone, closure)
    counts = entailed.joint.copy()
    place = np.searchsorted(entailed.keys, of_others.keys)
    counts[place] -= of_others.joint
    a, b = np.divmod(entailed.keys, len(used))
    many = counts > ENTAILED_SHARE * np.minimum(support[a], support[b])
    return Family(used, closure, entailed.keys[many & used[a] & used[b]])


@dataclass(frozen=True, eq=False)
class Excesses:
    """Tested pairs that may have more joint records than expected; all others have p = 1.

    Args:
        lines: Line of each pair in the pair table, ascending, shape (n_pairs,).
        a: First nodes, same shape.
        b: Second nodes.
        observed: Joint records without a label below both.
        expected: Joint records expected from record length.
        p_value: One-sided, for excess.
    """

    lines: IntArray
    a: IntArray
    b: IntArray
    observed: FloatArray
    expected: FloatArray
    p_value: FloatArray

    def __getitem__(self, chosen: IntArray) -> Excesses:
        return Excesses(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Tested pairs to be judged, with the columns of `Excesses` that no expectation changes."""

    lines: IntArray
    a: IntArray
    b: IntArray
    observed: FloatArray

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        """Concatenate the candidates of several blocks, in order."""
        kinds: dict[str, type[np.generic]] = dict.fromkeys(("lines", "a", "b"), np.int64)
        kinds["observed"] = np.float64
        columns = (
            np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
            for name, kind in kinds.items()
        )
        return cls(*columns)

    def judged(self, expected: Expectation, rules: Rules) -> Excesses:
        """The candidates with what is expected of them; p = 1 where that is no excess."""
        joint = expected.joint(self.a, self.b)
        more = np.flatnonzero(self.observed >= rules.factor * joint)
        p_value = np.ones(len(joint))
        p_value[more] = poisson_p_value(self.observed[more], joint[more])
        return Excesses(self.lines, self.a, self.b, self.observed, joint, p_value)


def candidates(
    pairs: pl.DataFrame, start: int, known: Family, least: Expectation, rules: Rules
) -> Candidates:
    """The pairs in a block of the pair table that can be in excess.

    Args:
        pairs: ``a, b, joint, joint_entailed``.
        start: Number of its first line.
        known: The family of tested pairs.
        least: An expectation that none of those to judge by falls below.
        rules: Criteria of an excess; their threshold is not used.
    """
    a, b = ends_of(pairs)
    places = known.members(a, b)
    a, b, observed = a[places], b[places], observed_of(pairs)[places]
    many = np.flatnonzero(observed >= rules.least_joint)
    a, b, observed, places = a[many], b[many], observed[many], places[many]
    more = np.flatnonzero(observed >= rules.factor * least.joint(a, b))
    return Candidates(start + places[more], a[more], b[more], observed[more])


def ends_of(pairs: pl.DataFrame) -> tuple[IntArray, IntArray]:
    """Node indices of both nodes of each line of a pair table."""
    a, b = (pairs[end].to_physical().to_numpy().astype(np.int64) for end in ("a", "b"))
    return a, b


def observed_of(pairs: pl.DataFrame) -> FloatArray:
    """Joint records of each line, without those that have a label below both nodes."""
    return (pairs["joint"] - pairs["joint_entailed"]).to_numpy().astype(np.float64)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Verdicts on the pairs of a table.

    Args:
        known: The family of tested pairs.
        expected: The expectation from record length.
        excesses: Pairs that may have more joint records than expected, shape (n_excesses,).
        explained: Expected joint records of each excess given all other reported pairs; NaN if its
            p value is above the threshold. Shape (n_excesses,).
        found_rank: Rank of each excess among the reported pairs, from 1; 0 if not reported.
    """

    known: Family
    expected: Expectation
    excesses: Excesses
    explained: FloatArray
    found_rank: IntArray

    @cached_property
    def q_value(self) -> FloatArray:
        """Benjamini-Hochberg q values of the excesses within the family, shape (n_excesses,)."""
        return benjamini_hochberg(self.excesses.p_value, self.known.size)

    @cached_property
    def _of_excesses(self) -> pl.DataFrame:
        """What is reported of each excess, a row each; null where p is above the threshold.

        ``p_value`` and ``q_value`` are given for all.
        """
        told = np.flatnonzero(~np.isnan(self.explained))
        ratios = np.full((3, len(self.explained)), np.nan)
        ratios[:, told] = shrunk_ratio(self.excesses.observed[told], self.explained[told])
        columns = {
            "p_value": self.excesses.p_value,
            "q_value": self.q_value,
            "explained": self.explained,
            **dict(zip(("shrunk_ratio", "ratio_low", "ratio_high"), ratios, strict=True)),
        }
        rank = pl.Series("found_rank", self.found_rank).replace(0, None)
        return pl.DataFrame(columns, nan_to_null=True).with_columns(rank)

    def marked(self, pairs: pl.DataFrame, start: int) -> pl.DataFrame:
        """Add to a block of the pair table, from line ``start``, the columns `judged` needs.

        These are ``expected_length``, null for a pair outside the family, and ``excess``, its
        position among the excesses, null if it is not one.
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
        """Add the columns `audit.counting.pair_table.JUDGED` lazily to a table from `marked`."""
        told = {column.name: _rows_of_excesses(column) for column in self._of_excesses}
        one = pl.when(pl.col("expected_length").is_not_null()).then(1.0)
        chances = [pl.coalesce(told.pop(name), one).alias(name) for name in ("p_value", "q_value")]
        return marked.with_columns(observed_ratio(), *chances, **told).drop("excess")


def _rows_of_excesses(column: pl.Series) -> pl.Expr:
    """The lines of a column at the places in ``excess``; null where there is none."""
    return pl.col("excess").map_batches(
        column.gather, return_dtype=column.dtype, is_elementwise=True
    )
