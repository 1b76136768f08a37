"""Wording of entailment graphs: measures, baselines, faults of tuples, and rules of the graph."""

from __future__ import annotations

from collections.abc import Mapping

from audit._reports.words.words import stated_tables

_STATED = stated_tables("entailment_words")

ALL = "All"
"""Name that the shared view has for all relations together, and for all splits."""


ACCURACY, MACRO_F1, ROC_AUC = "accuracy", "macro_f1", "roc_auc"
CALIBRATION = "calibration_error"

DETECTION: Mapping[str, str] = _STATED["detection"]
"""Measures of whether valid tuples are distinguished from invalid ones, in report order."""

BASELINES: Mapping[str, str] = _STATED["baselines"]
"""What answers without a model, in report order."""

AGAINST: Mapping[str, str] = {
    **{name: title.lower() for name, title in BASELINES.items()},
    "in_domain": "trained on the same relation",
}
"""What models are compared with."""

ABSENT: Mapping[str, str] = _STATED["absent"]
"""Why a measure has no value."""

GENERATION: Mapping[str, str] = _STATED["generation"]
"""Measures of generated concepts, in report order."""

AGREEMENT: Mapping[str, str] = _STATED["agreement"]
"""Measures of agreement, in report order."""


RULES: Mapping[str, str] = _STATED["rules"]
"""What the lint of hierarchies says about the graph."""

KINDS: Mapping[str, str] = _STATED["kinds"]
"""What files hold."""

LEFT_OUT: Mapping[str, str] = _STATED["left_out"]
"""Why records and answers take part in nothing."""

READ: Mapping[str, str] = _STATED["read"]
"""What was read, by what the shared view calls it."""

EVIDENCE: dict[str, str] = _STATED["evidence"]
"""Words for names of evidence of findings on tuples."""
