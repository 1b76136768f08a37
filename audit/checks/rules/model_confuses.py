"""model_confuses: labels that a model answers in place of each other, and the tables of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import gammainc

from audit.base.dag import IntArray, Sparse, row
from audit.base.declared import NONE, Columns, chance, count, schema, total
from audit.checks.rows import Row, Rows, check_of_rows
from audit.engine.pairs.pair_counts import support
from audit.engine.scores.exchanges import (
    Exchanges,
    count_exchanges,
    count_given,
    least_margin,
    mistakes,
)
from audit.engine.statistics.association import shrunk_ratio
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.hierarchies.relations import RELATIONS, relate
from audit.measure.measure import Measurements, once
from audit.results.findings import NO_PREDICTIONS, times_limit

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
    """Number of pairs of labels, one missed and one false somewhere, that are judged; 0 without
    predictions.

    None can be judged where two labels are in use, of which every confusion is, nor where mistakes
    are among few labels, whose numbers settle how often any two are confused.
    """
    model = measured.model
    if model is None or np.count_nonzero(support(model.gold) + support(model.decided)) == 2:
        return 0
    found = exchanges(measured)
    judged = np.count_nonzero(found.missed + found.false) >= LEAST_LABELS
    return found.family_size(measured.hierarchy.closure) if judged else 0


@once
def exchanges(measured: Measurements) -> Exchanges:
    """The exchanges of direct labels, each counted once in a group."""
    model = measured.predicted
    return count_exchanges(model.gold, model.decided, _groups_of_predictions(measured))


def _groups_of_predictions(measured: Measurements) -> IntArray | None:
    """The group of each predicted instance, by row of the predictions; None without groups."""
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
    if not exchangeable_pairs(measured):
        return pl.DataFrame(schema=_PAIRS)
    found = exchanges(measured)
    a, b = found.a, found.b
    relation, _ = relate(measured.hierarchy, a, b)
    expected, q_value, apart = found.expected(a, b), np.ones(len(a)), relation != _ABOVE
    p_value = gammainc(found.counted[apart], expected[apart])
    q_value[apart] = benjamini_hochberg(p_value, exchangeable_pairs(measured))
    columns = (
        *(a, b, relation, found.observed, found.forth, found.back, found.counted),
        least_margin(found.missed, found.false, a, b),
        *(expected, found.counted - expected, q_value),
        q_value <= measured.policy.false_discovery_rate.value,
    )
    return pl.DataFrame(dict(zip(_PAIRS, columns, strict=True)), _PAIRS)


_PAIRS = schema(
    ("a b relation observed forth back counted margin", pl.Int64),
    ("expected excess q_value", pl.Float64),
    ("passes", pl.Boolean),
)


def most_exchanged(measured: Measurements, *, above: bool = False) -> pl.DataFrame:
    """The pairs with the largest excess, passing or not: see `ModelPart.frames`.

    Args:
        above: Those of which one label is above the other, instead of all others.
    """
    every = compared_pairs(measured).filter((pl.col("relation") == _ABOVE) == above)
    first = every.sort("excess", "a", "b", descending=[True, False, False]).head(MOST_PAIRS)
    gold = measured.predicted.gold
    a, b = (gold[:, first[end].to_numpy()] for end in ("a", "b"))
    with_a, with_b, both = (support(csr_array(one)) for one in (a, b, a.multiply(b)))
    counts = {"labelled": with_a + with_b - 2 * both, "labelled_a": with_a, "labelled_b": with_b}
    return first.with_columns(**counts).with_columns(
        pl.col("relation").replace_strict(dict(enumerate(RELATIONS)), return_dtype=pl.String),
        *named(measured, "a", "title_a"),
        *named(measured, "b", "title_b"),
    )


def named(measured: Measurements, column: str, title: str) -> tuple[pl.Expr, pl.Expr]:
    """Expressions: a column with ids in place of indices of nodes, and ``title``; null of null."""
    both = (measured.hierarchy.nodes, column), (measured.hierarchy.titles, title)
    ids, titles = (
        pl.col(column)
        .replace_strict(dict(enumerate(one)), default=None, return_dtype=pl.String)
        .alias(name)
        for one, name in both
    )
    return ids, titles


@once
def answers_by_excess(measured: Measurements) -> pl.DataFrame:
    """Labels that are given falsely more often than missed, and hardly by frequencies alone.

    That is so beyond the false discovery rate; they are given falsely `TIMES_MISSED` times as often
    as missed, and on `LEAST_FALSELY` instances or more.

    Returns:
        Columns ``node`` (its index), ``falsely, missed`` (instances with an exchange that gives it,
        and with one that misses it), ``hits`` (rightly given), ``answers`` (given), ``labelled``
        and ``q_value``, by the difference of the first two, the largest first; empty where no pair
        can be judged.
    """
    if not exchangeable_pairs(measured):
        return pl.DataFrame(schema=_ANSWERS)
    model = measured.predicted
    gold, decided = model.gold, model.decided
    found = count_given(gold, decided, measured.hierarchy.closure, _groups_of_predictions(measured))
    falsely, missed = support(found.falsely), support(found.missed)
    node = np.flatnonzero(falsely + missed)
    hits = support(gold.multiply(decided).tocsr())
    counts = (one[node] for one in (falsely, missed, hits, support(decided), support(gold)))
    q_value = benjamini_hochberg(found.p_value[node], len(node))
    columns = dict(zip(_ANSWERS, (node, *counts, q_value), strict=True))
    often, seldom = measured.rounding.bins(NONE).at_worst(pl.col("falsely"), pl.col("missed"))
    return (
        pl.DataFrame(columns, _ANSWERS)
        .filter(pl.col("q_value") <= measured.policy.false_discovery_rate.value)
        .filter((often >= TIMES_MISSED * seldom) & (often >= LEAST_FALSELY))
        .sort(pl.col("falsely") - pl.col("missed"), descending=True, maintain_order=True)
    )


_ANSWERS = schema(("node falsely missed hits answers labelled", pl.Int64), ("q_value", pl.Float64))


def most_uneven(measured: Measurements) -> pl.DataFrame:
    """The lines of `answers_by_excess`, with the labels in whose place each is given most often, as
    counts are told: see `ModelPart.frames`."""
    every, bins = compared_pairs(measured), measured.rounding.bins(NONE)
    ways = ("a", "b", "forth"), ("b", "a", "back")
    given = pl.concat(
        every.select(label=label, answer=answer, given=times, told=bins.all_told(pl.col(times)))
        for label, answer, times in ways
    ).filter((pl.col("given") > 0) & (pl.col("told") > bins.width))
    first = given.sort("told", "label", descending=[True, False])
    answers, describe = answers_by_excess(measured), measured.hierarchy.describe
    most = [
        ", ".join(map(describe, first.filter(answer=node)["label"].head(MOST_LABELS)))
        for node in answers["node"]
    ]
    return answers.with_columns(
        *named(measured, "node", "title"),
        share=pl.col("falsely") / pl.col("answers"),
        most=pl.Series(most, dtype=pl.String),
    )


_RELATION = {
    "sibling": "siblings",
    "overlap": "which share a node below them",
    "same_branch": "of one branch",
    "cross_branch": "of different branches",
}


def _confused(measured: Measurements) -> Rows:
    """Pairs of labels exchanged more often than expected, those of most excess first.

    On an instance a label is *missed* that it has as written and that is not answered, and *false*
    that is answered and that it has not. a and b are *exchanged* where one is missed and the other
    false. Where groups are given, an exchange counts once for each group, label and answer. Told
    are exchanges of two labels, neither above the other, that are [more than chance lets
    expect](methods/confusion.md#confusions). On CIFAR-10 first are cat and dog (154, expected
    72.7), then airplane and ship (48, 9.5).

    Not applicable without predictions. **Severity.** Note. **Limits.** A pair that data label
    inconsistently is exchanged by a perfect model too. Of 20 of the instances (`audit cases RUN
    FINDING --sample 20`) the answer is right on 15 or more where labels leave it out (95 % interval
    from .53), on 5 or fewer where the model gives it too readily (up to .47).
    """
    family = exchangeable_pairs(measured)
    return Rows(
        family,
        "pairs of labels that could be exchanged",
        (
            _pair_row(measured, pair, family)
            for pair in compared_pairs(measured).filter("passes").iter_rows(named=True)
        ),
        "" if measured.model else NO_PREDICTIONS,
    )


def _pair_row(measured: Measurements, pair: Mapping[str, Any], family: int) -> Row:
    hierarchy, a, b, counted = measured.hierarchy, pair["a"], pair["b"], pair["counted"]
    first, second, relation = hierarchy.describe(a), hierarchy.describe(b), pair["relation"]
    _, low, _ = shrunk_ratio(np.array(float(counted)), np.array(pair["expected"]))
    grouped = measured.loaded.group_of is not None

    def cases() -> IntArray:
        missed, false = _by_label(measured)
        ways = (np.intersect1d(row(missed, x), row(false, y)) for x, y in ((a, b), (b, a)))
        return np.asarray(measured.predicted.predictions.rows[np.union1d(*ways)])

    return Row(
        nodes=(hierarchy.nodes[a], hierarchy.nodes[b]),
        sentence=f"{first} and {second} ({_RELATION[RELATIONS[relation]]}): {{instances}} "
        "{instances|instance|instances} with one of the two {instances|is|are} mistaken for the "
        "other"
        f"[, {{first_as_second}} for {second}][, {{second_as_first}} for {first}]"
        f"{''.join(_too_often(measured, pair))}"
        f"{'[; counted once for each group they are {counted}]' * grouped}"
        "[; chance would give {expected_exchanges}].",
        evidence={
            "instances": pair["observed"],
            "first_as_second": pair["forth"],
            "second_as_first": pair["back"],
            **({"counted": counted} if grouped else {}),
            "expected_exchanges": pair["expected"],
            "q_value": pair["q_value"],
            "family": family,
        },
        curator="Correct labels where the answer is right, and say in the release notes where they "
        "are incomplete or the two cannot be told apart.",
        data_user="Report the two together, at their common ancestor, or add what tells them "
        "apart.",
        strength=pair["excess"] / pair["observed"],
        beyond=times_limit(float(low), 1.0),
        cases=cases,
    )


def _too_often(measured: Measurements, pair: Mapping[str, Any]) -> Iterator[str]:
    """Words on an answer given too often on the whole, if a pair is mostly that; else none."""
    often, bins = set(answers_by_excess(measured)["node"]), measured.rounding.bins(NONE)
    for answer, ways in (("b", ("forth", "back")), ("a", ("back", "forth"))):
        given, other = bins.at_worst(*(np.array(pair[way]) for way in ways))
        if pair[answer] in often and given > other:
            title = measured.hierarchy.describe(pair[answer])
            yield f"; on the whole the model gives {title} too often"


@once
def _by_label(measured: Measurements) -> tuple[Sparse, Sparse]:
    """Which instances a label is missed on, and which it is falsely predicted on: 0 or 1, shape
    (n_nodes, n) each."""
    missed, false = mistakes(measured.predicted.gold, measured.predicted.decided)
    return csr_array(missed.T), csr_array(false.T)


CHECK = check_of_rows(
    "model_confuses",
    "Which labels does the model mistake for each other?",
    _confused,
    needs="instances",
    nodes="Label|Answer",
    evidence=Columns(
        count("instances", "Times", of=NONE),
        count("first_as_second second_as_first", "This way", of=NONE),
        count("counted", of=NONE),
        total("expected_exchanges", "Expected"),
        chance("q_value family"),
    ),
    denominator="untold",
)
