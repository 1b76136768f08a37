"""From a count to its tables: what `audit.measure` measures, as far as counts can tell."""

from __future__ import annotations

import polars as pl

from audit.engine.expectation import stratify_counts
from audit.excess import CountedPairs, judge_counted_pairs
from audit.measure import Counted
from audit.pair_count import PairCount
from audit.pair_table import pair_table
from audit.policy import Policy
from audit.progress import Progress, silent
from audit.residual_use import residual_use_of_counts
from audit.residuals import residual_nodes
from audit.validity import VALIDITY


def measure_counts(count: PairCount, policy: Policy, progress: Progress = silent) -> Counted:
    """Judge the pairs of a count and measure residual use, every instance being its own group.

    Memory grows with the pairs that have a joint instance.
    """
    hierarchy, tally, strata = count.hierarchy, count.tally, count.strata
    residual = residual_nodes(hierarchy, policy)
    pairs = count.pairs
    table = pair_table(hierarchy, pairs, tally.support).with_columns(
        pl.Series("joint_entailed", tally.joint_entailed(pairs))
    )
    del pairs
    stratified = stratify_counts(strata.size, strata.support, strata.direct, strata.pairs)
    counted = CountedPairs(stratified, tally.support, tally.lengths, strata.cuts)
    judged, excess = judge_counted_pairs(hierarchy, counted, table, policy, progress=progress)
    return Counted(
        hierarchy=hierarchy,
        policy=policy,
        labelled_ancestors=policy.labelled_ancestors or hierarchy.labelled_ancestors,
        ledger=count.ledger,
        mappings=count.mappings,
        refusals=count.refusals,
        residual=residual,
        support=tally.support,
        direct_support=tally.direct_support,
        records=count.records,
        pairs=judged,
        excess=excess,
        residual_use=residual_use_of_counts(
            count.records,
            hierarchy,
            residual,
            tally.direct_support,
            policy.residual_instances.value,
        ),
        validity=pl.DataFrame(schema=VALIDITY),
    )
