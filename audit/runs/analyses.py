"""The analyses that commands make, and every check that a policy can name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from audit.base.errors import InputError
from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.analysis import Analysis, FileAnalysis
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


def refuse_names(analyses: Sequence[Analysis[Any]]) -> None:
    """Refuse analyses whose entries and tables could not be told apart."""
    names, known = [analysis.name for analysis in analyses], {kind.name for kind in ANALYSES}
    for analysis in analyses:
        name = analysis.name
        free = names.count(name) == 1 and (isinstance(analysis, ANALYSES) or name not in known)
        if not (free and name.isascii() and name.isalpha() and name.islower()):
            raise InputError(
                "each analysis needs a name of its own, of letters a to z alone", found=name
            )
