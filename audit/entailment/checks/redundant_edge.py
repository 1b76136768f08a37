"""redundant_edge: valid edges that follow from others."""

from __future__ import annotations

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
    quoted,
    tuples_of,
)
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import Finding

_NAME = "redundant_edge"


def run(measured: Measurements) -> Outcome:
    """Report the redundant edges of each relation."""
    graph = measured.of(EntailmentMeasurements).graph
    valid = int(graph.relations["valid_edges"].sum())
    groups = graph.redundant.group_by("relation", maintain_order=True)
    return Outcome(
        denominator=valid,
        denominator_unit="valid edges",
        findings=tuple(_finding(measured, rows) for _, rows in groups),
        not_applicable="" if valid else "no tuple states a valid edge",
    )


def _finding(measured: Measurements, rows: pl.DataFrame) -> Finding:
    relation = rows["relation"][0]
    of = (
        measured.of(EntailmentMeasurements)
        .graph.relations.filter(relation=relation)["valid_edges"]
        .item()
    )
    tuples = len(tuples_of(measured, rows))
    said = "; ".join(
        f"{arrows((instance, concept))} by way of {quoted(through)}"
        for instance, through, concept in rows.head(QUOTED)
        .select("instance", "through", "concept")
        .iter_rows()
    )
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(relation,),
        statement=f"{{edges}} of {{of}} valid edges of {relation} ({{share}}) "
        f"{{edges|follows|follow}} from others: {said}. That is not wrong by "
        "itself, since people were asked about each.",
        evidence={
            "instances": coarse(tuples, measured.n_instances),
            **edges_of(len(rows), of),
        },
        curator="Nothing, unless the edges are to be used as a hierarchy; then leave these out, "
        "since each node needs only its nearest concepts.",
        data_user="Do not count these tuples as independent evidence, and keep them in the split "
        "of the edges that they follow from.",
        touched=tuples,
        strength=len(rows) / of,
        key=(relation,),
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The tuples that state one of the edges."""
    rows = measured.of(EntailmentMeasurements).graph.redundant.filter(
        pl.col("relation") == finding.key[0]
    )
    return cases_of(measured, tuples_of(measured, rows))


CHECK = Check(
    _NAME,
    "Do any valid edges follow from other valid edges?",
    run,
    reads=EntailmentMeasurements,
    cases=cases,
    columns=OF_RELATION,
)
