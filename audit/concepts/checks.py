"""Checks of nodes by the state of their concept: absent, entangled with a sibling, or unused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Limit, Outcome
from audit.checks.shared.carriers import carrying
from audit.checks.shared.exchanged_pairs import exchanged_pairs, why_no_exchange
from audit.concepts.measurements import ConceptMeasurements
from audit.concepts.nodes_below import MISTAKES
from audit.concepts.representations import AnswersFrom
from audit.disclosure import Quantity, coarse, rounded, rounded_chance
from audit.measure.measure import Measurements
from audit.results.findings import (
    EXCHANGES,
    INSTANCES,
    NODE,
    Column,
    Finding,
    finding_id,
    times_limit,
)

CHANCE = 0.5
"""Area under the curve of an order by chance."""
UNIT = "nodes with eleven instances below and elsewhere (and groups where there are groups)"


def rows_in_state(measured: Measurements, state: str, q_value: str) -> pl.DataFrame:
    """Nodes in a state at the policy's rate, one of each chain; the surest first."""
    rate = measured.policy.false_discovery_rate.value
    return (
        measured.of(ConceptMeasurements)
        .nodes.filter(
            (pl.col("state") == state) & (pl.col(q_value) <= rate) & pl.col("folded_into").is_null()
        )
        .sort(q_value, "node")
    )


def findings_in_state(
    measured: Measurements,
    state: str,
    q_value: str,
    finding: Callable[[Measurements, Mapping[str, Any]], Finding],
) -> tuple[Finding, ...]:
    """A finding of each node in a state."""
    rows = rows_in_state(measured, state, q_value).iter_rows(named=True)
    return tuple(finding(measured, row) for row in rows)


def outcome(measured: Measurements, findings: tuple[Finding, ...], lacking: str = "") -> Outcome:
    """The outcome of a check on nodes; not applicable where no node could be tested."""
    tested = measured.of(ConceptMeasurements).nodes
    reason = (
        lacking if len(tested) else "no node has eleven instances (and groups) below and elsewhere"
    )
    counts = [int((tested["state"] == state).sum()) for state in ("no_power", "too_few")]
    texts = [f"; {words.format(n)}" for words, n in zip(_BESIDE, counts, strict=True) if n]
    return Outcome(len(tested), UNIT + "".join(texts), findings, not_applicable=reason)


AREA, MADE_UP = "Area under the curve", Column("Made-up concepts read", "made_up", of="draws")
"""What several of the checks have columns of."""
_BESIDE = (
    "the tests have no power for {}, of which no control is read",
    "{} have too few instances to be called absent",
)
"""What nodes are that can be neither found nor said to be read."""


def above_chance(high: float, limit: float) -> float:
    """How far below its limit an area stays, both counted from that of chance, for ``beyond``."""
    return times_limit(high - CHANCE, limit - CHANCE, below=True)


def described(measured: Measurements, node: str) -> str:
    """Id and title of a node."""
    return measured.hierarchy.describe(measured.hierarchy.index(node))


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with a label at or below the first node of a finding."""
    return carrying(measured, finding.nodes[0])


_ABSENT = "concept_absent"
_HARDLY = 0.6
"""Area up to which an order is hardly better than chance in words."""


def _run_absent(measured: Measurements) -> Outcome:
    """Report nodes that the probe orders below the limit, for sure, where a control is read."""
    return outcome(measured, findings_in_state(measured, "absent", "absent_q", _absent))


def _hardly(area: float) -> str:
    better = "hardly better than chance" if area < _HARDLY else "not much better than chance"
    return f"{better}[ (area under the curve {{readable}}, chance 0.5; {{instances}} instances)]"


def _control(row: Mapping[str, Any], parameters: Mapping[str, float]) -> str:
    """What the probe does read in as many instances."""
    if row["made_up"] >= parameters["enough"]:
        return (
            "a made-up concept of accuracy 0.9 in as many instances in {made_up} of {draws} tries"
        )
    return "other labels, cut down to as many instances, in {cut_down} of {draws} tries"


def _absent(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    tested = measured.of(ConceptMeasurements)
    n = row["instances"], tested.ledger["read"]
    return Finding(
        check=_ABSENT,
        severity="warning",
        nodes=(row["node"],),
        statement=f"On the layer “{tested.layer}”, a linear probe separates instances below "
        f"{described(measured, row['node'])} from others {_hardly(row['readable'])}, though it "
        f"reads {_control(row, tested.parameters)}.",
        evidence={
            "instances": coarse(*n),
            "readable": rounded(row["readable"], *n),
            "readable_low": rounded(row["readable_low"], *n),
            "readable_high": rounded(row["readable_high"], *n),
            "made_up": Quantity(row["made_up"]),
            **({} if row["cut_down"] is None else {"cut_down": Quantity(row["cut_down"])}),
            "draws": Quantity(int(tested.parameters["draws"])),
            "limit": Quantity(tested.parameters["limit"]),
            "q_value": rounded_chance(row["absent_q"], *n),
            "family": Quantity(row["family"]),
        },
        curator="Look at instances of the node beside others of its branch: if people cannot "
        "distinguish them by the model's input, the label says something that the data do "
        "not hold; merge it, or add what distinguishes it.",
        data_user="Do not expect this model to learn anything below the node from few examples; "
        "give it more instances, other inputs, or leave the node to people.",
        touched=row["instances"],
        strength=tested.parameters["limit"] - row["readable"],
        beyond=above_chance(row["readable_high"], tested.parameters["limit"]),
        key=(row["node"],),
    )


ABSENT = Check(
    _ABSENT,
    "Which labels can a linear probe not read, where it reads others as frequent?",
    _run_absent,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    reads=ConceptMeasurements,
    cases=cases,
    columns=(NODE, Column(AREA, "readable"), MADE_UP, INSTANCES),
)


Pair: TypeAlias = tuple[str, str]

_ENTANGLED = "concept_entangled"
_ANSWERS: Mapping[AnswersFrom, str] = {
    "representations": "The model’s answers, as they come with the representations,",
    "predictions": "The predictions of the run",
}


def _run_entangled(measured: Measurements) -> Outcome:
    """Report nodes that a linear probe cannot separate from their hardest sibling."""
    siblings = measured.of(ConceptMeasurements).nodes["sibling"].drop_nulls()
    lacking = "" if len(siblings) else "no two siblings have eleven instances each"
    return outcome(measured, tuple(_findings(measured)), lacking)


def _findings(measured: Measurements) -> Iterator[Finding]:
    """One finding for two siblings that are each other's hardest."""
    reported: set[frozenset[str]] = set()
    pairs = exchanged_pairs(measured).sort("excess", descending=True, maintain_order=True)
    for row in rows_in_state(measured, "entangled", "entangled_q").iter_rows(named=True):
        pair = frozenset((row["node"], row["sibling"]))
        if pair not in reported:
            reported.add(pair)
            yield _entangled(measured, row, _exchanged(measured, row, pairs))


