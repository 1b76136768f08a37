"""model_confuses: pairs of labels that a model confuses more often than expected by chance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from scipy.special import gammainc, gammaincinv

from audit.alignment.measure import ModelMeasurements
from audit.base.dag import IntArray
from audit.checks.check import Check, Limit, Outcome
from audit.engine.pairs.pair_counts import support
from audit.engine.scores.exchanges import Exchanges, mistakes
from audit.engine.statistics.association import TAIL
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.hierarchies.relations import RELATIONS, relate
from audit.measure.measure import Measurements
from audit.results.disclosure import Quantity, count, derived
from audit.results.findings import Finding

_NAME = "model_confuses"
_TITLE = "Which labels does the model answer in place of each other?"
_RELATION = {
    "sibling": "siblings",
    "overlap": "with a common node below them",
    "same_branch": "of one branch",
    "cross_branch": "of different branches",
}
LEAST_LABELS = 4
"""Least number of labels among the mistakes: with fewer, margins determine every exchange."""


def run(measured: Measurements) -> Outcome:
    """Report pairs of labels exchanged more often than their numbers of mistakes let expect.

    Neither label is an ancestor of the other. Pairs are ordered by the lower bound of their excess.
    """
    model = measured.model
    why_not = _why_not(measured, model)
    family = 0
    findings: tuple[Finding, ...] = ()
    if model is not None and not why_not:
        family = model.exchanges.family_size(measured.hierarchy.closure)
        findings = tuple(_findings(measured, model, family))
    return Outcome(
        denominator=family,
        denominator_unit="pairs of labels that could be exchanged",
        findings=findings,
        not_applicable=why_not,
    )


def _why_not(measured: Measurements, model: ModelMeasurements | None) -> str:
    """Why nothing can be judged; empty where something can."""
    if model is None:
        return "no predictions were given"
    found = model.exchanges
    if not found.family_size(measured.hierarchy.closure):
        return (
            "no power here: no instance has a missed label and a false answer of which neither "
            "lies above the other"
        )
    if _used(support(model.gold) + support(model.decided)) == 2:
        return "two labels are in use, and every exchange is one of the two"
    if (mistaken := _used(found.missed + found.false)) < LEAST_LABELS:
        return (
            f"no power here: the mistakes are among {mistaken} labels, and of fewer than "
            f"{LEAST_LABELS} the number of mistakes on each settles how often any two are exchanged"
        )
    return ""


def _used(counts: IntArray) -> int:
    return int(np.count_nonzero(counts))


def _findings(measured: Measurements, model: ModelMeasurements, family: int) -> Iterator[Finding]:
    table = _judged(measured, model.exchanges, family)
    table = table.filter(pl.col("q_value") <= measured.policy.false_discovery_rate.value)
    labels, alone = _labelled_alone(model, table), _one_each(model)
    for row, (of, with_a, with_b) in zip(table.iter_rows(named=True), labels, strict=True):
        yield _finding(measured, row, (of, with_a, with_b), family, alone=alone)


def _one_each(model: ModelMeasurements) -> bool:
    """Whether no instance has two labels or two answers, so that an exchange is one mistake."""
    return all(int(np.diff(each.tocsr().indptr).max()) < 2 for each in (model.gold, model.decided))


def _judged(measured: Measurements, found: Exchanges, family: int) -> pl.DataFrame:
    """Pairs that are exchanged at all: counts, expectation and q; the others have p = 1."""
    relation, _ = relate(measured.hierarchy, found.a, found.b)
    kept = relation != RELATIONS.index("ancestor")
    a, b, observed = found.a[kept], found.b[kept], found.observed[kept]
    expected = found.expected(a, b)
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
        }
    )


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
        statement=f"{first} and {second} ({_RELATION[relation]}): the model answers one in place "
        "of the other on {instances} of {of} instances ({share}) labelled with one of them[, where "
        "{expected_exchanges} are expected of labels mistaken as often]. On {first_as_second} of "
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


CHECK = Check(
    _NAME,
    _TITLE,
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    needs="instances",
    cases=cases,
)
