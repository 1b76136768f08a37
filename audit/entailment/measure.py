"""Measure an entailment graph: the dataset, the graph, and predictions on it."""

from __future__ import annotations

from dataclasses import dataclass

from audit.entailment.dataset import EntailmentDataset


@dataclass(frozen=True, eq=False)
class EntailmentMeasurements:
    """Everything that checks and reports may read of an entailment graph.

    Args:
        dataset: What was read.
    """

    dataset: EntailmentDataset
