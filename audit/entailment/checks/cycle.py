"""cycle: texts that entail each other by valid edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.disclosure import coarse
from audit.entailment.checks.edges import arrows, cases_of, quoted, under, where_judged
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import Column, Finding

_NAME = "cycle"


def run(measured: Measurements) -> Outcome:
    """Report each strongly connected component of valid edges, with a shortest cycle."""
    graph = measured.of(EntailmentMeasurements).graph
    valid = int(graph.relations["valid_edges"].sum())
    tuples = _tuples(measured).group_by("relation", "first").len("tuples")
    table = graph.components.join(
        tuples, on=["relation", "first"], how="left", maintain_order="left"
    )
    return Outcome(
        denominator=valid,
        denominator_unit="valid edges",
        findings=tuple(_finding(measured, row) for row in table.iter_rows(named=True)),
        not_applicable="" if valid else "no tuple states a valid edge",
    )


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    total = measured.n_instances
    return Finding(
        check=_NAME,
        severity="warning" if row["one_context"] else "note",
        nodes=(row["relation"],),
        statement=_synonyms(row) if row["synonyms"] else _cycle(row),
        evidence={
            "instances": coarse(row["tuples"], total),
            "texts": coarse(row["texts"], total),
            "edges": coarse(row["edges"], total),
        },
        curator="If the texts say the same, give them one spelling; otherwise have the edges of "
        "the cycle judged again: at least one of them is wrong.",
        data_user="Merge these texts, or leave their edges out, before using the edges as a "
        "hierarchy.",
        touched=row["tuples"],
        key=(row["relation"], row["first"]),
    )


def _synonyms(row: Mapping[str, Any]) -> str:
    pair = " and ".join(map(quoted, row["cycle"][:2]))
    if row["texts"] == 2:
        return (
            f"{pair} entail each other by {{edges}} valid edges of {row['relation']}: they are "
            "stated to be synonyms."
        )
    return (
        f"{{texts}} texts of {row['relation']}, {pair} among them, are stated to be synonyms: each "
        "of their {edges} valid edges is valid in both directions."
    )


def _cycle(row: Mapping[str, Any]) -> str:
    return (
        f"{{texts}} texts of {row['relation']} entail each other by {{edges}} valid edges"
        f"{where_judged(row)}: {arrows(row['cycle'])}{under(row['head'])}."
    )


def _tuples(measured: Measurements) -> pl.DataFrame:
    """Valid tuples whose instance and concept are in one component, with its ``first`` text."""
    entailed = measured.of(EntailmentMeasurements)
    other = pl.col("instance") != pl.col("concept")
    tuples = entailed.dataset.tuples.filter(pl.col("valid") & other)
    for end in ("instance", "concept"):
        members = entailed.graph.members.rename({"text": end, "first": f"{end}_first"})
        tuples = tuples.join(members, on=["relation", end])
    return tuples.filter(pl.col("instance_first") == pl.col("concept_first")).rename(
        {"instance_first": "first"}
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The valid tuples between texts of the component."""
    relation, first = finding.key
    tuples = _tuples(measured)
    return cases_of(measured, tuples.filter(relation=relation, first=first))


CHECK = Check(
    _NAME,
    "Do any texts entail each other in a cycle?",
    run,
    reads=EntailmentMeasurements,
    cases=cases,
    columns=(
        Column("Cycle", "sentence"),
        Column("Texts", "texts"),
        Column("Edges", "edges"),
        Column("Tuples", "instances"),
    ),
)
