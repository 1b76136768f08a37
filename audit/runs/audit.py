"""Run one audit from end to end: measure, apply the checks, and assemble the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.disk import judging_date
from audit.base.errors import InputError, PluginError
from audit.base.machine import give_back_freed_memory
from audit.base.plugins import opening, used
from audit.base.progress import Progress, blocks, logged
from audit.base.readings import Reading
from audit.checks import CHECKS
from audit.checks.analysis import Analysis, FileAnalysis
from audit.checks.check import Check
from audit.checks.judging import judged, policy_as_applied
from audit.checks.limits import refuse_reference, refuse_unknown_names
from audit.counting.counts import PairCount
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.hierarchies.applied_policy import policy_for, policy_readings
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.drift import drift_tables
from audit.measure.measure import Measurements, Reference, measure
from audit.measure.rule_book import refuse_contradictions
from audit.policy.policy import Policy
from audit.results.binned import mean_labels
from audit.results.findings import CheckResult
from audit.results.mended import Mended
from audit.results.order import ordered
from audit.results.parts import DriftPart, ResultPart
from audit.results.record import COUNTED
from audit.results.result import AuditResult
from audit.runs.analyses import ANALYSES, CHECK_NAMES, added_analyses, added_checks, refuse_names
from audit.runs.case_lists import BEHAVIOUR, CaseNumbers, case_table, proposal_table
from audit.runs.manifest import digest_of_data, input_record
from audit.runs.models import model_part, prediction_ledger, require_kind
from audit.runs.refusals import refuse_columns, refuse_hierarchy, refuse_wrong_hierarchy
from audit.sharing.told import Rounding

DISTRIBUTION = "hierarchy-audit"


@opening
def run_audit(
    data: LabelDataset | PairCount,
    policy: Policy | None = None,
    *,
    predictions: Predictions | None = None,
    analyses: Sequence[Analysis] = (),
    seed: int = 0,
    sources: Sequence[Path] = (),
    reference: AuditResult | None = None,
    mended: Mended | None = None,
    today: date | None = None,
    device: str | None = None,
    plugins: Iterable[str] = (),
    progress: Progress = logged,
) -> AuditResult:
    """Audit a dataset, and a model: propagate, count every pair, measure, apply every check.

    Args:
        data: Labels mapped to a hierarchy, or counts, which lack groups and single instances.
        policy: The policy; the hierarchy's built-in policy supplies what it does not state.
        predictions: A model's predictions.
        analyses: What else is measured, with its checks.
        seed: Seed of the intervals of a model's metrics.
        sources: The files that were counted, of counts alone; else the counts identify the data.
        reference: The release before, read back: findings that it has too are marked as known.
        mended: What was changed in the reference's data, from the log of ``audit apply``.
        today: The day that waivers expire by; None: `judging_date`.
        device: PyTorch device that counts pairs of scores; None: NumPy counts.
        plugins: Installed packages whose checks and analyses are used besides.
        progress: Called with a step, how much of it is done, the total (None: unknown), the unit.

    Raises:
        InputError: If most rows are refused, a device is lacking, counts do not do; PolicyError if
            the policy does not.

    Time and memory grow with the pairs that instances carry: 5,000 stays with a million different
    pairs take three seconds and 430 MB.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog", "dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> audit.run_audit(labels).worst().select("check", "nodes", "instances", "share").rows()
    [('duplicates', ['dog'], 1, 0.5)]
    """
    require_kind(predictions, Predictions, "audit.load_predictions(scores, dataset) makes them")
    analyses = (*analyses, *added_analyses())
    data = _placed(data, predictions, analyses)
    refuse_wrong_hierarchy(data, sources)
    policy, today = _policy_of(data.hierarchy, policy, analyses), today or judging_date()
    refuse_reference(data.hierarchy, policy, reference)
    refuse_columns(policy, data, today)
    origin = _origin_of(data, predictions, sources)
    before = None if reference is None else Reference.of(reference, data.hierarchy)
    measured = measure(
        data, policy, predictions, reference=before, seed=seed, device=device, progress=progress
    )
    found = {one.name: one.measure(measured, seed, progress) for one in analyses}
    rounding = Rounding.of(policy.min_cell_for(origin.persons), _ledger(measured))
    measured = replace(measured, analyses=found, rounding=rounding)
    checks, behind = _applied_to(measured, _checks_for(analyses, origin.format), progress)
    result = _result(measured, origin, checks, analyses)
    result = replace(result, parts=(*result.parts, *filter(None, [mended])))
    result = judged(result, policy, today=today, reference=reference)
    return _with_instances(result, data, behind)


def _placed(
    data: LabelDataset | PairCount,
    predictions: Predictions | None,
    analyses: Sequence[Analysis],
) -> LabelDataset | PairCount:
    """The data, in the hierarchy of any predictions; InputError if counts alone do not do."""
    refuse_names(analyses)
    if not isinstance(data, LabelDataset):
        if analyses or predictions is not None:
            raise InputError(
                "predictions, explanations and representations need the instances themselves",
                found="data that were counted",
            )
        return data
    return data if predictions is None else data.within(predictions.hierarchy)


@dataclass(frozen=True, eq=False)
class _Behind:
    """The instances behind each finding and behaviour, and what would mend findings, by id."""

    cases: dict[str, CaseNumbers]
    proposals: dict[str, pl.DataFrame] = field(default_factory=dict)


def _with_instances(
    result: AuditResult, data: LabelDataset | PairCount, behind: _Behind
) -> AuditResult:
    """The result with its tables of cases and of proposals; the same for counts alone."""
    if not isinstance(data, LabelDataset):
        return result
    found = [one.id for one in ordered(result.checks)]
    instances = data.instances["instance"]
    ids = [*found, *(name for name in behind.cases if name.startswith(BEHAVIOUR))]
    return replace(
        result,
        cases=case_table(ids, behind.cases, instances),
        proposals=proposal_table(found, behind.proposals, instances),
    )


@dataclass(frozen=True, eq=False)
class _Origin:
    """What a result says of its data besides what was measured."""

    format: str
    called: str
    sha256: str
    persons: bool
    inputs: tuple[Mapping[str, str], ...]


def _origin_of(
    data: LabelDataset | PairCount,
    predictions: Predictions | None,
    sources: Sequence[Path],
) -> _Origin:
    """Format and digest of the data, whether they are of persons, and the files that were read."""
    if isinstance(data, LabelDataset):
        inputs = _input_records(data, predictions)
        tables = () if data.sources or data.digest else (data.instances, data.assertions)
        digest = "" if data.queried else data.digest
        format, called, persons = data.format, data.called, data.persons
    else:
        coding = data.hierarchy.coding
        inputs = tuple(input_record("data", path) for path in sources)
        tables = () if inputs else (data.labels.counts, data.record_frame)
        digest = ""
        format, called = COUNTED, "instances"
        persons = data.labels.persons or (coding is not None and coding.persons)
    return _Origin(format, called, digest_of_data(inputs, tables, digest), persons, inputs)


def _policy_of(
    hierarchy: Hierarchy,
    policy: Policy | None,
    analyses: Sequence[Analysis],
) -> Policy:
    """The policy over the hierarchy's own; PolicyError, or another one, if it cannot be applied."""
    require_kind(
        policy, Policy, "the second argument is the policy; use run_audit(data, predictions=...)"
    )
    policy = policy_for(hierarchy, policy)
    own = (*added_checks(), *(check for one in analyses for check in one.checks))
    named = CHECK_NAMES | {check.name for check in own}
    refuse_unknown_names(policy, set(hierarchy.nodes), hierarchy.name, named)
    refuse_hierarchy(policy, hierarchy)
    refuse_contradictions(policy, hierarchy)
    return policy


