"""tail_mismatch: tuples whose elements do not fit each other."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.disclosure import coarse
from audit.entailment.checks.edges import (
    OF_RELATION,
    QUOTED,
    cases_of,
    quoted,
    quoted_apart,
    share_of,
)
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import Finding

_NAME = "tail_mismatch"
_SAID: Mapping[str, str] = MappingProxyType(
    {
        "instance_not_head": "an instance that is not the head",
        "tail_not_concept": "a tail that is not the concept",
        "head_lacks_instance": "an instance that is not a word of the head",
        "tail_repeats_head": "a tail that repeats the head",
        "tail_differs": "a tail that is not the head with its instance replaced by the concept",
    }
)


def run(measured: Measurements) -> Outcome:
    """Report each fault of each relation."""
    table = measured.of(EntailmentMeasurements).quality.consistency
    found = table.filter(pl.col("faulty") > 0).iter_rows(named=True)
    return Outcome(
        denominator=measured.of(EntailmentMeasurements).dataset.tuples.height,
        denominator_unit="tuples",
        findings=tuple(_finding(measured, row) for row in found),
    )


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    relation, fault = row["relation"], row["fault"]
    rows = _mismatches(measured, relation, fault).head(QUOTED)
    said = "; ".join(_case(case) for case in rows.iter_rows(named=True))
    lacking = fault == "head_lacks_instance"
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(relation,),
        statement=f"{{tuples}} of {{of}} tuples of {relation} ({{share}}) {{tuples|has|have}} "
        f"{_SAID[fault]}: {said}.",
        evidence={
            "instances": coarse(row["faulty"], measured.n_instances),
            **share_of("tuples", row["faulty"], row["tuples"], row),
        },
        curator="Find out where the instance was taken from, and correct the head or the instance."
        if lacking
        else "Look at a few, since the label was given for the text that annotators saw; then "
        "accept the proposed text, which --fix writes into a copy.",
        data_user="Leave these tuples out, or build the tail from the other elements: a model "
        "that reads the tail is asked about another text than the annotators were.",
        touched=row["faulty"],
        strength=row["share"],
        key=(relation, fault),
    )


def _case(case: Mapping[str, Any]) -> str:
    column, value, proposed = case["column"], case["value"], case["proposed"]
    if proposed is None:
        return f"{quoted(value)} in {quoted(case['head'])}"
    return f"{column} {' and not '.join(quoted_apart(value, proposed))}"


def _mismatches(measured: Measurements, relation: str, fault: str) -> pl.DataFrame:
    rows = measured.of(EntailmentMeasurements).quality.mismatches.filter(
        relation=relation, fault=fault
    )
    heads = measured.of(EntailmentMeasurements).dataset.tuples.select("id", "head")
    return rows.join(heads, on="id", maintain_order="left")


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The tuples of the relation with the fault."""
    return cases_of(measured, _mismatches(measured, *finding.key))


CHECK = Check(
    _NAME,
    "Do the elements of each tuple fit each other?",
    run,
    reads=EntailmentMeasurements,
    cases=cases,
    columns=OF_RELATION,
)
