"""All kinds of parts that a result may have."""

from __future__ import annotations

from audit.results.drift_part import DriftPart
from audit.results.model_part import ModelPart
from audit.results.part import ResultPart

PARTS: tuple[type[ResultPart], ...] = (ModelPart, DriftPart)
"""In the order of their entries in ``result.json``."""
