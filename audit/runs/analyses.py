"""The analyses that commands make, every check that a policy can name, and those of plugins."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter

from audit.analyses.concepts.analysis import Concepts
from audit.analyses.entailment.analysis import Entailment
from audit.analyses.explanations.analysis import Explanations
from audit.analyses.explanations.reading import REQUIRED, read_rows, sound_rows
from audit.analyses.preference.analysis import Preference
from audit.base.errors import InputError, PluginError, first_cases
from audit.base.plugins import added
from audit.base.settings import Stored
from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.analysis import Analysis, FileAnalysis
from audit.checks.check import Check, Outcome
from audit.checks.waivers import WaiverCheck
from audit.measure.measure import Measurements
from audit.results.findings import Finding

ANALYSES: tuple[type[FileAnalysis], ...] = (
    Explanations,
    Concepts,
    Entailment,
    Preference,
)
"""Those that commands make; each has an entry in ``result.json``."""
MEASURED: tuple[Check, ...] = (*(check for kind in ANALYSES for check in kind.checks), *CHECKS)
"""Every check but those of waivers, in report order."""
ALL_CHECKS: tuple[Check | WaiverCheck, ...] = (*MEASURED, *ON_WAIVERS)
CHECK_NAMES = frozenset(check.name for check in ALL_CHECKS)


def settings_of(name: str, stated: Mapping[str, Any]) -> Stored:
    """Settings of an analysis, read from those a manifest states; ValueError if they do not fit."""
    for kind in ANALYSES:
        if kind.name == name:
            return TypeAdapter(kind.stated_by).validate_python(stated)
    raise ValueError(f"there is no analysis {name}")


def attribution_rows(path: Path) -> pl.DataFrame:
    """The rows of a file of attributions that are sound and have finite scores alone."""
    return sound_rows(read_rows(path, REQUIRED), (), path)[0]


def added_checks() -> tuple[Check, ...]:
    """The checks that plugins in use add."""
    return _apart(added("checks", Check), CHECK_NAMES)


def added_analyses() -> tuple[Analysis, ...]:
    """The analyses that plugins in use add, with their checks as in `added_checks`."""
    found: tuple[Analysis, ...] = added("analyses", Analysis)  # type: ignore[type-abstract]
    for one in found:
        object.__setattr__(one, "checks", _apart(one.checks, CHECK_NAMES))
    return found


def _apart(checks: Sequence[Check], names: Collection[str]) -> tuple[Check, ...]:
    """Checks as `with_kinds` guards them; PluginError if one has a name that is taken."""
    if taken := [check.name for check in checks if check.name in names]:
        raise PluginError("a check of a plugin needs a name of its own", found=first_cases(taken))
    return tuple(map(with_kinds, checks))


def refuse_names(analyses: Sequence[Analysis]) -> None:
    """Raise InputError for analyses with one name, a built-in one, or more than small letters."""
    names, known = [analysis.name for analysis in analyses], {kind.name for kind in ANALYSES}
    for analysis in analyses:
        name = analysis.name
        free = names.count(name) == 1 and (isinstance(analysis, ANALYSES) or name not in known)
        if not (free and name.isascii() and name.isalpha() and name.islower()):
            raise InputError(
                "each analysis needs a name of its own, of letters a to z alone", found=name
            )


_NUMBER = re.compile(r"(?<![\w.-])\d[\d.,]*(?![\w-])")


def with_kinds(check: Check) -> Check:
    """The check, made to refuse findings with numbers that are no evidence it declares.

    Raises:
        PluginError: When it runs, if a finding has evidence without a kind or the name of another
            check, or a text states a number that is no placeholder.
    """

    def rule(measured: Measurements) -> Outcome:
        found = check.rule(measured)
        for finding in found.findings:
            _refuse_undeclared(check, finding)
        return found

    return replace(check, rule=rule)


def _refuse_undeclared(check: Check, finding: Finding) -> None:
    """Raise PluginError for another check's name, undeclared evidence, or a number in a text."""
    if finding.check != check.name:
        _refuse(check, "call its findings by its own name", finding.check)
    lacking = [one for one in finding.evidence if one not in check.evidence]
    lacking += [one for part in finding.parts for one in part.evidence if one not in check.of_parts]
    if lacking:
        _refuse(check, "declare the kind of its evidence", first_cases(lacking))
    for text in (finding.statement, finding.curator, finding.data_user):
        for node in sorted(finding.nodes, key=len, reverse=True):
            text = text.replace(node, "")
        if number := _NUMBER.search(text):
            _refuse(check, "state numbers as placeholders of its evidence", number[0])


def _refuse(check: Check, required: str, found: str) -> None:
    raise PluginError(f"the check {check.name} of a plugin must {required}", found=found)
