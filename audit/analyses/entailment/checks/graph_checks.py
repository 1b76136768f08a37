"""Checks of the graph that tuples state: contradictions, cycles, chains, redundant edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.analyses.entailment.checks.edges import (
    EDGE,
    OF_EDGES,
    arrows,
    edge_of,
    entailment_check,
    of_key,
    quoted,
    quoted_cases,
    tuples_of,
    under,
    where_judged,
    with_bounds,
)
from audit.analyses.entailment.graph.text_graph import ACROSS, ONE
from audit.analyses.entailment.measure import EntailmentMeasurements, entailed_in
from audit.base.declared import NONE, Columns, count
from audit.checks.check import Outcome
from audit.measure.measure import Measurements
from audit.results.findings import Finding


def _run_contradiction(measured: Measurements) -> Outcome:
    """Report contradictions of each relation: those under one head, and those across heads."""
    frames = entailed_in(measured).frames
    edges = int(frames["graph_relations"]["edges"].sum())
    return Outcome(
        denominator=edges,
        denominator_unit="edges",
        findings=tuple(
            _contradiction(measured, rows) for rows in _alike(frames["graph_contradictions"])
        ),
        not_applicable="" if edges else "no tuple states an edge",
    )


def _alike(faults: pl.DataFrame) -> list[pl.DataFrame]:
    """Faults of one relation that lie all under one head, or all across heads."""
    return faults.partition_by("relation", "one_context", maintain_order=True)


def _contradiction(measured: Measurements, rows: pl.DataFrame) -> Finding:
    first, entailed = rows.row(0, named=True), entailed_in(measured)
    relation, one = first["relation"], first["one_context"]
    of, tuples = _of_relation(entailed, relation)["edges"], len(tuples_of(entailed, rows))
    return Finding(
        check=CONTRADICTION.name,
        severity="warning" if one else "note",
        nodes=(relation,),
        statement=f"{{edges}} of {{of}} edges of {relation} ({{share}}) {{edges|has|have}} "
        f"answers that contradict each other{where_judged(first)}: "
        f"{quoted_cases(rows, _contradicting)}.",
        evidence={
            "instances": tuples,
            **with_bounds("edges", len(rows), of),
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


def _contradicting(row: Mapping[str, Any]) -> str:
    if row["kind"] == "edge":
        return f"{edge_of(row)} is valid and invalid{under(row['head'])}"
    return (
        f"{edge_of(row)} is invalid, though both lie on a cycle of valid edges{under(row['head'])}"
    )


def _of_relation(entailed: EntailmentMeasurements, relation: str) -> dict[str, Any]:
    """The numbers of edges of a relation, and others."""
    own = pl.col("relation") == relation
    return entailed.frames["graph_relations"].row(by_predicate=own, named=True)


CONTRADICTION = entailment_check(
    "contradiction",
    "Is any edge both valid and invalid?",
    _run_contradiction,
    lambda entailed, finding: tuples_of(
        entailed, of_key(entailed.frames["graph_contradictions"], finding.key)
    ),
    Columns(OF_EDGES),
    "untold",
)


def _run_cycle(measured: Measurements) -> Outcome:
    """Report each strongly connected component of valid edges, with a shortest cycle."""
    entailed = entailed_in(measured)
    valid = int(entailed.frames["graph_relations"]["valid_edges"].sum())
    tuples = _within_components(entailed).group_by("relation", "first").len("tuples")
    table = entailed.frames["graph_components"].join(
        tuples, on=["relation", "first"], how="left", maintain_order="left"
    )
    return Outcome(
        denominator=valid,
        denominator_unit="valid edges",
        findings=tuple(_component(row) for row in table.iter_rows(named=True)),
        not_applicable="" if valid else "no tuple states a valid edge",
    )


def _component(row: Mapping[str, Any]) -> Finding:
    return Finding(
        check=CYCLE.name,
        severity="warning" if row["one_context"] else "note",
        nodes=(row["relation"],),
        statement=_synonyms(row) if row["synonyms"] else _cycle(row),
        evidence={
            "instances": row["tuples"],
            "texts": row["texts"],
            "edges": row["edges"],
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


def _within_components(entailed: EntailmentMeasurements) -> pl.DataFrame:
    """Valid tuples whose instance and concept are in one component, with its ``first`` text."""
    other = pl.col("instance") != pl.col("concept")
    tuples = entailed.dataset.tuples.filter(pl.col("valid") & other)
    for end in ("instance", "concept"):
        members = entailed.frames["graph_members"].rename({"text": end, "first": f"{end}_first"})
        tuples = tuples.join(members, on=["relation", end])
    return tuples.filter(pl.col("instance_first") == pl.col("concept_first")).rename(
        {"instance_first": "first"}
    )


CYCLE = entailment_check(
    "cycle",
    "Do any texts entail each other in a cycle?",
    _run_cycle,
    lambda entailed, finding: _within_components(entailed).filter(
        relation=finding.key[0], first=finding.key[1]
    ),
    Columns(count("instances"), count("texts edges", of=NONE)),
    "untold",
)


def _run_transitivity(measured: Measurements) -> Outcome:
    """Report violations of each relation: those under one head, and those across heads."""
    frames = entailed_in(measured).frames
    chains = int(frames["graph_relations"]["chains"].sum())
    return Outcome(
        denominator=chains,
        denominator_unit="chains of two valid edges",
        findings=tuple(_violation(measured, rows) for rows in _alike(frames["graph_violations"])),
        not_applicable="" if chains else "no valid edge begins where another ends",
    )


def _violation(measured: Measurements, rows: pl.DataFrame) -> Finding:
    first, entailed = rows.row(0, named=True), entailed_in(measured)
    relation, one = first["relation"], first["one_context"]
    summary, tuples = _of_relation(entailed, relation), len(_along_chains(entailed, rows))
    return Finding(
        check=TRANSITIVITY.name,
        severity="warning" if one else "note",
        nodes=(relation,),
        statement=f"{{edges}} of {{of}} denied edges of {relation} ({{share}}) "
        f"{{edges|follows|follow}} from two valid ones{where_judged(first)}: "
        f"{quoted_cases(rows, _denied)}. {{open}} of {{chains}} chains of two valid edges of the "
        "relation {open|is|are} open: nobody judged whether the first text entails the last.",
        evidence={
            "instances": tuples,
            **with_bounds("edges", len(rows), summary["denied_edges"]),
            "chains": summary["chains"],
            "open": summary["chains_open"],
        },
        curator="Have the three edges of each case judged again together: one of the three answers "
        "is wrong, or a text means different things in them.",
        data_user="Do not complete the graph by following its edges before these are settled.",
        touched=tuples,
        strength=len(rows) / summary["denied_edges"],
        key=(relation, ONE if one else ACROSS),
    )


def _denied(row: Mapping[str, Any]) -> str:
    path = arrows((row["instance"], row["through"], row["concept"]))
    return f"{path} is valid step by step, and {edge_of(row)} is invalid{under(row['head'])}"


def _along_chains(entailed: EntailmentMeasurements, rows: pl.DataFrame) -> pl.DataFrame:
    """The tuples of the denied edge of each case, and of the two that it follows from."""
    ends = (("instance", "concept"), ("instance", "through"), ("through", "concept"))
    edges = [
        rows.select("relation", pl.col(child).alias(EDGE[1]), pl.col(parent).alias(EDGE[2]))
        for child, parent in ends
    ]
    return tuples_of(entailed, pl.concat(edges).unique())


TRANSITIVITY = entailment_check(
    "transitivity",
    "Is any edge denied that follows from two valid ones?",
    _run_transitivity,
    lambda entailed, finding: _along_chains(
        entailed, of_key(entailed.frames["graph_violations"], finding.key)
    ),
    Columns(OF_EDGES, count("chains open", of=NONE)),
    "untold",
)


def _run_redundant_edge(measured: Measurements) -> Outcome:
    """Report the redundant edges of each relation."""
    frames = entailed_in(measured).frames
    valid = int(frames["graph_relations"]["valid_edges"].sum())
    groups = frames["graph_redundant"].group_by("relation", maintain_order=True)
    return Outcome(
        denominator=valid,
        denominator_unit="valid edges",
        findings=tuple(_redundant(measured, rows) for _, rows in groups),
        not_applicable="" if valid else "no tuple states a valid edge",
    )


def _redundant(measured: Measurements, rows: pl.DataFrame) -> Finding:
    relation, entailed = rows["relation"][0], entailed_in(measured)
    of, tuples = _of_relation(entailed, relation)["valid_edges"], len(tuples_of(entailed, rows))
    said = quoted_cases(rows, lambda row: f"{edge_of(row)} by way of {quoted(row['through'])}")
    return Finding(
        check=REDUNDANT_EDGE.name,
        severity="note",
        nodes=(relation,),
        statement=f"{{edges}} of {{of}} valid edges of {relation} ({{share}}) "
        f"{{edges|follows|follow}} from others: {said}. That is not wrong by "
        "itself, since people were asked about each.",
        evidence={
            "instances": tuples,
            **with_bounds("edges", len(rows), of),
        },
        curator="Nothing, unless the edges are to be used as a hierarchy; then leave these out, "
        "since each node needs only its nearest concepts.",
        data_user="Do not count these tuples as independent evidence, and keep them in the split "
        "of the edges that they follow from.",
        touched=tuples,
        strength=len(rows) / of,
        key=(relation,),
    )


REDUNDANT_EDGE = entailment_check(
    "redundant_edge",
    "Do any valid edges follow from other valid edges?",
    _run_redundant_edge,
    lambda entailed, finding: tuples_of(
        entailed, entailed.frames["graph_redundant"].filter(relation=finding.key[0])
    ),
    Columns(OF_EDGES),
    "untold",
)