def _exchanged(measured: Measurements, row: Mapping[str, Any], pairs: pl.DataFrame) -> list[Pair]:
    """Pairs with one label at or below the node, and the other at or below the sibling."""
    nodes, closure = measured.hierarchy.nodes, measured.hierarchy.closure
    ends = [[measured.hierarchy.index(row[end])] for end in ("node", "sibling")]
    own, other = (closure[:, end].toarray()[:, 0] > 0 for end in ends)
    a, b = pairs["a"].to_numpy(), pairs["b"].to_numpy()
    there = pairs.filter((own[a] & other[b]) | (own[b] & other[a]))
    return [(nodes[one], nodes[two]) for one, two in there.select("a", "b").iter_rows()]


def _entangled(measured: Measurements, row: Mapping[str, Any], exchanged: list[Pair]) -> Finding:
    tested = measured.of(ConceptMeasurements)
    return Finding(
        check=_ENTANGLED,
        severity="warning",
        nodes=(row["node"], row["sibling"]),
        statement=f"The layer “{tested.layer}” hardly separates {described(measured, row['node'])} "
        f"from its sibling {described(measured, row['sibling'])}: a linear probe orders their "
        "instances not much better than guessing[ (area under the curve {separable}, chance 0.5)], "
        "and a made-up concept of accuracy 0.9 in as many is read in {made_up} of {draws} tries."
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
        return f" No layer separates them[: “{row['best_layer']}” is best, {{best_separable}}]."
    return f" The layer “{row['best_layer']}” separates them[: {{best_separable}}]."


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


ENTANGLED = Check(
    _ENTANGLED,
    "Which labels does the representation not separate from a sibling?",
    _run_entangled,
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


_UNUSED = "concept_unused"


def _run_unused(measured: Measurements) -> Outcome:
    """Report nodes that a probe separates from their siblings much better than predictions do."""
    predicted = measured.of(ConceptMeasurements).nodes["predicted"].drop_nulls()
    lacking = (
        ""
        if len(predicted)
        else "no predictions of these instances were given, or no node has siblings"
    )
    return outcome(measured, findings_in_state(measured, "unused", "unused_q", _unused), lacking)


_SHOWN = ("probed", "predicted", "unused", "unused_low", "unused_high")


def _unused(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    tested = measured.of(ConceptMeasurements)
    n = row["instances"], tested.ledger["read"]
    return Finding(
        check=_UNUSED,
        severity="warning",
        nodes=(row["node"],),
        statement=f"The layer “{tested.layer}” separates {described(measured, row['node'])} from "
        "its siblings, but the model does not use this[: a linear probe has a balanced "
        "accuracy of {probed}, and the model’s answers have {predicted}, with "
        "{instances} instances below the node].",
        evidence={
            "instances": coarse(*n),
            **{name: rounded(row[name], *n) for name in _SHOWN},
            "q_value": rounded_chance(row["unused_q"], *n),
            "family": Quantity(row["family"]),
        },
        curator="Nothing to do in the data: they hold what distinguishes the node from its "
        "siblings.",
        data_user="Train the last layer again with balanced weights, or set a threshold for this "
        "node: the layer already has what this needs.",
        touched=row["instances"],
        strength=row["unused"],
        key=(row["node"],),
    )


UNUSED = Check(
    _UNUSED,
    "Which labels does the representation hold, but the predictions do not use?",
    _run_unused,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    reads=ConceptMeasurements,
    cases=cases,
    columns=(
        NODE,
        Column("Probe", "probed"),
        Column("Predictions", "predicted"),
        Column("Difference", "unused"),
        INSTANCES,
    ),
)
