"""Read the inputs that settings name: policy, earlier run, hierarchy, labels and predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from audit.base.databases import is_database
from audit.base.errors import InputError
from audit.base.progress import Progress, silent
from audit.base.remote import local
from audit.checks.judging import rejudged
from audit.data.class_lists import Shared
from audit.data.dataset import LabelDataset, load_labels
from audit.data.predictions import Predictions, load_predictions
from audit.engine.scores.score_pairs import require_device
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import beside_data, built_in_named, files_of, load_hierarchy
from audit.measure.labels_alone import FLAT
from audit.policy.policy import Policy
from audit.policy.reading import judged_by, load_policy
from audit.results.result import AuditResult
from audit.runs.analyses import MEASURED
from audit.runs.manifest import RESULT, with_inputs
from audit.runs.read import read_run
from audit.runs.refusals import refuse_wrong_classes
from audit.runs.settings import Judging, Settings


def stated_policy(settings: Settings) -> Policy | None:
    """The policy file, with bins and further strata as options state them; None without one."""
    stated = load_policy(settings.policy) if settings.policy else None
    said = dict[str, Any]()
    if settings.min_cell is not None:
        said["min_cell"] = settings.min_cell
    if settings.strata:
        before = stated.strata if stated else ()
        said["strata"] = tuple(dict.fromkeys((*before, *settings.strata)))
    if not said:
        return stated
    over = Policy(**said)
    return over.over(stated) if stated else over


def read_reference(settings: Settings | Judging) -> AuditResult | None:
    """The earlier run that settings name, if any; its seal was looked at before."""
    return None if settings.reference is None else read_run(settings.reference, unsealed=True)


def _result_file(run: Path | None) -> Path | None:
    return None if run is None else run / RESULT


def read_data(
    settings: Settings, policy: Policy | None, progress: Progress = silent
) -> tuple[LabelDataset, Predictions | None]:
    """Read the labels, and the predictions if any, after checking that the device is available."""
    if settings.device:
        require_device(settings.device)
    progress("reading the hierarchy")
    hierarchy = read_hierarchy(settings, policy)
    progress("reading labels")
    shared = Shared(settings.classes) if settings.classes else None
    stated = settings.arguments(load_labels) | {
        "hierarchy": hierarchy,
        "query": settings.sql,
        "strata": policy.columns if policy else (),
        "classes": shared,
        "system": settings.vocabulary,
        "progress": progress,
    }
    labels = load_labels(settings.dataset, **stated)
    predictions = _read_predictions(settings, labels, policy, shared, progress)
    read_from = () if predictions is None else predictions.sources
    _refuse_unused_classes(settings, (*labels.sources, *read_from))
    return labels, predictions


def _read_predictions(
    settings: Settings,
    labels: LabelDataset,
    policy: Policy | None,
    classes: Shared | None,
    progress: Progress,
) -> Predictions | None:
    path = settings.predictions
    if path is None:
        return None
    progress("reading predictions")
    beside = {"dataset": labels, "policy": policy, "classes": classes}
    predictions = load_predictions(path, **settings.arguments(load_predictions) | beside)
    refuse_wrong_classes(predictions, path)
    read = predictions.ledger.instances_read
    progress("reading predictions", read, read, "instances")
    return predictions


def _refuse_unused_classes(settings: Settings, read: Sequence[Path]) -> None:
    if settings.classes and settings.classes not in read:
        raise InputError(
            "--classes names the columns of a matrix, or numbers of classes",
            found="neither: labels and predictions have names",
            where=settings.classes,
            hint="leave out --classes",
        )


def read_hierarchy(settings: Settings, policy: Policy | None) -> Hierarchy:
    """Read the hierarchy, configured for labels that it lacks."""
    unlisted = settings.unlisted or (policy.unlisted_codes if policy else None)
    beside = beside_data(settings.hierarchy, settings.vocabulary)
    return load_hierarchy(
        settings.hierarchy,
        relations=settings.relations,
        unlisted=unlisted,
        **(settings.shape() | beside),
    )


def with_dataset_at(settings: Settings, place: str) -> Settings:
    """The settings with the dataset, and the hierarchy if the data hold it, at another place."""
    own = settings.hierarchy == settings.dataset
    return replace(settings, dataset=place, hierarchy=place if own else settings.hierarchy)


def deciding_files(settings: Settings, policy: Policy | None) -> Iterator[tuple[str, Path | None]]:
    """The role and path of files beside the data that determine the result; None without one."""
    dates = policy.code_dates if policy else None
    named = settings.hierarchy == FLAT or is_database(settings.hierarchy)
    if not named and built_in_named(settings.hierarchy) is None:
        yield from (("hierarchy", path) for path in files_of(local(settings.hierarchy)))
    yield from _files_of_analyses(settings)
    yield "policy", settings.policy
    yield "code_dates", settings.policy.parent / dates.file if settings.policy and dates else None
    yield "classes", settings.classes
    yield "instances", settings.instances
    yield "changes", settings.changes
    yield "reference", _result_file(settings.reference)


def _files_of_analyses(settings: Settings) -> Iterator[tuple[str, Path]]:
    """The files that analyses read, but for `files`: these are the data."""
    for stated in settings.analyses.values():
        for role, value in vars(stated).items():
            paths = value if isinstance(value, tuple) else (value,)
            yield from ((role, one) for one in paths if isinstance(one, Path) and role != "files")


def judge_again(
    judging: Judging, policy: Policy, found: AuditResult, made_with: Policy | None = None
) -> AuditResult:
    """Judge a run by another policy, which was read, and replace the policy among its inputs."""
    kept = tuple(one for one in found.inputs if one["role"] not in ("policy", "reference"))
    result = rejudged(
        found,
        judged_by(policy, made_with or found.made_with),
        today=judging.today,
        reference=read_reference(judging),
        checks=MEASURED,
    )
    named = [("policy", judging.policy), ("reference", _result_file(judging.reference))]
    return with_inputs(replace(result, inputs=kept), named)
