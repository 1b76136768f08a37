"""Measure explanations: with people, with each other, and by node."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from audit.analyses.explanations.agreement import ALL, HUMAN, Agreed, agreed, agreement_tables
from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.by_node import (
    by_node,
    compare_evidence,
    evidence_examples,
    node_results,
)
from audit.analyses.explanations.importance import (
    BY,
    accuracies,
    aligned_rows,
    correlate_with_accuracy,
    delta_a,
    with_q,
)
from audit.analyses.explanations.mixed_model import compare_models
from audit.analyses.explanations.oracles import (
    SOFT,
    oracle_agreement,
    with_examples,
    with_subsets,
)
from audit.analyses.explanations.plausibility import METRICS, judged_rows, plausibility
from audit.analyses.explanations.runs import run_differences
from audit.analyses.explanations.settings import Explaining
from audit.analyses.explanations.span_matches import span_scores
from audit.base.declared import schema
from audit.base.errors import InputError
from audit.base.progress import Progress, silent
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Found

ALIGNMENT, MASS, AGREEMENT = "importance_alignment", "mass_in_evidence", "agreement"
"""What nodes are compared by: C - C_R; the share of absolute scores inside the evidence, less the
share of tokens; agreement of all methods above that of random sets."""
_VALUES = schema(("id target model method measure", pl.String), ("value", pl.Float64))


def measure_explanations(
    attributions: Attributions,
    hierarchy: Hierarchy,
    node_of: Mapping[str, str],
    settings: Explaining,
    *,
    elsewhere: pl.DataFrame | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Found:
    """Measure attributions, and compare the nodes of the hierarchy.

    Args:
        attributions: Scores of tokens.
        hierarchy: Of the targets.
        node_of: The node of each target; those without one are in no comparison of nodes.
        settings: How they are measured; no file of it is read.
        elsewhere: From `audit.analyses.explanations.importance.read_accuracies`.
        seed: Seed of draws and ties.
        progress: Progress callback.

    Returns:
        The tables of `declared.TABLES` that there is evidence for; ``nodes``,
        columns `NODE_RESULTS`; no facts; behind them examples with evidence, columns `EXAMPLES`.

    Raises:
        InputError: If `compare_models` refuses, or lacks evidence.
    """
    informed, evidence, sizes = settings.informed, attributions.evidence, settings.sizes
    compared_with = settings.reference_model or next(iter(sizes), None)
    if (compared_with or elsewhere is not None) and evidence is None and not informed:
        raise InputError("models are compared by evidence", found="no evidence")
    progress("comparing scores with evidence and with each other")
    rows, frames = with_examples(attributions.rows), dict[str, pl.DataFrame]()
    compared, measures = dict[str, pl.DataFrame](), dict[str, pl.DataFrame]()
    found = agreed(attributions, compat=settings.compat, seed=seed)
    if evidence is not None or informed:
        aligned = aligned_rows(attributions, rows, informed, draws=settings.draws, seed=seed)
        frames["alignment"] = with_q(delta_a(aligned, BY))
        frames["oracles"] = oracle_agreement(attributions, rows, informed)
        by_seed = delta_a(aligned, [*BY, "seed"])
        accuracy = [correlate_with_accuracy(by_seed, accuracies(aligned))]
        if elsewhere is not None:
            deltas = by_seed if "seed" in elsewhere else frames["alignment"]
            told = pl.lit(elsewhere["data"][0])
            accuracy.append(correlate_with_accuracy(deltas, elsewhere).with_columns(data=told))
        frames["accuracy"] = pl.concat(accuracy)
        if compared_with:
            own = aligned.filter(settings.only)
            frames["models"] = compare_models(own, compared_with, sizes or None)
        difference = pl.col("difference").alias("value")
        compared[ALIGNMENT] = aligned.filter(pl.col("oracle") != SOFT).select("row", difference)
        for (oracle,), own in aligned.group_by("oracle", maintain_order=True):
            measures[f"alignment_{oracle}"] = own.select("row", difference)
    if evidence is not None:
        held = judged_rows(attributions, seed=seed)
        frames["plausibility"] = plausibility(held)
        frames["spans"] = span_scores(held if evidence.kind != "text" else held.clear())
        share = pl.col("mass_absolute") - pl.col("evidence") / pl.col("tokens")
        compared[MASS] = held.select("row", value=share)
        measures |= {name: held.select("row", value=name) for name in METRICS}
    frames |= agreement_tables(found)
    frames["runs"] = run_differences(attributions, settings.compat)
    progress("comparing nodes")
    node = pl.col("target").replace_strict(node_of, default=None, return_dtype=pl.String)
    kept = (
        with_subsets(rows.filter(~pl.col("borrowed"))).filter(settings.only).with_columns(node=node)
    )
    examples = evidence_examples(attributions, kept)
    frames["branches"] = by_node(_values(kept, compared, found), hierarchy)
    frames["evidence"] = compare_evidence(examples, hierarchy)
    frames["nodes"] = node_results(kept, hierarchy, measures, found)
    return Found(frames, {}, examples)


def _values(kept: pl.DataFrame, of_rows: Mapping[str, pl.DataFrame], found: Agreed) -> pl.DataFrame:
    """``id, target, model, method, measure, value`` by which nodes are compared; nodes as targets.

    Agreement is that of all methods, or of the one pair that there is, above its chance.
    """
    tables = [
        kept.join(values, on="row").with_columns(measure=pl.lit(name))
        for name, values in of_rows.items()
    ]
    sets = found.sets.with_row_index("set")
    chosen = sets.filter(pl.col("together") == ALL)
    chosen = sets.filter(pl.col("second") != HUMAN) if chosen.is_empty() else chosen
    if len(chosen):
        place, unit = int(chosen["set"][0]), ["id", "target", "model", "seed"]
        above = pl.Series(found.value[:, 0, place] - found.chance[:, 0, place])
        units = found.units.with_columns(value=above, method=pl.lit(ALL), measure=pl.lit(AGREEMENT))
        tables.append(units.join(kept.select(*unit, "node").unique(), on=unit))
    tables = [one.select(pl.col("node").alias("target"), pl.exclude("target")) for one in tables]
    return pl.concat([pl.DataFrame(schema=_VALUES), *(one.select(*_VALUES) for one in tables)])
