"""model_confuses: pairs of labels that a model confuses more often than expected by chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from audit.alignment.measure import ModelMeasurements
from audit.base.dag import IntArray
from audit.checks.check import Check, Limit, Outcome
from audit.checks.shared.exchanged_pairs import (
    exchangeable_pairs,
    exchanged_pairs,
    why_no_exchange,
)
from audit.disclosure import Quantity, count, derived
from audit.engine.pairs.pair_counts import support
from audit.engine.scores.exchanges import mistakes
from audit.hierarchies.relations import RELATIONS
from audit.measure.measure import Measurements
from audit.results.findings import Finding, Part

_NAME = "model_confuses"
LEAST_LABELS = 3
"""Least number of labels in whose place a model gives an answer that it leans to."""
ONE_WAY = 0.75
"""Least share of a pair's exchanges in which the same one of the two is the answer."""
LEANING = "answer"
"""Last part of the key of a finding on an answer that the model leans to."""
_RELATION = {
    "sibling": "siblings",
    "overlap": "with a common node below them",
    "same_branch": "of one branch",
    "cross_branch": "of different branches",
}


def run(measured: Measurements) -> Outcome:
    """Report pairs of labels exchanged more often than their numbers of mistakes let expect.

    Neither label is an ancestor of the other. Pairs are ordered by the lower bound of their excess.
    Those of an answer that the model gives in place of several labels are folded into one finding.
    """
    why_not = why_no_exchange(measured)
    return Outcome(
        denominator=0 if why_not else exchangeable_pairs(measured),
        denominator_unit="pairs of labels that could be exchanged",
        findings=() if why_not else tuple(_findings(measured)),
        not_applicable=why_not,
    )


def _findings(measured: Measurements) -> Iterator[Finding]:
    model = measured.model
    assert model is not None
    table, family = exchanged_pairs(measured), exchangeable_pairs(measured)
    labels, alone = _labelled_alone(model, table), _is_single_label(model)
    pairs = [
        _finding(measured, row, of_labels, family, alone=alone)
        for row, of_labels in zip(table.iter_rows(named=True), labels, strict=True)
    ]
    for leaning in leanings(table):
        whole = _leaning(measured, leaning, [pairs[row] for row in leaning.rows])
        yield whole
        for row in leaning.rows:
            pairs[row] = replace(pairs[row], folded_into=(whole.id,))
    yield from pairs


def _leaning(measured: Measurements, leaning: Leaning, pairs: Sequence[Finding]) -> Finding:
    """One finding on an answer, with the numbers of the pair that has the largest excess."""
    answer, first = measured.hierarchy.nodes[leaning.answer], pairs[0]
    q_values = sorted(float(pair.evidence["q_value"].value or 0) for pair in pairs)
    return replace(
        first,
        key=(answer, LEANING),
        statement=f"The model leans to the answer {measured.hierarchy.describe(leaning.answer)}: "
        "it gives it in place of {labels} labels more often than expected, and seldom the other "
        f"way round. The largest excess is that of {first.statement}",
        evidence={
            **first.evidence,
            "q_value": replace(first.evidence["q_value"], value=q_values[LEAST_LABELS - 1]),
            "labels": Quantity(len(pairs)),
        },
        curator="Look at instances of these labels: is the label of the answer missing there, or "
        "does the model fall back on this answer? Say in the release notes which it is.",
        data_user="Read this answer with care: the model gives it where it misses other labels. "
        "Try a higher threshold for it, or weigh it less in training.",
        parts=tuple(_leaning_part(answer, pair) for pair in pairs),
    )


def _leaning_part(answer: str, pair: Finding) -> Part:
    """One pair of an answer that the model leans to, the label in whose place it is given first."""
    label, *_ = (node for node in pair.nodes if node != answer)
    ahead = pair.nodes[1] == answer
    evidence = {
        "instances": pair.evidence["instances"],
        "answered": pair.evidence["first_as_second" if ahead else "second_as_first"],
        "expected_exchanges": replace(
            pair.evidence["expected_exchanges"], sources=("instances", "answered")
        ),
    }
    return Part((label, answer), evidence)


def _is_single_label(model: ModelMeasurements) -> bool:
    """Whether no instance has two labels or two answers, so that an exchange is one mistake."""
    return all(int(np.diff(each.tocsr().indptr).max()) < 2 for each in (model.gold, model.decided))


