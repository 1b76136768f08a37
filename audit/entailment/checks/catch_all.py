"""catch_all: concepts that fit nearly anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.disclosure import Quantity, coarse, derived
from audit.entailment.checks.edges import cases_of, edges_of, quoted
from audit.entailment.graph.concepts import EXCESS, LEAST_EDGES, SHARE
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import SHARE as OF_EDGES
from audit.results.findings import Column, Finding, times_limit

_NAME = "catch_all"


def run(measured: Measurements) -> Outcome:
    """Report concepts with far more valid edges than comparable ones."""
    concepts = measured.of(EntailmentMeasurements).graph.concepts
    judged = int((concepts["edges"] >= LEAST_EDGES).sum())
    found = concepts.filter("catch_all").iter_rows(named=True)
    return Outcome(
        denominator=judged,
        denominator_unit="concepts with thirty valid edges",
        findings=tuple(_finding(measured, row) for row in found),
        not_applicable="" if judged else "no concept has thirty valid edges",
    )


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    tuples = len(_tuples(measured, row["relation"], row["concept"]))
    empty = " Its words name nothing in particular." if row["says_nothing"] else ""
    return Finding(
        check=_NAME,
        severity="warning" if row["says_nothing"] else "note",
        nodes=(row["relation"],),
        statement=f"{quoted(row['concept'])} is the concept of {{edges}} of {{of}} valid edges of "
        f"{row['relation']} ({{share}})[, {{excess}} times as many as the other concepts of its "
        f"instances have on average].{empty}",
        evidence={
            "concept": Quantity(quoted(row["concept"])),
            "instances": coarse(tuples, measured.n_instances),
            **edges_of(row["edges"], row["of"]),
            "typical": derived(row["typical"], "edges"),
            "excess": derived(row["excess"], "edges"),
            "share_limit": Quantity(SHARE),
            "excess_limit": Quantity(EXCESS),
        },
        curator="Have a more specific concept given in its place, or leave it out: annotators and "
        "models learn nothing from an answer that fits nearly everything.",
        data_user="Report results without this concept too: a model that always accepts it looks "
        "better than it is.",
        touched=tuples,
        strength=row["share"],
        beyond=min(times_limit(row["share"], SHARE), times_limit(row["excess"], EXCESS)),
        key=(row["relation"], row["concept"]),
    )


def _tuples(measured: Measurements, relation: str, concept: str) -> pl.DataFrame:
    tuples = measured.of(EntailmentMeasurements).dataset.tuples.filter(
        relation=relation, concept=concept
    )
    return tuples.filter(pl.col("valid") & (pl.col("instance") != pl.col("concept")))


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The valid tuples with the concept."""
    return cases_of(measured, _tuples(measured, *finding.key))


CHECK = Check(
    _NAME,
    "Does any concept fit nearly anything?",
    run,
    reads=EntailmentMeasurements,
    cases=cases,
    columns=(
        Column("Concept", "concept"),
        Column("Relation", "node"),
        OF_EDGES,
        Column("Edges", "edges", of="of"),
        Column("Times as many as others", "excess"),
    ),
)
