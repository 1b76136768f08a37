"""Pairs of labels that a model exchanges more often than their numbers of mistakes let expect."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.special import gammainc, gammaincinv

from audit.base.dag import IntArray
from audit.engine.pairs.pair_counts import support
from audit.engine.statistics.association import TAIL
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.hierarchies.relations import RELATIONS, relate
from audit.measure.measure import Measurements

LEAST_LABELS = 4
"""Least number of labels among the mistakes: with fewer, margins determine every exchange."""


def exchangeable_pairs(measured: Measurements) -> int:
    """Number of pairs of labels that could be exchanged; 0 without predictions."""
    model = measured.model
    return 0 if model is None else model.exchanges.family_size(measured.hierarchy.closure)


def why_no_exchange(measured: Measurements) -> str:
    """Why no pair can be judged; empty where some can."""
    model = measured.model
    if model is None:
        return "no predictions were given"
    if not exchangeable_pairs(measured):
        return (
            "the check has no power here: no instance has a missed label and a false answer of "
            "which neither lies above the other"
        )
    if _used(support(model.gold) + support(model.decided)) == 2:
        return "two labels are in use, and every exchange is one of the two"
    found = model.exchanges
    if (mistaken := _used(found.missed + found.false)) < LEAST_LABELS:
        return (
            f"the check has no power here: the mistakes are among {mistaken} labels, and of fewer "
            f"than {LEAST_LABELS} the number of mistakes on each settles how often any two are "
            "exchanged"
        )
    return ""


def exchanged_pairs(measured: Measurements) -> pl.DataFrame:
    """The pairs that are exchanged too often at the policy's false discovery rate.

    Neither label of a pair is an ancestor of the other.

    Returns:
        Columns ``a, b`` (indices of nodes, a before b), ``relation`` (index of `RELATIONS`),
        ``observed, forth, back`` (instances: in all, with a as label, with b as label),
        ``expected, excess`` (its lower bound) and ``q_value``; empty where none can be judged.
    """
    table = _judged(measured) if not why_no_exchange(measured) else pl.DataFrame(schema=_COLUMNS)
    return table.filter(pl.col("q_value") <= measured.policy.false_discovery_rate.value)


_COLUMNS = {
    **dict.fromkeys(("a", "b", "relation", "observed", "forth", "back"), pl.Int64),
    **dict.fromkeys(("expected", "excess", "q_value"), pl.Float64),
}


def _judged(measured: Measurements) -> pl.DataFrame:
    """Pairs that are exchanged at all: counts, expectation and q; the others have p = 1."""
    assert measured.model is not None
    found = measured.model.exchanges
    relation, _ = relate(measured.hierarchy, found.a, found.b)
    kept = relation != RELATIONS.index("ancestor")
    a, b, observed = found.a[kept], found.b[kept], found.observed[kept]
    expected = found.expected(a, b)
    family = exchangeable_pairs(measured)
    return pl.DataFrame(
        {
            "a": a,
            "b": b,
            "relation": relation[kept],
            "observed": observed,
            "forth": found.forth[kept],
            "back": found.back[kept],
            "expected": expected,
            "excess": gammaincinv(observed, TAIL) - expected,
            "q_value": benjamini_hochberg(gammainc(observed, expected), family),
        },
        schema_overrides=_COLUMNS,
    )


def _used(counts: IntArray) -> int:
    return int(np.count_nonzero(counts))
