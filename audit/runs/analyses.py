"""The analyses that commands make, and every check that a policy can name."""

from __future__ import annotations

from typing import Any

from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.analysis import FileAnalysis
from audit.checks.check import Check, WaiverCheck
from audit.concepts.analysis import Concepts
from audit.entailment.analysis import Entailment
from audit.explanations.analysis import Explanations

ANALYSES: tuple[type[FileAnalysis[Any]], ...] = (Explanations, Concepts, Entailment)
"""Each has an entry of its own in ``result.json``, and chapters in `reports.chapters.analyses`."""
MEASURED: tuple[Check, ...] = (*(check for kind in ANALYSES for check in kind.checks), *CHECKS)
"""Every check but those of waivers, in report order."""
ALL_CHECKS: tuple[Check | WaiverCheck, ...] = (*MEASURED, *ON_WAIVERS)
CHECK_NAMES = frozenset(check.name for check in ALL_CHECKS)
