"""Verdicts on the pairs of a pair table, and the reported pairs of a scan with their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.base.schemas import schema
from audit.counting.counts import PairRecords
from audit.counting.pair_table import JUDGED, observed_ratio
from audit.engine.pairs.entailed import entailed_by, in_line, places_of
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.scan import Finds, Rules
from audit.engine.pairs.sums import Sums
from audit.engine.statistics.association import poisson_p_value, shrunk_ratio
from audit.engine.statistics.expectation import Expectation
from audit.engine.statistics.fdr import benjamini_hochberg, pairs_apart
from audit.hierarchies.hierarchy import Hierarchy

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
class Candidates:
    """Tested pairs to be judged, with what no expectation changes.

    Args:
        lines: Line of each pair in the pair table, ascending, shape (n_pairs,).
        a: First nodes, same shape.
        b: Second nodes.
        instances: Joint records without a label below both.
        observed: What these weigh; their number without groups.
    """

    lines: IntArray
    a: IntArray
    b: IntArray
    instances: FloatArray
    observed: FloatArray

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        """Concatenate the candidates of several blocks, in order."""
        kinds: dict[str, type[np.generic]] = dict.fromkeys(("lines", "a", "b"), np.int64)
        kinds |= dict.fromkeys(("instances", "observed"), np.float64)
        columns = (
            np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
            for name, kind in kinds.items()
        )
        return cls(*columns)

    def judged(self, expected: Expectation, rules: Rules) -> Excesses:
        """The candidates with what is expected of them; p = 1 where that is no excess.

        With groups p is the least that any scale can give: that of all instances as they are.
        """
        joint = expected.joint(self.a, self.b)
        more = np.flatnonzero(self.observed >= rules.factor * joint)
        p_value, instances = np.ones(len(joint)), self.instances[more]
        p_value[more] = poisson_p_value(instances, joint[more] * (instances / self.observed[more]))
        return Excesses(
            **{field.name: getattr(self, field.name) for field in fields(Candidates)},
            expected=joint,
            p_value=p_value,
            scale=np.full(len(joint), np.nan),
            groups=np.zeros(len(joint), np.int64),
            squares=np.zeros(len(joint)),
        )


@dataclass(frozen=True, eq=False)
class Excesses(Candidates):
    """Tested pairs that may have more joint records than expected; all others have p = 1.

    Args:
        expected: Joint records expected from record length, by weight, shape (n_pairs,).
        p_value: One-sided, for excess.
        scale: What one effective record counts in observed and expected; NaN if not measured.
        groups: Number of groups that carry the pair; 0 if not measured.
        squares: Sum over groups of the squared share of a group's records that carry it; likewise.
    """

    expected: FloatArray
    p_value: FloatArray
    scale: FloatArray
    groups: IntArray
    squares: FloatArray

    @property
    def effective(self) -> FloatArray:
        """What is observed, in effective records, shape (n_pairs,); NaN if not measured."""
        return self.observed / self.scale

    def __getitem__(self, chosen: IntArray) -> Excesses:
        return Excesses(*(getattr(self, field.name)[chosen] for field in fields(self)))


def candidates(
    pairs: pl.DataFrame, start: int, known: Family, least: Expectation, rules: Rules
) -> Candidates:
    """The pairs in a block of the pair table that can be in excess.

    Args:
        pairs: ``a, b, joint, joint_entailed``, and ``observed`` where there are groups.
        start: Number of its first line.
        known: The family of tested pairs.
        least: An expectation that none of those to judge by falls below.
        rules: Criteria of an excess; their threshold is not used.
    """
    a, b = ends_of(pairs)
    places = known.members(a, b)
    instances = instances_of(pairs)
    places = places[instances[places] >= rules.least_joint]
    observed = pairs["observed"].to_numpy() if "observed" in pairs.columns else instances
    a, b, instances, observed = a[places], b[places], instances[places], observed[places]
    more = np.flatnonzero(observed >= rules.factor * least.joint(a, b))
    return Candidates(start + places[more], a[more], b[more], instances[more], observed[more])


def ends_of(pairs: pl.DataFrame) -> tuple[IntArray, IntArray]:
    """Node indices of both nodes of each line of a pair table."""
    a, b = (pairs[end].to_physical().to_numpy().astype(np.int64) for end in ("a", "b"))
    return a, b


def instances_of(pairs: pl.DataFrame) -> FloatArray:
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
        ratios, more = np.full((3, len(self.explained)), np.nan), self.excesses
        effective, explained = more.effective[told], self.explained[told] / more.scale[told]
        ratios[:, told] = shrunk_ratio(effective, explained)
        columns = {
            "p_value": more.p_value,
            "q_value": self.q_value,
            "explained": self.explained,
            **dict(zip(("shrunk_ratio", "ratio_low", "ratio_high"), ratios, strict=True)),
        }
        counted: dict[str, IntArray | FloatArray] = {"found_rank": self.found_rank}
        if more.groups.any():
            columns["effective"] = more.effective
            counted |= {"groups": more.groups, "group_squares": more.squares}
        whole = (pl.Series(name, numbers).replace(0, None) for name, numbers in counted.items())
        return pl.DataFrame(columns, nan_to_null=True).with_columns(*whole)

    def marked(self, pairs: pl.DataFrame, start: int) -> pl.DataFrame:
        """Add to a block of the pair table, from line ``start``, the columns `judged` needs.

        These are ``observed`` and ``expected_length``, null for a pair outside the family, and
        ``excess``, its position among the excesses, null if it is not one. Without groups
        ``observed`` and ``group_sum`` are null everywhere: they are the number of instances. So is
        ``group_sum`` where all joint instances have a label below both nodes.
        """
        a, b = ends_of(pairs)
        places = self.known.members(a, b)
        expected = np.full(len(pairs), np.nan)
        expected[places] = self.expected.joint(a[places], b[places])
        first, last = np.searchsorted(self.excesses.lines, (start, start + len(pairs)))
        none = pl.repeat(None, len(pairs), dtype=pl.UInt32, eager=True)
        numbers = pl.Series(np.arange(first, last, dtype=np.uint32))
        length = pl.Series("expected_length", expected, nan_to_null=True)
        observed = sums = pl.lit(None, pl.Float64)
        if "observed" in pairs.columns:
            observed = pl.when(length.is_not_null()).then(pl.col("observed"))
            sums = pl.when(pl.col("joint") > pl.col("joint_entailed")).then(pl.col("group_sum"))
        return pairs.with_columns(
            observed.alias("observed"),
            sums.alias("group_sum"),
            length,
            none.scatter(self.excesses.lines[first:last] - start, numbers).alias("excess"),
        )

    def judged(self, marked: pl.LazyFrame) -> pl.LazyFrame:
        """Add the columns `audit.counting.pair_table.JUDGED` lazily to a table from `marked`."""
        told = {
            column.name: pl.col("excess").map_batches(
                column.gather, return_dtype=column.dtype, is_elementwise=True
            )
            for column in self._of_excesses
        }
        one = pl.when(pl.col("expected_length").is_not_null()).then(1.0)
        chances = [pl.coalesce(told.pop(name), one).alias(name) for name in ("p_value", "q_value")]
        null = {
            name: pl.lit(None, JUDGED[name]) for name in ("effective", "groups", "group_squares")
        }
        return marked.with_columns(observed_ratio(), *chances, **(null | told)).drop("excess")


FREQUENT = 0.5
"""Share of the records above which a node counts as frequent: the odds ratio can report its
pairs.
"""
ODDS_RATIO = 3.0
"""Least odds ratio of such a pair; corresponds to a ratio of 1.5 at a share of one half."""
FEWEST_CHILDREN = 3
"""Least number of pairs between children of one parent for them to become one finding."""

FOUND = schema(
    ("rank a b instances groups", pl.Int64),
    (
        "observed effective expected_length explained shrunk_ratio ratio_low ratio_high p_value "
        "q_value strength",
        pl.Float64,
    ),
    ("parent", pl.Int64),
    ("explained_by", pl.List(pl.List(pl.Int64))),
)
"""Columns of the reported pairs: rank, nodes (by index, in node order) and numbers of each; the
parent that the finding names instead, null if it names the pair; and the earlier finds that
explain part of it, the one that explains most first."""


def that_matter(finds: Finds, records: PairRecords, rules: Rules) -> IntArray:
    """Positions of the finds with a large excess, shape (n_large,).

    The excess is measured by the ratio or, for very frequent nodes, by the odds ratio pooled over
    all strata.
    """
    strata, weighed = records.strata, records.weighed
    most = np.maximum(*(strata.support[end] for end in finds.ends))
    first, second = (weighed.support[end] / weighed.unit for end in finds.ends)
    observed, n = finds.observed, weighed.records / weighed.unit
    large = observed >= rules.excess_ratio * finds.explained
    frequent = most > FREQUENT * strata.records
    neither = n - first - second + observed
    odds = observed * neither >= ODDS_RATIO * (first - observed) * (second - observed)
    return np.flatnonzero(large | (frequent & odds))


def reported_pairs(
    finds: Finds, hierarchy: Hierarchy, family: Family, own: Excesses, q_value: FloatArray
) -> pl.DataFrame:
    """The table of the reported pairs, columns `FOUND`.

    Args:
        finds: The reported pairs.
        hierarchy: The hierarchy.
        family: The family of tested pairs.
        own: The reported pairs among the excesses.
        q_value: q value of each pair, shape (n_finds,).
    """
    a, b = finds.ends
    shrunk, low, high = shrunk_ratio(own.effective, finds.explained / own.scale)
    return pl.DataFrame(
        {
            "rank": np.arange(1, len(finds) + 1),
            "a": a,
            "b": b,
            "instances": own.instances.astype(np.int64),
            "groups": own.groups,
            "observed": finds.observed,
            "effective": own.effective,
            "expected_length": finds.scan.pairs.expected[finds.places],
            "explained": finds.explained,
            "shrunk_ratio": shrunk,
            "ratio_low": low,
            "ratio_high": high,
            "p_value": own.p_value,
            "q_value": q_value,
            "strength": finds.found.strength[finds.numbers],
            "parent": _parents(hierarchy, family, list(zip(a.tolist(), b.tolist(), strict=True))),
            "explained_by": [_explaining(finds, number) for number in finds.numbers.tolist()],
        },
        schema=FOUND,
    )


def _explaining(finds: Finds, number: int) -> list[list[int]]:
    pairs = finds.scan.pairs
    earlier = finds.scan.explaining(finds.found, number)
    places = [int(finds.found.pair[other]) for other, _ in earlier]
    return [[int(pairs.a[place]), int(pairs.b[place])] for place in places]


def _parents(
    hierarchy: Hierarchy, family: Family, pairs: Sequence[tuple[int, int]]
) -> list[int | None]:
    """For each pair the parent of both, where most judged pairs of its children are reported."""
    shared = [_first_shared_parent(hierarchy, *pair) for pair in pairs]
    reported = Counter(parent for parent in shared if parent is not None)
    whole = {
        parent
        for parent, count in reported.items()
        if count >= FEWEST_CHILDREN and 2 * count > _judged_children(hierarchy, family, parent)
    }
    return [parent if parent in whole else None for parent in shared]


def _first_shared_parent(hierarchy: Hierarchy, a: int, b: int) -> int | None:
    shared = np.intersect1d(row(hierarchy.edges, a), row(hierarchy.edges, b))
    return int(shared[0]) if len(shared) else None


def _judged_children(hierarchy: Hierarchy, family: Family, parent: int) -> int:
    """Judged pairs of children whose first shared parent it is."""
    children = row(hierarchy.child_matrix, parent)
    children = children[family.used[children]]
    first, second = np.triu_indices(len(children), 1)
    a, b = children[first], children[second]
    judged = family.members(a, b).tolist()
    return sum(_first_shared_parent(hierarchy, int(a[i]), int(b[i])) == parent for i in judged)
