"""transitivity: edges that are denied though two valid ones lead along them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.disclosure import coarse
from audit.entailment.checks.edges import (
    EDGE,
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

_NAME = "transitivity"


def run(measured: Measurements) -> Outcome:
    """Report violations of each relation: those under one head, and those across heads."""
    graph = measured.of(EntailmentMeasurements).graph
    chains = int(graph.relations["chains"].sum())
    groups = graph.violations.group_by("relation", "one_context", maintain_order=True)
    return Outcome(
        denominator=chains,
        denominator_unit="chains of two valid edges",
        findings=tuple(_finding(measured, rows) for _, rows in groups),
        not_applicable="" if chains else "no valid edge begins where another ends",
    )


def _finding(measured: Measurements, rows: pl.DataFrame) -> Finding:
    first = rows.row(0, named=True)
    relation, one = first["relation"], first["one_context"]
    own = pl.col("relation") == relation
    summary = measured.of(EntailmentMeasurements).graph.relations.row(by_predicate=own, named=True)
    tuples = len(tuples_of(measured, _edges(rows)))
    said = "; ".join(_case_in_words(row) for row in rows.head(QUOTED).iter_rows(named=True))
    return Finding(
        check=_NAME,
        severity="warning" if one else "note",
        nodes=(relation,),
        statement=f"{{edges}} of {{of}} denied edges of {relation} ({{share}}) "
        f"{{edges|follows|follow}} from two valid ones{where_judged(first)}: {said}. Of the "
        "relation’s {chains} chains of two valid edges {open} {open|is|are} open: nobody judged "
        "whether the first text entails the last.",
        evidence={
            "instances": coarse(tuples, measured.n_instances),
            **edges_of(len(rows), summary["denied_edges"]),
            "chains": coarse(summary["chains"], summary["chains"]),
            "open": coarse(summary["chains_open"], summary["chains"]),
        },
        curator="Have the three edges of each case judged again together: one of the three answers "
        "is wrong, or a text means different things in them.",
        data_user="Do not complete the graph by following its edges before these are settled.",
        touched=tuples,
        strength=len(rows) / summary["denied_edges"],
        key=(relation, ONE if one else ACROSS),
    )


def _case_in_words(row: Mapping[str, Any]) -> str:
    path = arrows((row["instance"], row["through"], row["concept"]))
    denied = arrows((row["instance"], row["concept"]))
    return f"{path} is valid step by step, and {denied} is invalid{under(row['head'])}"


def _edges(rows: pl.DataFrame) -> pl.DataFrame:
    """The denied edge of each case and the two that it follows from."""
    ends = (("instance", "concept"), ("instance", "through"), ("through", "concept"))
    edges = [
        rows.select("relation", pl.col(child).alias(EDGE[1]), pl.col(parent).alias(EDGE[2]))
        for child, parent in ends
    ]
    return pl.concat(edges).unique()


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The tuples that state the denied edges, and the two that each follows from."""
    rows = of_key(measured.of(EntailmentMeasurements).graph.violations, finding.key)
    return cases_of(measured, tuples_of(measured, _edges(rows)))


CHECK = Check(
    _NAME,
    "Is any edge denied that follows from two valid ones?",
    run,
    reads=EntailmentMeasurements,
    cases=cases,
    columns=OF_RELATION,
)
