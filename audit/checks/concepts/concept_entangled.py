"""concept_entangled: nodes that the tested layer holds only together with a sibling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from audit.checks.check import Check, Limit, Outcome
from audit.checks.concepts.node_states import cases, described, outcome, rows_in_state
from audit.measure.measure import Measurements
from audit.results.disclosure import Quantity, coarse, rounded
from audit.results.findings import Finding

_NAME = "concept_entangled"
_TITLE = "Are there nodes that the representation does not separate from a sibling?"


def run(measured: Measurements) -> Outcome:
    """Report nodes that a linear probe cannot tell from their hardest sibling."""
    siblings = measured.tested.nodes["sibling"].drop_nulls()
    lacking = "" if len(siblings) else "no two siblings have ten instances each"
    return outcome(measured, tuple(_findings(measured)), lacking)


def _findings(measured: Measurements) -> Iterator[Finding]:
    """One finding for two siblings that are each other's hardest."""
    told: set[frozenset[str]] = set()
    for row in rows_in_state(measured, "entangled", "entangled_q").iter_rows(named=True):
        pair = frozenset((row["node"], row["sibling"]))
        if pair not in told:
            told.add(pair)
            yield _finding(measured, row)


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    tested = measured.tested
    total = tested.ledger["read"]
    mistakes = {
        name: coarse(row[name], total)
        for name in ("taken_for_sibling", "sibling_taken_for_it")
        if row[name] is not None
    }
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(row["node"], row["sibling"]),
        statement=f"The layer {tested.layer} hardly separates "
        f"{described(measured, row['node'])} from its sibling "
        f"{described(measured, row['sibling'])}: of the two alone, a linear probe has a balanced "
        f"accuracy of {{separable}}, guessing one of 0.5.{_of_layers(measured, row)}"
        f"{_of_answers(row)}",
        evidence={
            "instances": coarse(row["instances"], total),
            "sibling_instances": coarse(row["sibling_instances"], total),
            "separable": rounded(row["separable"]),
            "separable_low": rounded(row["separable_low"]),
            "separable_high": rounded(row["separable_high"]),
            "best_separable": rounded(row["best_separable"]),
            **mistakes,
            "limit": Quantity(tested.parameters["limit"]),
            "q_value": Quantity(float(f"{row['entangled_q']:.0e}")),
            "family": Quantity(row["family"]),
        },
        curator="Look at instances of both: if people cannot tell them apart from what the model "
        "is given, the release asks for a distinction that its data do not hold; merge the two, or "
        "say in the guidelines what tells them.",
        data_user="Do not rely on the model’s choice between the two; predict their parent, or "
        "train with examples that differ in nothing else.",
        touched=row["instances"],
        strength=tested.parameters["limit"] - row["separable"],
        key=(row["node"], row["sibling"]),
    )


def _of_layers(measured: Measurements, row: Mapping[str, Any]) -> str:
    tested = measured.tested
    if len(tested.layers) == 1 or row["best_separable"] is None:
        return ""
    if row["best_separable"] <= tested.parameters["limit"]:
        return f" No layer separates them: the best, {row['best_layer']}, has {{best_separable}}."
    return f" The layer {row['best_layer']} separates them: {{best_separable}}."


def _of_answers(row: Mapping[str, Any]) -> str:
    if not row["taken_for_sibling"] and not row["sibling_taken_for_it"]:
        return ""
    return (
        " The model’s answers take the first for the second on {taken_for_sibling} instances, and "
        "the second for the first on {sibling_taken_for_it}."
    )


CHECK = Check(
    _NAME,
    _TITLE,
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    needs="concepts",
    cases=cases,
)
