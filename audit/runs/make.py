"""Make an audit from its settings: in memory, in batches, or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from audit.base.databases import one_snapshot
from audit.base.errors import InputError, first_cases
from audit.base.files import refuse_changed
from audit.base.plugins import using
from audit.base.progress import Progress, silent
from audit.base.remote import allowing
from audit.base.table import Table
from audit.checks.analysis import FileAnalysis
from audit.checks.limits import refuse_reference, refuse_unknown_checks
from audit.counting.counts import PairCount
from audit.counting.file import MEMORY, count_pairs
from audit.data.dataset import LabelDataset
from audit.data.labels import Nodes
from audit.data.loading import tables_of
from audit.data.predictions import Predictions
from audit.data.published.wanted import Wanted
from audit.hierarchies.applied_policy import policy_for
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import read_own_titles, with_titles
from audit.measure.labels_alone import FLAT
from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.runs.analyses import ANALYSES, CHECK_NAMES, added_checks
from audit.runs.audit import run_audit
from audit.runs.engines import as_counted, not_counted, refuse_not_counted
from audit.runs.fixes.changes import mended_by
from audit.runs.inputs import deciding_files, read_data, read_hierarchy, read_reference
from audit.runs.instances import write_instances
from audit.runs.manifest import input_record, with_inputs
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
    with (
        using(settings.plugins),
        allowing(settings.allow_network),
        one_snapshot(),
    ):
        lacking = not_counted(settings, policy, keep_instances)
        in_memory = partial(_audit_instances, settings, policy, reference, keep_instances, progress)
        counted = partial(_audit_counts, settings, policy, reference, progress)
        if settings.large:
            made = _audit_large(settings, lacking, counted, in_memory)
        elif settings.counting == "memory":
            made = in_memory()
        else:
            refuse_not_counted(lacking)
            made = counted()
        result = with_inputs(made.result, deciding_files(settings, policy))
    runs = [settings.reference] if settings.reference else []
    refuse_changed(*(Path(one["path"]) for one in result.inputs), *runs)
    return Audited(result, made.keep)


def _audit_large(
    settings: Settings,
    lacking: Sequence[str],
    counted: Callable[[], Audited],
    in_memory: Callable[[], Audited],
) -> Audited:
    """The audit by counts in batches; in memory where they cannot be made. Either is told."""
    made = None
    if not lacking:
        with suppress(InputError):  # where the data are to blame, memory refuses them too
            made = counted()
    read = as_counted(settings, lacking, in_batches=made is not None)
    made = made or in_memory()
    told = read.as_dict()
    return replace(made, result=replace(made.result, readings=(*made.result.readings, told)))


def _audit_instances(
    settings: Settings,
    policy: Policy | None,
    reference: AuditResult | None,
    keep_instances: bool,
    progress: Progress,
) -> Audited:
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
        return Audited(result, _keep_nothing)

    def keep(folder: Path) -> None:
        write_instances(folder, labels, predictions)

    return Audited(result, keep)


def _keep_nothing(folder: Path) -> None:
    """Keep no instances, so that none stay in memory while the run is written."""


def _analyses(settings: Settings, progress: Progress) -> tuple[FileAnalysis, ...]:
    stated = settings.analyses
    return tuple(kind.read(stated[kind.name], progress) for kind in ANALYSES if kind.name in stated)


def _labels(
    settings: Settings,
    policy: Policy | None,
    analyses: Sequence[FileAnalysis],
    progress: Progress,
) -> tuple[LabelDataset, Predictions | None]:
    """The dataset and its predictions; the labels of an analysis where there is no dataset."""
    alone = next((one for one in analyses if one.format == settings.labels_of), None)
    if alone is None:
        return read_data(settings, policy, progress)
    flat = settings.hierarchy == FLAT
    return alone.labels(None if flat else read_hierarchy(settings, policy)), None


def _audit_counts(
    settings: Settings,
    policy: Policy | None,
    reference: AuditResult | None,
    progress: Progress,
) -> Audited:
    progress("reading the hierarchy")
    hierarchy = _hierarchy(settings, policy)
    applied = policy_for(hierarchy, policy)
    refuse_unknown_checks(applied, CHECK_NAMES | {one.name for one in added_checks()})
    refuse_reference(hierarchy, applied, reference)
    counted = _count_on_spark if settings.counting == "spark" else _count_in_batches
    count, table = counted(settings, hierarchy, {"policy": policy, "progress": progress})
    queried = {**table.queried, "sha256": table.digest} if table.queried else None
    result = run_audit(
        count,
        policy,
        sources=table.files,
        queried=queried,
        reference=reference,
        today=settings.today,
        progress=progress,
    )
    titles = (input_record("titles", source) for source in settings.titles)
    return Audited(replace(result, inputs=(*result.inputs, *titles)), _keep_nothing)


def _count_on_spark(
    settings: Settings, hierarchy: Hierarchy, options: Mapping[str, Any]
) -> tuple[PairCount, Table]:
    from audit.data.spark import reading

    with reading(settings.dataset, settings.master, settings.columns, hierarchy) as read:
        from audit.counting.spark import count_pairs

        return count_pairs(read, hierarchy, **options), read.table


def _count_in_batches(
    settings: Settings, hierarchy: Hierarchy, options: Mapping[str, Any]
) -> tuple[PairCount, Table]:
    code_system = settings.vocabulary or ""
    wanted = Wanted(settings.columns, Nodes(hierarchy), code_system, code_system)
    place = (settings.dataset, wanted, settings.sql, settings.table, settings.text)
    table, *others = tables_of(*place)
    if others:
        found = first_cases(one.name for one in (table, *others))
        required = "one table of labels is required where data are counted"
        raise InputError(required, found=found, where=settings.dataset, hint="name one of them")
    memory = MEMORY if settings.memory is None else settings.memory
    options = {**options, "memory": memory}
    return count_pairs(table, hierarchy, settings.columns, **options), table


def _hierarchy(settings: Settings, policy: Policy | None) -> Hierarchy:
    hierarchy = read_hierarchy(settings, policy)
    return with_titles(
        hierarchy, [read_own_titles(source, hierarchy) for source in settings.titles]
    )
