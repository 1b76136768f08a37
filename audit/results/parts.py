"""All kinds of parts that a result may have."""

from __future__ import annotations

from audit.results.concept_part import ConceptPart
from audit.results.drift_part import DriftPart
from audit.results.entailment_part import EntailmentPart
from audit.results.explanation_part import ExplanationPart
from audit.results.model_part import ModelPart
from audit.results.part import ResultPart

PARTS: tuple[type[ResultPart], ...] = (
    ModelPart,
    DriftPart,
    ExplanationPart,
    ConceptPart,
    EntailmentPart,
)
"""In the order of their entries in ``result.json``."""
