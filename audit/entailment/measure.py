"""Measure an entailment graph: the dataset, the graph, and predictions on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from audit.base.progress import Progress, silent
from audit.data.records import Records
from audit.entailment.dataset import EntailmentDataset
from audit.entailment.detection.measure import measure_detection
from audit.entailment.detection.measurements import DetectionMeasurements
from audit.entailment.detection.predictions import together
from audit.entailment.generation.measure import measure_generation
from audit.entailment.generation.measurements import GenerationMeasurements
from audit.entailment.graph.measure import measure_graph
from audit.entailment.graph.measurements import GraphMeasurements
from audit.entailment.quality import QualityMeasurements, measure_quality
from audit.hierarchies.formats.wordnet import WordNet


@dataclass(frozen=True, eq=False)
class Beside:
    """What is measured with a dataset of tuples.

    Args:
        positives: The generation set that goes with it.
        predictions: Predicted validity of its tuples.
        generations: Concepts that models generated for its instances.
        ratings: What people say of these.
        wordnet: A WordNet.
        meteor: Folder of a WordNet with all parts of speech, to measure METEOR; None not to.
    """

    positives: EntailmentDataset | None = None
    predictions: Records | None = None
    generations: Records | None = None
    ratings: Records | None = None
    wordnet: WordNet | None = None
    meteor: Path | None = None


@dataclass(frozen=True, eq=False)
class EntailmentMeasurements:
    """Everything that checks and reports may read of an entailment graph.

    Args:
        dataset: What was read.
        positives: The generation set that goes with it; None without one.
        quality: What is measured of the dataset itself.
        graph: The graph that its tuples state.
        detection: How well models and baselines separate valid tuples from invalid ones.
        generation: How well models name concepts; None without generated ones.
    """

    dataset: EntailmentDataset
    positives: EntailmentDataset | None
    quality: QualityMeasurements
    graph: GraphMeasurements
    detection: DetectionMeasurements
    generation: GenerationMeasurements | None


def measure_entailment(
    dataset: EntailmentDataset, beside: Beside | None = None, progress: Progress = silent
) -> EntailmentMeasurements:
    """Measure a dataset of tuples, and its predictions, generations and ratings.

    Args:
        dataset: The tuples.
        beside: Predictions and others; None for the dataset alone, with baselines.
        progress: Progress callback.
    """
    beside = beside or Beside()
    return EntailmentMeasurements(
        dataset=dataset,
        positives=beside.positives,
        quality=measure_quality(dataset, beside.positives, progress),
        graph=measure_graph(dataset, beside.wordnet, progress),
        detection=measure_detection(
            dataset,
            beside.predictions or together(()),
            wordnet=beside.wordnet,
            progress=progress,
        ),
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
