"""concept_unused: nodes whose concept the tested layer holds and predictions do not use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.checks.check import Check, Limit, Outcome
from audit.concepts.checks.node_states import cases, described, findings_in_state, outcome
from audit.concepts.measurements import ConceptMeasurements
from audit.disclosure import Quantity, coarse, rounded, rounded_chance
from audit.measure.measure import Measurements
from audit.results.findings import INSTANCES, NODE, Column, Finding

_NAME = "concept_unused"


def run(measured: Measurements) -> Outcome:
    """Report nodes that a probe separates from their siblings much better than predictions do."""
    predicted = measured.of(ConceptMeasurements).nodes["predicted"].drop_nulls()
    lacking = (
        ""
        if len(predicted)
        else "no predictions of these instances were given, or no node has siblings"
    )
    return outcome(measured, findings_in_state(measured, "unused", "unused_q", _finding), lacking)


_SHOWN = ("probed", "predicted", "unused", "unused_low", "unused_high")


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    tested = measured.of(ConceptMeasurements)
    n = row["instances"], tested.ledger["read"]
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(row["node"],),
        statement=f"The layer {tested.layer} separates {described(measured, row['node'])} from "
        "its siblings, but the model does not use this: a linear probe has a balanced "
        "accuracy of {probed}, and the model’s answers have {predicted}, with "
        "{instances} instances below the node.",
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


CHECK = Check(
    _NAME,
    "Which labels does the representation hold, but the predictions do not use?",
    run,
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
