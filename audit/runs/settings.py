"""What an audit was asked for: everything that decides its numbers, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, PlainSerializer, field_serializer

from audit.base.progress import Progress, silent
from audit.checks.judging import rejudged
from audit.data.dataset import LabelDataset, load_labels
from audit.data.prediction_formats.transforms import Transform
from audit.data.predictions import Predictions, load_predictions
from audit.engine.scores.score_tensors import device_named
from audit.hierarchies.coding import Unlisted
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import BUILT_IN, load_hierarchy
from audit.policy.built_in import policy_for
from audit.policy.policy import Policy
from audit.policy.reading import load_policy
from audit.results.result import AuditResult
from audit.runs.audit import with_inputs
from audit.runs.folder import RESULT, read_run
from audit.runs.wrong_hierarchy import refuse_wrong_classes, refuse_wrong_hierarchy

_Path: TypeAlias = Annotated[Path, PlainSerializer(lambda path: str(path.absolute()))]
"""As typed, and stored so that it holds from any folder."""
_Dataset: TypeAlias = Annotated[
    Path, PlainSerializer(lambda path: str(path.absolute() if path.exists() else path))
]
"""The same; what is not there names a table."""

Engine: TypeAlias = Literal["memory", "stream", "spark"]


class Settings(BaseModel):
    """The settings of an audit, kept in the manifest of its run so that it can be made again.

    Args:
        dataset: File or folder of labels.
        hierarchy: Name of a built-in hierarchy, or a path.
        format: Of the dataset; None: found.
        id: Column of the instance id; this and the next three as `load_labels` takes them.
        label: Column of the label.
        group: Column of the group.
        split: Column of the split.
        strata: Columns that part the instances, beside those of the policy.
        titles: Dictionaries of code titles.
        relations: OBO relations that count beside ``is_a``.
        anyway: Whether to go on where most labels, or classes, are no nodes of the hierarchy.
        unlisted: What becomes of labels that the hierarchy lacks, in place of the policy's word.
        classes: File of the names of a matrix's columns.
        predictions: File of predictions; None: there is no model.
        transform: What turns the predictions into scores.
        single_label: Whether each instance has one answer.
        device: Where PyTorch counts pairs of scores; None: NumPy counts.
        policy: Policy file; None: the hierarchy's own policy.
        min_cell: Smallest count shown, in place of the policy's.
        reference: Folder of an earlier run.
        seed: Of the resampling behind intervals.
        today: The day on which waivers hold or have expired.
        engine: What counts: all in memory, batches of a file, or Apache Spark.
        memory: Bytes that a count in batches may take; None: `audit.counting.plan.MEMORY`.
        master: Where Spark runs; None: where its own settings say.
        add_to: Folder of a run whose counts those of the dataset are added to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: _Dataset
    hierarchy: str
    format: str | None = None
    id: str | None = None
    label: str | None = None
    group: str | None = None
    split: str | None = None
    strata: tuple[str, ...] = ()
    titles: tuple[_Path, ...] = ()
    relations: tuple[str, ...] = ()
    unlisted: Unlisted | None = None
    anyway: bool = False
    classes: _Path | None = None
    predictions: _Path | None = None
    transform: Transform | None = None
    single_label: bool = False
    device: str | None = None
    policy: _Path | None = None
    min_cell: int | None = None
    reference: _Path | None = None
    seed: int = 0
    today: date
    engine: Engine = "memory"
    memory: int | None = None
    master: str | None = None
    add_to: _Path | None = None

    def stated_policy(self) -> Policy | None:
        """The policy file with ``min_cell`` and ``strata`` over it; None where none is given."""
        stated = load_policy(self.policy) if self.policy else None
        said: dict[str, Any] = {} if self.min_cell is None else {"min_cell": self.min_cell}
        if self.strata:
            named = (*(stated.strata if stated else ()), *self.strata)
            said["strata"] = tuple(dict.fromkeys(named))
        if not said:
            return stated
        over = Policy(**said)
        return over.over(stated) if stated else over

    def reference_run(self) -> AuditResult | None:
        """The earlier run; None where none is named."""
        return read_run(self.reference) if self.reference else None

    def read(
        self, policy: Policy | None, progress: Progress = silent
    ) -> tuple[LabelDataset, Predictions | None]:
        """The labels, and the predictions where there are some; first, that the device is there."""
        if self.device:
            device_named(self.device)
        progress("reading the hierarchy")
        hierarchy = self.read_hierarchy(policy)
        progress("reading labels")
        labels = load_labels(
            self.dataset,
            hierarchy,
            format=self.format,
            id=self.id,
            label=self.label,
            group=self.group,
            split=self.split,
            titles=self.titles,
            classes=self.classes,
            strata=policy.columns if policy else (),
        )
        read = labels.ledger.rows_read
        progress("reading labels", read, read, "rows")
        if not self.anyway:
            refuse_wrong_hierarchy(labels.ledger, labels.refusals, labels.hierarchy, self.dataset)
        if self.predictions is None:
            return labels, None
        progress("reading predictions")
        predictions = load_predictions(
            self.predictions,
            labels,
            classes=self.classes,
            transform=self.transform,
            single_label=self.single_label,
            policy=policy,
        )
        if not self.anyway:
            refuse_wrong_classes(predictions, self.predictions)
        read = predictions.ledger.instances_read
        progress("reading predictions", read, read, "instances")
        return labels, predictions

    def read_hierarchy(self, policy: Policy | None) -> Hierarchy:
        """The hierarchy, with what becomes of labels that it lacks."""
        unlisted = self.unlisted or (policy.unlisted_codes if policy else None)
        return load_hierarchy(self.hierarchy, relations=self.relations, unlisted=unlisted)

    def files(self, policy: Policy | None) -> Mapping[str, Path | None]:
        """The files beside the data that decide the result, each by its role."""
        dates = policy.code_dates if policy else None
        return {
            "hierarchy": None if is_built_in(self.hierarchy) else Path(self.hierarchy),
            "policy": self.policy,
            "code_dates": self.policy.parent / dates.file if self.policy and dates else None,
            "classes": self.classes,
            "reference": self.reference and self.reference / RESULT,
            "added_to": self.add_to and self.add_to / RESULT,
        }

    @field_serializer("hierarchy")
    def _stored(self, hierarchy: str) -> str:
        return hierarchy if is_built_in(hierarchy) else str(Path(hierarchy).absolute())


class Judging(BaseModel):
    """The settings of a judgement of a run that is there already.

    Args:
        policy: Policy file.
        reference: Folder of an earlier run.
        today: The day on which waivers hold or have expired.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: _Path
    reference: _Path | None = None
    today: date

    def judge(self, found: AuditResult) -> AuditResult:
        """The run judged by the policy, which takes its place among the inputs."""
        files = {"policy": self.policy, "reference": self.reference and self.reference / RESULT}
        kept = tuple(source for source in found.inputs if source["role"] not in files)
        result = rejudged(
            found,
            policy_for(found.identity["hierarchy"]["name"], load_policy(self.policy)),
            today=self.today,
            reference=read_run(self.reference) if self.reference else None,
        )
        return with_inputs(replace(result, inputs=kept), files)


def is_built_in(hierarchy: str) -> bool:
    """Whether that is the name of a built-in hierarchy, and no path."""
    return any(hierarchy == known.name for known in BUILT_IN)
