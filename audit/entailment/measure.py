"""Measure an entailment graph: the dataset, the graph, and predictions on it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from audit.base.progress import Progress, silent
from audit.entailment.dataset import EntailmentDataset
from audit.entailment.detection.measure import measure_detection
from audit.entailment.detection.measurements import DetectionMeasurements
from audit.entailment.detection.predictions import PREDICTIONS, ValidityPredictions
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
        wordnet: A WordNet.
    """

    positives: EntailmentDataset | None = None
    predictions: ValidityPredictions | None = None
    wordnet: WordNet | None = None


@dataclass(frozen=True, eq=False)
class EntailmentMeasurements:
    """Everything that checks and reports may read of an entailment graph.

    Args:
        dataset: What was read.
        quality: What is measured of the dataset itself.
        graph: The graph that its tuples state.
        detection: How well models and baselines tell valid tuples from invalid ones.
    """

    dataset: EntailmentDataset
    quality: QualityMeasurements
    graph: GraphMeasurements
    detection: DetectionMeasurements


def measure_entailment(
    dataset: EntailmentDataset, beside: Beside | None = None, progress: Progress = silent
) -> EntailmentMeasurements:
    """Measure a dataset of tuples and what stands beside it.

    Args:
        dataset: The tuples.
        beside: Predictions and others; None for the dataset alone, with baselines.
        progress: Progress callback.
    """
    beside = beside or Beside()
    return EntailmentMeasurements(
        dataset=dataset,
        quality=measure_quality(dataset, beside.positives, progress),
        graph=measure_graph(dataset, beside.wordnet, progress),
        detection=measure_detection(
            dataset,
            beside.predictions or ValidityPredictions(pl.DataFrame(schema=PREDICTIONS), 0),
            wordnet=beside.wordnet,
            progress=progress,
        ),
    )
