"""Metrics against a hierarchy as functions of lists and arrays, and as a class to be updated.

>>> import audit
>>> tree = {"cat": "mammal", "dog": "mammal", "mammal": "animal", "bird": "animal"}
>>> audit.metrics.hierarchical_f1(["cat", "bird"], ["dog", "bird"], hierarchy=tree)
0.6666666666666666

The numbers are those of ``audit run`` with ``--predictions`` on the same data. Order and meaning of
arguments are scikit-learn's: what is true comes first. An undefined number is NaN.
"""

from __future__ import annotations

from audit.alignment.functions import (
    abstraction_match,
    accuracy,
    accuracy_alignment,
    concept_confusion,
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    lost,
    mistake_severity,
    recovered,
    subgraph_preference,
    uncertainty_alignment,
)
from audit.alignment.hierarchical_metrics import HierarchicalMetrics

__all__ = [
    "HierarchicalMetrics",
    "abstraction_match",
    "accuracy",
    "accuracy_alignment",
    "concept_confusion",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "lost",
    "mistake_severity",
    "recovered",
    "subgraph_preference",
    "uncertainty_alignment",
]
