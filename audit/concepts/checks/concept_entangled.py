"""concept_entangled: nodes that the tested layer holds only together with a sibling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import polars as pl

from audit.checks.check import Check, Limit, Outcome
from audit.checks.shared.exchanged_pairs import exchanged_pairs, why_no_exchange
from audit.concepts.answers import MISTAKES
from audit.concepts.checks.node_states import (
    AREA,
    MADE_UP,
    above_chance,
    cases,
    described,
    outcome,
    rows_in_state,
)
from audit.concepts.measurements import ConceptMeasurements
from audit.concepts.representations import AnswersFrom
from audit.disclosure import Quantity, coarse, rounded, rounded_chance
from audit.measure.measure import Measurements
from audit.results.findings import EXCHANGES, INSTANCES, NODE, Column, Finding, finding_id

Pair: TypeAlias = tuple[str, str]

_NAME = "concept_entangled"
_ANSWERS: Mapping[AnswersFrom, str] = {
    "representations": "The model’s answers, as they come with the representations,",
    "predictions": "The predictions of the run",
}


def run(measured: Measurements) -> Outcome:
    """Report nodes that a linear probe cannot separate from their hardest sibling."""
    siblings = measured.of(ConceptMeasurements).nodes["sibling"].drop_nulls()
    lacking = "" if len(siblings) else "no two siblings have ten instances each"
    return outcome(measured, tuple(_findings(measured)), lacking)


def _findings(measured: Measurements) -> Iterator[Finding]:
    """One finding for two siblings that are each other's hardest."""
    reported: set[frozenset[str]] = set()
    pairs = exchanged_pairs(measured).sort("excess", descending=True, maintain_order=True)
    for row in rows_in_state(measured, "entangled", "entangled_q").iter_rows(named=True):
        pair = frozenset((row["node"], row["sibling"]))
        if pair not in reported:
            reported.add(pair)
            yield _finding(measured, row, _exchanged(measured, row, pairs))


def _exchanged(measured: Measurements, row: Mapping[str, Any], pairs: pl.DataFrame) -> list[Pair]:
    """Pairs with one label at or below the node, and the other at or below the sibling."""
    nodes, closure = measured.hierarchy.nodes, measured.hierarchy.closure
    ends = [[measured.hierarchy.index(row[end])] for end in ("node", "sibling")]
    own, other = (closure[:, end].toarray()[:, 0] > 0 for end in ends)
    a, b = pairs["a"].to_numpy(), pairs["b"].to_numpy()
    there = pairs.filter((own[a] & other[b]) | (own[b] & other[a]))
    return [(nodes[one], nodes[two]) for one, two in there.select("a", "b").iter_rows()]


def _finding(measured: Measurements, row: Mapping[str, Any], exchanged: list[Pair]) -> Finding:
    tested = measured.of(ConceptMeasurements)
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(row["node"], row["sibling"]),
        statement=f"The layer {tested.layer} hardly separates {described(measured, row['node'])} "
        f"from its sibling {described(measured, row['sibling'])}: a linear probe orders their "
        "instances with an area under the curve of {separable}, where guessing has 0.5 and a "
        "made-up concept of accuracy 0.9 in as many of them is read in {made_up} of {draws} tries."
        f"{_of_layers(measured, row)}{_of_answers(tested.answers_from, row)}"
        f"{_of_exchanges(measured, row, exchanged)}",
        evidence=_evidence(measured, row, exchanged),
        curator="Look at instances of both: if people cannot distinguish them by the model's "
        "input, the release makes a distinction that its data do not hold; merge the two, "
        "or say in the guidelines what distinguishes them.",
        data_user="Do not rely on the model’s choice between the two; predict their parent, or "
        "train with examples that differ in nothing else.",
        touched=row["instances"],
        strength=tested.parameters["limit"] - row["separable"],
        beyond=above_chance(row["separable_high"], tested.parameters["limit"]),
        key=(row["node"], row["sibling"]),
    )


def _evidence(
    measured: Measurements, row: Mapping[str, Any], exchanged: list[Pair]
) -> dict[str, Quantity]:
    tested = measured.of(ConceptMeasurements)
    counts, total = ("instances", "sibling_instances", *MISTAKES), tested.ledger["read"]
    n = row["instances"], total
    evidence = {name: coarse(row[name], total) for name in counts if row[name] is not None}
    if not why_no_exchange(measured):
        evidence["confused_pairs"] = Quantity(len(exchanged))
    accuracies = ("separable", "separable_low", "separable_high", "best_separable")
    return {
        **evidence,
        **{name: rounded(row[name], *n) for name in accuracies},
        "made_up": Quantity(row["pair_made_up"]),
        "draws": Quantity(int(tested.parameters["draws"])),
        "limit": Quantity(tested.parameters["limit"]),
        "q_value": rounded_chance(row["entangled_q"], *n),
        "family": Quantity(row["family"]),
    }


def _of_layers(measured: Measurements, row: Mapping[str, Any]) -> str:
    tested = measured.of(ConceptMeasurements)
    if len(tested.layers) == 1 or row["best_separable"] is None:
        return ""
    if row["best_separable"] <= tested.parameters["limit"]:
        return f" No layer separates them: the best, {row['best_layer']}, has {{best_separable}}."
    return f" The layer {row['best_layer']} separates them: {{best_separable}}."


def _of_answers(source: AnswersFrom | None, row: Mapping[str, Any]) -> str:
    if source is None or not (row["taken_for_sibling"] or row["sibling_taken_for_it"]):
        return ""
    return (
        f" {_ANSWERS[source]} have the second in place of the first on {{taken_for_sibling}} "
        "instances, and the first in place of the second on {sibling_taken_for_it}."
    )


def _of_exchanges(measured: Measurements, row: Mapping[str, Any], exchanged: list[Pair]) -> str:
    """What `model_confuses` says of the predictions of the run; it may be judged anew later."""
    if not exchanged:
        return ""
    rate = measured.policy.false_discovery_rate.value
    sentence = f" At a false discovery rate of {rate:g}, the check {EXCHANGES} reports"
    same = [one for one in exchanged if set(one) == {row["node"], row["sibling"]}]
    if same:
        return f"{sentence} the same two: {finding_id(EXCHANGES, *same[0])}."
    first = finding_id(EXCHANGES, *exchanged[0])
    return f"{sentence} {{confused_pairs}} pairs of labels below the two, first {first}."


CHECK = Check(
    _NAME,
    "Which labels does the representation not separate from a sibling?",
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    reads=ConceptMeasurements,
    cases=cases,
    columns=(
        NODE,
        Column("Sibling", "other"),
        Column(AREA, "separable"),
        MADE_UP,
        Column("At the best layer", "best_separable"),
        Column("Answered as the sibling", "taken_for_sibling"),
        INSTANCES,
    ),
)
