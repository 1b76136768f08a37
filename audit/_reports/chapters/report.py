"""What a report shows: the shared view in words, numbers, tables and pictures, by section.

Each section has one entry in ``SECTIONS`` and one template.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any

from audit._reports.chapters import tables
from audit._reports.chapters.analyses import (
    OF_NAME,
    Analysed,
    LabelsAlone,
    analysed,
    labels_alone,
    shown,
)
from audit._reports.chapters.coverage import Coverage, coverage
from audit._reports.chapters.findings_by_check import blocks, rest_of
from audit._reports.chapters.model import Model, model
from audit._reports.chapters.since_reference import (
    SinceReference,
    WhatWasMended,
    since_reference,
    what_was_mended,
)
from audit._reports.chapters.verdict import verdict
from audit._reports.charts.figures import figures
from audit._reports.words.parts import Block, Code, Facts, Figure, Table, Verdict
from audit._reports.words.words import EVIDENCE, EXACT, UNNAMED, Imprint, decimal, number, printable
from audit.results.printed import marked
from audit.results.record import COUNTED
from audit.results.result import AuditResult, to_json_bytes

RESIDUAL_LIMIT = "residual_share"
"""The policy's threshold that the picture of residual shares is drawn against."""
THRESHOLDS_OF_ANALYSES = ("false_discovery_rate", "error_share")
"""The policy's thresholds that apply where labels alone are the data."""


