"""concept_absent: nodes whose instances the tested layer does not separate from others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.checks.check import Check, Limit, Outcome
from audit.concepts.checks.node_states import cases, described, findings_in_state, outcome
from audit.concepts.measurements import ConceptMeasurements
from audit.disclosure import Quantity, coarse, rounded
from audit.measure.measure import Measurements
from audit.results.findings import Finding

_NAME = "concept_absent"


def run(measured: Measurements) -> Outcome:
    """Report nodes whose linear probe is right on less than the limit of instances, for sure."""
    return outcome(measured, findings_in_state(measured, "absent", "absent_q", _finding))


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    tested = measured.of(ConceptMeasurements)
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(row["node"],),
        statement=f"The layer {tested.layer} hardly separates instances below "
        f"{described(measured, row['node'])} from others: a linear probe has a balanced "
        "accuracy of {readable}, where guessing has 0.5, with {instances} instances "
        "below the node.",
        evidence={
            "instances": coarse(row["instances"], tested.ledger["read"]),
            "readable": rounded(row["readable"]),
            "readable_low": rounded(row["readable_low"]),
            "readable_high": rounded(row["readable_high"]),
            "limit": Quantity(tested.parameters["limit"]),
            "q_value": Quantity(float(f"{row['absent_q']:.0e}")),
            "family": Quantity(row["family"]),
        },
        curator="Look at instances of the node beside others of its branch: if people cannot "
        "distinguish them by the model's input, the label says something that the data do "
        "not hold; merge it, or add what distinguishes it.",
        data_user="Do not expect this model to learn anything below the node from few examples; "
        "give it more instances, other inputs, or leave the node to people.",
        touched=row["instances"],
        strength=tested.parameters["limit"] - row["readable"],
        key=(row["node"],),
    )


CHECK = Check(
    _NAME,
    "Are there nodes whose concept the representation lacks?",
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    reads=ConceptMeasurements,
    cases=cases,
)
