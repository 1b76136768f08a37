"""Measure an entailment graph: the dataset, the graph, and predictions on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from audit.analyses.entailment.consistency import consistency, repeats, shared_keys
from audit.analyses.entailment.dataset import EntailmentDataset, totals
from audit.analyses.entailment.dataset_counts import (
    THRESHOLD,
    diversity,
    generation_set,
    references,
)
from audit.analyses.entailment.detection import measure_detection
from audit.analyses.entailment.generation import measure_generation
from audit.analyses.entailment.graph.measure import measure_graph
from audit.analyses.entailment.predictions import together
from audit.analyses.entailment.votes import (
    CARRYING,
    REPLICATES,
    agreement,
    weak_labels,
)
from audit.base.progress import Progress, silent
from audit.data.records import Records
from audit.measure.measure import Measurements

PARAMETERS = {
    "unique_at_most": THRESHOLD,
    "carrying_share": CARRYING,
    "replicates": REPLICATES,
}
"""Limits and sizes by name, as printed beside the numbers."""


def measure_quality(
    dataset: EntailmentDataset,
    generation: EntailmentDataset | None = None,
    progress: Progress = silent,
) -> dict[str, pl.DataFrame]:
    """Measure a dataset without regard to the graph that its tuples make.

    Returns:
        The tables by name. Beside those declared there are the tuples behind a finding:
        ``quality_mismatches``, ``quality_misplaced``, ``quality_repeats`` and
        ``quality_weak_labels``.
    """
    progress("counting tuples and words")
    counted = {
        "quality_totals": totals(dataset),
        "quality_diversity": diversity(dataset),
        "quality_references": references(dataset if generation is None else generation),
        "quality_generation_set": generation_set(dataset, generation),
    }
    progress("comparing elements of tuples")
    by_fault, mismatches = consistency(dataset)
    progress("comparing splits")
    by_splits, misplaced = shared_keys(dataset)
    progress("comparing votes")
    weak, weakly_labelled = weak_labels(dataset)
    return counted | {
        "quality_consistency": by_fault,
        "quality_shared_keys": by_splits,
        "quality_agreement": agreement(dataset),
        "quality_weak": weak,
        "quality_mismatches": mismatches,
        "quality_misplaced": misplaced,
        "quality_repeats": repeats(dataset),
        "quality_weak_labels": weakly_labelled,
    }


@dataclass(frozen=True, eq=False)
class Beside:
    """What is measured with a dataset of tuples.

    Args:
        meteor: Folder of a WordNet with all parts of speech, to measure METEOR; None not to.
    """

    positives: EntailmentDataset | None = None
    predictions: Records | None = None
    generations: Records | None = None
    ratings: Records | None = None
    meteor: Path | None = None


@dataclass(frozen=True, eq=False)
class EntailmentMeasurements:
    """Everything that checks and reports may read of an entailment graph.

    Args:
        frames: Every table by name.
        ledgers: What became of the rows of ``predictions``, and where there are any, of
            ``generations`` and ``ratings``.
    """

    dataset: EntailmentDataset
    positives: EntailmentDataset | None
    frames: Mapping[str, pl.DataFrame]
    ledgers: Mapping[str, Mapping[str, int]]


def entailed_in(measured: Measurements) -> EntailmentMeasurements:
    """What was measured of an entailment graph."""
    found: EntailmentMeasurements = measured.of("entailment").behind
    return found


def measure_entailment(
    dataset: EntailmentDataset, beside: Beside | None = None, progress: Progress = silent
) -> EntailmentMeasurements:
    """Measure a dataset of tuples, and its predictions, generations and ratings."""
    beside = beside or Beside()
    frames = measure_quality(dataset, beside.positives, progress) | measure_graph(dataset, progress)
    detected, ledger = measure_detection(dataset, beside.predictions or together(()), progress)
    generated, ledgers = dict[str, pl.DataFrame](), dict[str, Mapping[str, int]]()
    if beside.generations is not None:
        generated, ledgers = measure_generation(
            dataset,
            beside.generations,
            ratings=beside.ratings,
            meteor=beside.meteor,
            progress=progress,
        )
    return EntailmentMeasurements(
        dataset, beside.positives, frames | detected | generated, {"predictions": ledger, **ledgers}
    )
