"""model_confuses: labels that a model answers in place of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, chance, count, total
from audit.checks.check import Limit, first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.exchanged_pairs import (
    answers_by_excess,
    compared_pairs,
    exchangeable_pairs,
)
from audit.engine.scores.exchanges import mistakes
from audit.engine.statistics.association import shrunk_ratio
from audit.hierarchies.relations import RELATIONS
from audit.measure.measure import Measurements, once
from audit.results.findings import NO_PREDICTIONS, times_limit

_RELATION = {
    "sibling": "siblings",
    "overlap": "which share a node below them",
    "same_branch": "of one branch",
    "cross_branch": "of different branches",
}


def _confused(measured: Measurements) -> Rows:
    """Report pairs of labels exchanged more often than their numbers of mistakes let expect.

    Neither label is an ancestor of the other. Pairs are ordered by their excess; what the model
    answers too often stands in a table before them.
    """
    family = exchangeable_pairs(measured)
    return Rows(
        family,
        "pairs of labels that could be exchanged",
        (
            _pair(measured, pair, family)
            for pair in compared_pairs(measured).filter("passes").iter_rows(named=True)
        ),
        first_unmet((measured.model, NO_PREDICTIONS)),
    )


def _pair(measured: Measurements, pair: Mapping[str, Any], family: int) -> Row:
    hierarchy, a, b, counted = measured.hierarchy, pair["a"], pair["b"], pair["counted"]
    first, second, relation = hierarchy.describe(a), hierarchy.describe(b), pair["relation"]
    _, low, _ = shrunk_ratio(np.array(float(counted)), np.array(pair["expected"]))
    grouped = measured.loaded.group_of is not None

    def cases() -> IntArray:
        missed, false = _by_label(measured)
        forth, back = (
            np.intersect1d(_column(missed, one), _column(false, other), assume_unique=True)
            for one, other in ((a, b), (b, a))
        )
        rows = measured.predicted.predictions.rows
        return np.asarray(rows[np.union1d(forth, back)])

    return Row(
        nodes=(hierarchy.nodes[a], hierarchy.nodes[b]),
        sentence=f"{first} and {second} ({_RELATION[RELATIONS[relation]]}): {{instances}} "
        "{instances|instance|instances} with one of the two {instances|is|are} mistaken for the "
        "other"
        f"[, {{first_as_second}} for {second}][, {{second_as_first}} for {first}]"
        f"{''.join(_mostly(measured, pair))}"
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
        curator="Look at the instances of both kinds, and whether the labels or the answers are "
        "right; if the two cannot be told apart from the input, say so in the release notes.",
        data_user="Report the two together, at their common ancestor, or add what tells them "
        "apart.",
        strength=pair["excess"] / pair["observed"],
        beyond=times_limit(float(low), 1.0),
        cases=cases,
    )


def _mostly(measured: Measurements, pair: Mapping[str, Any]) -> Iterator[str]:
    """That a pair is mostly one answer, which the model gives too often."""
    often, bins = set(answers_by_excess(measured)["node"]), measured.rounding.bins(NONE)
    for label, answer, ways in (("a", "b", ("forth", "back")), ("b", "a", ("back", "forth"))):
        given, other = bins.at_worst(*(np.array(pair[way]) for way in ways))
        if pair[answer] in often and given > other:
            one, instead = (measured.hierarchy.describe(pair[end]) for end in (answer, label))
            yield f", mostly {one} for {instead}"


@once
def _by_label(measured: Measurements) -> tuple[csc_array, csc_array]:
    """Predictions that miss each label, and on which it is false."""
    model = measured.predicted
    missed, false = (csc_array(part) for part in mistakes(model.gold, model.decided))
    return missed, false


def _column(matrix: csc_array, column: int) -> IntArray:
    return np.asarray(matrix.indices[slice(*matrix.indptr[column : column + 2])], np.int64)


CHECK = check_of_rows(
    "model_confuses",
    "Which labels does the model mistake for each other?",
    _confused,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
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
