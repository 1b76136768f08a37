"""The analyses that commands make, and every check that a policy can name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from audit.base.errors import InputError, PluginError, first_cases
from audit.base.plugins import added
from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.analysis import Analysis, FileAnalysis
from audit.checks.check import Check, WaiverCheck
from audit.checks.foreign import withholding
from audit.concepts.analysis import Concepts
from audit.entailment.analysis import Entailment
from audit.explanations.analysis import Explanations

ANALYSES: tuple[type[FileAnalysis[Any]], ...] = (Explanations, Concepts, Entailment)
"""Each has an entry of its own in ``result.json``, and chapters in `reports.chapters.analyses`."""
MEASURED: tuple[Check, ...] = (*(check for kind in ANALYSES for check in kind.checks), *CHECKS)
"""Every check but those of waivers, in report order."""
ALL_CHECKS: tuple[Check | WaiverCheck, ...] = (*MEASURED, *ON_WAIVERS)
CHECK_NAMES = frozenset(check.name for check in ALL_CHECKS)


def added_checks() -> tuple[Check, ...]:
    """The checks that plugins in use add, whose numbers are withheld unless they name cells.

    Raises:
        PluginError: If one has the name of another check.
    """
    return _apart(added("checks", Check), CHECK_NAMES)


def added_analyses() -> tuple[Analysis[Any], ...]:
    """The analyses that plugins in use add, with their checks as in `added_checks`."""
    found: tuple[Analysis[Any], ...] = added("analyses", Analysis)  # type: ignore[type-abstract]
    for one in found:
        object.__setattr__(one, "checks", _apart(one.checks, CHECK_NAMES))
    return found


def _apart(checks: Sequence[Check], names: Collection[str]) -> tuple[Check, ...]:
    if taken := [check.name for check in checks if check.name in names]:
        raise PluginError("a check of a plugin needs a name of its own", found=first_cases(taken))
    return tuple(map(withholding, checks))


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
