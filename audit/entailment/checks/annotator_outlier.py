"""annotator_outlier: annotators who agree with the others less than all others do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Limit, Outcome
from audit.disclosure import Quantity, coarse, count, derived
from audit.entailment.checks.edges import QUOTED, arrows, cases_of, quoted
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import SHARE, Column, Finding, times_limit

_NAME = "annotator_outlier"


def run(measured: Measurements) -> Outcome:
    """Report annotators whose rate of agreement is too low for chance, at the policy's rate."""
    tested = measured.of(EntailmentMeasurements).quality.annotators.drop_nulls("q_value")
    rate = measured.policy.false_discovery_rate.value
    found = tested.filter(pl.col("q_value") <= rate).sort("q_value", "annotator")
    return Outcome(
        denominator=len(tested),
        denominator_unit="annotators with enough votes",
        findings=tuple(_finding(measured, row, len(tested)) for row in found.to_dicts()),
        not_applicable="" if len(tested) else _lacking(measured),
    )


def _lacking(measured: Measurements) -> str:
    if measured.of(EntailmentMeasurements).dataset.votes.is_empty():
        return "it is not known who voted"
    least = measured.of(EntailmentMeasurements).quality.parameters["least_compared"]
    return (
        f"fewer than four annotators have {least:.0f} votes on tuples where the others have a "
        "majority"
    )


def _finding(measured: Measurements, row: Mapping[str, Any], family: int) -> Finding:
    tuples = _tuples(measured, row["annotator"])
    said = "; ".join(_case(case) for case in tuples.head(QUOTED).iter_rows(named=True))
    shares = {
        "share": "rate",
        "low": "low",
        "high": "high",
        "valid_share": "sensitivity",
        "invalid_share": "specificity",
    }
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(),
        statement=f"The annotator {quoted(row['annotator'])} agrees with the majority of the "
        "others on {agreeing} of {compared} tuples ({share}), all others on {others_share}. Dawid "
        "and Skene’s model has them find {valid_share} of valid and {invalid_share} of invalid "
        f"tuples. First disagreements: {said}.",
        evidence={
            "annotator": Quantity(quoted(row["annotator"])),
            "instances": coarse(len(tuples), measured.n_instances),
            "agreeing": count(row["agreeing"], row["compared"]),
            "compared": Quantity(row["compared"]),
            **{name: derived(row[column], "agreeing") for name, column in shares.items()},
            "others_share": derived(row["others"], "agreeing"),
            **{
                name: derived(row[name], "agreeing")
                for name in ("difference", "difference_low", "difference_high")
            },
            "q_value": derived(float(f"{row['q_value']:.0e}"), "agreeing"),
            "family": Quantity(family),
        },
        curator="Read some of these votes: if they show no care, discard all votes of this "
        "annotator and have the tuples judged again; if the others are wrong, keep them.",
        data_user="Count agreement and labels without this annotator too.",
        touched=len(tuples),
        strength=-row["difference"],
        beyond=times_limit(row["high"], row["others"], below=True),
        key=(row["annotator"],),
    )


def _case(case: Mapping[str, Any]) -> str:
    vote = "valid" if case["vote"] else "invalid"
    return f"{arrows((case['instance'], case['concept']))} is {vote}"


def _tuples(measured: Measurements, annotator: str) -> pl.DataFrame:
    """The tuples on which an annotator votes against the majority of the others."""
    votes = measured.of(EntailmentMeasurements).quality.dissents.filter(annotator=annotator)
    against = votes.select("id", vote="valid")
    return measured.of(EntailmentMeasurements).dataset.tuples.join(
        against, on="id", maintain_order="left"
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The tuples on which the annotator votes against the majority of the others."""
    return cases_of(measured, _tuples(measured, *finding.key))


CHECK = Check(
    _NAME,
    "Does an annotator agree with the others less than all others do?",
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    reads=EntailmentMeasurements,
    cases=cases,
    columns=(
        Column("Annotator", "annotator"),
        SHARE,
        Column("Others", "others_share"),
        Column("With the majority", "agreeing", of="compared"),
    ),
)
