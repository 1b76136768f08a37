"""Metrics of a model's output against a hierarchy: alignment, accuracy and severity of mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Needs: TypeAlias = Literal["answer", "answers", "scores", "subgraphs", "sets"]
"""One answer an instance; any number; scores; two subgraphs to compare; sets of nodes only."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as shown by `audit list metrics` and in reports."""

    name: str
    title: str
    needs: Needs


METRICS: tuple[Metric, ...] = (
    Metric("accuracy", "Accuracy at a depth of the hierarchy", "answer"),
    Metric("f1", "F1 of labels, of their parents and of branches", "answers"),
    Metric("accuracy_alignment", "Net share of errors that moving up resolves", "answer"),
    Metric("recovered", "Share of errors that moving up makes right", "answer"),
    Metric("lost", "Right answers that moving up makes wrong, over errors", "answer"),
    Metric("uncertainty_alignment", "Change of entropy on moving up, in bits", "scores"),
    Metric("abstraction_match", "Relative drop of entropy on moving up", "scores"),
    Metric("subgraph_preference", "Preference for one subgraph over another", "subgraphs"),
    Metric("hierarchical_precision", "Precision with all ancestors", "sets"),
    Metric("hierarchical_recall", "Recall with all ancestors", "sets"),
    Metric("hierarchical_f1", "F1 with all ancestors", "sets"),
    Metric("mistake_severity", "Height at which mistakes and labels meet", "answer"),
)
"""Every metric, in report order."""
