"""Make an audit from its settings: in memory, in batches, or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from audit.base.databases import one_snapshot
from audit.base.errors import InputError
from audit.base.plugins import using
from audit.base.progress import Progress, silent
from audit.base.reading import refuse_changed
from audit.base.remote import allowing
from audit.checks.analysis import FileAnalysis
from audit.checks.limits import refuse_reference, refuse_unknown_checks
from audit.counting.counts import PairCount
from audit.counting.passes import MEMORY
from audit.data.dataset import LabelDataset
from audit.data.formats import UnclearFormatError, format_of, label_formats
from audit.data.known_nodes import KnownNodes
from audit.data.label_format import Columns
from audit.data.predictions import Predictions
from audit.data.sources import Source
from audit.hierarchies.applied_policy import policy_for
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import read_own_titles, with_titles
from audit.measure.labels_alone import FLAT
from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.runs.analyses import ANALYSES, CHECK_NAMES, added_checks
from audit.runs.audit import run_audit
from audit.runs.engines import as_counted, not_counted, refuse_not_counted
from audit.runs.fixes.proof import mended_by
from audit.runs.inputs import deciding_files, read_data, read_hierarchy, read_runs
from audit.runs.instances import write_instances
from audit.runs.manifest import RESULT, input_record, with_inputs
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
    beside = _Beside(read_runs(settings.reference), read_runs(settings.protected_with))
    with (
        using(settings.plugins),
        allowing(settings.allow_network),
        one_snapshot(),
    ):
        lacking = not_counted(settings, policy, keep_instances)
        in_memory = partial(_audit_instances, settings, policy, beside, keep_instances, progress)
        counted = partial(_audit_counts, settings, policy, beside, progress)
        if settings.large:
            made = _audit_large(settings, lacking, counted, in_memory)
        elif settings.counting == "memory":
            made = in_memory()
        else:
            refuse_not_counted(lacking)
            made = counted()
        result = with_inputs(made.result, deciding_files(settings, policy))
    others = (input_record("protected_with", run / RESULT) for run in settings.protected_with)
    result = replace(result, inputs=(*result.inputs, *others))
    runs = (*settings.reference, *settings.protected_with)
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
    told = read.shown(made.result.min_cell)
    return replace(made, result=replace(made.result, readings=(*made.result.readings, told)))


@dataclass(frozen=True, eq=False)
class _Beside:
    """Other runs: of earlier releases, and of the same data."""

    releases: tuple[AuditResult, ...]
    protected_with: tuple[AuditResult, ...]

    @property
    def given(self) -> dict[str, Any]:
        """The same as arguments of `run_audit`: the first release is the one compared with."""
        reference, *earlier = self.releases or (None,)
        beside = {"earlier": earlier, "protected_with": self.protected_with}
        return {"reference": reference, **beside}


def _audit_instances(
    settings: Settings,
    policy: Policy | None,
    beside: _Beside,
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
        **beside.given,
        mended=None if log is None else mended_by(log, beside.releases, labels.sources),
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


def _analyses(settings: Settings, progress: Progress) -> tuple[FileAnalysis[Any], ...]:
    stated = settings.analyses
    return tuple(kind.read(stated[kind.name], progress) for kind in ANALYSES if kind.name in stated)


def _labels(
    settings: Settings,
    policy: Policy | None,
    analyses: Sequence[FileAnalysis[Any]],
    progress: Progress,
) -> tuple[LabelDataset, Predictions | None]:
    """The dataset and its predictions; the labels of an analysis where there is no dataset."""
    alone = next((one for one in analyses if one.format == settings.format), None)
    if alone is None:
        return read_data(settings, policy, progress)
    flat = settings.hierarchy == FLAT
    return alone.labels(None if flat else read_hierarchy(settings, policy)), None


def _audit_counts(
    settings: Settings,
    policy: Policy | None,
    beside: _Beside,
    progress: Progress,
) -> Audited:
    progress("reading the hierarchy")
    hierarchy = _hierarchy(settings, policy)
    source = _countable(settings, hierarchy)
    applied = policy_for(hierarchy, policy)
    refuse_unknown_checks(applied, CHECK_NAMES | {one.name for one in added_checks()})
    releases = beside.releases or (None,)
    refuse_reference(hierarchy, applied, *releases)
    options: dict[str, Any] = {"policy": policy, "progress": progress}
    if settings.counting == "spark":
        count = _count_on_spark(settings, source, hierarchy, options)
    else:
        count = _count_in_batches(settings, source, hierarchy, options)
    queried = {**source.queried, "sha256": source.digest} if source.queried else None
    source.close()
    result = run_audit(
        count,
        policy,
        sources=source.files,
        queried=queried,
        **beside.given,
        today=settings.today,
        progress=progress,
    )
    titles = (input_record("titles", source) for source in settings.titles)
    return Audited(replace(result, inputs=(*result.inputs, *titles)), _keep_nothing)


def _count_on_spark(
    settings: Settings, source: Source, hierarchy: Hierarchy, options: Mapping[str, Any]
) -> PairCount:
    from audit.data.sources.spark import reading

    nodes, rules = KnownNodes(hierarchy), settings.rules
    columns = Columns(settings.id, settings.label, nodes=nodes, rules=rules)
    with reading(source, settings.master, columns, settings.format) as read:
        from audit.counting.spark import count_pairs

        options = {**options, "readings": read.readings, "rules": read.rules}
        return count_pairs(read.rows, hierarchy, instance=read.id, label=read.label, **options)


def _count_in_batches(
    settings: Settings, source: Source, hierarchy: Hierarchy, options: Mapping[str, Any]
) -> PairCount:
    from audit.counting.file import count_pairs

    memory = MEMORY if settings.memory is None else settings.memory
    options = {**options, "memory": memory, "format": settings.format, "rules": settings.rules}
    return count_pairs(source, hierarchy, instance=settings.id, label=settings.label, **options)


def _hierarchy(settings: Settings, policy: Policy | None) -> Hierarchy:
    hierarchy = read_hierarchy(settings, policy)
    return with_titles(
        hierarchy, [read_own_titles(source, hierarchy) for source in settings.titles]
    )


def _countable(settings: Settings, hierarchy: Hierarchy) -> Source:
    """What is counted; raises InputError if its format does not give batches."""
    source = settings.source
    source.know(KnownNodes(hierarchy))
    known = settings.format
    if settings.counting == "stream":
        columns = Columns(settings.id, settings.label)
        with suppress(UnclearFormatError):
            known = format_of(source, known, columns).name
    giving = [known.name for known in label_formats() if known.choose]
    if known is not None and known not in giving:
        raise InputError(
            f"a dataset in the format {' or '.join(giving)} is required where data are counted",
            found=known,
            where=source,
            hint="--format long reads it as a plain table of instances and labels",
        )
    return source