@dataclass(frozen=True, slots=True)
class Release:
    """What was audited."""

    title: str
    facts: Facts
    digests: tuple[tuple[str, Code], ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """What it was judged by."""

    name: str
    max_findings: str
    ancestors_are_fault: bool
    ratchet: bool | str
    code_dates: str
    thresholds: Table
    rules: Table | None
    exclusive: Table | None
    expected: Table | None
    companions: Table | None
    person_rules: Table | None
    severities: Table | None


@dataclass(frozen=True, slots=True)
class Report:
    """All that the templates show."""

    title: str
    stated: tuple[str, ...]
    """The day of the run, the version, and how counts are told."""
    band: str
    """What stands on each page of exact numbers; empty on others."""
    rounded: bool
    verdict: Verdict
    release: Release
    blocks: tuple[Block, ...]
    figures: tuple[Figure, ...]
    coverage: Coverage | None
    rest: str
    """How many checks found nothing, and how many could not be applied."""
    checks: Table
    not_applicable: Table | None
    counted: bool
    model: Model | None
    analyses: tuple[Analysed, ...]
    labels_alone: LabelsAlone | None
    """Not None where labels that came with something else are all the data: then there is no
    release beside them."""
    mended: WhatWasMended | None
    since_reference: SinceReference | None
    readings: Table | None
    ledger: Table
    ledger_facts: Facts
    waivers: Table | None
    policy: Policy
    provenance: Table
    tool: str
    schema_version: str
    result_sha256: str

    @property
    def all_figures(self) -> tuple[Figure, ...]:
        """Those of analyses, then of the hierarchy, of the model, and of what was mended."""
        of_analyses = chain.from_iterable(one.chapters.figures for one in self.analyses)
        of_model = self.model.figures if self.model else ()
        mended = filter(None, [self.mended and self.mended.figure])
        return (*of_analyses, *self.figures, *of_model, *mended)

    def of(self, name: str) -> Any:
        """The chapters on an analysis; None where the report has none."""
        return next((one.chapters for one in self.analyses if one.name == name), None)


def shared_view(result: AuditResult | Mapping[str, Any]) -> Mapping[str, Any]:
    """The dictionary that reports render: a result's shared view, or the one given."""
    return result.shared() if isinstance(result, AuditResult) else result


@dataclass(frozen=True)
class _View:
    """A shared view that is known by the digest of its JSON."""

    sha256: str
    shared: Mapping[str, Any] = field(compare=False, repr=False)


def build(shared: Mapping[str, Any], imprint: Imprint = UNNAMED) -> Report:
    """Word, format and draw the shared view; the last one is kept, for its other format."""
    return _built(_View(hashlib.sha256(to_json_bytes(shared)).hexdigest(), shared), imprint)


@lru_cache(maxsize=1)
def _built(view: _View, imprint: Imprint) -> Report:
    shared, imprint = printable_view(marked(view.shared)), imprint.printable()
    checks, identity = shared["checks"], shared["identity"]
    limits = {one["name"]: one["value"] for one in shared["policy"]["thresholds"]}
    called = dict(EVIDENCE)
    for one in shown(shared):
        called |= one.evidence
    tool = f"{identity['tool']['name']} {identity['tool']['version']}"
    release, counted = _release(shared, imprint), identity["data"]["format"] == COUNTED
    analyses, alone = analysed(shared), labels_alone(shared)
    if alone:
        facts = analyses[0].chapters.facts if analyses else ()
        release = _of_labels(release, alone, facts, shared, imprint)
    return Report(
        title=release.title,
        stated=imprint.stated(tool, shared["rounding"]),
        band=EXACT if imprint.exact else "",
        rounded=shared["rounding"] is not None,
        verdict=verdict(shared),
        release=release,
        blocks=blocks(checks, called, shared["overview"]["lineage"]),
        figures=() if alone else figures(shared["overview"], limits.get(RESIDUAL_LIMIT)),
        coverage=None if alone else coverage(shared),
        rest=rest_of(checks),
        checks=tables.checks_table(checks),
        not_applicable=tables.not_applicable_table(checks),
        counted=counted,
        model=model(shared),
        analyses=analyses,
        labels_alone=alone,
        mended=what_was_mended(shared.get("mended"), shared["since_reference"]),
        since_reference=since_reference(shared),
        readings=tables.readings_table(shared["readings"]),
        ledger=tables.ledger_table(shared["ledger"]),
        ledger_facts=(alone.ledger_facts if alone else tables.ledger_facts)(shared["ledger"]),
        waivers=tables.waivers_table(shared["waivers"]),
        policy=_policy(_of_analyses(shared["policy"]) if alone else shared["policy"]),
        provenance=tables.provenance_table(identity, "" if imprint.exact else view.sha256),
        tool=tool,
        schema_version=shared["schema_version"],
        result_sha256=view.sha256,
    )


def _release(shared: Mapping[str, Any], imprint: Imprint) -> Release:
    identity, ledger = shared["identity"], shared["ledger"]
    data, hierarchy, policy = identity["data"], identity["hierarchy"], identity["policy"]
    groups, rounding = ledger["groups"], shared["rounding"]
    facts = [
        ("Instances", number(ledger["instances"])),
        ("Labels per instance", f"{decimal(ledger['labels_per_instance']['mean'], 1)} (mean)"),
        ("Rows read", number(ledger["rows_read"])),
        ("Data format", "counted, not kept" if data["format"] == COUNTED else data["format"]),
        ("Hierarchy", _hierarchy(hierarchy)),
        ("Normaliser", identity["normaliser"] or "none"),
        ("Policy", policy["name"]),
        ("Counts", f"in bins of {rounding['bin']}" if rounding else "exact"),
    ]
    if ledger["predictions"] is not None:
        facts.append(
            ("Instances with a prediction", number(ledger["predictions"]["instances_matched"]))
        )
    if groups is not None:
        facts.insert(1, ("Groups", number(groups)))
    return Release(
        title=imprint.named(data) or f"Release labelled with {hierarchy['name']}",
        facts=tuple(facts),
        digests=tuple((name, tables.short(digest)) for name, digest in tables.digests(identity)),
    )


def _of_labels(
    release: Release, alone: LabelsAlone, facts: Facts, shared: Mapping[str, Any], imprint: Imprint
) -> Release:
    """What was audited, where labels that came with something else are all the data."""
    hierarchy = shared["identity"]["hierarchy"]["name"]
    title = f"{alone.title}: {hierarchy}" if "Hierarchy" in alone.identity else alone.title
    return replace(
        release,
        title=imprint.named(shared["identity"]["data"]) or title,
        facts=(*facts, *(fact for fact in release.facts if fact[0] in alone.identity)),
    )


def _hierarchy(hierarchy: Mapping[str, Any]) -> str:
    nodes, depth = number(hierarchy["nodes"]), number(hierarchy["depth"])
    return f"{hierarchy['name']}: {nodes} nodes, depth {depth}"


def _of_analyses(policy: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of a policy checks of analyses are judged by."""
    rules = ("branch_rules", "exclusive", "expected", "companions", "person_rules")
    thresholds = [one for one in policy["thresholds"] if one["name"] in THRESHOLDS_OF_ANALYSES]
    return {**policy, **dict.fromkeys(rules, ()), "thresholds": thresholds}


def _policy(policy: Mapping[str, Any]) -> Policy:
    return Policy(
        name=policy["name"],
        max_findings=number(policy["max_findings"]),
        ancestors_are_fault=policy["labelled_ancestors"] == "fault",
        ratchet=policy["ratchet"],
        code_dates=_code_dates(policy.get("code_dates")),
        thresholds=tables.thresholds_table(policy),
        rules=tables.rules_table(policy),
        exclusive=tables.exclusive_table(policy),
        expected=tables.expected_table(policy),
        companions=tables.companions_table(policy),
        person_rules=tables.person_rules_table(policy),
        severities=tables.severities_table(policy),
    )


def _code_dates(stated: Mapping[str, Any] | None) -> str:
    """What codes were judged by on their day; empty: they were not."""
    if stated is None:
        return ""
    return (
        f"Codes were judged on the day in the column {stated['column']}, which the policy states "
        f"to be the true day of coding, by the dates of {number(stated['codes'])} codes in "
        f"{stated['file']}."
    )


def printable_view(value: Any) -> Any:
    """The same structure with every text fit to stand on a page."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {key: printable_view(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [printable_view(inner) for inner in value]
    return value


def _always(_: Report) -> bool:
    return True


def _of_model(part: Callable[[Model], object]) -> Callable[[Report], bool]:
    """Whether a report has a part of the chapters on a model."""
    return lambda report: report.model is not None and part(report.model) is not None


def _of_release(report: Report) -> bool:
    return report.labels_alone is None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with its own heading.

    Args:
        present: Function that says whether a report has the section.
        appendix: Whether it says how the report was made, and unfolds on a screen.
        of: The analysis that it is on; empty if it is on none.
    """

    id: str
    title: str
    present: Callable[[Report], bool] = _always
    appendix: bool = False
    of: str = ""

    @property
    def template(self) -> str:
        """Path of the section's template."""
        name = "analysis" if self.of and self.of not in OF_NAME else self.id
        return f"sections/{name}.html.jinja"


OPENING = (
    Section("checks", "Checks"),
    Section("findings", "Findings"),
    Section("release", "The release", _of_release),
)
"""Sections before those of analyses."""
SECTIONS = (
    Section("pictures", "The hierarchy in use", _of_release),
    Section("coverage", "Coverage", lambda report: report.coverage is not None),
    Section("model", "The model", lambda report: report.model is not None),
    Section("behaviour", "How the model behaves", _of_model(lambda one: one.behaviours)),
    Section("exchanges", "Confusions", _of_model(lambda one: one.exchanges)),
    Section("beside", "Model and data compared", _of_model(lambda one: one.beside)),
    Section("mended", "What was mended", lambda report: report.mended is not None),
    Section(
        "since", "Changes since the reference", lambda report: report.since_reference is not None
    ),
    Section("ledger", "Ledger"),
    Section("waivers", "Waivers", lambda report: report.waivers is not None),
    Section("limits", "Limits"),
    Section("policy", "Appendix: policy", appendix=True),
    Section("provenance", "Appendix: provenance", appendix=True),
)


def sections(report: Report) -> tuple[Section, ...]:
    """The sections that this report has, in order."""
    of_analyses = (section for one in report.analyses for section in sections_of(one))
    return tuple(
        section for section in (*OPENING, *of_analyses, *SECTIONS) if section.present(report)
    )


def sections_of(analysed: Analysed) -> Iterator[Section]:
    """The sections on an analysis of a report."""
    for heading in analysed.sections:
        yield Section(heading.id, heading.title, of=analysed.name)
