"""The reported pairs of a scan: which found pairs matter, and the numbers of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import FloatArray, IntArray, row
from audit.base.schemas import schema
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.scan import Found, Rules, Scan
from audit.engine.statistics.association import shrunk_ratio
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.pair_verdicts import Family

FREQUENT = 0.5
"""Share of the records above which a node counts as frequent: the odds ratio can report its
pairs.
"""
ODDS_RATIO = 3.0
"""Least odds ratio of such a pair; corresponds to a ratio of 1.5 at a share of one half."""
FEWEST_CHILDREN = 3
"""Least number of pairs between children of one parent for them to become one finding."""

FOUND = schema(
    ("rank a b observed", pl.Int64),
    (
        "expected_length explained shrunk_ratio ratio_low ratio_high p_value q_value strength",
        pl.Float64,
    ),
    ("parent", pl.Int64),
    ("explained_by", pl.List(pl.List(pl.Int64))),
)
"""Columns of the reported pairs: rank, nodes (by index, in node order) and numbers of each; the
parent that the finding names instead, null if it names the pair; and the earlier finds that
explain part of it, the one that explains most first."""


@dataclass(frozen=True, eq=False)
class Finds:
    """A selection of the pairs that a scan found, the strongest first.

    Args:
        scan: The scan.
        found: All pairs that the scan found.
        numbers: Positions of the selected ones, ascending, shape (n_finds,).
    """

    scan: Scan
    found: Found
    numbers: IntArray

    def __getitem__(self, chosen: IntArray) -> Finds:
        return Finds(self.scan, self.found, self.numbers[chosen])

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def places(self) -> IntArray:
        """Positions among the surprising pairs, shape (n_finds,)."""
        return self.found.pair[self.numbers]

    @property
    def ends(self) -> tuple[IntArray, IntArray]:
        """First and second nodes, shape (n_finds,) each."""
        return self.scan.pairs.a[self.places], self.scan.pairs.b[self.places]

    @property
    def observed(self) -> FloatArray:
        """Joint records without a label below both nodes, shape (n_finds,)."""
        return self.scan.pairs.observed[self.places]

    @property
    def explained(self) -> FloatArray:
        """Joint records expected from record length and earlier finds, shape (n_finds,)."""
        return self.found.explained[self.numbers]

    @property
    def delta(self) -> FloatArray:
        """Excess over the expectation from record length, shape (n_finds,)."""
        return self.found.delta[self.numbers]


def that_matter(finds: Finds, strata: Strata, rules: Rules) -> IntArray:
    """Positions of the finds with a large excess, shape (n_large,).

    The excess is measured by the ratio or, for very frequent nodes, by the odds ratio pooled over
    all strata.
    """
    first, second = (strata.support[end].astype(np.float64) for end in finds.ends)
    observed, n = finds.observed, strata.records
    large = observed >= rules.excess_ratio * finds.explained
    frequent = np.maximum(first, second) > FREQUENT * n
    neither = n - first - second + observed
    odds = observed * neither >= ODDS_RATIO * (first - observed) * (second - observed)
    return np.flatnonzero(large | (frequent & odds))


def reported_pairs(
    finds: Finds, hierarchy: Hierarchy, family: Family, p_value: FloatArray, q_value: FloatArray
) -> pl.DataFrame:
    """The table of the reported pairs, columns `FOUND`.

    Args:
        finds: The reported pairs.
        hierarchy: The hierarchy.
        family: The family of tested pairs.
        p_value: p value of each pair, shape (n_finds,).
        q_value: q value of each pair, shape (n_finds,).
    """
    a, b = finds.ends
    shrunk, low, high = shrunk_ratio(finds.observed, finds.explained)
    return pl.DataFrame(
        {
            "rank": np.arange(1, len(finds) + 1),
            "a": a,
            "b": b,
            "observed": finds.observed.astype(np.int64),
            "expected_length": finds.scan.pairs.expected[finds.places],
            "explained": finds.explained,
            "shrunk_ratio": shrunk,
            "ratio_low": low,
            "ratio_high": high,
            "p_value": p_value,
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
