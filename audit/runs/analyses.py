"""The analyses that commands make, every check that a policy can name, and those of plugins, whose
numbers are withheld where they do not name the cells that they count."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import TypeAdapter

from audit.base.errors import InputError, PluginError, first_cases
from audit.base.plugins import added
from audit.base.settings import Stored
from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.analysis import Analysis, FileAnalysis
from audit.checks.check import Check, Outcome, WaiverCheck
from audit.concepts.analysis import Concepts
from audit.disclosure import Quantity, carried, cell_named, labelled
from audit.entailment.analysis import Entailment
from audit.explanations.analysis import Explanations
from audit.measure.measure import Measurements
from audit.results.findings import Finding
from audit.runs.preference import Preference

ANALYSES: tuple[type[FileAnalysis[Any]], ...] = (
    Explanations,
    Concepts,
    Entailment,
    Preference,
)
"""Each has an entry in ``result.json``, and chapters in `audit._reports.chapters.analyses`."""
MEASURED: tuple[Check, ...] = (*(check for kind in ANALYSES for check in kind.checks), *CHECKS)
"""Every check but those of waivers, in report order."""
ALL_CHECKS: tuple[Check | WaiverCheck, ...] = (*MEASURED, *ON_WAIVERS)
CHECK_NAMES = frozenset(check.name for check in ALL_CHECKS)


def settings_of(name: str, stated: Mapping[str, Any]) -> Stored:
    """The settings of an analysis as a manifest states them; ValueError if they cannot be."""
    for kind in ANALYSES:
        if kind.name == name:
            return TypeAdapter(kind.stated_by).validate_python(stated)
    raise ValueError(f"there is no analysis {name}")


def added_checks() -> tuple[Check, ...]:
    """The checks that plugins in use add, whose numbers are withheld unless they name cells."""
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


_UNITS = ("instances", "groups", "nodes", "pairs", "codes")
"""What a foreign check may say it examined; numbers of instances and groups are protected."""
_NUMBER = re.compile(r"(?<![\w.-])\d[\d.,]*(?![\w-])")


def withholding(check: Check) -> Check:
    """The check with its numbers withheld, but counts that name their cells, what is derived from
    them, and numbers of all instances.

    Counts that name a cell are protected beside all other numbers of the release.

    Raises:
        PluginError: When it runs, if a text states a number that is no placeholder, a count is not
            that of its cell, or what it examined may be a small count that nobody protects.
    """

    def rule(measured: Measurements) -> Outcome:
        found = check.rule(measured)
        totals = (measured.n_instances, measured.labelled)
        if found.denominator not in totals and not found.denominator_unit.startswith(_UNITS):
            _refuse(check, f"say what it examined in {', '.join(_UNITS)}", found.denominator_unit)
        made = (_withheld(check, finding, measured, totals) for finding in found.findings)
        return replace(found, findings=tuple(made))

    return replace(check, rule=rule)


def _withheld(
    check: Check, finding: Finding, measured: Measurements, totals: tuple[int, ...]
) -> Finding:
    if finding.check != check.name:
        _refuse(check, "call its findings by its own name", finding.check)
    for text in (finding.statement, finding.curator, finding.data_user):
        for node in sorted(finding.nodes, key=len, reverse=True):
            text = text.replace(node, "")
        if number := _NUMBER.search(text):
            _refuse(check, "state numbers as placeholders of its evidence", number[0])
    shown = partial(_shown, check, measured, totals)
    parts = tuple(replace(part, evidence=shown(part.evidence)) for part in finding.parts)
    return replace(finding, evidence=shown(finding.evidence), parts=parts)


def _shown(
    check: Check,
    measured: Measurements,
    totals: tuple[int, ...],
    evidence: Mapping[str, Quantity],
) -> dict[str, Quantity]:
    named = {name for name, one in evidence.items() if one.kind == "count" and one.sources}
    counts = dict(zip(measured.nodes["node"], measured.nodes["support"], strict=True))
    direct = dict(zip(measured.nodes["node"], measured.nodes["direct"], strict=True))
    known = {carried(node): n for node, n in counts.items()}
    known |= {labelled(node): n for node, n in direct.items()}
    for name in named:
        cell = cell_named(evidence[name].sources)
        if cell is None or {node for _, node in cell.label_sets} - counts.keys():
            _refuse(check, "name cells of nodes of the hierarchy", repr(evidence[name].sources))
        elif cell in known and known[cell] != evidence[name].value:
            _refuse(check, f"count its cell: {known[cell]:,} for {name}", evidence[name].value)
    return {
        name: one
        if name in named
        or (one.kind == "derived" and one.sources and named.issuperset(one.sources))
        or (one.kind == "exempt" and one.value in totals)
        else replace(one, kind="unnamed", totals=(), sources=())
        for name, one in evidence.items()
    }


def _refuse(check: Check, required: str, found: object) -> None:
    raise PluginError(f"the check {check.name} of a plugin must {required}", found=str(found))
