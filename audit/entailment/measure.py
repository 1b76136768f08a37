"""Measure an entailment graph: the dataset, the graph, and predictions on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from audit.base.progress import Progress, silent
from audit.data.records import Records
from audit.entailment.consistency import consistency
from audit.entailment.dataset import EntailmentDataset, totals
from audit.entailment.dataset_counts import THRESHOLD, diversity, generation_set, references
from audit.entailment.detection import measure_detection
from audit.entailment.generation import measure_generation
from audit.entailment.generations import GenerationMeasurements
from audit.entailment.graph.measure import measure_graph
from audit.entailment.graph.measurements import GraphMeasurements
from audit.entailment.predictions import together
from audit.entailment.repeated import repeats, shared_keys
from audit.entailment.validity_answers import DetectionMeasurements
from audit.entailment.votes import (
    CARRYING,
    REPLICATES,
    agreement,
    weak_labels,
)
from audit.measure.measure import Measurements


def _parameters() -> dict[str, float]:
    return {
        "unique_at_most": THRESHOLD,
        "carrying_share": CARRYING,
        "replicates": REPLICATES,
    }


@dataclass(frozen=True, eq=False)
class QualityMeasurements:
    """Everything that checks and reports may read of a dataset, its graph apart.

    Args:
        totals: Columns `audit.entailment.dataset.TOTALS`.
        diversity: Columns `audit.entailment.dataset_counts.DIVERSITY`.
        references: Columns `audit.entailment.dataset_counts.REFERENCES`: of the generation set
            where there is one, else of the valid tuples.
        generation_set: Columns `audit.entailment.dataset_counts.GENERATION`.
        consistency: Columns `audit.entailment.consistency.CONSISTENCY`.
        shared_keys: Columns `audit.entailment.repeated.SHARED`.
        agreement: Columns `audit.entailment.votes.AGREEMENT`.
        weak: Columns `audit.entailment.votes.WEAK`.
        mismatches: Tuples behind `consistency`, columns
            `audit.entailment.consistency.MISMATCHES`.
        misplaced: Those behind `shared_keys`, columns `audit.entailment.repeated.MISPLACED`.
        repeats: Tuples that repeat others, columns `audit.entailment.repeated.REPEATS`.
        weak_labels: Tuples behind `weak`, columns
            `audit.entailment.votes.WEAK_LABELS`.
        parameters: Limits and sizes by name, as printed beside the numbers.
    """

    totals: pl.DataFrame
    diversity: pl.DataFrame
    references: pl.DataFrame
    generation_set: pl.DataFrame
    consistency: pl.DataFrame
    shared_keys: pl.DataFrame
    agreement: pl.DataFrame
    weak: pl.DataFrame
    mismatches: pl.DataFrame
    misplaced: pl.DataFrame
    repeats: pl.DataFrame
    weak_labels: pl.DataFrame
    parameters: dict[str, float] = field(default_factory=_parameters)


def measure_quality(
    dataset: EntailmentDataset,
    generation: EntailmentDataset | None = None,
    progress: Progress = silent,
) -> QualityMeasurements:
    """Measure a dataset without regard to the graph that its tuples make."""
    progress("counting tuples and words")
    counted = (
        totals(dataset),
        diversity(dataset),
        references(dataset if generation is None else generation),
        generation_set(dataset, generation),
    )
    progress("comparing elements of tuples")
    by_fault, mismatches = consistency(dataset)
    progress("comparing splits")
    by_splits, misplaced = shared_keys(dataset)
    progress("comparing votes")
    weak, weakly_labelled = weak_labels(dataset)
    return QualityMeasurements(
        *counted,
        consistency=by_fault,
        shared_keys=by_splits,
        agreement=agreement(dataset),
        weak=weak,
        mismatches=mismatches,
        misplaced=misplaced,
        repeats=repeats(dataset),
        weak_labels=weakly_labelled,
    )


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
    """Everything that checks and reports may read of an entailment graph."""

    dataset: EntailmentDataset
    positives: EntailmentDataset | None
    quality: QualityMeasurements
    graph: GraphMeasurements
    detection: DetectionMeasurements
    generation: GenerationMeasurements | None


def entailed_in(measured: Measurements) -> EntailmentMeasurements:
    """What was measured of an entailment graph."""
    found: EntailmentMeasurements = measured.of("entailment").behind
    return found


def measure_entailment(
    dataset: EntailmentDataset, beside: Beside | None = None, progress: Progress = silent
) -> EntailmentMeasurements:
    """Measure a dataset of tuples, and its predictions, generations and ratings."""
    beside = beside or Beside()
    return EntailmentMeasurements(
        dataset=dataset,
        positives=beside.positives,
        quality=measure_quality(dataset, beside.positives, progress),
        graph=measure_graph(dataset, progress),
        detection=measure_detection(dataset, beside.predictions or together(()), progress),
        generation=None
        if beside.generations is None
        else measure_generation(
            dataset,
            beside.generations,
            ratings=beside.ratings,
            meteor=beside.meteor,
            progress=progress,
        ),
    )
