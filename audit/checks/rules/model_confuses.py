"""model_confuses: labels that a model answers in place of each other, and answers it leans to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csc_array

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, chance, count, total
from audit.checks.check import TOP_PARTS, Limit, first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.exchanged_pairs import (
    compared_pairs,
    exchangeable_pairs,
    given,
    uneven_answers,
)
from audit.engine.scores.exchanges import mistakes
from audit.engine.statistics.association import shrunk_ratio
from audit.hierarchies.relations import RELATIONS
from audit.measure.measure import Measurements, once
from audit.results.findings import NO_PREDICTIONS, Part, times_limit
from audit.sharing.bins import Bins

LEAST_PARTS = 3
"""Least number of labels in whose place a model gives an answer that it leans to."""
FALSELY = 0.6
"""Least share of exchanges that give an answer, of those that give or miss it."""
ONE_PAIR = 0.5
"""Share of the exchanges that give an answer above which they are one pair, and no leaning."""
LEANING = "answer"
"""Last part of the key of a finding on an answer that the model leans to."""
_MOST = ("most_in_place", "second_in_place", "third_in_place")
_RELATION = {
    "sibling": "siblings",
    "overlap": "which share a node below them",
    "same_branch": "of one branch",
    "cross_branch": "of different branches",
}


def _confused(measured: Measurements) -> Rows:
    """Report pairs of labels exchanged more often than their numbers of mistakes let expect.

    Neither label is an ancestor of the other. Pairs are ordered by their excess. Those of an answer
    that the model gives in place of several labels are folded into one finding.
    """
    family = exchangeable_pairs(measured)
    return Rows(
        family,
        "pairs of labels that could be exchanged",
        _rows(measured, family) if family else (),
        first_unmet((measured.model, NO_PREDICTIONS)),
    )


def _rows(measured: Measurements, family: int) -> Iterator[Row]:
    every = compared_pairs(measured)
    table = every.filter("passes")
    pairs = [_pair(measured, pair, family) for pair in table.iter_rows(named=True)]
    for leaning in leanings(table, uneven_answers(measured), measured.rounding.bins(NONE)):
        first, answer = leaning.rows[int(np.argmax(leaning.given))], leaning.answer
        if leaning.is_one_pair:
            pairs[first] = replace(
                pairs[first],
                asks=False,
                sentence=f"{pairs[first].sentence} "
                f"{_in_place(measured, answer['node'], 'any other label', '')}.",
                evidence={
                    **pairs[first].evidence,
                    "falsely_given": answer["falsely"],
                    "given_missed": answer["missed"],
                },
            )
            continue
        whole = _leaning(measured, answer, every, [pairs[row] for row in leaning.rows])
        yield whole
        for place in leaning.rows:
            pairs[place] = replace(pairs[place], folded_into=(whole.key,))
    yield from pairs


def _in_place(measured: Measurements, answer: int, of: str, most: str) -> str:
    """How often an answer is given in place of other labels, and another in place of it."""
    named = measured.hierarchy.describe(answer)
    return (
        f"The model answers {named} in place of {of} on {{falsely_given}} instances{most}"
        f"[; the reverse, another answer in place of {named}, is given on {{given_missed}}]"
    )


def _leaning(
    measured: Measurements, answer: Mapping[str, Any], every: pl.DataFrame, pairs: Sequence[Row]
) -> Row:
    """A row on an answer, with its pairs as parts, the one of largest excess first.

    Its sentence names the labels that are missed most often where it is given falsely: the most
    frequent ones of all exchanges, whether or not they are reported as pairs.
    """
    index, hierarchy, falsely = answer["node"], measured.hierarchy, answer["falsely"]
    node, ahead = hierarchy.nodes[index], pl.col("b") == index
    first = (
        every.filter(ahead | (pl.col("a") == index))
        .select(
            label=pl.when(ahead).then("a").otherwise("b"),
            given=pl.when(ahead).then("forth").otherwise("back"),
        )
        .filter(pl.col("given") > 0)
        .sort("given", "label", descending=[True, False])
        .head(len(_MOST))
    )
    told = zip(map(hierarchy.describe, first["label"]), _MOST, strict=False)
    most = ", ".join(f"{label} ({{{name}}})" for label, name in told)
    return Row(
        nodes=(node,),
        key=(node, LEANING),
        sentence=f"{_in_place(measured, index, 'another label', f'[, most often of {most}]')}. "
        "Either the labels leave it out, or the model gives it too readily.",
        evidence={
            "falsely_given": falsely,
            "given_missed": answer["missed"],
            "answers": answer["answers"],
            "labels": len(pairs),
            **dict(zip(_MOST, first["given"].to_list(), strict=False)),
            "q_value": answer["q_value"],
        },
        curator="Look at 20 of these instances (audit cases --sample 20). If the answer is "
        "right on 15 or more (95% interval from 53%), the labels leave it out; if on 5 or fewer "
        "(up to 47%), the model gives it too readily; between the two, look at 20 more.",
        data_user="Ask a second model or annotator, if there is one, whether it agrees. Until you "
        "know which it is, take neither this answer nor its absence among the labels for certain.",
        touched=falsely,
        strength=sum(pair.evidence["instances"] * pair.strength for pair in pairs) / falsely,
        beyond=times_limit(falsely / (falsely + answer["missed"]), FALSELY),
        parts=tuple(_leaning_part(node, pair) for pair in pairs[:TOP_PARTS]),
        cases=lambda: _instances(measured, _column(_by_label(measured)[2], index)),
    )


def _leaning_part(answer: str, pair: Row) -> Part:
    """One pair of an answer that the model leans to, the label in whose place it is given first."""
    ahead = pair.nodes[1] == answer
    evidence = {
        "instances": pair.evidence["instances"],
        "answered": pair.evidence["first_as_second" if ahead else "second_as_first"],
        "expected_exchanges": pair.evidence["expected_exchanges"],
    }
    return Part((pair.nodes[not ahead], answer), evidence)


def _pair(measured: Measurements, pair: Mapping[str, Any], family: int) -> Row:
    hierarchy, a, b, observed = measured.hierarchy, pair["a"], pair["b"], pair["observed"]
    first, second, relation = hierarchy.describe(a), hierarchy.describe(b), pair["relation"]
    _, low, _ = shrunk_ratio(np.array(float(observed)), np.array(pair["expected"]))

    def cases() -> IntArray:
        missed, false, _ = _by_label(measured)
        forth, back = (
            np.intersect1d(_column(missed, one), _column(false, other), assume_unique=True)
            for one, other in ((a, b), (b, a))
        )
        return _instances(measured, np.union1d(forth, back))

    return Row(
        nodes=(hierarchy.nodes[a], hierarchy.nodes[b]),
        sentence=f"{first} and {second} ({_RELATION[RELATIONS[relation]]}): {{instances}} "
        "{instances|instance|instances} with one of the two {instances|is|are} mistaken for the "
        "other"
        f"[, {{first_as_second}} for {second}][, {{second_as_first}} for {first}]"
        "[; chance would give {expected_exchanges}].",
        evidence={
            "instances": observed,
            "first_as_second": pair["forth"],
            "second_as_first": pair["back"],
            "expected_exchanges": pair["expected"],
            "q_value": pair["q_value"],
            "family": family,
        },
        curator="Look at the instances of both kinds, and whether the labels or the answers are "
        "right; if the two cannot be told apart from the input, say so in the release notes.",
        data_user="Report the two together, at their common ancestor, or add what tells them "
        "apart.",
        strength=pair["excess"] / observed,
        beyond=times_limit(float(low), 1.0),
        asks=RELATIONS[relation] != "cross_branch" and a not in hierarchy.branches,
        cases=cases,
    )


@once
def _by_label(measured: Measurements) -> tuple[csc_array, csc_array, csc_array]:
    """Instances that miss each label, on which it is false, and false in place of another."""
    model = measured.predicted
    by_instance = *mistakes(model.gold, model.decided), given(measured).falsely
    missed, false, falsely = (csc_array(part) for part in by_instance)
    return missed, false, falsely


def _column(matrix: csc_array, column: int) -> IntArray:
    return np.asarray(matrix.indices[slice(*matrix.indptr[column : column + 2])], np.int64)


def _instances(measured: Measurements, predicted: IntArray) -> IntArray:
    """The instances of some predictions, ascending."""
    return np.asarray(measured.predicted.predictions.rows[np.sort(predicted)])


@dataclass(frozen=True, eq=False)
class Leaning:
    """An answer that a model gives falsely more often than it misses it, and pairs that give it.

    Args:
        answer: Its line of `uneven_answers`.
        rows: Lines of the table of exchanged pairs most of whose exchanges give it, the one of
            largest excess first, shape (n_labels,).
        given: How many of the exchanges of each give it, same shape.
        is_one_pair: Whether one pair has most of these: that is the finding, and no leaning.
    """

    answer: Mapping[str, Any]
    rows: IntArray
    given: IntArray
    is_one_pair: bool


def leanings(table: pl.DataFrame, answers: pl.DataFrame, bins: Bins) -> Iterator[Leaning]:
    """The answers that a model leans to, or gives in one pair above all, in node order.

    A pair belongs to an answer where more than half of its exchanges give that answer, so that no
    pair belongs to two. An answer with fewer than `LEAST_PARTS` pairs is left out unless one pair
    has most of the exchanges that give it.
    """
    forth, back = pl.col("forth"), pl.col("back")
    parts = (
        table.with_row_index("row")
        .with_columns(
            node=pl.when(forth > back).then("b").when(back > forth).then("a"),
            given=pl.max_horizontal(forth, back),
        )
        .drop_nulls("node")
        .sort("node", "excess", "a", "b", descending=[False, True, False, False])
        .group_by("node", maintain_order=True)
        .agg("row", "given")
    )
    falsely, missed = bins.at_limit(pl.col("falsely"), pl.col("missed"))
    uneven = answers.filter(falsely >= FALSELY * (falsely + missed))
    for answer in uneven.join(parts, on="node", maintain_order="left").iter_rows(named=True):
        rows, times = (np.array(answer[name], np.int64) for name in ("row", "given"))
        is_one_pair = _is_one_pair(times, bins)
        if len(rows) >= LEAST_PARTS or is_one_pair:
            yield Leaning(answer, rows, times, is_one_pair)


def _is_one_pair(given: IntArray, bins: Bins) -> bool:
    """Whether one of some counts is more than `ONE_PAIR` of all, as limits read them."""
    top = int(np.argmax(given))
    least, most = bins.at_worst(given, given)
    return bool(least[top] > ONE_PAIR * (least[top] + most.sum() - most[top]))


CHECK = check_of_rows(
    "model_confuses",
    "Which labels does the model mistake for each other?",
    _confused,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    needs="instances",
    nodes="Label|Answer",
    evidence=Columns(
        count("instances falsely_given", "Times|Times", of=NONE),
        count("first_as_second second_as_first", "This way", of=NONE),
        total("expected_exchanges", "Expected"),
        count("given_missed answers labels", of=NONE),
        chance(f"{' '.join(_MOST)} q_value family"),
    ),
    of_parts=Columns(count("instances answered", of=NONE), total("expected_exchanges")),
    denominator="untold",
)
