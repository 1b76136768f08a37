"""Make an audit from its settings, here or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from audit.base.databases import one_snapshot
from audit.base.files import refuse_changed
from audit.base.plugins import using
from audit.base.progress import Progress, silent
from audit.base.remote import allowing
from audit.checks.analysis import FileAnalysis
from audit.checks.limits import refuse_reference, refuse_unknown_checks
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.hierarchies.applied_policy import policy_for
from audit.hierarchies.titles import read_own_titles, with_titles
from audit.measure.labels_alone import FLAT
from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.runs.analyses import ANALYSES, CHECK_NAMES, added_checks
from audit.runs.audit import run_audit
from audit.runs.fixes.changes import mended_by
from audit.runs.inputs import deciding_files, read_data, read_hierarchy, read_reference
from audit.runs.instances import write_instances
from audit.runs.manifest import input_record, with_inputs
from audit.runs.refusals import refuse_not_on_spark
from audit.runs.settings import Settings


@dataclass(frozen=True, eq=False)
class Audited:
    """A result, and what writes the data that its run keeps beside the tables."""

    result: AuditResult
    keep: Callable[[Path], None]


def audited(
    settings: Settings,
    policy: Policy | None,
    *,
    keep_instances: bool = False,
    progress: Progress = silent,
) -> Audited:
    """Make the audit, with every file that determined it among its inputs."""
    reference = read_reference(settings)
    with using(settings.plugins), allowing(settings.allow_network), one_snapshot():
        if settings.engine == "spark":
            refuse_not_on_spark(settings, policy, keep_instances)
            made = _audit_on_spark(settings, policy, reference, progress)
        else:
            made = _audit_here(settings, policy, reference, keep_instances, progress)
        result = with_inputs(made.result, deciding_files(settings, policy))
    runs = [settings.reference] if settings.reference else []
    refuse_changed(*(Path(one["path"]) for one in result.inputs), *runs)
    return Audited(result, made.keep)


def _audit_here(
    settings: Settings,
    policy: Policy | None,
    reference: AuditResult | None,
    keep_instances: bool,
    progress: Progress,
) -> Audited:
    """The result, and what writes its instances into a folder; this writes nothing."""
    analyses = _analyses(settings, progress)
    labels, predictions = _labels(settings, policy, analyses, progress)
    log = settings.changes
    result = run_audit(
        labels,
        policy=policy,
        predictions=predictions,
        analyses=analyses,
        seed=settings.seed,
        reference=reference,
        mended=None if log is None else mended_by(log, reference, labels.sources),
        today=settings.today,
        device=settings.device,
        progress=progress,
    )

    if not keep_instances:
        return Audited(result, _write_nothing)

    def keep(folder: Path) -> None:
        write_instances(folder, labels, predictions)

    return Audited(result, keep)


def _write_nothing(folder: Path) -> None:
    """Do nothing: the ``keep`` of a run without its instances, of which none stay in memory."""


def _analyses(settings: Settings, progress: Progress) -> tuple[FileAnalysis, ...]:
    stated = settings.analyses
    return tuple(kind.read(stated[kind.name], progress) for kind in ANALYSES if kind.name in stated)


def _labels(
    settings: Settings,
    policy: Policy | None,
    analyses: Sequence[FileAnalysis],
    progress: Progress,
) -> tuple[LabelDataset, Predictions | None]:
    """The dataset and its predictions; if ``labels_of`` names an analysis, its labels and None."""
    alone = next((one for one in analyses if one.format == settings.labels_of), None)
    if alone is None:
        return read_data(settings, policy, progress)
    flat = settings.hierarchy == FLAT
    return alone.labels(None if flat else read_hierarchy(settings, policy)), None


def _audit_on_spark(
    settings: Settings,
    policy: Policy | None,
    reference: AuditResult | None,
    progress: Progress,
) -> Audited:
    from audit.data.spark import reading

    progress("reading the hierarchy")
    untitled = read_hierarchy(settings, policy)
    own = [read_own_titles(source, untitled) for source in settings.titles]
    hierarchy = with_titles(untitled, own)
    applied = policy_for(hierarchy, policy)
    refuse_unknown_checks(applied, CHECK_NAMES | {one.name for one in added_checks()})
    refuse_reference(hierarchy, applied, reference)
    with reading(settings.dataset, settings.master, settings.columns, hierarchy) as read:
        from audit.counting.spark import count_pairs

        count = count_pairs(read, hierarchy, policy=policy, progress=progress)
    result = run_audit(
        count,
        policy,
        sources=read.table.files,
        reference=reference,
        today=settings.today,
        progress=progress,
    )
    titles = (input_record("titles", source) for source in settings.titles)
    return Audited(replace(result, inputs=(*result.inputs, *titles)), _write_nothing)