def _result(
    measured: Measurements,
    origin: _Origin,
    checks: tuple[CheckResult, ...],
    analyses: Sequence[Analysis],
) -> AuditResult:
    policy, hierarchy = measured.policy, measured.hierarchy
    min_cell = policy.min_cell_for(origin.persons)
    return AuditResult(
        identity=_identity(hierarchy, policy, origin),
        ledger=_ledger(measured) | {"predictions": prediction_ledger(measured)},
        readings=tuple(reading.as_dict() for reading in _readings(measured, analyses)),
        policy=policy_as_applied(
            policy,
            min_cell=min_cell,
            labelled_ancestors=measured.labelled_ancestors,
            as_expected=measured.excess.as_expected,
        ),
        checks=checks,
        nodes=measured.nodes,
        edges=hierarchy.edge_frame(),
        pair_table=measured.pairs,
        residuals=measured.residuals,
        counted_with=policy.model_dump(mode="json") | {"min_cell": min_cell},
        data_sha256=origin.sha256,
        inputs=(*origin.inputs, *(plugin.record for plugin in used())),
        parts=_parts(measured, analyses),
    )


def _readings(measured: Measurements, analyses: Iterable[Analysis]) -> Iterator[Reading]:
    """How hierarchy, labels, policy, predictions and analyses were read, and each plugin in use."""
    hierarchy, policy = measured.hierarchy, measured.policy
    yield from (*hierarchy.readings, *measured.counts.readings)
    yield from policy_readings(hierarchy, policy)
    if measured.model is not None:
        yield from measured.model.predictions.readings
    for analysis in analyses:
        yield from analysis.readings
    for plugin in used():
        said = f"the plugin {plugin.name} {plugin.version} is used"
        read = measured.n_instances
        yield Reading(said, "--plugin names it", read, "leave --plugin out", "instances")


