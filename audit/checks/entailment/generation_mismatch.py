"""generation_mismatch: a generation set that is not the valid tuples of the detection set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.checks.entailment.edges import cases_of
from audit.engine.statistics.intervals import wilson
from audit.entailment.content.references import ELEMENTS
from audit.entailment.content.totals import ALL
from audit.measure.measure import Measurements
from audit.results.disclosure import coarse, count, derived
from audit.results.findings import Finding

_NAME = "generation_mismatch"
_TITLE = "Is the generation set the valid tuples of the detection set, and no more?"


def run(measured: Measurements) -> Outcome:
    """Report relations whose generation set lacks valid tuples, or has others."""
    table = measured.entailed.quality.generation_set
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
        "({share}), and has {more} that are no valid tuple of the detection set.",
        evidence={
            "instances": coarse(lacking, measured.n_instances),
            "lacking": count(lacking, valid),
            "of": coarse(valid, measured.n_instances),
            **{name: derived(value, "lacking") for name, value in shares.items()},
            "more": coarse(others, max(others, row["generation"])),
        },
        curator="Make the generation set anew from the valid tuples: "
        "audit entailment split --valid-only --shares 90:5:5 writes one.",
        data_user="Take the references from the detection set, and leave out what it does not "
        "hold.",
        touched=lacking,
        strength=(lacking + others) / max(valid + others, 1),
        key=(relation,),
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The valid tuples of the relation that the generation set lacks."""
    tuples = measured.entailed.dataset.tuples.filter("valid", relation=finding.key[0])
    positives = measured.entailed.positives
    if positives is None:
        return cases_of(measured, tuples.clear())
    generated = positives.tuples.filter("valid")
    return cases_of(measured, tuples.join(generated, on=ELEMENTS, how="anti"))


CHECK = Check(_NAME, _TITLE, run, needs="entailment", cases=cases)
