"""What an audit was asked for: everything that decides its numbers, and nothing else."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, PlainSerializer, field_serializer

from audit.data.prediction_formats.transforms import Transform
from audit.hierarchies.coding import Unlisted
from audit.hierarchies.reading import BUILT_IN

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


def is_built_in(hierarchy: str) -> bool:
    """Whether that is the name of a built-in hierarchy, and no path."""
    return any(hierarchy == known.name for known in BUILT_IN)
