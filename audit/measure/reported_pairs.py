"""Verdicts on the pairs of a pair table, and the reported pairs of a scan with their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from audit.base.dag import FloatArray, IntArray, row
from audit.base.declared import schema
from audit.counting.counts import PairRecords
from audit.counting.pair_verdicts import CHANCES, ENDS, Verdicts, ends_of
from audit.engine.pairs.scan import Rules, Scan
from audit.engine.statistics.association import shrunk_ratio
from audit.engine.statistics.expectation import Expectation
from audit.engine.statistics.fdr import Family, benjamini_hochberg
from audit.hierarchies.hierarchy import Hierarchy

FREQUENT = 0.5
"""Share of the records above which a node is frequent: the odds ratio can report its pairs."""
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


def verdicts(
    known: Family,
    expected: Expectation,
    more: pl.DataFrame,
    explained: FloatArray,
    found_rank: IntArray,
) -> tuple[Verdicts, pl.DataFrame]:
    """What is kept of the judgement of pairs; and all excesses with their ``q_value, effective``.

    Args:
        more: Pairs that may have more joint records than expected, as judged.
        explained: Expected joint records of each excess given all other reported pairs; NaN if its
            p value is above the threshold. Shape (n_excesses,).
        found_rank: Rank of each excess among the reported pairs, from 1; 0 if not reported.
    """
    every = more.with_columns(
        q_value=pl.Series(benjamini_hochberg(more["p_value"].to_numpy(), known.size)),
        effective=pl.col("observed") / pl.col("scale"),
        explained=pl.Series(explained),
        found_rank=pl.Series(found_rank),
    )
    looked_at = pl.col("explained").is_not_nan() | (pl.col("groups") > 0)
    ends = pl.col("a", "b").cast(ENDS["a"])
    kept = every.lazy().filter((pl.col("p_value") < 1) | looked_at)
    judged = kept.select(ends, *CHANCES).collect()
    few = every.filter(looked_at)
    shrunk, low, high = _shrunk(few["effective"], few["explained"] / few["scale"])
    ratios = few.select(ends, "explained", shrunk_ratio=shrunk, ratio_low=low, ratio_high=high)
    numbers = [few["found_rank"]]
    if (few["groups"] > 0).any():
        ratios = ratios.with_columns(few["effective"])
        numbers += [few["groups"], few["squares"].alias("group_squares")]
    told = ratios.with_columns(pl.col(pl.Float64).fill_nan(None))
    told = told.with_columns(one.replace(0, None) for one in numbers)
    return Verdicts(known.used, known.left_out, expected, judged, told), every


def _shrunk(observed: pl.Series, expected: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
    """The shrunk ratios of observed to expected, and the low and high ends of their intervals."""
    ratio, low, high = map(pl.Series, shrunk_ratio(observed.to_numpy(), expected.to_numpy()))
    return ratio, low, high


def that_matter(finds: pl.DataFrame, records: PairRecords, rules: Rules) -> pl.DataFrame:
    """The finds with a large excess.

    The excess is measured by the ratio or, for very frequent nodes, by the odds ratio pooled over
    all strata.
    """
    strata, weighed, ends = records.strata, records.weighed, ends_of(finds)
    most = np.maximum(*(strata.support[end] for end in ends))
    first, second = (weighed.support[end] / weighed.unit for end in ends)
    observed, explained = (finds[name].to_numpy() for name in ("observed", "explained"))
    neither = weighed.records / weighed.unit - first - second + observed
    odds = observed * neither >= ODDS_RATIO * (first - observed) * (second - observed)
    frequent = most > FREQUENT * strata.records
    return finds.filter(pl.Series((observed >= rules.excess_ratio * explained) | (frequent & odds)))


def reported_pairs(
    reported: pl.DataFrame,
    finds: pl.DataFrame,
    scan: Scan,
    hierarchy: Hierarchy,
    family: Family,
    own: pl.DataFrame,
) -> pl.DataFrame:
    """The table of the reported pairs, columns `FOUND`.

    Args:
        reported: Those of the finds that are reported.
        finds: All finds of the scan.
        own: The reported pairs among the excesses.
    """
    pairs = list(reported.select("a", "b").iter_rows())
    shrunk, low, high = _shrunk(own["effective"], reported["explained"] / own["scale"])
    numbers = np.flatnonzero(finds["pair"].is_in(reported["pair"].implode())).tolist()
    explaining = ([i for i, _ in scan.explaining(finds, number)] for number in numbers)
    ends = finds.select("a", "b").to_numpy()
    return reported.select(
        "a",
        "b",
        "observed",
        "explained",
        "strength",
        own["groups"],
        own["effective"],
        own["p_value"],
        own["q_value"],
        rank=pl.int_range(1, pl.len() + 1),
        instances=own["instances"],
        expected_length=pl.col("expected"),
        shrunk_ratio=shrunk,
        ratio_low=low,
        ratio_high=high,
        parent=pl.Series(_parents(hierarchy, family, pairs), dtype=pl.Int64),
        explained_by=pl.Series([ends[i].tolist() for i in explaining], dtype=FOUND["explained_by"]),
    ).select(pl.col(name).cast(kind) for name, kind in FOUND.items())


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
    """Number of judged pairs of a node's children whose first shared parent it is."""
    children = row(hierarchy.child_matrix, parent)
    children = children[family.used[children]]
    first, second = np.triu_indices(len(children), 1)
    a, b = children[first], children[second]
    judged = family.members(a, b).tolist()
    return sum(_first_shared_parent(hierarchy, int(a[i]), int(b[i])) == parent for i in judged)
