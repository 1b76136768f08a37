"""generation_mismatch: a generation set that is not the valid tuples of the detection set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.disclosure import coarse, count, derived
from audit.engine.statistics.intervals import wilson
from audit.entailment.checks.edges import OF_RELATION, arrows, cases_of, quoted
from audit.entailment.content.references import beyond, wrongly_generated, wrongly_left_out
from audit.entailment.dataset import ALL
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import Finding

_NAME = "generation_mismatch"


def run(measured: Measurements) -> Outcome:
    """Report relations whose generation set lacks valid tuples, or has others."""
    table = measured.of(EntailmentMeasurements).quality.generation_set
    rows = table.filter(table["relation"] != ALL).to_dicts()
    return Outcome(
        denominator=sum(row["valid"] for row in rows),
        denominator_unit="valid tuples",
        findings=tuple(_finding(measured, row) for row in rows if _differs(row)),
        not_applicable="" if rows else "no generation set was given",
    )


def _differs(row: Mapping[str, Any]) -> bool:
    return bool(row["only_detection"] or row["only_generation"] or row["not_valid"])


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    relation, lacking, valid = row["relation"], row["only_detection"], row["valid"]
    low, high = wilson(lacking, valid) if valid else (0.0, 1.0)
    shares = {"share": lacking / valid if valid else 0.0, "low": low, "high": high}
    others = row["only_generation"] + row["not_valid"]
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(relation,),
        statement=f"The generation set lacks {{lacking}} of {{of}} valid tuples of {relation} "
        "({share}), and has {more} that are not valid tuples of the detection set."
        + "".join(_first_cases(measured, relation)),
        evidence={
            "instances": coarse(lacking, measured.n_instances),
            "lacking": count(lacking, valid),
            "of": coarse(valid, measured.n_instances),
            **{name: derived(value, "lacking") for name, value in shares.items()},
            "more": coarse(others, max(others, row["generation"])),
        },
        curator="Make the generation set anew from the valid tuples: "
        "audit entailment split --valid-only --shares 90:5:5 writes one.",
        data_user="Take the references from the detection set, and leave out tuples that it does "
        "not have.",
        touched=lacking,
        strength=(lacking + others) / max(valid + others, 1),
        key=(relation,),
    )


def _first_cases(measured: Measurements, relation: str) -> Iterator[str]:
    """The first tuple that is lacking, and the first that is too much, as sentences."""
    entailed = measured.of(EntailmentMeasurements)
    for said, differing in (("lacking", wrongly_left_out), ("too much", beyond)):
        tuples = differing(entailed.dataset, entailed.positives).filter(relation=relation)
        for row in tuples.head(1).iter_rows(named=True):
            edge = arrows((row["instance"], row["concept"]))
            yield f" The first that is {said}: {edge} in {quoted(row['head'])}."


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The valid tuples that the generation set lacks, and the denied ones that it has."""
    entailed = measured.of(EntailmentMeasurements)
    differing = [
        of(entailed.dataset, entailed.positives).filter(relation=finding.key[0])
        for of in (wrongly_left_out, wrongly_generated)
    ]
    return cases_of(measured, pl.concat(differing))


CHECK = Check(
    _NAME,
    "Does the generation set hold exactly the valid tuples of the detection set?",
    run,
    reads=EntailmentMeasurements,
    cases=cases,
    columns=OF_RELATION,
)
