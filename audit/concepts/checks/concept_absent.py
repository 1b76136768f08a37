"""concept_absent: nodes that a linear probe does not read, where it reads others of their size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.checks.check import Check, Limit, Outcome
from audit.concepts.checks.node_states import (
    AREA,
    MADE_UP,
    above_chance,
    cases,
    described,
    findings_in_state,
    outcome,
)
from audit.concepts.measurements import ConceptMeasurements
from audit.disclosure import Quantity, coarse, rounded, rounded_chance
from audit.measure.measure import Measurements
from audit.results.findings import INSTANCES, NODE, Column, Finding

_NAME = "concept_absent"
_HARDLY = 0.6
"""Area up to which an order is hardly better than chance in words."""


def run(measured: Measurements) -> Outcome:
    """Report nodes that the probe orders below the limit, for sure, where a control is read."""
    return outcome(measured, findings_in_state(measured, "absent", "absent_q", _finding))


def _hardly(area: float) -> str:
    better = "hardly better than chance" if area < _HARDLY else "not much better than chance"
    return f"{better} (area under the curve {{readable}}, chance 0.5; {{instances}} instances)"


def _control(row: Mapping[str, Any], parameters: Mapping[str, float]) -> str:
    """What the probe does read in as many instances."""
    if row["made_up"] >= parameters["enough"]:
        return (
            "a made-up concept of accuracy 0.9 in as many instances in {made_up} of {draws} tries"
        )
    return "other labels, cut down to as many instances, in {cut_down} of {draws} tries"


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    tested = measured.of(ConceptMeasurements)
    n = row["instances"], tested.ledger["read"]
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(row["node"],),
        statement=f"On the layer {tested.layer}, a linear probe orders instances below "
        f"{described(measured, row['node'])} against others {_hardly(row['readable'])}, where it "
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


CHECK = Check(
    _NAME,
    "Which labels can a linear probe not read, where it reads others as frequent?",
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    reads=ConceptMeasurements,
    cases=cases,
    columns=(NODE, Column(AREA, "readable"), MADE_UP, INSTANCES),
)
