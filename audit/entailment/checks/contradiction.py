"""contradiction: edges that are stated as valid and as invalid, or denied within a cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.disclosure import coarse
from audit.entailment.checks.edges import (
    OF_RELATION,
    QUOTED,
    arrows,
    cases_of,
    edges_of,
    of_key,
    tuples_of,
    under,
    where_judged,
)
from audit.entailment.graph.text_graph import ACROSS, ONE
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import Finding

_NAME = "contradiction"


def run(measured: Measurements) -> Outcome:
    """Report contradictions of each relation: those under one head, and those across heads."""
    graph = measured.of(EntailmentMeasurements).graph
    edges = int(graph.relations["edges"].sum())
    groups = graph.contradictions.group_by("relation", "one_context", maintain_order=True)
    return Outcome(
        denominator=edges,
        denominator_unit="edges",
        findings=tuple(_finding(measured, rows) for _, rows in groups),
        not_applicable="" if edges else "no tuple states an edge",
    )


def _finding(measured: Measurements, rows: pl.DataFrame) -> Finding:
    first = rows.row(0, named=True)
    relation, one = first["relation"], first["one_context"]
    of = (
        measured.of(EntailmentMeasurements)
        .graph.relations.filter(relation=relation)["edges"]
        .item()
    )
    tuples = len(tuples_of(measured, rows))
    said = "; ".join(_case_in_words(row) for row in rows.head(QUOTED).iter_rows(named=True))
    return Finding(
        check=_NAME,
        severity="warning" if one else "note",
        nodes=(relation,),
        statement=f"{{edges}} of {{of}} edges of {relation} ({{share}}) {{edges|has|have}} "
        f"answers that contradict each other{where_judged(first)}: {said}.",
        evidence={
            "instances": coarse(tuples, measured.n_instances),
            **edges_of(len(rows), of),
        },
        curator="Have the tuples judged again side by side, and keep one answer."
        if one
        else "Look at a few: if the text means the same under both heads, have them judged again.",
        data_user="Leave these tuples out of training and test sets: whatever a model answers is "
        "wrong on some."
        if one
        else "Let the model read the head, and not the instance and the concept alone.",
        touched=tuples,
        strength=len(rows) / of,
        key=(relation, ONE if one else ACROSS),
    )


def _case_in_words(row: Mapping[str, Any]) -> str:
    edge = arrows((row["instance"], row["concept"]))
    if row["kind"] == "edge":
        return f"{edge} is valid and invalid{under(row['head'])}"
    return f"{edge} is invalid, though both lie on a cycle of valid edges{under(row['head'])}"


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """All tuples that state one of the edges."""
    rows = of_key(measured.of(EntailmentMeasurements).graph.contradictions, finding.key)
    return cases_of(measured, tuples_of(measured, rows))


CHECK = Check(
    _NAME,
    "Is any edge both valid and invalid?",
    run,
    reads=EntailmentMeasurements,
    cases=cases,
    columns=OF_RELATION,
)
