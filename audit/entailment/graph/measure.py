"""Measure the graph that an entailment dataset states."""

from __future__ import annotations

import polars as pl

from audit.base.progress import Progress, silent
from audit.entailment.dataset import RELATIONS, EntailmentDataset
from audit.entailment.graph.chains import chain_counts, violation_table
from audit.entailment.graph.components import component_table, member_table
from audit.entailment.graph.concepts import concept_table
from audit.entailment.graph.condensation import (
    Condensation,
    redundant_table,
    shape_summary,
    shape_table,
)
from audit.entailment.graph.contradictions import contradiction_table
from audit.entailment.graph.measurements import EDGES, LINT, SUMMARY, WORDNET, GraphMeasurements
from audit.entailment.graph.neighbourhoods import neighbourhood_table
from audit.entailment.graph.text_graph import (
    DENIED,
    TextGraph,
    merged_contexts,
    stated_edges,
    text_graph,
)
from audit.entailment.graph.twins import twin_table
from audit.entailment.graph.wordnet import agreement_table
from audit.hierarchies.formats.wordnet import WordNet
from audit.hierarchies.lint.linting import lint_hierarchy


def measure_graph(
    dataset: EntailmentDataset, wordnet: WordNet | None = None, progress: Progress = silent
) -> GraphMeasurements:
    """Audit the graph of the edges from instances to concepts, relation by relation.

    Args:
        dataset: The tuples.
        wordnet: A WordNet to compare with.
        progress: Progress callback.

    Returns:
        Tables without rows for a dataset without tuples.
    """
    progress("building the graph")
    stated = stated_edges(dataset.tuples)
    by_context, merged = text_graph(stated), text_graph(merged_contexts(stated))
    condensation = Condensation(merged)
    progress("looking for cycles")
    components = component_table(merged, by_context)
    contradictions = contradiction_table(merged, by_context)
    progress("following chains")
    violations = violation_table(merged, by_context)
    redundant = redundant_table(merged)
    progress("comparing concepts")
    concepts = concept_table(merged)
    return GraphMeasurements(
        edges=merged.edges.select(pl.col(name).cast(kind) for name, kind in EDGES.items()),
        relations=_summary(dataset, condensation, components, redundant),
        shape=shape_table(condensation),
        components=components,
        contradictions=contradictions,
        violations=violations,
        redundant=redundant,
        concepts=concepts,
        twins=twin_table(condensation),
        wordnet=agreement_table(merged, wordnet) if wordnet else pl.DataFrame(schema=WORDNET),
        lint=_lint(condensation),
        neighbourhoods=neighbourhood_table(
            merged, components, contradictions, violations, concepts
        ),
        members=member_table(merged),
    )


def _summary(
    dataset: EntailmentDataset,
    condensation: Condensation,
    components: pl.DataFrame,
    redundant: pl.DataFrame,
) -> pl.DataFrame:
    graph = condensation.graph
    own = pl.col("instance") == pl.col("concept")
    table = dataset.tuples.group_by("relation").agg(
        tuples=pl.len(), self_edges=own.sum(), place=_place().first()
    )
    for further in (
        graph.texts.group_by("relation").agg(texts=pl.len()),
        _edge_counts(graph),
        components.group_by("relation").agg(
            components=pl.len(),
            synonym_components=pl.col("synonyms").sum(),
            texts_on_cycles=pl.col("texts").sum(),
        ),
        redundant.group_by("relation").agg(redundant_edges=pl.len()),
        chain_counts(graph),
        shape_summary(condensation),
    ):
        table = table.join(further, on="relation", how="left")
    counts = [name for name, kind in SUMMARY.items() if kind == pl.Int64]
    return (
        table.sort("place")
        .with_columns(pl.col(counts).fill_null(0))
        .select(pl.col(name).cast(kind) for name, kind in SUMMARY.items())
    )


def _place() -> pl.Expr:
    """The place of a relation in report order."""
    order = {relation: place for place, relation in enumerate(RELATIONS)}
    return pl.col("relation").replace_strict(order, default=len(order), return_dtype=pl.Int64)


def _edge_counts(graph: TextGraph) -> pl.DataFrame:
    valid = pl.col("valid") > 0
    return graph.edges.group_by("relation").agg(
        edges=pl.len(),
        valid_edges=valid.sum(),
        denied_edges=DENIED.sum(),
        contradictory_edges=(valid & (pl.col("invalid") > 0)).sum(),
    )


def _lint(condensation: Condensation) -> pl.DataFrame:
    """Columns `LINT`."""
    rows = [
        (hierarchy.name, one.rule, one.severity, len(one.cases), one.of, one.unit, one.cases[0])
        for hierarchy in condensation.hierarchies()
        for one in lint_hierarchy(hierarchy)
    ]
    return pl.DataFrame([(*row[:-1], list(row[-1])) for row in rows], schema=LINT, orient="row")
