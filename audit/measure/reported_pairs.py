"""Verdicts on the pairs of a pair table, and the reported pairs of a scan with their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import polars as pl

from audit.base.dag import FloatArray, IntArray, row
from audit.base.declared import schema
from audit.counting.counts import PairRecords
from audit.counting.pair_verdicts import ENDS, Verdicts, ends_of
from audit.engine.pairs.scan import Finds, Rules
from audit.engine.statistics.association import poisson_p_value, shrunk_ratio
from audit.engine.statistics.expectation import Expectation
from audit.engine.statistics.fdr import Family, benjamini_hochberg
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Candidates:
    """Tested pairs to be judged, with what no expectation changes.

    Args:
        a: First nodes, shape (n_pairs,), in the order of the pair table.
        instances: Joint records without a label below both.
        observed: What these weigh; their number without groups.
    """

    a: IntArray
    b: IntArray
    instances: FloatArray
    observed: FloatArray

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        """Concatenate the candidates of several blocks, in order."""
        kinds: dict[str, type[np.generic]] = dict.fromkeys(("a", "b"), np.int64)
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
            scale=np.broadcast_to(np.nan, len(joint)),
            groups=np.broadcast_to(0, len(joint)),
            squares=np.broadcast_to(0.0, len(joint)),
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

    Where nothing was measured, one number stands for all pairs of it.
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


def candidates(pairs: pl.DataFrame, known: Family, least: Expectation, rules: Rules) -> Candidates:
    """The pairs in a block of the pair table that can be in excess.

    Args:
        pairs: ``a, b, joint, joint_entailed``, and ``observed`` where there are groups.
        least: An expectation that none of those to judge by falls below.
        rules: Criteria of an excess; their threshold is not used.
    """
    a, b = ends_of(pairs)
    places = known.members(a, b)
    instances = (pairs["joint"] - pairs["joint_entailed"]).to_numpy().astype(np.float64)
    places = places[instances[places] >= rules.least_joint]
    observed = pairs["observed"].to_numpy() if "observed" in pairs.columns else instances
    a, b, instances, observed = a[places], b[places], instances[places], observed[places]
    more = np.flatnonzero(observed >= rules.factor * least.joint(a, b))
    return Candidates(a[more], b[more], instances[more], observed[more])


def verdicts(
    known: Family,
    expected: Expectation,
    more: Excesses,
    explained: FloatArray,
    found_rank: IntArray,
) -> tuple[Verdicts, FloatArray]:
    """What is kept of the judgement of pairs, and the q value of each excess.

    Args:
        more: Pairs that may have more joint records than expected, shape (n_excesses,).
        explained: Expected joint records of each excess given all other reported pairs; NaN if its
            p value is above the threshold. Shape (n_excesses,).
        found_rank: Rank of each excess among the reported pairs, from 1; 0 if not reported.
    """
    q_value = benjamini_hochberg(more.p_value, known.size)
    looked_at = ~np.isnan(explained) | (more.groups > 0)
    kept = np.flatnonzero((more.p_value < 1) | looked_at)
    judged = _ends(more, kept).with_columns(
        p_value=pl.Series(more.p_value[kept]), q_value=pl.Series(q_value[kept])
    )
    told = np.flatnonzero(looked_at)
    few, explained = more[told], explained[told]
    ratios = shrunk_ratio(few.effective, explained / few.scale)
    columns = {
        "explained": explained,
        **dict(zip(("shrunk_ratio", "ratio_low", "ratio_high"), ratios, strict=True)),
    }
    counted: dict[str, IntArray | FloatArray] = {"found_rank": found_rank[told]}
    if few.groups.any():
        columns["effective"] = few.effective
        counted |= {"groups": few.groups, "group_squares": few.squares}
    further = _ends(more, told).with_columns(
        *(pl.Series(name, own, nan_to_null=True) for name, own in columns.items()),
        *(pl.Series(name, own).replace(0, None) for name, own in counted.items()),
    )
    return Verdicts(known.used, known.left_out, expected, judged, further), q_value


def _ends(pairs: Candidates, some: IntArray) -> pl.DataFrame:
    return pl.DataFrame({"a": pairs.a[some], "b": pairs.b[some]}, schema=ENDS)


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
