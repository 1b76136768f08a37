"""Measure an entailment graph: the dataset, the graph, and predictions on it."""

from __future__ import annotations

from dataclasses import dataclass

from audit.entailment.dataset import EntailmentDataset
from audit.entailment.graph.measurements import GraphMeasurements


@dataclass(frozen=True, eq=False)
class EntailmentMeasurements:
    """Everything that checks and reports may read of an entailment graph.

    Args:
        dataset: What was read.
        graph: The graph that its tuples state.
    """

    dataset: EntailmentDataset
    graph: GraphMeasurements
