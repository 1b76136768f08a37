"""concept_unused: nodes whose concept the tested layer holds and predictions do not use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.checks.check import Check, Limit, Outcome
from audit.concepts.checks.node_states import cases, described, findings_in_state, outcome
from audit.concepts.measurements import ConceptMeasurements
from audit.disclosure import Quantity, coarse, rounded
from audit.measure.measure import Measurements
from audit.results.findings import Finding

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


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    tested = measured.of(ConceptMeasurements)
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(row["node"],),
        statement=f"The layer {tested.layer} separates {described(measured, row['node'])} from "
        "its siblings, but the model does not use this: a linear probe has a balanced "
        "accuracy of {probed}, and the model’s answers have {predicted}, with "
        "{instances} instances below the node.",
        evidence={
            "instances": coarse(row["instances"], tested.ledger["read"]),
            "probed": rounded(row["probed"]),
            "predicted": rounded(row["predicted"]),
            "unused": rounded(row["unused"]),
            "unused_low": rounded(row["unused_low"]),
            "unused_high": rounded(row["unused_high"]),
            "q_value": Quantity(float(f"{row['unused_q']:.0e}")),
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
)
