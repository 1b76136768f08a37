"""Measure explanations: with people, with each other, and by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from audit.base.errors import InputError
from audit.base.machine import cores, give_back_freed_memory
from audit.base.progress import Progress, silent
from audit.base.schemas import schema
from audit.explanations.agreement.agreement import ALL, Agreement, measure_agreement
from audit.explanations.agreement.agreement_values import HUMAN
from audit.explanations.agreement.plausibility import Plausibility, measure_plausibility
from audit.explanations.agreement.run_difference import RunDifference, measure_run_difference
from audit.explanations.agreement.top_tokens import Compat
from audit.explanations.attributions import Attributions
from audit.explanations.evidence_by_node import compare_evidence, evidence_examples
from audit.explanations.importance.delta_a import oracle_agreement
from audit.explanations.importance.importance import (
    CORRELATION,
    DRAWS,
    ImportanceAlignment,
    accuracies,
    alignment_by_seed,
    correlate_with_accuracy,
    importance_alignment,
)
from audit.explanations.importance.model_comparison import Kinds, compare_models
from audit.explanations.importance.oracles import Subset, examples_of, members
from audit.explanations.node_results import by_node, node_results
from audit.hierarchies.hierarchy import Hierarchy

ALIGNMENT, MASS, AGREEMENT = "importance_alignment", "mass_in_evidence", "agreement"
"""What nodes are compared by: C - C_R; the share of absolute scores inside the evidence, less the
share of tokens; agreement of all methods above its null."""


@dataclass(frozen=True, eq=False)
class ExplanationMeasurements:
    """Everything that checks and reports may read of explanations.

    Args:
        attributions: What was read.
        only: The examples that nodes are compared by.
        alignment: Importance alignment; None without evidence and without informed models.
        oracles: How far oracles agree, columns of `oracle_agreement`; empty without two.
        accuracy: Delta-A with accuracy, a point per model and seed, columns of
            `correlate_with_accuracy`.
        agreement: Agreement of methods with each other and with people.
        plausibility: Scores against evidence; None without evidence.
        runs: Differences of runs.
        models: Models beside a reference model, columns of `compare_models`; None without one.
        values: ``id, target, model, method, measure, value``: what `branches` is made of; targets
            are nodes.
        branches: What nodes are compared by, columns `audit.explanations.node_results.BRANCHES`.
        nodes: Every measure by node, columns of `node_results`.
        examples: Examples with evidence, columns `audit.explanations.evidence_by_node.EXAMPLES`.
        evidence: How far scores follow evidence by node, columns `EVIDENCE` there.
    """

    attributions: Attributions
    only: Subset
    alignment: ImportanceAlignment | None
    oracles: pl.DataFrame
    accuracy: pl.DataFrame
    agreement: Agreement
    plausibility: Plausibility | None
    runs: RunDifference
    models: pl.DataFrame | None
    values: pl.DataFrame
    branches: pl.DataFrame
    nodes: pl.DataFrame
    examples: pl.DataFrame
    evidence: pl.DataFrame

    @cached_property
    def instances(self) -> int:
        """Number of instances with a value."""
        return self.values["id"].n_unique()

    @cached_property
    def several_models(self) -> bool:
        """Whether the values are of more than one model."""
        return self.values["model"].n_unique() > 1


def measure_explanations(
    attributions: Attributions,
    hierarchy: Hierarchy,
    node_of: Mapping[str, str],
    *,
    elsewhere: pl.DataFrame | None = None,
    informed: Mapping[str, Sequence[str]] | None = None,
    reference_model: str | None = None,
    sizes: Kinds | None = None,
    only: Subset = "all",
    draws: int = DRAWS,
    compat: Compat = None,
    seed: int = 0,
    progress: Progress = silent,
) -> ExplanationMeasurements:
    """Measure attributions, and compare the nodes of the hierarchy.

    Args:
        attributions: Scores of tokens.
        hierarchy, node_of: Of the targets; those without a node are in no comparison of nodes.
        elsewhere: From `read_accuracies`.
        informed, reference_model, sizes, only, draws, compat: As in `Explaining`.
        seed: Seed of draws, ties and permutations.
        progress: Progress callback.

    Raises:
        InputError: If `compare_models` refuses, or lacks evidence.
    """
    comparing = reference_model or sizes or elsewhere is not None
    if comparing and attributions.evidence is None and not informed:
        raise InputError("models are compared by evidence", found="no evidence")
    progress("comparing scores with evidence and with each other")
    agreement, alignment, plausibility = _compared(attributions, informed, draws, compat, seed)
    give_back_freed_memory()
    progress("comparing nodes")
    kept = _compared_rows(attributions, only)
    examples = evidence_examples(attributions, kept, node_of)
    values = _values(kept, node_of, alignment, agreement, plausibility)
    return ExplanationMeasurements(
        attributions=attributions,
        only=only,
        alignment=alignment,
        **_of_oracles(attributions, alignment, informed, elsewhere),
        agreement=agreement,
        plausibility=plausibility,
        runs=measure_run_difference(attributions, compat=compat),
        models=_models(alignment, reference_model, only, sizes),
        values=values,
        branches=by_node(values, hierarchy),
        nodes=node_results(kept, node_of, hierarchy, alignment, plausibility, agreement),
        examples=examples,
        evidence=compare_evidence(examples, hierarchy),
    )


def _compared(
    attributions: Attributions,
    informed: Mapping[str, Sequence[str]] | None,
    draws: int,
    compat: Compat,
    seed: int,
) -> tuple[Agreement, ImportanceAlignment | None, Plausibility | None]:
    """Scores beside each other, and beside evidence where there is any, in two threads."""
    with ThreadPoolExecutor(cores()) as threads:
        agreeing = threads.submit(measure_agreement, attributions, compat=compat, seed=seed)
        alignment = plausibility = None
        if attributions.evidence is not None or informed:
            alignment = importance_alignment(
                attributions, informed=informed, draws=draws, seed=seed
            )
        if attributions.evidence is not None:
            plausibility = measure_plausibility(attributions, seed=seed)
        return agreeing.result(), alignment, plausibility


def _of_oracles(
    attributions: Attributions,
    alignment: ImportanceAlignment | None,
    informed: Mapping[str, Sequence[str]] | None,
    elsewhere: pl.DataFrame | None,
) -> dict[str, pl.DataFrame]:
    """How oracles agree, and Delta-A with accuracy, here and on other data where it is told."""
    oracles = oracle_agreement(attributions, informed=informed)
    if alignment is None:
        return {"oracles": oracles, "accuracy": pl.DataFrame(schema=CORRELATION)}
    by_seed = alignment_by_seed(alignment.rows)
    tables = [correlate_with_accuracy(by_seed, accuracies(attributions, informed))]
    if elsewhere is not None:
        deltas = by_seed if "seed" in elsewhere else alignment.summary
        told = pl.lit(elsewhere["data"][0])
        tables.append(correlate_with_accuracy(deltas, elsewhere).with_columns(data=told))
    return {"oracles": oracles, "accuracy": pl.concat(tables)}


_VALUES = schema(("id target model method measure", pl.String), ("value", pl.Float64))


def _models(
    alignment: ImportanceAlignment | None,
    reference: str | None,
    only: Subset,
    sizes: Kinds | None,
) -> pl.DataFrame | None:
    compared_with = reference or next(iter(sizes or ()), None)
    if alignment is None or compared_with is None:
        return None
    return compare_models(alignment.rows, compared_with, only, sizes)


def _compared_rows(attributions: Attributions, only: Subset) -> pl.DataFrame:
    """The rows that nodes are compared by, with their place as ``row``."""
    rows = attributions.rows.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    own = rows.filter(~pl.col("borrowed").fill_null(False))
    return own.filter(members(own, examples_of(own).of_row)[only])


def _values(
    kept: pl.DataFrame,
    node_of: Mapping[str, str],
    alignment: ImportanceAlignment | None,
    agreement: Agreement,
    plausibility: Plausibility | None,
) -> pl.DataFrame:
    """As in `ExplanationMeasurements`."""
    of_rows: dict[str, pl.DataFrame] = {}
    if alignment is not None:
        people = alignment.rows.filter(pl.col("oracle") != "soft")
        of_rows[ALIGNMENT] = people.select("row", value="difference")
    if plausibility is not None:
        share = pl.col("mass_absolute") - pl.col("evidence") / pl.col("tokens")
        of_rows[MASS] = plausibility.rows.select("row", value=share)
    tables = [
        kept.join(values.with_columns(pl.col("row").cast(pl.Int64)), on="row").with_columns(
            measure=pl.lit(name)
        )
        for name, values in of_rows.items()
    ]
    tables += [_agreement(agreement, kept)]
    values = pl.concat([pl.DataFrame(schema=_VALUES), *(one.select(*_VALUES) for one in tables)])
    node = pl.col("target").replace_strict(node_of, default=None, return_dtype=pl.String)
    return values.with_columns(node)


def _agreement(agreement: Agreement, rows: pl.DataFrame) -> pl.DataFrame:
    """Agreement of all methods, or of the one pair that there is, above its null."""
    which = pl.col("together") == ALL if len(agreement.methods) > 2 else pl.col("second") != HUMAN
    tables = (one.filter(which) for one in agreement.of_units())
    chosen = next((one for one in tables if not one.is_empty()), None)
    if chosen is None:
        return pl.DataFrame(schema=_VALUES)
    keys = ["id", "target", "model", "seed"]
    units = agreement.units.join(rows.select(keys).unique(), on=keys)
    return units.join(chosen, on="unit").select(
        "id",
        "target",
        "model",
        method=pl.lit(ALL),
        measure=pl.lit(AGREEMENT),
        value=pl.col("dynamic") - pl.col("chance_sizes"),
    )
