"""All kinds of parts that a result may have."""

from __future__ import annotations

from audit.results.parts.concept_part import ConceptPart
from audit.results.parts.drift_part import DriftPart
from audit.results.parts.entailment_part import EntailmentPart
from audit.results.parts.explanation_part import ExplanationPart
from audit.results.parts.model_part import ModelPart
from audit.results.parts.part import ResultPart

PARTS: tuple[type[ResultPart], ...] = (
    ModelPart,
    DriftPart,
    ExplanationPart,
    ConceptPart,
    EntailmentPart,
)
"""In the order of their entries in ``result.json``."""