def _labelled_alone(model: ModelMeasurements, table: pl.DataFrame) -> Iterator[tuple[int, ...]]:
    """Instances with one label of each pair and not the other, and with each of the two."""
    gold = model.gold.tocsc()
    labelled = support(model.gold)
    for a, b in table.select("a", "b").iter_rows():
        both = len(np.intersect1d(_rows(gold, a), _rows(gold, b), assume_unique=True))
        with_a, with_b = int(labelled[a]), int(labelled[b])
        yield with_a + with_b - 2 * both, with_a, with_b


def _finding(
    measured: Measurements,
    row: dict[str, Any],
    labelled: tuple[int, ...],
    family: int,
    *,
    alone: bool,
) -> Finding:
    hierarchy = measured.hierarchy
    first, second = hierarchy.describe(row["a"]), hierarchy.describe(row["b"])
    observed, (of, with_a, with_b) = row["observed"], labelled
    relation = RELATIONS[row["relation"]]
    counts = ("instances", "of", "first_as_second", "second_as_first")
    return Finding(
        check=_NAME,
        severity="warning" if relation == "cross_branch" and alone else "note",
        nodes=(hierarchy.nodes[row["a"]], hierarchy.nodes[row["b"]]),
        statement=f"{first} and {second}, {_RELATION[relation]}: the model answers one in place "
        "of the other on {instances} of {of} instances ({share}) labelled with just one of "
        "them[, where {expected_exchanges} are expected of labels mistaken as often]. On "
        "{first_as_second} of "
        "them the first is the label and the second the answer, on {second_as_first} it is the "
        "other way round.",
        evidence={
            "instances": count(observed, of),
            "of": count(of, measured.n_instances),
            "share": derived(observed / of, "instances", "of"),
            "first_as_second": count(row["forth"], observed, with_a),
            "second_as_first": count(row["back"], observed, with_b),
            "expected_exchanges": derived(row["expected"], *counts),
            "excess_at_least": derived(row["excess"], *counts),
            "q_value": derived(row["q_value"], *counts),
            "family": Quantity(family),
        },
        curator="Look at the instances of both kinds, and whether the labels or the answers are "
        "right; if the two cannot be told apart from the input, say so in the release notes.",
        data_user="Report the two together, at their common ancestor, or add what tells them "
        "apart.",
        touched=observed,
        strength=row["excess"] / observed,
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with one of the two as label and the other as answer.

    For a finding on an answer that the model leans to, those of the pair of largest excess.

    Returns:
        Their indices in the dataset, ascending, shape (n,); empty without predictions.
    """
    if measured.model is None:
        return np.empty(0, np.int64)
    model = measured.model
    missed, false = (part.tocsc() for part in mistakes(model.gold, model.decided))
    a, b = (measured.hierarchy.index(node) for node in finding.nodes)
    forth = np.intersect1d(_rows(missed, a), _rows(false, b), assume_unique=True)
    back = np.intersect1d(_rows(missed, b), _rows(false, a), assume_unique=True)
    return np.asarray(model.predictions.rows[np.union1d(forth, back)])


def _rows(matrix: Any, column: int) -> IntArray:
    return np.asarray(matrix.indices[slice(*matrix.indptr[column : column + 2])], np.int64)


@dataclass(frozen=True, eq=False)
class Leaning:
    """An answer that a model gives in place of several labels.

    Args:
        answer: Index of its node.
        rows: Lines of the table of exchanged pairs, the one of largest excess first, shape
            (n_labels,).
    """

    answer: int
    rows: IntArray


def leanings(table: pl.DataFrame) -> list[Leaning]:
    """The answers that a model leans to, in node order; empty where it leans to none.

    A pair belongs to an answer where at least `ONE_WAY` of its exchanges give that answer, so that
    no pair belongs to two; an answer needs `LEAST_LABELS` of them.

    Args:
        table: From `exchanged_pairs`.
    """
    one_way = ONE_WAY * pl.col("observed")
    answer = pl.when(pl.col("forth") >= one_way).then("b").when(pl.col("back") >= one_way).then("a")
    leaning = (
        table.with_row_index("row")
        .with_columns(answer=answer)
        .drop_nulls("answer")
        .sort("answer", "excess", "a", "b", descending=[False, True, False, False])
        .group_by("answer", maintain_order=True)
        .agg("row")
        .filter(pl.col("row").list.len() >= LEAST_LABELS)
    )
    return [Leaning(answer, rows.to_numpy()) for answer, rows in zip(*leaning, strict=True)]


CHECK = Check(
    _NAME,
    "Which labels does the model answer in place of each other?",
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    needs="instances",
    cases=cases,
)