def _parts(measured: Measurements, analyses: Sequence[Analysis]) -> tuple[ResultPart, ...]:
    """The parts of a result, of what was measured: of a model, of drift, and of each analysis."""
    parts: list[ResultPart] = []
    if measured.model is not None:
        parts.append(model_part(measured, measured.model))
    if measured.policy.drift:
        parts.append(DriftPart(*drift_tables(measured)))
    for analysis in analyses:
        part = analysis.part(measured.analyses[analysis.name])
        parts.append(replace(part, listed=isinstance(analysis, ANALYSES)))
    return tuple(parts)


def _input_records(
    dataset: LabelDataset, predictions: Predictions | None
) -> tuple[Mapping[str, str], ...]:
    read = [("data", dataset.sources), ("titles", dataset.titles)]
    if predictions is not None:
        read.append(("predictions", predictions.sources))
    files = (input_record(role, path) for role, paths in read for path in paths)
    rows = {"role": "data", **dataset.queried, "sha256": dataset.digest}
    return (*([rows] if dataset.queried else []), *files)


def _applied_to(
    measured: Measurements, checks: Sequence[Check], progress: Progress
) -> tuple[tuple[CheckResult, ...], _Behind]:
    """What every check finds, and the instances behind each finding and of each behaviour."""
    give_back_freed_memory()
    _ = measured.nodes  # whose sums over groups take memory that checks can take again
    shown = {} if measured.model is None else measured.model.behaving
    behind = _Behind({BEHAVIOUR + name: of.astype(np.uint32) for name, of in shown.items()})
    found = []
    for place in blocks(progress, "applying checks", range(len(checks)), "checks"):
        found.append(_applied(checks[place], measured, behind))
        give_back_freed_memory()
    return tuple(found), behind


def _checks_for(analyses: Sequence[Analysis], data_format: str) -> tuple[Check, ...]:
    """Checks of analyses; all others too, unless the data are labels in an analysis's own file."""
    own = tuple(check for one in analyses for check in one.checks)
    alone = any(isinstance(one, FileAnalysis) and one.format == data_format for one in analyses)
    return own if alone else (*own, *CHECKS, *added_checks())


def _applied(check: Check, measured: Measurements, behind: _Behind) -> CheckResult:
    """What a check finds, or its crash; ``behind`` gets the instances and proposals of findings."""
    try:
        result = check.run(measured)
        for finding in () if measured.instances is None else result.findings:
            if check.cases is not None:
                behind.cases[finding.id] = check.cases(measured, finding).astype(np.uint32)
            if check.proposes is not None:
                behind.proposals[finding.id] = check.proposes(measured, finding)
        return result
    except PluginError:
        raise
    except Exception as error:  # one broken check must not lose the others
        return CheckResult(
            name=check.name,
            title=check.title,
            denominator=0,
            denominator_unit="",
            crashed=f"{type(error).__name__}: {error}",
        )


def _identity(hierarchy: Hierarchy, policy: Policy, origin: _Origin) -> dict[str, Any]:
    """Names of the data, hierarchy, normaliser, policy, tool; digests of hierarchy and policy."""
    return {
        "data": {"format": origin.format, "called": origin.called, "title": policy.title},
        "hierarchy": {
            "name": hierarchy.name,
            "sha256": hierarchy.sha256,
            "nodes": len(hierarchy),
            "depth": int(hierarchy.depth.max()),
        },
        "normaliser": hierarchy.coding.name if hierarchy.coding else None,
        "policy": {"name": policy.name, "sha256": policy.sha256},
        "tool": {"name": DISTRIBUTION, "version": version(DISTRIBUTION)},
    }


def _ledger(measured: Measurements) -> dict[str, Any]:
    ledger, labels = measured.ledger, int(measured.direct_support.sum())
    return {
        "rows_read": ledger.rows_read,
        "rows_mapped": ledger.rows_mapped,
        "refused": dict(ledger.refused),
        "instances": ledger.instances,
        "instances_without_labels": ledger.instances_without_labels,
        "groups": ledger.groups,
        "repeated_edges": measured.hierarchy.repeated_edges,
        "labels": labels,
        "labels_per_instance": {"mean": mean_labels(labels, ledger.instances)},
    }
