"""Pairs of labels that a model exchanges more often than their numbers of mistakes let expect."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.special import gammainc

from audit.alignment.measure import ModelMeasurements
from audit.base.dag import IntArray
from audit.base.declared import NONE
from audit.engine.pairs.pair_counts import support
from audit.engine.scores.exchanges import (
    Exchanges,
    Given,
    count_exchanges,
    count_given,
    least_margin,
)
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.hierarchies.relations import RELATIONS, relate
from audit.measure.measure import Measurements, once

LEAST_LABELS = 4
"""Least number of labels among the mistakes: with fewer, margins determine every exchange."""
TIMES_MISSED = 3
"""How many times as often as it is missed an answer of the table of answers is given falsely."""
LEAST_FALSELY = 20
"""Least number of instances on which it is: so many are looked at to tell why."""
MOST_PAIRS = 50
"""Number of pairs in a table of exchanges, whether or not they pass."""
MOST_LABELS = 3
"""Number of labels in whose place an answer of the table is given most often that it names."""
_ABOVE = RELATIONS.index("ancestor")


@once
def exchangeable_pairs(measured: Measurements) -> int:
    """Number of pairs of labels that could be exchanged, and judged; 0 without predictions.

    None can be judged where two labels are in use, of which every confusion is, nor where mistakes
    are among few labels, whose numbers settle how often any two are confused.
    """
    model = measured.model
    if model is None or _used(support(model.gold) + support(model.decided)) == 2:
        return 0
    found = exchanges(measured)
    judged = _used(found.missed + found.false) >= LEAST_LABELS
    return found.family_size(measured.hierarchy.closure) if judged else 0


_COLUMNS = {
    **dict.fromkeys(
        ("a", "b", "relation", "observed", "forth", "back", "counted", "margin"), pl.Int64
    ),
    **dict.fromkeys(("expected", "excess", "q_value"), pl.Float64),
    "passes": pl.Boolean,
}


@once
def exchanges(measured: Measurements) -> Exchanges:
    """The exchanges of direct labels, each counted once in a group."""
    model = measured.predicted
    return count_exchanges(model.gold, model.decided, _groups(measured))


def _groups(measured: Measurements) -> IntArray | None:
    group_of = measured.loaded.group_of
    return None if group_of is None else group_of[measured.predicted.predictions.rows]


@once
def compared_pairs(measured: Measurements) -> pl.DataFrame:
    """The pairs that are exchanged at all; all others of the family have p = 1.

    Returns:
        Columns ``a, b`` (indices of nodes, a before b), ``relation`` (index of `RELATIONS`),
        ``observed, forth, back`` (instances: in all, with a as label, with b as label),
        ``counted`` (each once in a group), ``margin`` (`least_margin`), ``expected`` (of those
        counted), ``excess`` (counted less expected), ``q_value`` and ``passes``, whether that is
        within the policy's false discovery rate: never of a label and one above it, of which none
        is tested; empty where no pair can be judged.
    """
    if measured.model is None or not exchangeable_pairs(measured):
        return pl.DataFrame(schema=_COLUMNS)
    found = exchanges(measured)
    a, b = found.a, found.b
    relation, _ = relate(measured.hierarchy, a, b)
    expected, q_value = found.expected(a, b), np.ones(len(a))
    apart = relation != _ABOVE
    p_value = gammainc(found.counted[apart], expected[apart])
    q_value[apart] = benjamini_hochberg(p_value, exchangeable_pairs(measured))
    return pl.DataFrame(
        {
            "a": a,
            "b": b,
            "relation": relation,
            "observed": found.observed,
            "forth": found.forth,
            "back": found.back,
            "counted": found.counted,
            "margin": least_margin(found.missed, found.false, a, b),
            "expected": expected,
            "excess": found.counted - expected,
            "q_value": q_value,
            "passes": q_value <= measured.policy.false_discovery_rate.value,
        },
        schema_overrides=_COLUMNS,
    )


def with_labelled(pairs: pl.DataFrame, model: ModelMeasurements) -> pl.DataFrame:
    """Pairs with ``labelled`` (instances with just one of the two), ``labelled_a, labelled_b``."""
    gold, support_of = model.gold.tocsc(), support(model.gold)

    def rows(node: int) -> IntArray:
        return np.asarray(gold.indices[slice(*gold.indptr[node : node + 2])], np.int64)

    with_a, with_b = (support_of[pairs[end].to_numpy()] for end in ("a", "b"))
    both = [
        len(np.intersect1d(rows(a), rows(b), assume_unique=True))
        for a, b in pairs.select("a", "b").iter_rows()
    ]
    alone = with_a + with_b - 2 * np.array(both, np.int64)
    return pairs.with_columns(labelled=alone, labelled_a=with_a, labelled_b=with_b)


def most_exchanged(measured: Measurements, *, above: bool = False) -> pl.DataFrame:
    """The pairs with the largest excess, passing or not: see `ModelPart.frames`.

    Args:
        above: Those of which one label is above the other, instead of all others.
    """
    order, own = ["excess", "a", "b"], (pl.col("relation") == _ABOVE) == above
    every = compared_pairs(measured).filter(own)
    first = every.sort(order, descending=[True, False, False]).head(MOST_PAIRS)
    relations = dict(enumerate(RELATIONS))
    return with_labelled(first, measured.predicted).with_columns(
        pl.col("relation").replace_strict(relations, return_dtype=pl.String),
        *_named(measured, "a", "title_a"),
        *_named(measured, "b", "title_b"),
    )


def most_uneven(measured: Measurements) -> pl.DataFrame:
    """The lines of `answers_by_excess`: see `ModelPart.frames`."""
    share, answers = pl.col("falsely") / pl.col("answers"), answers_by_excess(measured)
    most = [", ".join(_most_in_place(measured, node)) for node in answers["node"]]
    return answers.with_columns(
        *_named(measured, "node", "title"), share=share, most=pl.Series(most, dtype=pl.String)
    )


def _most_in_place(measured: Measurements, answer: int) -> list[str]:
    """The labels in whose place an answer is given most often, as counts are told."""
    every, bins = compared_pairs(measured), measured.rounding.bins(NONE)
    given = pl.concat(
        every.filter(pl.col(end) == answer).select(label=other, given=times)
        for end, other, times in (("b", "a", "forth"), ("a", "b", "back"))
    ).with_columns(told=bins.all_told(pl.col("given")))
    most = given.filter((pl.col("given") > 0) & (pl.col("told") > bins.width))
    first = most.sort("told", "label", descending=[True, False]).head(MOST_LABELS)
    return [measured.hierarchy.describe(label) for label in first["label"]]


def _named(measured: Measurements, column: str, title: str) -> tuple[pl.Expr, pl.Expr]:
    """Ids in place of indices of nodes, and their titles."""
    both = (measured.hierarchy.nodes, column), (measured.hierarchy.titles, title)
    ids, titles = (
        pl.col(column).replace_strict(dict(enumerate(one)), return_dtype=pl.String).alias(name)
        for one, name in both
    )
    return ids, titles


@once
def given(measured: Measurements) -> Given:
    """How often each label is given falsely in place of others, and missed for others."""
    model = measured.predicted
    closure = measured.hierarchy.closure
    return count_given(model.gold, model.decided, closure, _groups(measured))


def uneven_answers(measured: Measurements) -> pl.DataFrame:
    """Labels that are given falsely more often than missed, beyond the false discovery rate.

    Returns:
        Columns ``node`` (its index), ``falsely, missed`` (instances with an exchange that gives it,
        and with one that misses it), ``hits`` (rightly given), ``answers`` (given), ``labelled``
        and ``q_value``, in node order; empty where no pair can be judged.
    """
    model = measured.model
    if model is None or not exchangeable_pairs(measured):
        return pl.DataFrame(schema=_ANSWERS)
    found = given(measured)
    falsely, missed = support(found.falsely), support(found.missed)
    node = np.flatnonzero(falsely + missed)
    q_value = benjamini_hochberg(found.p_value[node], len(node))
    counts = {
        "falsely": falsely,
        "missed": missed,
        "hits": support(model.gold.multiply(model.decided).tocsr()),
        "answers": support(model.decided),
        "labelled": support(model.gold),
    }
    frame = {"node": node, **{name: one[node] for name, one in counts.items()}, "q_value": q_value}
    table = pl.DataFrame(frame, schema_overrides=_ANSWERS)
    return table.filter(pl.col("q_value") <= measured.policy.false_discovery_rate.value)


@once
def answers_by_excess(measured: Measurements) -> pl.DataFrame:
    """Those of `uneven_answers` that hardly are the labels' frequencies alone.

    They are given falsely `TIMES_MISSED` times as often as missed, and on `LEAST_FALSELY` instances
    or more; ordered by the difference of the two, the largest first.
    """
    falsely, missed = pl.col("falsely"), pl.col("missed")
    often, seldom = measured.rounding.bins(NONE).at_worst(falsely, missed)
    kept = uneven_answers(measured).filter(
        (often >= TIMES_MISSED * seldom) & (often >= LEAST_FALSELY)
    )
    return kept.sort(falsely - missed, descending=True, maintain_order=True)


_ANSWERS = {
    **dict.fromkeys(("node", "falsely", "missed", "hits", "answers", "labelled"), pl.Int64),
    "q_value": pl.Float64,
}


def _used(counts: IntArray) -> int:
    return int(np.count_nonzero(counts))
